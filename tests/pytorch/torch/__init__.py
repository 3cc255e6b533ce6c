"""Stands in for PyTorch in the test of `record --pytorch`: as much of it as that changes, under the
names that PyTorch has."""
learns = True


def is_grad_enabled():
    return learns


from . import _C, autograd, compiler, cuda, nn, optim, utils  # noqa: E402
