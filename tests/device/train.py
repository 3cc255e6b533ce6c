#!/usr/bin/env python3
"""A PyTorch training step, annotated as a user would, to be recorded:

    nvtally record --trace full -o train.nvt -- python3 tests/device/train.py

The backward pass runs on a thread of PyTorch's own, so its kernels belong to the range `backward` only
with --across-threads. The last line tells the mean time of an iteration by the program's own clock.
"""

import argparse
import time

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser(description="A PyTorch training step.")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    block = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(block, 4), nn.Linear(512, 1000)).to(arguments.device)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(8, 128, 512, device=arguments.device)
    target = torch.randint(1000, (8 * 128,), device=arguments.device)
    annotate = torch.cuda.nvtx.range if arguments.device == "cuda" else torch.profiler.record_function
    start = time.perf_counter()
    for _ in range(arguments.iterations):
        with annotate("iteration"):
            with annotate("forward"):
                loss = nn.functional.cross_entropy(model(x).flatten(0, 1), target)
            with annotate("backward"):
                loss.backward()
            with annotate("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
        loss.item()
    mean = (time.perf_counter() - start) / arguments.iterations
    print(f"{arguments.iterations} iterations, {1e3 * mean:.2f} ms each, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
