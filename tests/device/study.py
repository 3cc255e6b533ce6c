"""What the studies in PyTorch share: the clock, summaries, and rows that are appended and not measured again."""

import json
import os
import statistics
import time

import torch


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def summary(name, values):
    return {
        f"{name}_ns_mean": statistics.fmean(values),
        f"{name}_ns_std": statistics.stdev(values) if len(values) > 1 else None,
        f"{name}_ns_min": min(values),
        f"{name}_ns_median": statistics.median(values),
        f"{name}_ns_max": max(values),
    }


def machine(device):
    on_gpu = device == "cuda"
    return {
        "backend": "torch", "collect": "off", "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def peak(device):
    return torch.cuda.max_memory_allocated() if device == "cuda" else None


def forget_peak(device):
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def or_out_of_memory(row, measure):
    """The row with what measure() adds, or with the status oom."""
    try:
        return {**row, "status": "ok", **measure()}
    except torch.cuda.OutOfMemoryError as error:
        return {**row, "status": "oom", "message": str(error).splitlines()[0]}
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class Rows:
    """A file of JSON lines, whose rows are known by some of their keys."""

    def __init__(self, path, keys):
        self.path, self.keys = path, keys
        self.seen = set()
        if os.path.exists(path):
            with open(path) as rows:
                self.seen = {self.key(json.loads(row)) for row in rows}

    def key(self, row):
        return tuple(row[key] for key in self.keys)

    def has(self, row):
        return self.key(row) in self.seen

    def add(self, row):
        with open(self.path, "a") as output:
            output.write(json.dumps(row) + "\n")


def numbers(text):
    return [int(number) for number in text.split(",")]


def words(text):
    return text.split(",")
