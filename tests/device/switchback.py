#!/usr/bin/env python3
"""The SwitchBack study in PyTorch, beside ours: fp16 products, and two int8 paths for the quantised ones.

usage: switchback.py --dim LIST [--batch LIST] [--width-multiplier LIST] [--switch off,on] [--path torch,triton]
                     [--loops N] [--calls N] [--warmup N] [--device cuda] -o FILE
       switchback.py --check [--path torch,triton] [--device cuda]

--path torch takes torch._int_mm and eager operations around it, as few passes as there are; triton kernels written from
the study's definition (docs/workloads.md): a row is quantised in one pass, a whole matrix in one after PyTorch has
found its scale, and a product scales its sums before it stores them, in the fastest of several block sizes, which
the first call of a shape finds out. As in ours a time is that of a loop of calls under
one clock; there are several loops, whose means give the spread. One JSON object a configuration and path is
appended to FILE, with the keys of `nvtally run`; what is there already is not measured again.

--check compares every operation with double precision (TRITON_INTERPRET=1 runs the kernels on the CPU; that of Triton
3.6 wants a NumPy before 2.4).
"""

import argparse
import itertools
import os
import statistics
import sys
import time

import torch

from study import Rows, machine, numbers, outcome, products, wait, words

try:
    import switchback_triton as fused
except ImportError:
    fused = None

# --- eager ---


def quantized(v, scale):
    """round(127·v/s), ties to even; 0 where s is 0 or a NaN."""
    return v.float().mul_(127).div_(scale).round_().nan_to_num_(0, 0, 0).to(torch.int8)


def top(v, **dimension):
    """The largest magnitude, in one pass."""
    return torch.linalg.vector_norm(v, float("inf"), **dimension).float()


def by_row(v):
    scale = top(v, dim=1, keepdim=True)
    return quantized(v, scale), scale.squeeze(1)


def by_column_transposed(v):
    scale = top(v, dim=0, keepdim=True)
    return quantized(v, scale).t().contiguous(), scale.squeeze(0)


def whole(v):
    scale = top(v)
    return quantized(v, scale), scale


def whole_transposed(v):
    q, scale = whole(v)
    return q.t().contiguous(), scale


def int8_product(a, b, scale_a, scale_b):
    """a[m][k]·b[n][k]ᵀ, scaled by row of a and by row of b, or by one scale for all of b."""
    total = torch._int_mm(a, b.t())
    scale_b = scale_b / (127 * 127)
    if scale_b.dim():
        total, factor = total * scale_a[:, None], scale_b
    else:
        factor = (scale_a * scale_b)[:, None]
    # The last pass writes halves itself.
    return torch.mul(total, factor, out=torch.empty(total.shape, dtype=torch.float16, device=a.device))


class Path:
    """What of the study differs between the paths."""

    def __init__(self, name):
        triton = name == "triton"
        self.by_row = fused.quantize_rows if triton else by_row
        self.by_column_transposed = fused.quantize_columns_transposed if triton else by_column_transposed
        self.whole = fused.quantize_whole if triton else whole
        self.whole_transposed = fused.quantize_whole_transposed if triton else whole_transposed
        self.product = fused.product if triton else int8_product


# --- the operations ---


