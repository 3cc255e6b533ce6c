"""Stands in for PyTorch in the test of `record --pytorch`: as much of it as that changes, under the
names that PyTorch has."""
learns = True


def is_grad_enabled():
    return learns


from . import _C, amp, autograd, compiler, cuda, nn, optim, serialization, utils  # noqa: E402
from .autograd.grad_mode import inference_mode, no_grad, set_grad_enabled  # noqa: E402
from .serialization import save  # noqa: E402
