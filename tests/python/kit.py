"""What tests of the module share. It is this tree's, over the libraries of the build folder that a test is given."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["NVTALLY_LIBDIR"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "python"))

import nvtally  # noqa: E402  pylint: disable=wrong-import-position


def refused(action):
    """The one line that an action fails with."""
    try:
        action()
    except nvtally.Error as error:
        assert "\n" not in str(error) and str(error), error
        return str(error)
    raise AssertionError("it was not refused")
