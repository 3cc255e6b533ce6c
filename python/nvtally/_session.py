"""Recording one's own process, such as a cell of a notebook: libnvtally through ctypes."""
import ctypes
import os
import tempfile

from ._library import Error, load
from ._trace import Trace

_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
_TOO_LATE = ("NVTX and CUDA look for a collector at their first call: call recording() before it (restart the kernel of a notebook), "
             "or record(code=...)")


class _Libnvtally:  # pylint: disable=too-few-public-methods
    """The library, loaded by the first session, and whether that has begun."""
    lib = None
    has_begun = False


def _library():
    if not _Libnvtally.lib:
        lib = load("libnvtally.so.0")
        lib.nvtally_status_text.restype = ctypes.c_char_p
        lib.nvtally_session_start.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        lib.nvtally_session_stop.argtypes = [ctypes.c_void_p]
        lib.nvtally_session_save.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64)]
        lib.nvtally_session_free.argtypes = [ctypes.c_void_p]
        _Libnvtally.lib = lib
    return _Libnvtally.lib


def _check(status):
    if status:
        raise Error("recording: " + _library().nvtally_status_text(status).decode())


def _cuda_is_up():
    """Whether this process has initialised CUDA."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        return cuda.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) != _NOT_INITIALIZED
    except (OSError, AttributeError):
        return False


class Session:
    """A recording of this process: `trace` is what was recorded, once it has ended."""

    def __init__(self, output=None):
        self._output, self._handle = output, ctypes.c_void_p()
        self.trace = None

    def start(self):
        """Begin. One session at a time; the first one before the process's first NVTX and CUDA call."""
        if not _Libnvtally.has_begun and _cuda_is_up():
            raise Error("recording: CUDA is in use already. " + _TOO_LATE)
        _check(_library().nvtally_session_start(ctypes.byref(self._handle)))
        _Libnvtally.has_begun = True
        return self

    def stop(self):
        """End. The trace; kept as a file where the session has an output. Raises Error where nothing was recorded."""
        if not self._handle:
            raise Error("recording: it has not been started")
        lib, events, path = _library(), ctypes.c_uint64(), self._output
        try:
            _check(lib.nvtally_session_stop(self._handle))
            with tempfile.TemporaryDirectory(prefix="nvtally-") as folder:
                path = os.fspath(path) if path else os.path.join(folder, "session.nvt")
                _check(lib.nvtally_session_save(self._handle, os.fsencode(path), ctypes.byref(events)))
                if not events.value:
                    raise Error("recording: there was no range, mark or device operation. " + _TOO_LATE)
                self.trace = Trace(path)
        finally:
            lib.nvtally_session_free(self._handle)
            self._handle = ctypes.c_void_p()
        return self.trace

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *what):
        try:
            self.stop()
        except Error:
            if kind is None:  # what went wrong in the block is said, not that nothing came of it
                raise

    def _repr_html_(self):
        return self.trace._repr_html_() if self.trace else "<p>no trace yet</p>"  # pylint: disable=protected-access


def recording(output=None):
    """Record this process in a `with` block: NVTX ranges, and what CUDA does. The first one has to begin before the process first
    calls NVTX or CUDA. `output` keeps the trace as a file."""
    return Session(output)


def load_ipython_extension(shell):
    """`%load_ext nvtally`: %%nvtally records a cell and shows the trace. With a name, %%nvtally NAME, that variable gets it."""
    from IPython.display import display  # pylint: disable=import-outside-toplevel,import-error

    def cell_magic(line, cell):
        session = Session().start()
        result = shell.run_cell(cell)
        try:
            trace = session.stop()
        except Error:
            if result.success:
                raise
            return
        if line.strip():
            shell.user_ns[line.strip()] = trace
        display(trace)

    shell.register_magic_function(cell_magic, "cell", "nvtally")
