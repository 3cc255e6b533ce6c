from . import grad_mode
from .. import _C


def backward(tensors, again=None):
    """What is called again in it stands for a checkpoint."""
    if again:
        _C.thread.task = 0
        try:
            again()
        finally:
            _C.thread.task = -1


def grad(outputs, inputs):
    return [outputs] * len(inputs)


def reduce(group, tensor):
    """A bucket of gradients, as DistributedDataParallel's reducer launches it in C++: the hooks are called from here."""
    from ..distributed import distributed_c10d
    said = distributed_c10d.begin(group, "ALLREDUCE", [tensor], (), True)
    for hook in group.before.values():
        hook(said)
    said.work = distributed_c10d.Work()
    for hook in group.after.values():
        hook(said)
    return said.work
