class GradScaler:
    """Leaves out steps whose gradients are not finite."""
    finite = True

    def step(self, optimizer):
        return optimizer.step() if self.finite else None

    def update(self):
        pass
