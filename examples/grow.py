"""A program whose cost grows with a number, N.

The outer range, in the domain nvtally, names the number that was varied. Each range "iteration" within it is
one pass of the loop. Record a trace for each of several numbers; diagnose then says what grows with N, and how.

    nvtally record -o grow8.nvt -- python3 grow.py 8
    nvtally diagnose grow*.nvt --by n
"""
import sys
import time

from nvtx import annotate

N = int(sys.argv[1])


def work(microseconds):
    end = time.perf_counter_ns() + 1000 * microseconds
    while time.perf_counter_ns() < end:
        pass


with annotate(f"grow n={N}", domain="nvtally"):
    for _ in range(20):
        with annotate("iteration", domain="nvtally"):
            with annotate("assemble", domain="nvtally"):
                for _ in range(N):
                    with annotate("element", domain="nvtally"):
                        work(20)
            with annotate("solve", domain="nvtally"):
                work(5 * N * N)
