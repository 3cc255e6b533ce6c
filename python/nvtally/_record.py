"""Recording: `nvtally record` around a program."""
import os
import subprocess
import sys
import tempfile

from ._library import Error, program
from ._trace import Trace


class Recording:
    """A program that ran under the recorder. As a context manager, it is its trace, and a trace without a name of its own goes."""

    def __init__(self, path, status, is_temporary):
        self.path, self.status = path, status
        self._is_temporary = is_temporary
        self._trace = None

    def open(self):
        """Its trace."""
        self._trace = self._trace or Trace(self.path)
        return self._trace

    def __enter__(self):
        return self.open()

    def __exit__(self, *what):
        if self._trace:
            self._trace.close()
        if self._is_temporary:
            os.unlink(self.path)

    def __repr__(self):
        return f"<nvtally recording {self.path}, exit status {self.status}>"


def record(command=None, *, code=None, output=None, options=()):
    """Run a command (a list), or Python code in a new process of this interpreter, under `nvtally record OPTIONS`.

    The process that calls is not recorded: see recording(). Code that is given as text does not see the notebook's variables. Raises Error where nothing was recorded; `status` is the exit
    status of the program.
    """
    if (command is None) == (code is None):
        raise Error("record: give a command or code")
    if code is not None:
        command = [sys.executable, "-c", code]
    if isinstance(command, (str, bytes)):
        raise Error("record: a command is a list, such as ['python3', 'train.py']")
    path, is_temporary = output, output is None
    if is_temporary:
        handle, path = tempfile.mkstemp(suffix=".nvt", prefix="nvtally-")
        os.close(handle)
        os.unlink(path)
    done = subprocess.run([program(), "record", *options, "-o", path, "--", *map(os.fspath, command)], check=False)
    if not os.path.exists(path):
        raise Error(f"record: nothing was recorded (exit status {done.returncode})")
    return Recording(path, done.returncode, is_temporary)
