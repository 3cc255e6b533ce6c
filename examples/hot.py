"""What the host is busy with: steps that look alike, and a copy that nobody asked for.

    pip install nvtx
    nvtally record --trace nvtx,cpu -o hot.nvt -- python3 hot.py
    nvtally stats -r nvtx_cpu_sum,cpu_functions hot.nvt
    nvtally record --trace nvtx,cpu -o later.nvt -- python3 hot.py shared
    nvtally plot --iteration step hot.nvt vs later.nvt
"""
import copy
import json
import random
import sys
import zlib

import nvtx

DEFAULTS = {"crop": [224, 224], "flip": True, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
            "levels": [{"scale": 2.0 ** -level, "weights": [1.0] * 32} for level in range(64)]}
RECORDS = [json.dumps({"id": i, "values": [random.random() for _ in range(256)]}) for i in range(64)]


def settings():
    if "shared" in sys.argv:
        return DEFAULTS
    return copy.deepcopy(DEFAULTS)  # for each sample, though nobody changes it


def augment(values):
    chosen = settings()
    return [value * chosen["levels"][0]["scale"] + random.gauss(0, 0.1) for value in values]


def step():
    with nvtx.annotate("load"):
        samples = [json.loads(record)["values"] for record in RECORDS]
    with nvtx.annotate("augment"):
        samples = [augment(values) for values in samples]
    with nvtx.annotate("save"):
        return zlib.compress(json.dumps(samples).encode(), 1)


for number in range(40):
    with nvtx.annotate("step"):
        step()
