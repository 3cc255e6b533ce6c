#!/usr/bin/env python3
"""The fragment study in PyTorch, beside ours: nn.Linear, and a layer written from the study's definition.

usage: fragmented.py --size 2048,4096 [--batch 1,8,16] [--mode linear,train,inference] [--fragments 2,8,32,128]
                     [--adam default,fused] [--warmup N] [--iterations N] [--device cuda] -o FILE

One JSON object a configuration is appended to FILE, with the keys of `nvtally run`; what is there already
is not measured again. Phases as in ours: "forward" is the layer's, "backward" is zero_grad, backward and
the Adam step; each is timed with a synchronisation before and behind it. The value of the loss, which ours
does not need, is computed between the two. --adam fused is PyTorch's own Adam in one kernel,
of the linear layer beside the default one.
"""

import argparse
import time

import torch
from torch import nn

from study import Rows, forget_peak, machine, numbers, outcome, peak, products, summary, wait, words


class FragmentedLinear(nn.Module):
    """x[batch][in] is seen as [batch][fragments][in / fragments]. A selector scores each fragment; soft
    (train) blends the experts' outputs by softmax, hard (inference) takes the best one's. What the expert
    path used is masked before the compression path: out = expert + masked · Aᵀ · Bᵀ. No bias."""

    def __init__(self, size, fragments, hard):
        super().__init__()
        width, compressed, scale = size // fragments, size // 32, size**-0.5
        self.fragments, self.hard = fragments, hard
        self.selector = nn.Parameter(torch.randn(fragments, width) * scale)
        self.expert = nn.Parameter(torch.randn(fragments, width, size) * scale)
        self.compressor = nn.Parameter(torch.randn(compressed, size) * scale)
        self.expansion = nn.Parameter(torch.randn(size, compressed) * scale)

    def soft(self, pieces):
        weight = torch.softmax((pieces * self.selector).sum(-1), dim=-1).unsqueeze(-1)
        weighted = (weight * pieces).flatten(1)
        return weighted @ self.expert.flatten(0, 1), (1 - weight) * pieces

    def looped(self, pieces):
        """A host loop over the fragments, which asks the device of each whether a sample chose it."""
        chosen = (pieces * self.selector).sum(-1).argmax(-1)
        out = pieces.new_zeros(pieces.shape[0], self.expert.shape[2])
        for fragment in range(self.fragments):
            mask = chosen == fragment
            if mask.any():
                rows = mask.nonzero().squeeze(1)
                out = out.index_copy(0, rows, pieces[rows, fragment] @ self.expert[fragment])
        kept = torch.ones(pieces.shape[:2], device=pieces.device)
        kept = kept.scatter(1, chosen.unsqueeze(1), 0.0)
        return out, kept.unsqueeze(-1) * pieces

    def forward(self, x):
        pieces = x.view(x.shape[0], self.fragments, -1)
        out, masked = self.looped(pieces) if self.hard else self.soft(pieces)
        return out + (masked.flatten(1) @ self.compressor.t()) @ self.expansion.t()


def timed(layer, x, target, optimizer, arguments):
    """Nanoseconds of forward and of backward with the step, of every timed iteration."""
    device = arguments.device
    forward, backward = [], []
    for iteration in range(arguments.warmup + arguments.iterations):
        if iteration == arguments.warmup:
            forget_peak(device)
        wait(device)
        start = time.perf_counter_ns()
        y = layer(x)
        wait(device)
        middle = time.perf_counter_ns()
        loss = nn.functional.mse_loss(y, target)
        wait(device)
        back = time.perf_counter_ns()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wait(device)
        end = time.perf_counter_ns()
        if iteration >= arguments.warmup:
            forward.append(middle - start)
            backward.append(end - back)
    return forward, backward


def configurations(arguments):
    for size in arguments.size:
        for batch in arguments.batch:
            row = {"size": size, "batch": batch}
            for mode in arguments.mode:
                variant = "looped" if mode == "inference" else None
                for fragments in [None] if mode == "linear" else arguments.fragments:
                    for adam in arguments.adam if mode == "linear" else arguments.adam[:1]:
                        yield {**row, "mode": mode, "fragments": fragments, "variant": variant, "adam": adam}


def measure(configuration, arguments):
    size, batch = configuration["size"], configuration["batch"]
    products()
    torch.manual_seed(1)
    with torch.device(arguments.device):
        if configuration["mode"] == "linear":
            layer = nn.Linear(size, size)
        else:
            layer = FragmentedLinear(size, configuration["fragments"], configuration["mode"] == "inference")
        x, target = torch.randn(batch, size), torch.randn(batch, size)
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3, fused=configuration["adam"] == "fused" or None)
    forward, backward = timed(layer, x, target, optimizer, arguments)
    return {
        **summary("forward", forward), **summary("backward", backward),
        "peak_allocated_bytes": peak(arguments.device),
        "parameters": sum(parameter.numel() for parameter in layer.parameters()),
    }


def main():
    parser = argparse.ArgumentParser(description="The fragment study in PyTorch.")
    parser.add_argument("--size", type=numbers, required=True)
    parser.add_argument("--batch", type=numbers, default=[1, 8, 16])
    parser.add_argument("--mode", type=words, default=["linear", "train", "inference"])
    parser.add_argument("--fragments", type=numbers, default=[2, 8, 32, 128])
    parser.add_argument("--adam", type=words, default=["default"])
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    rows = Rows(arguments.output, ("size", "batch", "mode", "fragments", "adam", "warmup", "iterations"))
    for configuration in configurations(arguments):
        row = {
            "workload": "fragmented", **configuration, **machine(arguments.device),
            "warmup": arguments.warmup, "iterations": arguments.iterations,
        }
        if not rows.has(row):
            rows.add(outcome(row, arguments.device, lambda: measure(row, arguments)))


if __name__ == "__main__":
    main()
