"""A training loop's worth of NVTX ranges, for the command lines of the documentation."""
import time

try:
    import nvtx
except ImportError:
    raise SystemExit(0)

for step in range(100):
    with nvtx.annotate("iteration"):
        with nvtx.annotate("forward"):
            time.sleep(0.001)
        with nvtx.annotate("backward"):
            time.sleep(0.002)
