"""What Python calls its threads, for `record --trace cpu`: threads that make no range are asked for it by nobody. The collector
takes what is written to a descriptor that does not exist."""
import os
import sys

_TO = 0x7ffffff0  # NVT_CPU_STACK_DESCRIPTOR of collectors/inject/cpu.h


def _tell(number, name):
    if name == "MainThread" or name.startswith("Dummy-"):
        return
    try:
        os.write(_TO, ("nvtally: thread %d %s" % (number, name)).encode("utf-8", "replace")[:300])
    except OSError:
        pass  # this process is not sampled


def _change(module):
    """Names are told where a thread begins, and where one that lives gets another."""
    thread = module.Thread
    begins, name = thread._set_ident, thread.name

    def set_ident(self):
        begins(self)
        _tell(module.get_native_id(), self._name)

    def set_name(self, text):
        name.fset(self, text)
        if self.native_id is not None and self.is_alive():
            _tell(self.native_id, self._name)

    thread._set_ident = set_ident
    thread.name = name.setter(set_name)


class _Finder:
    """Finds threading as others do, once, and changes it when it has been loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != "threading":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            load = getattr(spec and spec.loader, "exec_module", None)
            if load:
                spec.loader.exec_module = lambda module: (load(module), _changed(module)) and None
            if spec is not None:
                return spec
        return None


def _changed(module):
    try:
        _change(module)
    except Exception:
        pass  # of another version, in which threads keep the names that the system has


def begin():
    """From now on threads are named: those of threading, whenever it is imported."""
    if "threading" in sys.modules:
        _changed(sys.modules["threading"])
    else:
        sys.meta_path.insert(0, _Finder())
