"""NVTX ranges of PyTorch programs that have none: nvtally record --pytorch.

Ranges, all of them of the domain "PyTorch":

  forward     around the outermost call of a module, and within it one for each module: of the
              outermost one its class, of others their names in it, "layers.3.fc1 (Linear)"
  loss        the same around a module of torch.nn that is a loss
  backward    around torch.autograd.backward, thus Tensor.backward, and torch.autograd.grad
  optimizer   around the step of an optimizer
  data        around the wait for the next batch of a DataLoader
  worker      in a DataLoader's worker, around the making of one batch
  dataset     within it, and within data where there are no workers, around reading the batch's samples
  collate     behind that, around making a batch of them
  iteration   from the first of these, while gradients are taken and there is an optimizer, to that of the next
              one. Its step is that of the optimizer that stepped first, or of one that has stepped twice since that
              last did. Threads that train have each their own (nvtally_loop)
  checkpoint, evaluation, between steps
              what lies behind the step (nvtally_loop)

And counters, once a device is in use: what PyTorch's allocator has allocated and reserved on
the device that is the current one then, and the most that it had allocated since the program last reset that, in bytes. They are asked at the
beginning of an iteration, and at the end of each outermost forward, loss, backward and optimizer, but no
more often than each half millisecond, as asking takes some 10 us.

In a worker there are no iterations, and around the modules that make a batch, as transforms are, there is no range `forward`.

Modules that are called during the backward pass (activation checkpoints) have no range `forward` around
them. Within what torch.compile makes of a module, nothing is called, and there are no ranges.

Calls in pools of threads and processes have ranges of the domain "Python" (nvtally_executors).

Modules are changed as they are imported; a program that imports none of them is left alone.
What fails here is told in one line and does not reach the program.
"""
import atexit
import functools
import os
import sys
import time
import weakref

import nvtally_distributed
import nvtally_executors
import nvtally_loop

_thread = nvtally_loop.thread
_backwards = 0  # passes under way, of all threads
_graph_task = None  # torch._C._current_graph_task_id, of the thread: -1 outside of a backward pass
_library = None
_push = _pop = None
_losses = ()  # torch.nn.modules.loss._Loss
_workers = None  # torch.utils.data._utils.worker
_statistics = None  # torch.cuda.memory.memory_stats_as_nested_dict
_asked = 0  # ns: when that was called last
_device = None  # that it is asked of
_LEAST_NS = 500_000
_names = {}  # id of a module -> (weak reference to it, name)
_texts = {}  # text -> name
_strangers = {}  # id of an outermost module that calls some which are not in it -> weak reference to it
_learners = {}  # id of an outermost module that was called to train -> weak reference to it


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


def _name_of(state, module):
    known = _names.get(id(module))
    if known is None or known[0]() is not module:
        known = _name_anew(state, module)
    if not state.modules:
        state.root = known[0]
    return known[1]


def _name_anew(state, module):
    if not state.modules:
        _name_all(module)
        return _names[id(module)]
    root = state.root()
    if root is not None and id(root) not in _strangers:
        _name_all(root, again=True)
        if _known_name(module) is None:
            _remember(_strangers, root)  # it may make them for each call
    if _known_name(module) is None:
        _keep(module, type(module).__name__)
    return _names[id(module)]


def _has_parameters(module):
    try:
        return next(iter(module.parameters()), None) is not None
    except Exception:
        return True


def _is_evaluation(state, module):
    """Whether it is called to be evaluated: it was trained before and is not in that mode now (many models are trained in
    the mode of evaluation throughout), or is called without gradients though it was trained, or in the mode of
    evaluation. A loss goes by the model's, as nobody changes its own."""
    if isinstance(module, _losses):
        return state.evaluates
    learns, known = getattr(module, "training", True), id(module) in _learners
    if not nvtally_loop.may_learn():
        state.evaluates = known or not learns
    elif learns:
        if not known:
            _remember(_learners, module)
            if _has_parameters(module):
                nvtally_loop.learner = state.root
        state.evaluates = False
    else:
        state.evaluates = known
    return state.evaluates


def _begin_pass(state, module):
    """The outermost call of a module: an iteration, or an evaluation, may begin."""
    if not _is_evaluation(state, module):
        nvtally_loop.begin()
    elif not isinstance(module, _losses):
        nvtally_loop.evaluate()


