"""Here PyTorch has no_grad, which is not called here."""
