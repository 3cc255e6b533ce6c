from .module import Module


class _Loss(Module):
    def parameters(self):
        return iter(())


class MSELoss(_Loss):
    def forward(self, x, y):
        return (x - y) ** 2