def _change_modules(module):
    call = module.Module.__call__
    forward, loss = _name("forward"), _name("loss")

    @functools.wraps(call)
    def ranged(self, *arguments, **named):
        if _is_compiling():
            return call(self, *arguments, **named)
        state = _thread.state
        is_forward = not (state.modules or state.fetches or _is_backward())
        name = _name_of(state, self)
        if is_forward:
            _begin_pass(state, self)
            _push(loss if isinstance(self, _losses) else forward)
        _push(name)
        state.modules += 1
        try:
            return call(self, *arguments, **named)
        finally:
            state.modules -= 1
            _pop()
            if is_forward:
                _count_memory()
                _pop()
                if state.evaluation:
                    nvtally_loop.settle(state)

    module.Module.__call__ = ranged


# --- the others ------------------------------------------------------------------------------------


def _change_autograd(module):
    module.backward = _counted(module.backward)
    module.grad = _counted(module.grad)


def _counted(function):
    """A backward pass."""
    backward = _within(function, "backward", counts=True)

    @functools.wraps(function)
    def counted(*arguments, **named):
        global _backwards
        if _is_compiling():
            return backward(*arguments, **named)
        nvtally_loop.begin()
        _backwards += 1
        try:
            return backward(*arguments, **named)
        finally:
            _backwards -= 1
            nvtally_distributed.passed()

    return counted


def _change_optimizers(module):
    begin = module.Optimizer.__init__

    @functools.wraps(begin)
    def ranged(self, *arguments, **named):
        begin(self, *arguments, **named)
        nvtally_loop.new_optimizer()
        kind = type(self)
        if not getattr(kind.step, "_nvtally", False):
            kind.step = _step(kind.step)

    module.Optimizer.__init__ = ranged


def _step(step):
    """An optimizer's step, which may call that of the class that it comes from."""
    name = _name("optimizer")
    push, end = nvtally_loop.step_ranges()

    @functools.wraps(step)
    def outermost(self, *arguments, **named):
        state = _thread.state
        if state.in_step or _is_compiling():
            return step(self, *arguments, **named)
        nvtally_loop.begin_step(state, self)
        state.in_step = True
        push(name)
        try:
            return step(self, *arguments, **named)
        finally:
            state.in_step = False
            _count_memory()
            end(state, self)

    outermost._nvtally = True
    return outermost


def _change_iterators(module):
    iterator = module._BaseDataLoaderIter
    following = _within(iterator.__next__, "data")

    @functools.wraps(iterator.__next__)
    def counted(self):
        if nvtally_loop.Iteration.may_end and not nvtally_loop.is_last(self):
            nvtally_loop.wait(self)
        try:
            return following(self)
        except StopIteration:
            nvtally_loop.leave(self)
            raise

    iterator.__next__ = counted
    reset = getattr(iterator, "_reset", None)
    if reset is None:
        return

    @functools.wraps(reset)
    def again(self, *arguments, **named):
        nvtally_loop.leave(self)
        return reset(self, *arguments, **named)

    iterator._reset = again


def _change_loaders(module):
    _change_iterators(module)
    begin = module.DataLoader.__iter__

    @functools.wraps(begin)
    def begun(self):
        """Workers may start, which takes an evaluation as long as many a batch."""
        nvtally_loop.iterate(self)
        return begin(self)

    module.DataLoader.__iter__ = begun


class _Collate:
    """What makes a batch of samples: the range of reading them ends where it is called."""

    def __init__(self, function):
        self.function = function
        self.name = _name("collate")

    def __call__(self, *arguments, **named):
        state = _thread.state
        if state.batch is self:
            state.batch = None
            _pop()
            _push(self.name)
        return self.function(*arguments, **named)


