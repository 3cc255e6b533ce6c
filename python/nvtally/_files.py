"""Files of tables: Arrow's IPC files and Parquet, through pyarrow."""
import os
import shutil
import sys

from ._library import Error
from ._trace import Trace

_NO_RANK = "__HIVE_DEFAULT_PARTITION__"  # as Hive, DuckDB, Spark and Dask have it


def _writers():
    try:
        import pyarrow  # pylint: disable=import-outside-toplevel
        from pyarrow import compute, feather, parquet  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Error("parquet needs pyarrow: pip install pyarrow (nvtally export --to arrow needs nothing)") from None
    return pyarrow, compute, {"arrow": lambda table, path: feather.write_feather(table, path, compression="uncompressed"),
                              "parquet": parquet.write_table}


def _parts(table, compute):
    """Pairs of a rank and its rows, in a table without the column rank: folders have it."""
    for rank in compute.unique(table["rank"]).to_pylist():
        rows = compute.is_null(table["rank"]) if rank is None else compute.equal(table["rank"], rank)
        part = table if len(compute.unique(table["rank"])) == 1 else table.filter(rows)
        yield rank, part.drop_columns(["rank"])


def _write(trace, folder, form):
    pyarrow, compute, writers = _writers()
    is_several = len(pyarrow.table(trace["meta"]).column("key").chunks) > 1
    for name in trace.tables:
        if not len(trace[name]):
            continue
        table = pyarrow.table(trace[name])
        if not is_several:
            writers[form](table, os.path.join(folder, f"{name}.{form}"))
            continue
        for number, batch in enumerate(table.to_batches()):
            for rank, part in _parts(pyarrow.Table.from_batches([batch]), compute):
                below = os.path.join(folder, name, f"rank={_NO_RANK if rank is None else rank}")
                os.makedirs(below, exist_ok=True)
                writers[form](part, os.path.join(below, f"{number}.{form}"))


def write(trace, folder, form="parquet"):
    """Write the tables of a trace that have rows into a folder that is not there yet, or empty: "parquet" or "arrow"."""
    if form not in ("parquet", "arrow"):
        raise Error(f"no form '{form}': parquet or arrow")
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Error(f"{folder}: is there already; name an empty folder, or a new one")
    partial = f"{folder.rstrip('/')}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        os.makedirs(partial)
        _write(trace, partial, form)
        if os.path.isdir(folder):
            os.rmdir(folder)
        os.rename(partial, folder)
    except OSError as error:
        raise Error(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main(arguments):
    """`nvtally export --to FORM -o FOLDER FILE…`: one line on stderr and exit status 2 where it fails."""
    form, folder, *paths = arguments
    try:
        trace = Trace(*paths)
        write(trace, folder, form)
        for note in trace.notes:
            print(note, file=sys.stderr)
    except Error as error:
        print(f"nvtally: {error}", file=sys.stderr)
        sys.exit(2)
