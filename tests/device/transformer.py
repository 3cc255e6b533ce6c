#!/usr/bin/env python3
"""The workload `transformer` in PyTorch, eager, beside ours: the same layers, sizes, phases and clock.

usage: transformer.py --size NAMES [--precision fp32,tf32,bf16,fp16] [--phase forward,forward_backward,train]
                      [--attention eager,fused] [--batch N] [--context N] [--warmup N] [--iterations N]
                      [--device cuda] -o FILE
       transformer.py --check [--parameters FOLDER] [--device cuda]

One JSON object a configuration is appended to FILE, with the keys of `nvtally run`; what is there already
is not measured again. Attention is eager as ours is, operation by operation, or PyTorch's
scaled_dot_product_attention (fused). --check trains a small model from nvtally's own weights, those in FOLDER's files
(tests/reference/exchange.py) or, without one, drawn as nvtally draws them, and compares ten losses with those in
tests/reference/transformer.h (needs NumPy).
"""

import argparse
import itertools
import math
import pathlib
import re
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from study import Rows, forget_peak, machine, outcome, peak, products, summary, wait, words

SIZES = {  # d_model, d_ff, layers, heads
    "tiny": (128, 512, 2, 4),
    "small": (768, 3072, 12, 12),
    "medium": (1024, 4096, 24, 16),
    "large": (1280, 5120, 36, 20),
    "xl": (1600, 6400, 48, 25),
    "2.7B": (2560, 10240, 32, 32),
}
VOCABULARY = 10000


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        if hasattr(functional, "rms_norm"):
            return functional.rms_norm(x, self.weight.shape, self.weight, 1e-5)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    fused = False  # attention of all blocks

    def __init__(self, d, ff, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(d), Norm(d)
        self.qkv, self.projection = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, ff, bias=False), nn.Linear(ff, d, bias=False)

    def attention(self, x, mask):
        batch, length, d = x.shape
        split = self.qkv(x).view(batch, length, 3, self.heads, d // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        if self.fused:
            values = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-1, -2)) / math.sqrt(d // self.heads)
            values = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
        return self.projection(values.transpose(1, 2).reshape(batch, length, d))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Parameters are declared in the order in which nvtally numbers their random streams."""

    def __init__(self, d, ff, layers, heads, vocabulary, context):
        super().__init__()
        self.table, self.position = nn.Embedding(vocabulary, d), nn.Embedding(context, d)
        self.norm, self.head = Norm(d), nn.Linear(d, vocabulary, bias=False)
        self.blocks = nn.ModuleList(Block(d, ff, heads) for _ in range(layers))
        mask = torch.ones(context, context, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def numbered(self):
        yield from (self.table.weight, self.position.weight, self.norm.weight, self.head.weight)
        for block in self.blocks:
            yield from (block.norm1.weight, block.qkv.weight, block.projection.weight)
            yield from (block.norm2.weight, block.up.weight, block.down.weight)

    def forward(self, token, target):
        x = self.table(token) + self.position.weight
        for block in self.blocks:
            x = block(x, self.mask)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), target.flatten())


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)


# --- measuring ---------------------------------------------------------------------------------------------


class Step:
    """One iteration, phase by phase."""

    def __init__(self, model, precision, phase, device, batch, context):
        low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        products(tf32=precision == "tf32")
        self.model, self.phase, self.device = model, phase, device
        self.cast = torch.autocast(device, dtype=low or torch.bfloat16, enabled=low is not None)
        self.scale = 65536.0 if precision == "fp16" else 1.0
        self.optimizer = optimizer_of(model) if phase == "train" else None
        self.token = torch.randint(VOCABULARY, (batch, context), device=device)
        self.target = torch.randint(VOCABULARY, (batch, context), device=device)
        self.phases = {"forward": self.forward}
        if phase != "forward":
            self.phases["backward"] = self.backward
        if phase == "train":
            self.phases["optimizer"] = self.update

    def forward(self):
        with torch.set_grad_enabled(self.phase != "forward"), self.cast:
            self.loss = self.model(self.token, self.target)

    def backward(self):
        (self.loss * self.scale).backward()

    def update(self):
        if self.scale != 1:
            torch._foreach_mul_([p.grad for p in self.model.parameters()], 1 / self.scale)
        self.optimizer.step()

    def run(self):
        times = {}
        for name, phase in self.phases.items():
            wait(self.device)
            start = time.perf_counter_ns()
            phase()
            wait(self.device)
            times[name] = time.perf_counter_ns() - start
        self.model.zero_grad(set_to_none=True)
        return times


def measure(row, arguments):
    size, precision, phase = row["size"], row["precision"], row["phase"]
    torch.manual_seed(1)
    Block.fused = row["attention"] == "fused"
    with torch.device(arguments.device):
        model = Model(*SIZES[size], VOCABULARY, arguments.context)
    step = Step(model, precision, phase, arguments.device, arguments.batch, arguments.context)
    for _ in range(arguments.warmup):
        step.run()
    forget_peak(arguments.device)
    times = [step.run() for _ in range(arguments.iterations)]
    found = {"parameters": sum(p.numel() for p in model.parameters()), "loss": step.loss.item()}
    found["peak_allocated_bytes"] = peak(arguments.device)
    for name in times[0]:
        found.update(summary(name, [one[name] for one in times]))
    return found


# --- the same numbers as nvtally ---------------------------------------------------------------------------


def check(device, folder):
    here = pathlib.Path(__file__).resolve().parent.parent / "reference"
    sys.path.insert(0, str(here))
    sys.dont_write_bytecode = True
    from draw import draw, tokens
    from exchange import read

    d, ff, layers, heads, vocabulary, batch, context, seed = 32, 64, 2, 4, 50, 2, 8, 1
    header = (here / "transformer.h").read_text().split("{")[1]
    expected = [float(number) for number in re.findall(r"\d+\.\d+", header)]
    if folder:
        tensors, *inputs = read(folder, d, ff, layers, vocabulary, batch, context)
    else:
        tensors = draw(d, ff, layers, vocabulary, context, seed)
        inputs = [tokens(batch * context, vocabulary, seed, stream) for stream in (100001, 100002)]
    products()
    model = Model(d, ff, layers, heads, vocabulary, context)
    with torch.no_grad():
        for parameter, values in zip(model.numbered(), tensors):
            parameter.copy_(torch.from_numpy(values))
    model.to(device)
    token, target = (torch.from_numpy(words).view(batch, context).to(device) for words in inputs)
    optimizer = optimizer_of(model)
    worst = 0.0
    for loss in expected:
        ours = model(token, target)
        worst = max(worst, abs(ours.item() / loss - 1))
        optimizer.zero_grad()
        ours.backward()
        optimizer.step()
    print(f"{len(expected)} losses, PyTorch {torch.__version__} on {device}: off by at most {worst:.1e}")
    return 0 if worst < 1e-4 else 1


def main():
    parser = argparse.ArgumentParser(description="The transformer in PyTorch, eager.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--parameters")
    parser.add_argument("--size", type=words)
    parser.add_argument("--precision", type=words, default=["fp32"])
    parser.add_argument("--phase", type=words, default=["forward_backward"])
    parser.add_argument("--attention", type=words, default=["eager"])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.device, arguments.parameters)
    if not arguments.size or not arguments.output:
        parser.error("--size and -o are needed")
    rows = Rows(arguments.output,
                ("size", "precision", "phase", "attention", "batch", "context", "warmup", "iterations"))
    for size, precision, phase, attention in itertools.product(
            arguments.size, arguments.precision, arguments.phase, arguments.attention):
        row = {
            "workload": "transformer", "size": size, "vocabulary": VOCABULARY, "batch": arguments.batch,
            "context": arguments.context, "precision": precision, "phase": phase, "graph": False,
            "attention": attention, **machine(arguments.device), "warmup": arguments.warmup,
            "iterations": arguments.iterations,
        }
        if not rows.has(row):
            rows.add(outcome(row, arguments.device, lambda: measure(row, arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
