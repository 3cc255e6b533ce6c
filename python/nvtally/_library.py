"""libnvtally-trace through ctypes, and capsules of Arrow's streams."""
import ctypes
import os

ABI = 0
NAME = f"libnvtally-trace.so.{ABI}"


class Error(RuntimeError):
    """What nvtally could not do, in one line."""


def _folders():
    """Where the library may be: $NVTALLY_LIBDIR, the installation that this module is of, a checkout's build folder."""
    here = os.path.dirname(os.path.realpath(__file__))
    if os.environ.get("NVTALLY_LIBDIR"):
        yield os.environ["NVTALLY_LIBDIR"]
        yield os.path.join(os.environ["NVTALLY_LIBDIR"], "..")
    folder = here
    for _ in range(5):
        folder = os.path.dirname(folder)
        yield folder
        yield os.path.join(folder, "lib")
        yield os.path.join(folder, "build")


def load(name):
    """A library of this installation."""
    for folder in _folders():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return ctypes.CDLL(path)
    try:
        return ctypes.CDLL(name)
    except OSError:
        raise Error(f"{name} was not found: set NVTALLY_LIBDIR to its folder") from None


def program():
    """The program `nvtally` of the same installation, or the one in PATH."""
    for folder in _folders():
        for below in ("nvtally", "bin/nvtally", "../bin/nvtally"):
            path = os.path.normpath(os.path.join(folder, below))
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return "nvtally"


class Stream(ctypes.Structure):
    """struct ArrowArrayStream."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
Stream._fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p), ("get_last_error", ctypes.c_void_p),
                   ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]

_text, _handle, _size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
_FUNCTIONS = {
    "nvtally_trace_abi": (ctypes.c_int, []),
    "nvtally_trace_version": (_text, []),
    "nvtally_trace_error": (_text, []),
    "nvtally_trace_open": (ctypes.c_int, [ctypes.POINTER(_text), _size, ctypes.c_uint, ctypes.POINTER(_handle)]),
    "nvtally_trace_close": (None, [_handle]),
    "nvtally_trace_notes": (_text, [_handle]),
    "nvtally_trace_tables": (_size, []),
    "nvtally_trace_table": (_text, [_size]),
    "nvtally_trace_table_about": (_text, [_size]),
    "nvtally_trace_rows": (ctypes.c_int64, [_handle, _size]),
    "nvtally_trace_stream": (ctypes.c_int, [_handle, _text, ctypes.POINTER(Stream)]),
    "nvtally_trace_timeline": (ctypes.c_int, [_handle, _size, ctypes.POINTER(_handle)]),
    "nvtally_trace_report": (ctypes.c_int, [_handle, _text, ctypes.POINTER(_handle)]),
    "nvtally_trace_sql": (ctypes.c_int, [_handle, _text, ctypes.c_double, _size, ctypes.POINTER(_handle)]),
    "nvtally_trace_diagnose": (ctypes.c_int, [_handle, ctypes.POINTER(_handle)]),
    "nvtally_result_tables": (_size, [_handle]),
    "nvtally_result_name": (_text, [_handle, _size]),
    "nvtally_result_title": (_text, [_handle, _size]),
    "nvtally_result_rows": (_size, [_handle, _size]),
    "nvtally_result_stream": (ctypes.c_int, [_handle, _size, ctypes.POINTER(Stream)]),
    "nvtally_result_text": (ctypes.c_int, [_handle, _size, _text, ctypes.POINTER(_handle)]),
    "nvtally_trace_free_text": (None, [_handle]),
    "nvtally_result_free": (None, [_handle]),
}


def _declare(library):
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.nvtally_trace_abi() != ABI:
        raise Error(f"{NAME} has another interface than this module")
    return library


lib = _declare(load(NAME))


def version():
    """The version of nvtally."""
    return lib.nvtally_trace_version().decode()


def check(status):
    """Raise what the last call of this thread says."""
    if status:
        raise Error(lib.nvtally_trace_error().decode(errors="replace"))


_CAPSULE = b"arrow_array_stream"
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, _text, ctypes.c_void_p]
# A capsule that is being destroyed is no object to hold: its address alone is looked at.
_pointer_of = ctypes.PyDLL(None).PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.c_void_p, _text]
_streams = {}


def _destroy(capsule):
    stream = _streams.pop(_pointer_of(capsule, _CAPSULE), None)
    if stream is not None and stream.release:
        RELEASE(stream.release)(ctypes.byref(stream))


_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy)


def capsule(stream):
    """A PyCapsule of a stream, which releases it unless somebody has taken it."""
    address = ctypes.addressof(stream)
    _streams[address] = stream
    return _new_capsule(address, _CAPSULE, ctypes.cast(_destructor, ctypes.c_void_p))
