"""NVTX ranges of PyTorch programs that have none: nvtally record --pytorch.

Ranges, all of them of the domain "PyTorch":

  forward     around the outermost call of a module, and within it one for each module: of the
              outermost one its class, of others their names in it, "layers.3.fc1 (Linear)"
  loss        the same around a module of torch.nn that is a loss
  backward    around torch.autograd.backward, thus Tensor.backward
  optimizer   around the step of an optimizer
  data        around the wait for the next batch of a DataLoader
  worker      in a DataLoader's worker, around the making of one batch
  dataset     within it, and within data where there are no workers, around reading the batch's samples
  collate     behind that, around making a batch of them
  iteration   from the first of these, while gradients are taken and there is an optimizer, to the
              end of the step of the one that stepped first, or of one that has stepped twice since that
              last did: a start/end range, as the program's own cross it. Threads that train have each their own

And counters, once a device is in use: what PyTorch's allocator has allocated and reserved on
the device that is the current one then, and the most that it had allocated since the program last reset that, in bytes. They are asked at the
beginning of an iteration, and at the end of each outermost forward, loss, backward and optimizer, but no
more often than each half millisecond, as asking takes some 10 us.

In a worker there are no iterations, and around the modules that make a batch, as transforms are, there is no range `forward`.

Modules that are called during the backward pass (activation checkpoints) have no range `forward` around
them. Within what torch.compile makes of a module, nothing is called, and there are no ranges.

Modules of PyTorch are changed as they are imported; a program that does not import it is left alone.
What fails here is told in one line and does not reach the program.
"""
import functools
import os
import sys
import threading
import time
import weakref


class _Thread(threading.local):
    modules = 0  # calls that this thread is in
    in_step = False
    fetches = 0  # batches that this thread is making
    batch = None  # what collates the one that is being read
    iteration = None  # its own, where other threads train, too
    evaluates = False  # the model that was called last
    root = None  # weak reference to the outermost module whose call this thread is in


_thread = _Thread()
_backwards = 0  # passes under way, of all threads
_graph_task = None  # torch._C._current_graph_task_id, of the thread: -1 outside of a backward pass
_library = None
_push = _pop = None
_losses = ()  # torch.nn.modules.loss._Loss
_may_learn = None  # torch.is_grad_enabled
_workers = None  # torch.utils.data._utils.worker
_statistics = None  # torch.cuda.memory.memory_stats_as_nested_dict
_asked = 0  # ns: when that was called last
_device = None  # that it is asked of
_LEAST_NS = 500_000
_names = {}  # id of a module -> (weak reference to it, name)
_texts = {}  # text -> name
_strangers = {}  # id of an outermost module that calls some which are not in it -> weak reference to it
_learners = {}  # id of a module that was an outermost one in the mode of training -> weak reference to it


def _is_compiling():
    return False


def _is_worker():
    """Whether this process is a DataLoader's worker: what it does is no part of a loop."""
    return _workers is not None and getattr(_workers, "_worker_info", None) is not None


def _is_backward():
    """Whether this thread is in a backward pass, be it one of autograd's own; where PyTorch cannot tell, any thread."""
    return _backwards > 0 if _graph_task is None else _graph_task() != -1


def _name(text):
    name = _texts.get(text)
    if name is None:
        name = _texts[text] = _library.nvtally_pytorch_name(text.encode("utf-8", "replace"))
    return name


def _count_memory():
    """Counters of what is in use of the device that was first the current one, once there is one."""
    global _statistics, _asked, _device
    if _statistics is None or time.monotonic_ns() - _asked < _LEAST_NS:
        return
    try:
        statistics = _statistics(_device)
        if statistics and _device is None:
            _device = sys.modules["torch"].cuda.current_device()
        if statistics:
            allocated = statistics["allocated_bytes"]["all"]
            _library.nvtally_pytorch_memory(allocated["current"], allocated["peak"],
                                            statistics["reserved_bytes"]["all"]["current"])
    except Exception as error:
        _statistics = None
        sys.stderr.write("nvtally: --pytorch: no counters of memory: %s: %s\n"
                         % (type(error).__name__, error))
    _asked = time.monotonic_ns()


