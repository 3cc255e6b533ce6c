"""Says of its ranges what work they stand for: FLOPs, and the bytes that must be moved at least.

Here the words "flops=" and "bytes=" in the name of a range say it, which works with whatever makes ranges. With NumPy,
a payload does it without a long name; work.c has the same in C:

    WORK = numpy.dtype([("flops", "u8"), ("bytes", "u8")])
    with nvtx.annotate("triad", payload=numpy.array((2 * N, 24 * N), dtype=WORK)):

    nvtally record -o work.nvt -- python3 work.py
    nvtally stats -r roofline work.nvt
"""
from array import array
from operator import mul

from nvtx import annotate

N = 1 << 23
source = memoryview(bytes(N * 8))
copy = memoryview(bytearray(N * 8))
x = array("d", [1.0]) * (N // 64)

for _ in range(10):
    with annotate(f"copy flops=0 bytes={2 * source.nbytes}"):
        copy[:] = source
    with annotate(f"dot product flops={2 * len(x)} bytes={16 * len(x)}"):
        sum(map(mul, x, x))