def operations(path, x, g, w):
    """Name and call of each, in the study's order. x[batch][in], g[batch][out], w[out][in]."""
    x8, sx = path.by_row(x)
    g8, sg = path.by_row(g)
    w8, sw = path.by_row(w)
    wt8, swt = path.by_column_transposed(w)
    wg8, swg = path.whole(w)
    wgt8, _ = path.whole_transposed(w)
    return {
        "standard_fwd": lambda: x @ w.t(),
        "standard_gw": lambda: g.t() @ x,
        "standard_gx": lambda: g @ w,
        "x_quantize_rowwise": lambda: path.by_row(x),
        "g_quantize_rowwise": lambda: path.by_row(g),
        "w_quantize_rowwise": lambda: path.by_row(w),
        "w_quantize_colwise_transpose": lambda: path.by_column_transposed(w),
        "w_quantize_global": lambda: path.whole(w),
        "w_quantize_global_transpose": lambda: path.whole_transposed(w),
        "rowwise_fwd": lambda: path.product(x8, w8, sx, sw),
        "rowwise_bwd": lambda: path.product(g8, wt8, sg, swt),
        "global_fwd": lambda: path.product(x8, wg8, sx, swg),
        "global_bwd": lambda: path.product(g8, wgt8, sg, swg),
        "cast_x": lambda: x.to(torch.int8),
        "cast_g": lambda: g.to(torch.int8),
        "cast_w": lambda: w.to(torch.int8),
    }


QUANTIZED = ("x_quantize_rowwise", "g_quantize_rowwise", "standard_gw")
TOTALS = {
    "time_standard": ("standard_fwd", "standard_gw", "standard_gx"),
    "time_rowwise": (*QUANTIZED, "w_quantize_colwise_transpose", "w_quantize_rowwise", "rowwise_fwd",
                     "rowwise_bwd"),
    "time_global": (*QUANTIZED, "w_quantize_global", "w_quantize_global_transpose", "global_fwd", "global_bwd"),
}


def loop(call, calls, device):
    """ns a call; 0 without calls."""
    wait(device)
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    wait(device)
    return (time.perf_counter_ns() - start) / max(calls, 1)