def _within(function, text, counts=False):
    """The same function with a range around each call, at whose end memory may be counted."""
    name = _name(text)

    @functools.wraps(function)
    def within(*arguments, **named):
        if _is_compiling():
            return function(*arguments, **named)
        _push(name)
        try:
            return function(*arguments, **named)
        finally:
            if counts:
                _count_memory()
            _pop()

    return within


# --- iterations ------------------------------------------------------------------------------------


class _Iteration:
    """The one that is under way, of all threads until a second one trains: helpers of a loop take part in its own."""
    name = None
    range = None
    beginner = None   # thread that began it
    trainer = None    # thread that makes steps
    loader = None     # weak reference to the iterator whose batch is all that there is in it so far
    optimizer = None  # weak reference to the one whose steps end iterations
    may_end = False   # of the class: there was an optimizer: programs that only infer have no iterations

    def __init__(self):
        self.others = {}  # id of an optimizer -> weak reference: those that stepped since that one did

    def begin(self, loader=None):
        is_new = self.range is None
        if not (is_new or loader is None and self.loader is not None):
            return
        if not self.may_end or _may_learn is not None and not _may_learn() or _is_worker():
            return
        self.loader = None if loader is None else self._watch(loader)
        if is_new:
            self.range = _library.nvtally_pytorch_start(self.name)
            self.beginner = threading.get_ident()
            _count_memory()

    def _watch(self, loader):
        """Its end is that of a loop which was left, but where each batch is the first one of an iterator of its own."""
        if self.optimizer is not None and not getattr(loader, "_num_yielded", 0):
            return weakref.ref(loader)
        return weakref.ref(loader, self._leave)

    def leave(self, loader):
        """No batch of it is to come: one that is not trained on is not left open for what follows the loop."""
        if self.loader is not None and self.loader() is loader:
            self._leave(self.loader)

    def _leave(self, reference):
        if self.loader is reference:
            self._close()

    def _close(self):
        self.loader = None
        if self.range is not None and _library:
            _library.nvtally_pytorch_end(self.range)
            self.range = None

    def end(self, optimizer):
        if self.optimizer is None or self.optimizer() is None or self._has_another_turn(optimizer):
            self.optimizer = weakref.ref(optimizer)
        if self.optimizer() is not optimizer:
            self.others[id(optimizer)] = weakref.ref(optimizer)
            return
        self.others.clear()
        self._close()

    def _has_another_turn(self, optimizer):
        """Optimizers that take turns, as a GAN's do, step once each; one that steps again has taken over."""
        other = self.others.get(id(optimizer))
        return other is not None and other() is optimizer


_iteration = _Iteration()


def _begin_iteration(loader=None):
    (_thread.iteration or _iteration).begin(loader)


def _leave_loader(loader):
    (_thread.iteration or _iteration).leave(loader)


def _forked():
    """What is under way ends in the parent; a range of the child's may have the same number."""
    for iteration in (_thread.iteration, _iteration):
        if iteration is not None:
            iteration.range = iteration.loader = None


def _end_iteration(optimizer):
    """A thread that trains beside another one has its own from the first step on, with what it has begun."""
    iteration, thread = _thread.iteration or _iteration, threading.get_ident()
    if iteration.trainer is None:
        iteration.trainer = thread
    elif iteration.trainer != thread:
        iteration = _thread.iteration = _Iteration()
        iteration.trainer = thread
        if _iteration.beginner == thread:
            iteration.range, _iteration.range = _iteration.range, None
    iteration.end(optimizer)


# --- modules ---------------------------------------------------------------------------------------


def _keep(module, text):
    key = id(module)
    # Gone with the module, before another one can have its id.
    reference = weakref.ref(module, lambda _: _names.pop(key, None))
    _names[key] = (reference, _name(text))


def _remember(table, module):
    key = id(module)
    if key not in table:
        table[key] = weakref.ref(module, lambda _: table.pop(key, None))


def _known_name(module):
    known = _names.get(id(module))
    return known[1] if known is not None and known[0]() is module else None


def _name_all(root, again=False):
    """Names for all modules of an outermost one; again: for those that have been put in since."""
    try:
        for path, module in root.named_modules():
            if path and not (again and _known_name(module)):
                _keep(module, "%s (%s)" % (path, type(module).__name__))
    except Exception:
        pass  # those have the names of their classes
    if not again:
        _keep(root, type(root).__name__)


