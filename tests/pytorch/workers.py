"""Batches of a stand-in for PyTorch's DataLoader: in the process itself, in a worker that is forked and in one that is started."""
import os
import subprocess
import sys

import torch
import torch.utils.data._utils.fetch as fetching
import torch.utils.data._utils.worker as workers


class Scale(torch.nn.Module):
    def forward(self, x):
        return 2 * x


class Samples:
    transform = Scale()
    inner = None

    def __getitem__(self, index):
        if index < 0:
            raise IndexError("no such sample")
        if self.inner:
            assert self.inner.fetch([index]) == 2 * index
        return self.transform(index)


def read(fetcher):
    assert fetcher.fetch([1, 2]) == 6
    assert fetcher.fetch([3]) == 6
    try:
        fetcher.fetch([-1])
    except IndexError as error:
        assert str(error) == "no such sample"
    assert fetcher.collate_fn([1, 2]) == 3  # by somebody else


def work():
    workers._worker_info = 1
    read(fetching._MapDatasetFetcher(Samples(), sum))


if len(sys.argv) > 1:
    work()
    sys.exit()


class Descent(torch.optim.Optimizer):
    def step(self):
        pass


optimizer = Descent([])
child = os.fork()
if not child:
    work()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
subprocess.check_call([sys.executable, "-B", __file__, "started"])
fetcher = fetching._IterableDatasetFetcher(iter([1, 2, 3]), sum)
assert fetcher.fetch([0, 1]) == 3
try:
    fetcher.fetch([0, 1])
except StopIteration:
    print("ended")
nested = Samples()
nested.inner = fetching._MapDatasetFetcher(Samples(), sum)
assert fetching._MapDatasetFetcher(nested, sum).fetch([5]) == 10
