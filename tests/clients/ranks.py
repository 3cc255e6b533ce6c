"""A rank of a job of torchrun's, which trains until it is killed: ranks.py FILE. When FILE is there, rank 2 stops in front of its
all_reduce, says so by FILE.hangs, and sleeps; all others wait for it."""
import os
import sys
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    optimizer.zero_grad()
    model(torch.ones(4, 16)).sum().backward()
    if dist.get_rank() == 2 and os.path.exists(sys.argv[1]):
        with open(sys.argv[1] + ".hangs", "w", encoding="ascii"):
            time.sleep(600)
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    time.sleep(0.002)
