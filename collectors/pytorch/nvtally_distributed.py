"""Ranges of torch.distributed for nvtally_pytorch: collectives, sends and receives, and waits for them.

A group of ranks tells its hooks (ProcessGroup.register_pre_hook, PyTorch 2.15) of all that is asked of it, whoever asks: Python,
DistributedDataParallel's reducer in C++, FSDP, what torch.compile makes. Where there are no such hooks, the functions of
torch.distributed are changed, which DistributedDataParallel's reducer does not go through.

A range is a start/end range, with the group, the number in that, and bytes as its payload (lib/collective_payload.h). It ends

  - where the thread waits for it: when the wait returns;
  - of what a backward pass launches: when that returns, or where a later one of it is launched when it is done;
  - of what C++ that is called by torch's own modules waits for: when that returns;
  - of what is launched without a wait: when a wait for it returns, or where the thread launches something else when it is done.

Of tensors on a device it has its launch alone: what the device does is recorded as such. `wait` is a call of Work.wait() for
something launched before. No callback is left with PyTorch, which would run on threads of its own, and nothing is kept alive
beyond the next launch that it would not be alive without. A collective that fails, fails as without.
"""
import functools
import os
import sys
import threading

BLOCKS, BACKWARD, WAIT = 1, 2, 4  # lib/collective_payload.h
_HOOK = 0x6e7674  # number of our hooks among those of a group
_names = {
    "ALLREDUCE": "all_reduce", "ALLREDUCE_COALESCED": "all_reduce",
    "ALLGATHER": "all_gather", "ALLGATHER_BASE": "all_gather", "ALLGATHER_COALESCED": "all_gather",
    "ALLGATHER_INTO_TENSOR_COALESCED": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter", "REDUCE_SCATTER_BASE": "reduce_scatter",
    "REDUCE_SCATTER_TENSOR_COALESCED": "reduce_scatter",
    "ALLTOALL": "all_to_all", "ALLTOALL_BASE": "all_to_all",
    "BROADCAST": "broadcast", "REDUCE": "reduce", "GATHER": "gather", "SCATTER": "scatter", "BARRIER": "barrier",
    "SEND": "send", "RECV": "recv",
}
_library = _name = _is_backward = _is_compiling = None
_module = None  # torch.distributed.distributed_c10d
_has_hooks = False  # groups have
_operations = {}  # of the hooks -> (name, whether it is one that is left out)
_open = {}  # number of a range -> True: those under way
_groups = {}  # name of a group -> _Group, where there are no hooks
_MOST = 64  # that a thread may have launched without a wait; of more the oldest is left


class _Thread(threading.local):
    """What a thread has launched, as numbers of ranges."""

    def __init__(self):
        self.waits = None  # what the next wait is for, 0: a function of ours has it
        self.asked = []  # (number, work) without a wait so far
        self.inner = []  # the same of a backward pass, or of C++ that waits


_thread = _Thread()


def set_up(library, name, is_backward, is_compiling):
    """To be called once a tool listens. name: makes names of ranges; the others answer for the calling thread."""
    global _library, _name, _is_backward, _is_compiling
    _library, _name, _is_backward, _is_compiling = library, name, is_backward, is_compiling
    import ctypes
    numbers = [ctypes.c_uint64] * 3
    library.nvtally_pytorch_group.argtypes = [ctypes.c_char_p] + [ctypes.c_int] * 4
    library.nvtally_pytorch_group.restype = ctypes.c_int
    library.nvtally_pytorch_collective.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p] + numbers + [
        ctypes.c_int, ctypes.c_uint]
    library.nvtally_pytorch_collective.restype = ctypes.c_uint64


def _end(number):
    """Of one that may have ended before, as where the process ends meanwhile."""
    if _open.pop(number, None):
        _library.nvtally_pytorch_end(number)


def ended():
    """The process ends by itself: what is under way does not go on in a trace, and PyTorch must not have hooks of ours when
    Python is gone."""
    for number in list(_open):
        _end(number)
    forked()
    for group in list(_module._world.pg_map) if _has_hooks else ():
        _unwatch(group)


def forked():
    """What is under way is the parent's."""
    _open.clear()
    _thread.__init__()


def passed():
    """A backward pass of the thread has returned, or C++ that has waited."""
    inner, _thread.inner = _thread.inner, []
    for number, _ in inner:
        _end(number)


def _settle(launched):
    """Those that are done by now, of pairs (number, work), end; returns the others."""
    left = []
    for number, work in launched:
        if work.is_completed():
            _end(number)
        else:
            left.append((number, work))
    for number, _ in left[:-_MOST]:
        _end(number)
    return left[-_MOST:]


