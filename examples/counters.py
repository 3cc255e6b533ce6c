"""Records numbers over time as NVTX counters, beside the ranges.

The counters are the memory that each step allocates, the tokens that it works on, and the loss.

    nvtally record -o c.nvt -- python3 counters.py
    nvtally stats -r nvtx_counters,nvtx_counter_ranges c.nvt
    nvtally plot c.nvt
"""
import math
import time

import nvtx

domain = nvtx.get_domain("training")
allocated = domain.get_counter("allocated", int, semantics=nvtx.CounterSemantics(unit="bytes"))
tokens = domain.get_counter(
    "tokens", int, semantics=nvtx.CounterSemantics(value_type=nvtx.CounterValueType.DELTA)
)
loss = domain.get_counter("loss", float)

LAYERS, BYTES = 4, 3 << 20
held = []


def change(layer):
    held.append(layer) if layer is not None else held.pop()
    allocated.sample(len(held) * BYTES)
    time.sleep(0.0005)


allocated.sample(0)
for step in range(20):
    with nvtx.annotate("step"):
        with nvtx.annotate("forward"):
            for layer in range(LAYERS):
                change(layer)
        loss.sample(4 * math.exp(-step / 10))
        with nvtx.annotate("backward"):
            for _ in range(LAYERS):
                change(None)
        tokens.sample(2048)
