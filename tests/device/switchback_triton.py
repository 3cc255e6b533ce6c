"""The int8 operations of the SwitchBack study as Triton kernels, written from docs/workloads.md."""

import sys

import torch
import triton
import triton.language as tl

INFINITY = float("inf")


@triton.jit
def round_to_even(v):
    """Adding and taking 1.5·2²³ leaves a float of less than 2²² rounded to an integer, ties to even."""
    return (v + 12582912.0) - 12582912.0


@triton.jit
def quantize_row(v, q, scale, columns, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, block)
    inside = lane < columns
    x = tl.load(v + row * columns + lane, mask=inside, other=0.0).to(tl.float32)
    top = tl.max(tl.abs(x), axis=0)
    # An operator `/` would divide approximately on a device.
    rounded = round_to_even(tl.div_rn(127.0 * x, tl.where(top > 0, top, 1.0)))
    tl.store(q + row * columns + lane, rounded.to(tl.int8), mask=inside)
    tl.store(scale + row, top)


def quantize_rows(v):
    """int8 of v[rows][columns], and the scale of each row. Rows must not hold a NaN."""
    rows, columns = v.shape
    q = torch.empty_like(v, dtype=torch.int8)
    scale = torch.empty(rows, dtype=torch.float32, device=v.device)
    block = triton.next_power_of_2(columns)
    quantize_row[(rows,)](v, q, scale, columns, block=block, num_warps=min(16, max(4, block // 1024)))
    return q, scale


@triton.jit
def quantize_tile(v, q, scale, rows, columns, by_column: tl.constexpr, transposed: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    column = tl.program_id(1).to(tl.int64) * block + tl.arange(0, block)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(v + row[:, None] * columns + column[None, :], mask=inside, other=0.0).to(tl.float32)
    if by_column:
        top = tl.load(scale + column, mask=column < columns, other=1.0)[None, :].to(tl.float32)
    else:
        top = tl.load(scale).to(tl.float32)
    rounded = round_to_even(tl.div_rn(127.0 * x, tl.where(top > 0, top, 1.0) + tl.zeros_like(x))).to(tl.int8)
    if transposed:
        tl.store(q + column[:, None] * rows + row[None, :], tl.trans(rounded), mask=tl.trans(inside))
    else:
        tl.store(q + row[:, None] * columns + column[None, :], rounded, mask=inside)


def quantize_tiles(v, scale, transposed):
    rows, columns = v.shape
    q = torch.empty((columns, rows) if transposed else (rows, columns), dtype=torch.int8, device=v.device)
    block = 64
    grid = (triton.cdiv(rows, block), triton.cdiv(columns, block))
    quantize_tile[grid](v, q, scale, rows, columns, by_column=scale.dim() == 1, transposed=transposed, block=block,
                        num_warps=4)
    return q, scale.float()


def quantize_columns_transposed(v):
    """int8 of v[rows][columns], stored [columns][rows], and the scale of each column. v must not hold a NaN, here and
    below."""
    return quantize_tiles(v, torch.linalg.vector_norm(v, INFINITY, dim=0), True)


def quantize_whole(v):
    return quantize_tiles(v, torch.linalg.vector_norm(v, INFINITY), False)


def quantize_whole_transposed(v):
    return quantize_tiles(v, torch.linalg.vector_norm(v, INFINITY), True)


@triton.jit
def multiply(a, b, c, scale_a, scale_b, m, n, k, whole: tl.constexpr, block_m: tl.constexpr,
             block_n: tl.constexpr, block_k: tl.constexpr, group: tl.constexpr):
    # Blocks of `group` rows go down a column before the next column: what they read stays in the cache.
    place = tl.program_id(0)
    across = tl.cdiv(n, block_n)
    first = place // (group * across) * group
    high = min(tl.cdiv(m, block_m) - first, group)
    row_block = first + place % (group * across) % high
    column_block = place % (group * across) // high
    rows = row_block * block_m + tl.arange(0, block_m)
    columns = column_block * block_n + tl.arange(0, block_n)
    inner = tl.arange(0, block_k)
    at_a = a + rows.to(tl.int64)[:, None] * k + inner[None, :]
    at_b = b + columns.to(tl.int64)[None, :] * k + inner[:, None]
    total = tl.zeros((block_m, block_n), dtype=tl.int32)
    for start in range(0, k, block_k):
        left = k - start
        part_a = tl.load(at_a, mask=(rows[:, None] < m) & (inner[None, :] < left), other=0)
        part_b = tl.load(at_b, mask=(columns[None, :] < n) & (inner[:, None] < left), other=0)
        total = tl.dot(part_a, part_b, total, out_dtype=tl.int32)
        at_a += block_k
        at_b += block_k
    by_row = tl.load(scale_a + rows, mask=rows < m, other=0.0)
    if whole:
        by_column = tl.zeros((block_n,), dtype=tl.float32) + tl.load(scale_b)
    else:
        by_column = tl.load(scale_b + columns, mask=columns < n, other=0.0)
    out = total.to(tl.float32) * (by_row[:, None] * (by_column / 16129.0)[None, :])
    at_c = c + rows.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(at_c, out.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n))


# block_m, block_n, block_k, warps, stages; all within the 227 KB of shared memory that a block has on Hopper.
SMALL = (32, 32, 32, 8, 3)
CONFIGURATIONS = ((128, 256, 128, 8, 3), (128, 256, 128, 8, 4), (128, 256, 64, 8, 4), (256, 128, 128, 8, 3),
                  (128, 128, 128, 8, 4), (128, 128, 128, 4, 3))
fastest = {}


def tuned(run, shape):
    """The configuration that is fastest in five calls after a first one; one that does not run is passed over."""
    times, why = {}, None
    for one in CONFIGURATIONS:
        try:
            run(*one)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(5):
                run(*one)
            end.record()
            end.synchronize()
            times[one] = start.elapsed_time(end) / 5
        except Exception as error:  # of the compiler, or what the device has too little of
            why = error
            print(f"triton: {one} is left out: {error}", file=sys.stderr)
    if not times:
        raise why
    best = min(times, key=times.get)
    print(f"triton: {shape}: {best}, {times[best]:.3f} ms; the others up to {max(times.values()):.3f}", file=sys.stderr)
    return best


def product(a, b, scale_a, scale_b):
    """a[m][k]·b[n][k]ᵀ as halves, scaled by row of a and by row of b, or by one scale for all of b."""
    m, k = a.shape
    n = b.shape[0]
    c = torch.empty(m, n, dtype=torch.float16, device=a.device)
    whole = scale_b.dim() == 0

    def run(block_m, block_n, block_k, warps, stages):
        grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
        multiply[grid](a, b, c, scale_a, scale_b, m, n, k, whole=whole, block_m=block_m, block_n=block_n,
                       block_k=block_k, group=8, num_warps=warps, num_stages=stages)

    shape = (m, n, k)
    if shape not in fastest:
        fastest[shape] = SMALL if min(m, n) < 1024 else tuned(run, shape)
    run(*fastest[shape])
    return c
