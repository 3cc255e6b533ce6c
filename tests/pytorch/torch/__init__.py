"""Stands in for PyTorch in the test of `record --pytorch`: as much of it as that changes, under the
names that PyTorch has."""
from . import autograd, compiler, nn, optim, utils
