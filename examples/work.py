"""Says of its ranges what work they stand for: FLOPs, and the bytes that must be moved at least.

Here words in the names of the ranges say it, "flops=" and "bytes=", which works with whatever makes ranges. With NumPy a
payload does it, too; work.c has the same in C:

    WORK = numpy.dtype([("flops", "u8"), ("bytes", "u8")])
    with nvtx.annotate("triad", payload=numpy.array((2 * N, 24 * N), dtype=WORK)):

    nvtally record -o work.nvt -- python3 work.py
    nvtally stats -r roofline work.nvt
"""
from array import array
from operator import mul

from nvtx import annotate

N = 1 << 17
BYTES = 1 << 26
source, target = memoryview(bytes(BYTES)), memoryview(bytearray(BYTES))
x = array("d", [1.0]) * N

for _ in range(10):
    with annotate(f"copy flops=0 bytes={2 * BYTES}"):  # read and written
        target[:] = source
    with annotate(f"sum flops={N} bytes={8 * N}"):
        sum(x)
    with annotate(f"dot product flops={2 * N} bytes={8 * N}"):
        sum(map(mul, x, x))
