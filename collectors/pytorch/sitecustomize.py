"""Python imports this module when it starts, as `nvtally record --pytorch` puts its folder in front of
PYTHONPATH. It sees to the ranges and then makes way for the module of this name that it hides."""
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))

try:
    import nvtally_pytorch
    nvtally_pytorch.begin()
except Exception as error:
    sys.stderr.write("nvtally: --pytorch: no ranges of this process: %s\n" % error)

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
