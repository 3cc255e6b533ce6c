import torch


class set_grad_enabled:
    """A function and a context, as PyTorch's."""

    def __init__(self, mode):
        self.before = torch.is_grad_enabled()
        self.mode = torch.learns = mode

    def __enter__(self):
        torch.learns = self.mode

    def __exit__(self, *exception):
        torch.learns = self.before


class no_grad:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.learns = False

    def __exit__(self, *exception):
        torch.learns = self.before

    def __call__(self, function):
        def within(*arguments, **named):
            with type(self)():
                return function(*arguments, **named)

        return within


class inference_mode(no_grad):
    def __exit__(self, *exception):
        torch.learns = self.before
