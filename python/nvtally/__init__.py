"""Traces of CUDA programs as data: nvtally's, Nsight Systems' and PyTorch's.

    import nvtally
    t = nvtally.open("train.nvt")           # or several; "profile.json.gz", "report.sqlite", a run directory
    t.tables                                # names of the tables of the trace model
    pyarrow.table(t["ops"])                 # Arrow without a copy; also polars.DataFrame, duckdb, pandas through pyarrow
    t["kernels"].rows()                     # a list of dicts, with no further module
    t.report("nvtx_kern_sum")               # a report of `nvtally stats`
    t.sql("SELECT name, sum(duration) AS total_ns FROM kernels GROUP BY 1")
    t.diagnose()                            # findings as objects
    t.timeline()                            # a picture, in a notebook
    nvtally.record(["python3", "train.py"]) # run it under the recorder
    with nvtally.recording() as session:    # this process, as a cell of a notebook; %load_ext nvtally has %%nvtally
        step()
    session.trace.diagnose()

It calls libnvtally-trace through ctypes and needs no other module. Objects with __arrow_c_stream__ go to any library that knows
Arrow's PyCapsule interface.
"""
from ._library import Error, version
from ._record import Recording, record
from ._session import Session, load_ipython_extension, recording
from ._trace import Finding, Table, Timeline, Trace, open  # pylint: disable=redefined-builtin

__version__ = version()
__all__ = ["Error", "Finding", "Recording", "Session", "Table", "Timeline", "Trace", "load_ipython_extension", "open", "record", "recording", "version"]
