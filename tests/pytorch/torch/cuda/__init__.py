from . import memory

device = 3


def current_device():
    return device
