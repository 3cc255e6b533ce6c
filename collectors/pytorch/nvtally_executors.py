"""What the threads and processes of pools were given to do: a range of the domain "Python" around each call, by the name of its
function. Those of concurrent.futures (thus asyncio.to_thread and run_in_executor), of multiprocessing.pool (thus joblib's
threads), and of joblib's processes (loky)."""
import contextvars
import functools

_push = _pop = None
_library = None
_names = {}  # text -> name


def set_up(library):
    global _library, _push, _pop
    _library = library
    _push, _pop = library.nvtally_python_push, library.nvtally_python_pop


def _name_of(function):
    """That of the function itself, which others may wrap: a chunk of a map, a batch of joblib's."""
    for _ in range(8):
        inner = None
        if type(function) is functools.partial:
            inner = function.func
            if inner.__name__ == "_process_chunk" and function.args:
                inner = function.args[0]
        elif not hasattr(function, "__qualname__"):
            items = getattr(function, "items", None)
            if type(items) is list and items and type(items[0]) is tuple:
                inner = items[0][0]
            else:
                inner = getattr(function, "func", None)
        if not callable(inner):
            break
        function = inner
    return getattr(function, "__qualname__", None) or type(function).__qualname__


class _Ranged:
    """A function, with a range around its call."""

    def __init__(self, function, named=None):
        self.function = function
        try:
            text = _name_of(function if named is None else named)
        except Exception:
            text = "task"
        self.name = _names.get(text)
        if self.name is None:
            self.name = _names[text] = _library.nvtally_python_name(text.encode("utf-8", "replace"))

    def __call__(self, *arguments, **named):
        _push(self.name)
        try:
            return self.function(*arguments, **named)
        finally:
            _pop()


def _runs_in_context(function):
    return isinstance(getattr(function, "__self__", None), contextvars.Context)


def _ranged(function, arguments):
    """Both, with the range around what is called within a context of its own, such as asyncio.to_thread has: the ranges of the
    function are in that context, too."""
    if _runs_in_context(function) and arguments:
        return function, (_Ranged(arguments[0]),) + tuple(arguments[1:])
    if type(function) is functools.partial and _runs_in_context(function.func) and function.args:
        inner = functools.partial(function.func, _Ranged(function.args[0]), *function.args[1:], **function.keywords)
        return inner, arguments
    return _Ranged(function), arguments


def change_threads(module):
    """concurrent.futures.thread"""
    run = module._WorkItem.run

    @functools.wraps(run)
    def ranged(self, *arguments):
        task = getattr(self, "task", None)  # Python 3.14 and later; for another interpreter it is bytes
        if type(task) is tuple and len(task) == 3:
            self.task = _ranged(task[0], task[1]) + (task[2],)
        elif hasattr(self, "fn"):
            self.fn, self.args = _ranged(self.fn, self.args)
        return run(self, *arguments)

    module._WorkItem.run = ranged


class _Queue:
    """A queue of what is to be done, which comes out of it with a range."""

    def __init__(self, queue, change):
        self._queue, self._change = queue, change

    def __getattr__(self, name):
        return getattr(self._queue, name)

    def get(self, *arguments, **named):
        return self._change(self._queue.get(*arguments, **named))


def _with_queue(worker, change):
    @functools.wraps(worker)
    def ranged(queue, *arguments, **named):
        return worker(_Queue(queue, change), *arguments, **named)

    return ranged


def _call_of_process(item):
    if item is not None:
        item.fn, item.args = _ranged(item.fn, item.args)
    return item


def change_processes(module):
    """concurrent.futures.process, and loky's"""
    module._process_worker = _with_queue(module._process_worker, _call_of_process)


def _call_of_pool(task):
    if type(task) is not tuple or len(task) != 5:
        return task
    job, number, function, arguments, named = task
    kind = getattr(function, "__name__", "")
    if kind in ("mapstar", "starmapstar"):
        function = _Ranged(function, arguments[0][0])
    elif kind != "_helper_reraises_exception":  # which the worker looks for
        function, arguments = _ranged(function, arguments)
    return job, number, function, arguments, named


def change_pools(module):
    """multiprocessing.pool"""
    module.worker = _with_queue(module.worker, _call_of_pool)
