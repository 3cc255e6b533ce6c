"""Stands in for PyTorch's: groups that tell hooks of what is launched, unless NO_HOOKS is in the environment."""
import enum
import os

HookOpName = enum.Enum("HookOpName", "ALLREDUCE ALLGATHER BARRIER BROADCAST NEW_WINDOW")


class Device:
    def __init__(self, type):
        self.type = type


class Tensor:
    dtype = "torch.float32"

    def __init__(self, count, device="cpu"):
        self.count, self.device = count, Device(device)

    def numel(self):
        return self.count

    def element_size(self):
        return 4


class Work:
    done = False

    def wait(self, timeout=None):
        self.done = True
        return True

    def is_completed(self):
        return self.done


class Arguments:
    def __init__(self, **values):
        self.__dict__.update(values)


class _World:
    pg_map, pg_names = {}, {}


class group:
    WORLD = None


_world = _World()


class ProcessGroup:
    def __init__(self, size, rank):
        self.members, self.number = size, rank
        self.before, self.after, self.launched = {}, {}, 0

    def size(self):
        return self.members

    def rank(self):
        return self.number

    if "NO_HOOKS" not in os.environ:
        def register_pre_hook(self, number, hook):
            self.before[number] = hook

        def register_post_hook(self, number, hook):
            self.after[number] = hook

        def unregister_pre_hook(self, number):
            del self.before[number]

        def unregister_post_hook(self, number):
            del self.after[number]


def begin(group, name, given, taken=(), async_op=False):
    group.launched += 1
    return Arguments(name=HookOpName[name], async_op=async_op, input_tensors=list(given), output_tensors=list(taken),
                     root=-1, op_id=group.launched)


def launch(group, name, given, taken=(), async_op=False, fails=False):
    said = begin(group, name, given, taken, async_op)
    for hook in group.before.values():
        hook(said)
    if fails:
        raise ValueError("no such tensor")
    said.work = Work()
    for hook in group.after.values():
        hook(said)
    return said.work


def _register_process_group(name, made):
    _world.pg_map[made], _world.pg_names[made] = "gloo", name


def make_group(name, size, rank):
    made = ProcessGroup(size, rank)
    _register_process_group(name, made)
    group.WORLD = group.WORLD or made
    return made


def get_world_size(of=None):
    return (of or group.WORLD).size()


def get_rank(of=None):
    return (of or group.WORLD).rank()


def destroy_process_group(group=None):
    pass


def _ask(group_asked, name, given, taken=(), async_op=False, fails=False):
    work = launch(group_asked or group.WORLD, name, given, taken, async_op, fails)
    return work if async_op else work.wait() and None


def all_reduce(tensor, group=None, async_op=False, fails=False):
    return _ask(group, "ALLREDUCE", [tensor], (), async_op, fails)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    return _ask(group, "ALLGATHER", [tensor], tensor_list, async_op)


def all_gather_object(objects, value, group=None):
    return all_gather([Tensor(8)], Tensor(4), group)


def barrier(group=None, async_op=False):
    return _ask(group, "BARRIER", [])
