"""Python imports this module when it starts, as `nvtally record` puts its folder in front of PYTHONPATH.
It sees to the ranges (--pytorch), has Python tell where it is when a sample is taken (--trace cpu), and then
makes way for the module of this name that it hides."""
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))

if os.environ.get("NVTALLY_PYTORCH"):
    try:
        import nvtally_pytorch
        nvtally_pytorch.begin()
    except Exception as error:
        sys.stderr.write("nvtally: --pytorch: no ranges of this process: %s\n" % error)

if os.environ.get("NVTALLY_SAMPLE_SIGNAL"):
    try:
        # What is written to this descriptor, which there is none of, goes to the collector.
        os.write(0x7ffffff0, b"nvtally: a handler that writes the stack")
        import faulthandler
        faulthandler.register(int(os.environ["NVTALLY_SAMPLE_SIGNAL"]), file=0x7ffffff0, all_threads=False)
    except OSError:
        pass  # nobody takes samples of this process
    except Exception as error:
        sys.stderr.write("nvtally: --trace cpu: no stacks of Python in this process: %s\n" % error)

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