class _Group:
    """A group of ranks: what does not change of it, and how many collectives it has had."""

    def __init__(self, name, ranks, rank):
        self.text, self.ranks, self.rank = name, ranks, rank
        self.number = 0  # of the library
        self.count = 0
        self.launching = {}  # what hooks call an operation -> (number of its range, flags, whether it is on the host)

    def _register(self):
        try:
            world, world_rank = _module.get_world_size(), _module.get_rank()
        except Exception:  # the first one is being made
            world = int(os.environ.get("WORLD_SIZE", self.ranks))
            world_rank = int(os.environ.get("RANK", self.rank))
        self.number = _library.nvtally_pytorch_group(self.text.encode("utf-8", "replace"), self.ranks, self.rank,
                                                     world, world_rank)

    def begin(self, name, given, taken, root, flags):
        """The number of the range; given and taken are lists of tensors."""
        if not self.number:
            self._register()
        first = given[0] if given else taken[0] if taken else None
        kind = b"" if first is None else str(first.dtype)[6:].encode()  # "torch.float32"
        gives = sum([tensor.numel() * tensor.element_size() for tensor in given])
        takes = sum([tensor.numel() * tensor.element_size() for tensor in taken]) if taken else gives
        number = _library.nvtally_pytorch_collective(name, self.number, kind, self.count, gives, takes, root, flags)
        self.count += 1
        _open[number] = True
        return number


def _flags(arguments):
    """How a thread goes on that launches something: by who called. What a backward pass launches itself, the reducer of
    DistributedDataParallel does, which waits at the end of the pass. C++ that is called by torch's own modules waits at once."""
    if not arguments.async_op:
        return BLOCKS
    try:
        caller = sys._getframe(3).f_globals.get("__name__", "")  # of the hook
    except ValueError:
        caller = ""  # a thread of autograd's
    if _is_backward() and (not caller or caller.startswith("torch.autograd")):
        return BACKWARD
    return BLOCKS if caller in ("torch.distributed.utils", "torch.nn.parallel.distributed") else 0


def _before(group, arguments):
    operation = _operations.get(arguments.name)
    if operation is None:
        text = _names.get(arguments.name.name)
        operation = _operations[arguments.name] = None if text is None else _name(text), text is None
    name, is_left_out = operation
    if is_left_out:
        return
    given, taken = arguments.input_tensors, arguments.output_tensors
    _launch_another(group)
    flags = _flags(arguments)
    on_host = all([tensor.device.type == "cpu" for tensor in given or taken])
    group.launching[arguments.op_id] = group.begin(name, given, taken, arguments.root, flags), flags, on_host


def _launch_another(group):
    """What the thread has launched before may be done; what failed is."""
    if _thread.waits:
        _end(_thread.waits)
    _thread.waits = None
    for launched in group.launching.values():
        _end(launched[0])
    group.launching.clear()
    if _thread.inner:
        _thread.inner = _settle(_thread.inner)
    if _thread.asked:
        _thread.asked = _settle(_thread.asked)


def _after(group, arguments):
    number, flags, on_host = group.launching.pop(arguments.op_id, (0, 0, False))
    if not number:
        return
    if arguments.work is None:
        _end(number)
    elif not arguments.async_op:
        _thread.waits = number
    elif not on_host:
        _end(number)
    elif flags:
        _thread.inner.append((number, arguments.work))
    else:
        _thread.asked.append((number, arguments.work))


def _quietly(function, group):
    """A hook: what fails in it is no matter of the program."""
    def hook(arguments):
        try:
            function(group, arguments)
        except Exception as error:
            complain(error)

    return hook


def complain(error, said=[]):
    if not said:
        said.append(True)
        sys.stderr.write("nvtally: --pytorch: some of torch.distributed is not recorded: %s: %s\n"
                         % (type(error).__name__, error))


def _watch(name, group):
    known = _Group(str(name), group.size(), group.rank())
    group.register_pre_hook(_HOOK, _quietly(_before, known))
    group.register_post_hook(_HOOK, _quietly(_after, known))


def _unwatch(group):
    try:
        group.unregister_pre_hook(_HOOK)
        group.unregister_post_hook(_HOOK)
    except Exception:
        pass  # it has none


def _destroying(destroy):
    """Who still has a group that is destroyed may have it for longer than there is Python."""
    @functools.wraps(destroy)
    def destroyed(group=None, *arguments, **named):
        for each in [group] if group is not None else list(_module._world.pg_map):
            _unwatch(each)
        return destroy(group, *arguments, **named)

    return destroyed


