"""Python imports this module when it starts, as `nvtally record` puts its folder in front of PYTHONPATH.
It sees to the ranges (--pytorch), has Python tell where it is when a sample is taken (--trace cpu), and then
makes way for the module of this name that it hides."""
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))

if os.environ.get("NVTALLY_PYTORCH") and sys.version_info[0] > 2:
    try:
        import nvtally_pytorch
        nvtally_pytorch.begin()
    except Exception as error:
        sys.stderr.write("nvtally: --pytorch: no ranges of this process: %s\n" % error)

if os.environ.get("NVTALLY_SAMPLE_SIGNAL"):
    try:
        # What is written to this descriptor, which does not exist, goes to the collector.
        os.write(0x7ffffff0, b"nvtally: a handler that writes the stack")
        try:
            import faulthandler
            faulthandler.register(int(os.environ["NVTALLY_SAMPLE_SIGNAL"]), file=0x7ffffff0, all_threads=False)
        except Exception:
            os.write(0x7ffffff0, b"nvtally: no handler")  # the recorder says so at its end
        if sys.version_info[0] > 2:
            import nvtally_threads
            nvtally_threads.begin()
    except OSError:
        pass  # this process is not sampled, or it is a sub-interpreter, and the handler is there already

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _folder]
_own = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError as error:
    if getattr(error, "name", None) != "sitecustomize":
        raise
finally:
    if _own is not None:
        sys.modules.setdefault("sitecustomize", _own)