def _name_of(module, is_outermost):
    known = _names.get(id(module))
    if known is None or known[0]() is not module:
        known = _name_anew(module, is_outermost)
    if is_outermost:
        _thread.root = known[0]
    return known[1]


def _name_anew(module, is_outermost):
    if is_outermost:
        _name_all(module)
        return _names[id(module)]
    root = _thread.root()
    if root is not None and id(root) not in _strangers:
        _name_all(root, again=True)
        if _known_name(module) is None:
            _remember(_strangers, root)  # it may make them for each call
    if _known_name(module) is None:
        _keep(module, type(module).__name__)
    return _names[id(module)]


def _is_evaluation(module):
    """Whether it was trained before and is not now: many models are trained in the mode of evaluation throughout.
    A loss goes by the model's, as nobody changes its own."""
    if isinstance(module, _losses):
        return _thread.evaluates
    learns = getattr(module, "training", True)
    if learns:
        _remember(_learners, module)
    _thread.evaluates = not learns and id(module) in _learners
    return _thread.evaluates


def _change_modules(module):
    call = module.Module.__call__
    forward, loss = _name("forward"), _name("loss")

    @functools.wraps(call)
    def ranged(self, *arguments, **named):
        if _is_compiling():
            return call(self, *arguments, **named)
        is_outermost = not _thread.modules
        is_forward = is_outermost and not _thread.fetches and not _is_backward()
        name = _name_of(self, is_outermost)
        if is_forward:
            if not _is_evaluation(self):
                _begin_iteration()
            _push(loss if isinstance(self, _losses) else forward)
        _push(name)
        _thread.modules += 1
        try:
            return call(self, *arguments, **named)
        finally:
            _thread.modules -= 1
            _pop()
            if is_forward:
                _count_memory()
                _pop()

    module.Module.__call__ = ranged


# --- the others ------------------------------------------------------------------------------------


def _change_autograd(module):
    backward = _within(module.backward, "backward", counts=True)

    @functools.wraps(module.backward)
    def counted(*arguments, **named):
        global _backwards
        if _is_compiling():
            return backward(*arguments, **named)
        _begin_iteration()
        _backwards += 1
        try:
            return backward(*arguments, **named)
        finally:
            _backwards -= 1

    module.backward = counted


def _change_optimizers(module):
    begin = module.Optimizer.__init__

    @functools.wraps(begin)
    def ranged(self, *arguments, **named):
        begin(self, *arguments, **named)
        _Iteration.may_end = True
        kind = type(self)
        if not getattr(kind.step, "_nvtally", False):
            kind.step = _step(kind.step)

    module.Optimizer.__init__ = ranged


def _step(step):
    """An optimizer's step, which may call that of the class that it comes from."""
    within = _within(step, "optimizer", counts=True)

    @functools.wraps(step)
    def outermost(self, *arguments, **named):
        if _is_compiling() or _thread.in_step:
            return step(self, *arguments, **named)
        _thread.in_step = True
        try:
            return within(self, *arguments, **named)
        finally:
            _thread.in_step = False
            _end_iteration(self)

    outermost._nvtally = True
    return outermost


def _change_loaders(module):
    iterator = module._BaseDataLoaderIter
    following = _within(iterator.__next__, "data")

    @functools.wraps(iterator.__next__)
    def counted(self):
        if not _is_last(self):
            _begin_iteration(self)
        try:
            return following(self)
        except StopIteration:
            _leave_loader(self)
            raise

    iterator.__next__ = counted
    reset = getattr(iterator, "_reset", None)
    if reset is None:
        return

    @functools.wraps(reset)
    def again(self, *arguments, **named):
        _leave_loader(self)
        return reset(self, *arguments, **named)

    iterator._reset = again


def _is_last(iterator):
    """Whether it has no more batches, as far as it knows: one that has no length finds out by asking for one more."""
    try:
        return iterator._num_yielded >= len(iterator)
    except Exception:
        return False


class _Collate:
    """What makes a batch of samples: the range of reading them ends where it is called."""

    def __init__(self, function):
        self.function = function
        self.name = _name("collate")

    def __call__(self, *arguments, **named):
        if _thread.batch is self:
            _thread.batch = None
            _pop()
            _push(self.name)
        return self.function(*arguments, **named)