# --- waits -----------------------------------------------------------------------------------------


def _waiting(wait):
    """A method or function that waits, with a range."""
    text = _name("wait")

    @functools.wraps(wait)
    def waited(*arguments, **named):
        if _is_compiling():
            return wait(*arguments, **named)
        number, _thread.waits = _thread.waits, None
        if number == 0:
            return wait(*arguments, **named)
        work = arguments[0] if arguments else None
        of = [launched for launched in _thread.asked if launched[1] is work]
        if number is None:
            number = _library.nvtally_pytorch_collective(text, 0, b"", 0, 0, 0, -1, WAIT)
            _open[number] = True
        try:
            return wait(*arguments, **named)
        finally:
            _end(number)
            if of:
                _end(of[0][0])
                _thread.asked.remove(of[0])

    return waited


def _within(function):
    """C++ that launches collectives and waits for them."""
    @functools.wraps(function)
    def waited(*arguments, **named):
        try:
            return function(*arguments, **named)
        finally:
            passed()

    return waited


# --- without hooks ---------------------------------------------------------------------------------

# Function -> name, and the arguments that are what a rank gives and gets (lists or tensors; the same: both at once).
_functions = {
    "all_reduce": ("all_reduce", 0, 0), "all_reduce_coalesced": ("all_reduce", 0, 0),
    "broadcast": ("broadcast", 0, 0), "reduce": ("reduce", 0, 0),
    "all_gather": ("all_gather", 1, 0), "all_gather_into_tensor": ("all_gather", 1, 0),
    "reduce_scatter": ("reduce_scatter", 1, 0), "reduce_scatter_tensor": ("reduce_scatter", 1, 0),
    "all_to_all": ("all_to_all", 1, 0), "all_to_all_single": ("all_to_all", 1, 0),
    "gather": ("gather", 0, 1), "scatter": ("scatter", 1, 0),
    "barrier": ("barrier", None, None), "send": ("send", 0, None), "recv": ("recv", None, 0),
}


def _tensors(arguments, place):
    if place is None or place >= len(arguments) or arguments[place] is None:
        return []
    value = arguments[place]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _group_of(group):
    """Of the argument `group`, None: all ranks."""
    group = group or _module.group.WORLD
    name = _module._world.pg_names.get(group, "") if hasattr(_module, "_world") else str(id(group))
    known = _groups.get(name)
    if known is None:
        known = _groups[name] = _Group(name, _module.get_world_size(group), _module.get_rank(group))
    return known


def _changed(function, name, given, taken):
    text = _name(name)

    @functools.wraps(function)
    def ranged(*arguments, **named):
        number = 0
        if not (_thread.waits == 0 or _is_compiling()):
            try:
                gives, takes = _tensors(arguments, given), [] if taken == given else _tensors(arguments, taken)
                number = _group_of(named.get("group")).begin(text, gives, takes, -1,
                                                             0 if named.get("async_op") else BLOCKS)
            except Exception as error:
                complain(error)
        outer, _thread.waits = _thread.waits, 0 if number else _thread.waits
        try:
            return function(*arguments, **named)
        finally:
            _thread.waits = outer
            if number:
                _end(number)

    return ranged


# --- imports ---------------------------------------------------------------------------------------


def change(module):
    """torch.distributed.distributed_c10d has been loaded: groups that are made from now on are watched."""
    global _module, _has_hooks
    _module = module
    group = getattr(module, "ProcessGroup", None)
    register = getattr(module, "_register_process_group", None)
    if hasattr(group, "register_pre_hook") and register is not None:
        @functools.wraps(register)
        def registered(name, group):
            register(name, group)
            try:
                _watch(name, group)
            except Exception as error:
                complain(error)

        _has_hooks = True
        module._register_process_group = registered
        module.destroy_process_group = _destroying(module.destroy_process_group)
    else:
        for function, (name, given, taken) in _functions.items():
            if callable(vars(module).get(function)):
                setattr(module, function, _changed(vars(module)[function], name, given, taken))
    if getattr(module, "Work", None) is not None:
        module.Work.wait = _waiting(module.Work.wait)


def change_package(module):
    """torch.distributed: what DistributedDataParallel synchronises buffers and parameters with."""
    for name in ("_broadcast_coalesced", "_verify_params_across_processes"):
        if callable(vars(module).get(name)):
            setattr(module, name, _within(vars(module)[name]))


def change_functional(module):
    module.wait_tensor = _waiting(module.wait_tensor)