def _fetch(fetch):
    worker, dataset = _name("worker"), _name("dataset")

    @functools.wraps(fetch)
    def ranged(self, *arguments, **named):
        is_worker, state = _is_worker(), _thread.state
        outer = state.batch  # a dataset may read from another loader
        if type(self.collate_fn) is not _Collate:
            self.collate_fn = _Collate(self.collate_fn)
        if is_worker:
            _push(worker)
        _push(dataset)
        state.batch = self.collate_fn
        state.fetches += 1
        try:
            return fetch(self, *arguments, **named)
        finally:
            state.fetches -= 1
            state.batch = outer
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
    global _graph_task
    torch = sys.modules["torch"]
    nvtally_loop.may_learn = torch.is_grad_enabled
    _graph_task = getattr(getattr(torch, "_C", None), "_current_graph_task_id", None)
    for name in ("no_grad", "inference_mode", "set_grad_enabled"):
        kind = getattr(module, name, None)
        if kind is not None:
            kind.__exit__ = _leaving(kind.__exit__)


def _leaving(leave):
    """Where gradients are taken again, an evaluation may end."""
    @functools.wraps(leave)
    def left(self, *arguments):
        result = leave(self, *arguments)
        if _thread.state.evaluation:
            nvtally_loop.settle(_thread.state)
        return result

    return left


def _change_scalers(module):
    step = module.GradScaler.step

    @functools.wraps(step)
    def counted(self, optimizer, *arguments, **named):
        """One that is left out, as gradients are not finite, ends the iteration all the same."""
        steps = _thread.state.steps
        result = step(self, optimizer, *arguments, **named)
        if _thread.state.steps == steps:
            nvtally_loop.skip_step(optimizer)
        return result

    module.GradScaler.step = counted


def _change_savers(module):
    """What programs save models with: as much of it as this version has."""
    for name in ("save", "async_save", "save_state_dict", "save_file", "save_model"):
        function = vars(module).get(name)
        if callable(function) and getattr(function, "__module__", None) == module.__name__:
            setattr(module, name, nvtally_loop.saving(function))


def _change_memory(module):
    global _statistics
    _statistics = module.memory_stats_as_nested_dict


def _change_compiler(module):
    global _is_compiling
    _is_compiling = module.is_compiling


# --- imports ---------------------------------------------------------------------------------------


def _listens():
    """Whether a tool listens to ranges: asked when PyTorch or a pool is imported, as most programs of Python do
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
    _library.nvtally_pytorch_next.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
    _library.nvtally_pytorch_next.restype = ctypes.c_uint64
    _library.nvtally_pytorch_turn.argtypes = [ctypes.c_void_p]
    _library.nvtally_pytorch_turn.restype = None
    _library.nvtally_pytorch_mark.argtypes = [ctypes.c_void_p]
    _library.nvtally_pytorch_mark.restype = None
    _library.nvtally_python_name.argtypes = [ctypes.c_char_p]
    _library.nvtally_python_name.restype = ctypes.c_void_p
    _library.nvtally_python_push.argtypes = [ctypes.c_void_p]
    _library.nvtally_python_push.restype = None
    _library.nvtally_python_pop.restype = None
    _library.nvtally_pytorch_memory.argtypes = [ctypes.c_int64] * 3
    _library.nvtally_pytorch_memory.restype = None
    if _library.nvtally_pytorch_begin():
        nvtally_loop.set_up(_library, _name)
        nvtally_executors.set_up(_library)
        nvtally_loop.is_worker, nvtally_loop.is_backward = _is_worker, _is_backward
        nvtally_loop.count_memory = _count_memory
        nvtally_distributed.set_up(_library, _name, _is_backward, lambda: _is_compiling())
        for module in (nvtally_loop, nvtally_distributed):
            os.register_at_fork(after_in_child=module.forked)
            atexit.register(module.ended)
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
    "torch.amp.grad_scaler": _change_scalers,
    "torch.cuda.amp.grad_scaler": _change_scalers,
    "torch.serialization": _change_savers,
    "torch.distributed.checkpoint.state_dict_saver": _change_savers,
    "torch.distributed": nvtally_distributed.change_package,
    "torch.distributed.distributed_c10d": nvtally_distributed.change,
    "torch.distributed._functional_collectives": nvtally_distributed.change_functional,
    "safetensors.torch": _change_savers,
    "concurrent.futures.thread": nvtally_executors.change_threads,
    "concurrent.futures.process": nvtally_executors.change_processes,
    "joblib.externals.loky.process_executor": nvtally_executors.change_processes,
    "loky.process_executor": nvtally_executors.change_processes,
    "multiprocessing.pool": nvtally_executors.change_pools,
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