def copied(device):
    """Bytes read and written in a second by a copy far beyond caches: the fastest of ten."""
    source = torch.ones(1 << (30 if device == "cuda" else 22), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    loop(lambda: target.copy_(source), 2, device)
    return 2e9 * source.numel() / min(loop(lambda: target.copy_(source), 1, device) for _ in range(10))


def matrices(row, device):
    narrow, wide = row["dim"], int(row["dim"] * row["width_multiplier"])
    features, out = (wide, narrow) if row["switch"] else (narrow, wide)
    sizes = ((row["batch"], features), (row["batch"], out), (out, features))
    return [torch.randn(size, dtype=torch.float16, device=device) for size in sizes]


def measure(row, path, arguments):
    torch.manual_seed(1)
    products()
    x, g, w = matrices(row, arguments.device)
    times = {}
    for name, call in operations(Path(path), x, g, w).items():
        loop(call, arguments.warmup, arguments.device)
        times[name] = [loop(call, arguments.calls, arguments.device) for _ in range(arguments.loops)]
    totals = {name: [sum(one) for one in zip(*(times[part] for part in parts))] for name, parts in TOTALS.items()}
    found = {"loops": arguments.loops, "copy_bytes_per_s": copied(arguments.device)}
    for name, values in {**times, **totals}.items():
        found[f"{name}_ns_mean"] = statistics.fmean(values)
        found[f"{name}_ns_std"] = statistics.stdev(values) if len(values) > 1 else None
    return found


# --- the check ---


def is_as_defined(v, dimension, found, transposed=False):
    """Whether integers and scales are those of the definition; of the whole without a dimension."""
    integers, scale = found
    top = v.abs().amax(dimension, keepdim=True) if dimension is not None else v.abs().amax()
    exact = torch.round((127 * v.float() / top.float()).double()).nan_to_num(0)
    return (torch.equal(integers.double(), exact.t() if transposed else exact) and
            torch.equal(scale.double().flatten(), top.double().flatten()))


def worst_of(path, x, g, w):
    """How far the int8 products are off from those of the scaled integers in double precision, relative to
    the largest, and which integers are not as defined."""
    calls = operations(path, x, g, w)
    quantised = {"x_quantize_rowwise": (x, 1), "g_quantize_rowwise": (g, 1), "w_quantize_rowwise": (w, 1),
                 "w_quantize_colwise_transpose": (w, 0, True), "w_quantize_global": (w, None),
                 "w_quantize_global_transpose": (w, None, True)}
    wrong = [name for name, (v, dimension, *transposed) in quantised.items()
             if not is_as_defined(v, dimension, calls[name](), *transposed)]
    x8, sx = by_row(x)
    g8, sg = by_row(g)
    pairs = {"rowwise_fwd": (x8, sx, *by_row(w)), "rowwise_bwd": (g8, sg, *by_column_transposed(w)),
             "global_fwd": (x8, sx, *whole(w)), "global_bwd": (g8, sg, *whole_transposed(w))}
    worst = 0.0
    for name, (a, sa, b, sb) in pairs.items():
        exact = (a.double() @ b.double().t()) * sa.double()[:, None] * sb.double() / 127**2
        off = (calls[name]().double() - exact).abs().max() / exact.abs().max()
        worst = max(worst, off.item())
    return worst, wrong


# dim and batch: edges of blocks, and on a device what the kernels of the study's sizes take.
CHECKED = ((64, 96), (1024, 1280))


def check(paths, device):
    products()
    for name in paths:
        path, worst, wrong = Path(name), 0.0, []
        for dim, batch in CHECKED if device == "cuda" else CHECKED[:1]:
            torch.manual_seed(2)
            row = {"dim": dim, "width_multiplier": 4, "switch": False, "batch": batch}
            x, g, w = matrices(row, device)
            x[3], w[:, 5] = 0, 0
            x[4, :8] = torch.tensor([127, 0.5, 1.5, -2.5, 3.5, -0.5, 126.5, -127])  # halves of a step
            x[4, 8:] = 0
            off, less = worst_of(path, x, g, w)
            worst, wrong = max(worst, off), wrong + less
        # A result is rounded to half: at most 2⁻¹¹ of it, and the scales to float before that.
        print(f"{name}: products off by at most {worst:.1e} of the largest; integers "
              f"{'wrong in ' + ', '.join(wrong) if wrong else 'as defined'}", flush=True)
        if wrong or worst > 6e-4:
            return 1
    return 0


def configurations(arguments):
    for dim, batch, multiplier, switch in itertools.product(
            arguments.dim, arguments.batch, arguments.width_multiplier, arguments.switch):
        yield {"workload": "switchback", "dim": dim, "batch": batch, "width_multiplier": multiplier,
               "switch": switch == "on", "timing": "loop"}


def main():
    parser = argparse.ArgumentParser(description="The SwitchBack study in PyTorch.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dim", type=numbers)
    parser.add_argument("--batch", type=numbers, default=[32768])
    parser.add_argument("--width-multiplier", type=lambda text: [float(w) for w in words(text)], default=[4.0])
    parser.add_argument("--switch", type=words, default=["off", "on"])
    parser.add_argument("--path", type=words, default=["torch", "triton"])
    parser.add_argument("--loops", type=int, default=4)
    parser.add_argument("--calls", type=int, default=16)
    parser.add_argument("--warmup", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    if fused is None and "triton" in arguments.path:
        print("no Triton here: that path is left out", file=sys.stderr)
        arguments.path.remove("triton")
    if arguments.device == "cpu" and not os.environ.get("TRITON_INTERPRET") and "triton" in arguments.path:
        arguments.path.remove("triton")
    if arguments.check:
        return check(arguments.path, arguments.device)
    if not arguments.dim or not arguments.output:
        parser.error("--dim and -o are needed")
    rows = Rows(arguments.output, ("dim", "batch", "width_multiplier", "switch", "backend", "warmup", "iterations"))
    for row in configurations(arguments):
        for path in arguments.path:
            row = {**row, **machine(arguments.device), "backend": path, "warmup": arguments.warmup,
                   "iterations": arguments.calls * arguments.loops}
            if not rows.has(row):
                rows.add(outcome(row, arguments.device, lambda: measure(row, path, arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
