from .distributed_c10d import (Tensor, all_gather, all_gather_object, all_reduce, barrier,  # noqa: F401
                               destroy_process_group, make_group)
