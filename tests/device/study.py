"""What the studies in PyTorch share: the clock, summaries, and rows that are appended and not measured again."""

import gc
import json
import os
import statistics
import sys
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


def products(tf32=False):
    """As the workloads ask for: float is multiplied as float, unless a row is of TF32, whatever the environment says
    (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE); products of halves add up in float. By default PyTorch lets cuBLAS round parts of a
    sum to the result's format before they are added up."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def peak(device):
    return torch.cuda.max_memory_allocated() if device == "cuda" else None


def forget_peak(device):
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def release(device):
    """What PyTorch keeps goes back, that of models that refer to themselves too; a context that is lost says so at the next
    call."""
    gc.collect()
    if device == "cuda":
        try:
            torch.cuda.empty_cache()
        except RuntimeError as error:
            print(f"memory is not freed: {error}", file=sys.stderr)


def outcome(row, device, measure):
    """The row with what measure() adds; with the status oom or error, and why, where it raises. As in timeit, Python looks
    for no garbage meanwhile: that takes tens of ms where PyTorch is loaded, whenever it comes."""
    gc.disable()
    try:
        return {**row, "status": "ok", **measure()}
    except Exception as error:  # whatever it is, the other rows go on
        status = "oom" if isinstance(error, torch.cuda.OutOfMemoryError) else "error"
        message = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:600]
        print(f"{status}: {message}", file=sys.stderr)
        return {**row, "status": status, "message": message}
    finally:
        gc.enable()
        release(device)


def whole_row(line):
    """The row of a line, or None where the line was cut."""
    try:
        return json.loads(line)
    except ValueError:
        return None


class Rows:
    """A file of JSON lines, whose rows are known by some of their keys. What failed or was cut is taken out of
    it, to be measured again."""

    def __init__(self, path, keys):
        self.path, self.keys = path, keys
        kept = []
        if os.path.exists(path):
            with open(path) as lines:
                rows = [whole_row(line) for line in lines]
            kept = [row for row in rows if row and row["status"] != "error"]
            self.write("w", kept)
        self.seen = {self.key(row) for row in kept}

    def key(self, row):
        return tuple(row[key] for key in self.keys)

    def has(self, row):
        return self.key(row) in self.seen

    def write(self, how, rows):
        with open(self.path, how) as output:
            output.writelines(json.dumps(row) + "\n" for row in rows)

    def add(self, row):
        self.write("a", [row])


def numbers(text):
    return [int(number) for number in text.split(",")]


def words(text):
    return text.split(",")
