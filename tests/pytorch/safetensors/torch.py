def save_file(tensors, filename):
    filename(tensors)