def _fetch(fetch):
    worker, dataset = _name("worker"), _name("dataset")

    @functools.wraps(fetch)
    def ranged(self, *arguments, **named):
        is_worker = _is_worker()
        outer = _thread.batch  # a dataset may read from another loader
        if type(self.collate_fn) is not _Collate:
            self.collate_fn = _Collate(self.collate_fn)
        if is_worker:
            _push(worker)
        _push(dataset)
        _thread.batch = self.collate_fn
        _thread.fetches += 1
        try:
            return fetch(self, *arguments, **named)
        finally:
            _thread.fetches -= 1
            _thread.batch = outer
            _pop()
            if is_worker:
                _pop()

    return ranged


def _change_fetchers(module):
    for kind in (module._MapDatasetFetcher, module._IterableDatasetFetcher):
        kind.fetch = _fetch(kind.fetch)


def _change_workers(module):
    global _workers
    _workers = module


def _change_losses(module):
    global _losses
    _losses = module._Loss


def _change_gradients(module):
    global _may_learn, _graph_task
    torch = sys.modules["torch"]
    _may_learn = torch.is_grad_enabled
    _graph_task = getattr(getattr(torch, "_C", None), "_current_graph_task_id", None)


def _change_memory(module):
    global _statistics
    _statistics = module.memory_stats_as_nested_dict


def _change_compiler(module):
    global _is_compiling
    _is_compiling = module.is_compiling


# --- imports ---------------------------------------------------------------------------------------


def _listens():
    """Whether a tool listens to ranges: asked when PyTorch is imported, as most programs of Python do
    not, and loading what calls C takes them milliseconds."""
    if _library is None:
        _load()
    return _push is not None


def _load():
    global _library, _push, _pop
    import ctypes
    folder = os.path.dirname(os.path.abspath(__file__))
    try:
        # PyDLL: a call is shorter than letting another thread of Python run.
        _library = ctypes.PyDLL(os.path.join(folder, os.pardir, "libnvtally-pytorch.so"))
    except OSError as error:
        _library = False
        sys.stderr.write("nvtally: --pytorch: no ranges of this process: %s\n" % error)
        return
    _library.nvtally_pytorch_name.argtypes = [ctypes.c_char_p]
    _library.nvtally_pytorch_name.restype = ctypes.c_void_p
    _library.nvtally_pytorch_push.argtypes = [ctypes.c_void_p]
    _library.nvtally_pytorch_push.restype = None
    _library.nvtally_pytorch_pop.restype = None
    _library.nvtally_pytorch_start.argtypes = [ctypes.c_void_p]
    _library.nvtally_pytorch_start.restype = ctypes.c_uint64
    _library.nvtally_pytorch_end.argtypes = [ctypes.c_uint64]
    _library.nvtally_pytorch_end.restype = None
    _library.nvtally_pytorch_memory.argtypes = [ctypes.c_int64] * 3
    _library.nvtally_pytorch_memory.restype = None
    if _library.nvtally_pytorch_begin():
        _Iteration.name = _name("iteration")
        os.register_at_fork(after_in_child=_forked)
        _push, _pop = _library.nvtally_pytorch_push, _library.nvtally_pytorch_pop


_changes = {
    "torch.nn.modules.module": _change_modules,
    "torch.nn.modules.loss": _change_losses,
    "torch.autograd": _change_autograd,
    "torch.autograd.grad_mode": _change_gradients,
    "torch.optim.optimizer": _change_optimizers,
    "torch.utils.data.dataloader": _change_loaders,
    "torch.utils.data._utils.fetch": _change_fetchers,
    "torch.utils.data._utils.worker": _change_workers,
    "torch.compiler": _change_compiler,
    "torch.cuda.memory": _change_memory,
}


class _Finder:
    """Finds what others find, and changes it when it has been loaded."""

    def find_spec(self, name, path=None, target=None):
        change = _changes.get(name)
        if change is None or not _listens():
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return _changed(spec, change)
        return None


def _changed(spec, change):
    load = getattr(spec.loader, "exec_module", None)
    if load is None:
        return spec

    def load_and_change(module):
        load(module)
        try:
            change(module)
        except Exception as error:
            sys.stderr.write("nvtally: --pytorch: no ranges of %s: %s: %s\n"
                             % (spec.name, type(error).__name__, error))

    spec.loader.exec_module = load_and_change
    return spec


def begin():
    """From now on, PyTorch has ranges when it is imported."""
    sys.meta_path.insert(0, _Finder())
