from .module import Module


class _Loss(Module):
    pass


class MSELoss(_Loss):
    def forward(self, x, y):
        return (x - y) ** 2
