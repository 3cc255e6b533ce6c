"""usage: session.py BUILD: this process records itself (nvtally.recording), with PyPI's nvtx.

Prints "not run: …" where that is not installed; ends with 1 where something is wrong.
"""
import os
import subprocess
import sys
import tempfile

from kit import nvtally, refused

FAKE_CUDA = "int cuDeviceGetCount(int *count) { *count = 1; return 0; }"


def names(trace):
    return {row["name"]: row["n"] for row in trace.sql("SELECT name, count(*) AS n FROM ranges GROUP BY name").rows()}


def recorded(action):
    with nvtally.recording() as session:
        action()
    return session


def sessions(nvtx):
    def three():
        for _ in range(3):
            with nvtx.annotate("three"):
                pass

    def fails():
        raise KeyError("the block's own")

    with nvtally.recording() as empty_first:
        with nvtx.annotate("first"):
            pass
    three()
    later = recorded(three)
    assert names(empty_first.trace) == {"first": 1} and names(later.trace) == {"three": 3}
    assert later.trace.notes == [], later.trace.notes
    assert "three" in later.trace.report("nvtx_sum").text()
    assert "no range, mark or device operation" in refused(lambda: recorded(lambda: None))
    assert names(recorded(three).trace) == {"three": 3}  # and goes on
    try:
        recorded(fails)
    except KeyError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept.nvt")
        with nvtally.recording(path):
            three()
            assert "running already" in refused(nvtally.recording().start)
        assert names(nvtally.open(path)) == {"three": 3}
        assert "could not be made" in refused(lambda: nvtally.recording(os.path.join(folder, "no", "x.nvt")).__enter__().stop())
    assert "not been started" in refused(nvtally.recording().stop)


def in_another(code, **environment):
    """What a fresh process says."""
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n" + code], check=False, capture_output=True, text=True,
                          env=dict({name: value for name, value in os.environ.items() if "NVT" not in name and "INJECTION" not in name},
                                   NVTALLY_LIBDIR=os.environ["NVTALLY_LIBDIR"], **environment))
    return done.stdout + done.stderr


def too_late():
    """Before the first session somebody called NVTX, or CUDA; or another tool is there."""
    said = in_another("import nvtally, nvtx\nwith nvtx.annotate('before'): pass\n"
                      "with nvtally.recording():\n  with nvtx.annotate('x'): pass")
    assert "restart the kernel" in said.splitlines()[-1], said
    said = in_another("import nvtally\nnvtally.recording().start()", NVTX_INJECTION64_PATH="/other.so")
    assert "watched already" in said.splitlines()[-1], said
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libcuda.so.1")
        done = subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-Wl,-soname,libcuda.so.1", "-o", library], input=FAKE_CUDA, text=True, check=False)
        if done.returncode:
            print("not run: no compiler for a CUDA that is up")
            return
        said = in_another(f"import ctypes, nvtally\nctypes.CDLL({library!r})\nnvtally.recording().start()")
        assert "CUDA is in use already" in said.splitlines()[-1], said


def main():
    try:
        import nvtx  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("not run: nvtx is not installed")
        return
    sessions(nvtx)
    too_late()
    print("done")


main()
