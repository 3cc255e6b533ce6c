#!/usr/bin/env python3
"""The model of the workload `gpipe` in PyTorch, eager: one partition and one micro-batch, the yardstick of its
throughput.

usage: gpipe.py [--attention-axis batch|sequence] [--batch N] [--sequence N] [--vocabulary N] [--d-model N]
                [--layers N] [--heads N] [--d-ff N] [--warmup N] [--iterations N] [--device cuda] -o FILE

One JSON object is appended to FILE, with the keys of `nvtally run`; what is there already is not measured
again. "forward" ends with the loss, "backward" with the gradients, each with a wait for the device;
"optimizer" is SGD with Nesterov's momentum. throughput_samples_per_s is batch/(forward + backward).
"""

import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional

from study import Rows, forget_peak, machine, outcome, peak, products, summary, wait

PUBLISHED = 89762304  # parameters of the size that is the default here


class Attention(nn.Module):
    """No mask. Across `axis` of x[batch][sequence][d]: 1 the positions of a sample, 0 the samples."""

    def __init__(self, d, heads, axis):
        super().__init__()
        self.heads, self.axis = heads, axis
        self.qkv, self.projection, self.dropout = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Dropout(0.1)

    def forward(self, x):
        if self.axis == 0:
            x = x.transpose(0, 1)
        rows, length, d = x.shape
        split = self.qkv(x).view(rows, length, 3, self.heads, d // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d // self.heads), dim=-1)
        out = (self.dropout(weights) @ v).transpose(1, 2).reshape(rows, length, d)
        out = self.projection(out)
        return out.transpose(0, 1) if self.axis == 0 else out


class Block(nn.Module):
    def __init__(self, d, ff, heads, axis):
        super().__init__()
        self.attention = Attention(d, heads, axis)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, ff), nn.GELU(), nn.Dropout(0.1), nn.Linear(ff, d), nn.Dropout(0.1))

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        d, axis = shape.d_model, 0 if shape.attention_axis == "batch" else 1
        self.table = nn.Embedding(shape.vocabulary, d)
        self.position = nn.Parameter(torch.zeros(shape.sequence, d))
        self.blocks = nn.Sequential(*(Block(d, shape.d_ff, shape.heads, axis) for _ in range(shape.layers)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, shape.vocabulary, bias=False)

    def forward(self, token):
        return self.head(self.norm(self.blocks(self.table(token) + self.position)))


def measure(arguments):
    products()
    torch.manual_seed(1)
    device = arguments.device
    with torch.device(device):
        model = Model(arguments)
        token = torch.randint(arguments.vocabulary, (arguments.batch, arguments.sequence))
        target = torch.randint(arguments.vocabulary, (arguments.batch * arguments.sequence,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
    times = {"forward": [], "backward": [], "optimizer": []}
    for iteration in range(arguments.warmup + arguments.iterations):
        if iteration == arguments.warmup:
            forget_peak(device)
        wait(device)
        marks = [time.perf_counter_ns()]
        loss = functional.cross_entropy(model(token).flatten(0, 1), target)
        wait(device)
        marks.append(time.perf_counter_ns())
        loss.backward()
        wait(device)
        marks.append(time.perf_counter_ns())
        optimizer.step()
        optimizer.zero_grad()
        wait(device)
        marks.append(time.perf_counter_ns())
        if iteration >= arguments.warmup:
            for i, values in enumerate(times.values()):
                values.append(marks[i + 1] - marks[i])
    row = {"parameters": sum(p.numel() for p in model.parameters()), "loss": loss.item()}
    for name, values in times.items():
        row.update(summary(name, values))
    row["throughput_samples_per_s"] = arguments.batch * 1e9 / (row["forward_ns_mean"] + row["backward_ns_mean"])
    return {**row, "peak_allocated_bytes": peak(device)}


SIZES = {"batch": 64, "sequence": 128, "vocabulary": 3000, "d_model": 768, "layers": 12, "heads": 12, "d_ff": 3072}


def main():
    parser = argparse.ArgumentParser(description="The pipeline study's model in PyTorch, eager.")
    parser.add_argument("--attention-axis", choices=("batch", "sequence"), default="batch")
    for name, size in SIZES.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=size)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    row = {
        "workload": "gpipe", "partitions": 1, "microbatches": 1, "checkpoint": False, "engine": "eager",
        "schedule": "gpipe", "transport": "local", "model": "gpt2", "attention_axis": arguments.attention_axis,
        **{name: getattr(arguments, name) for name in SIZES}, **machine(arguments.device),
        "warmup": arguments.warmup, "iterations": arguments.iterations,
    }
    rows = Rows(arguments.output, (*SIZES, "attention_axis", "warmup", "iterations"))
    if rows.has(row):
        return
    row = outcome(row, arguments.device, lambda: measure(arguments))
    if row["status"] == "ok" and all(row[name] == size for name, size in SIZES.items()):
        assert row["parameters"] == PUBLISHED, row["parameters"]
    rows.add(row)


if __name__ == "__main__":
    main()
