"""A training loop that knows nothing of NVTX, over the stand-in for PyTorch."""
import threading

import torch


class Linear(torch.nn.Module):
    def forward(self, x, factor=2):
        if x is None:
            raise ValueError("no input")
        return factor * x


class Net(torch.nn.Module):
    def __init__(self):
        self.first, self.second = Linear(), Linear()

    def forward(self, x):
        return self.second(self.first(x), factor=3)


class Descent(torch.optim.Optimizer):
    def step(self):
        """Goes down."""
        return "down"


class Slower(Descent):
    def step(self):
        return super().step()


net, other, loss_of = Net(), Linear(), torch.nn.MSELoss()
assert net(1) == 6  # before there is an optimizer
optimizer, second = Slower([]), Descent([])
for x in torch.utils.data.DataLoader([1, 2, 3]):
    assert loss_of(net(x), 6 * x) == 0
    torch.autograd.backward(x, again=lambda: net.first(x))
    assert optimizer.step() == "down" and second.step() == "down"
torch.learns = False
try:
    net(None)
except ValueError as error:
    assert str(error) == "no input"
torch.compiler.compiling = True
assert net(5) == 30 and optimizer.step() == "down"
torch.compiler.compiling = False
thread = threading.Thread(target=lambda: other(1))
thread.start()
thread.join()
assert Slower.step.__name__ == "step" and Descent.step.__doc__ == "Goes down."
print("loss", net(7))
