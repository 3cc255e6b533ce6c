#!/usr/bin/env python3
"""What HolisticTraceAnalysis shows of profiles, as words that beside.py can count. Run with a Python that has HTA.

    hta_says.py PROFILE.json...    a line of JSON each: [[share of the time, words], ...], the largest first

HTA prints tables and no verdicts. A number of at least a tenth of the time counts as naming the causes that HTA's documentation
gives for it, all of them at once.
"""
import json
import logging
import math
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

LEAST = 0.1


def number(value):
    return 0 if value is None or math.isnan(float(value)) else float(value)


def idle_times(analysis):
    """Temporal breakdown; idle time breakdown, by who is waited for."""
    whole = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    idle = number(whole["idle_time_pctg"]) / 100
    yield idle, "temporal breakdown: idle gap bubble utilization"
    rows = analysis.get_idle_time_breakdown(visualize=False)[0]
    for kind, words in (("host_wait", "host wait: idle gap, launch, sync"), ("kernel_wait", "kernel wait: launch small kernel")):
        share = number(rows.loc[rows["idle_category"] == kind, "idle_time"].sum()) / max(number(rows["idle_time"].sum()), 1)
        yield idle * share, words


def kernels(analysis):
    """Kernel breakdown: copies; communication that nothing overlaps."""
    kinds = analysis.get_gpu_kernel_breakdown(visualize=False)[0]
    shares = {row["kernel_type"]: number(row["percentage"]) / 100 for _, row in kinds.iterrows()}
    yield sum(share for kind, share in shares.items() if "MEMORY" in kind), "memory: memcpy copies h2d pageable pinned memory transfer"
    overlap = number(analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]) / 100
    yield sum(share for kind, share in shares.items() if "COMMUNICATION" in kind) * (1 - overlap), "communication overlap: nccl collective"


def launches(analysis):
    """Launch statistics: kernels shorter than their launch, and launches that take 50 us and more; the queue."""
    stats = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
    yield (stats["gpu_duration"] < stats["cpu_duration"]).mean(), "short kernels: launch small kernel"
    slow = stats.loc[stats["cpu_duration"] > 50, "cpu_duration"].sum()
    yield number(slow) / max(number(stats["gpu_duration"].sum()), 1), "runtime outliers: launch load first cold warm"
    queue = analysis.get_queue_length_summary()
    if queue is not None and number(queue["queue_length"]["mean"].max()) < 1:
        yield LEAST, "queue length below 1: launch"
    full = analysis.get_time_spent_blocked_on_full_queue(analysis.get_queue_length_time_series())
    if full is not None and len(full):
        yield number(full["relative_duration_at_max_queue_length"].max()), "blocked on a full queue: stall"


def look(path):
    found = []
    analysis = TraceAnalysis(trace_files={0: path})
    for part in (idle_times, kernels, launches):
        try:
            found += [(float(share), words) for share, words in part(analysis) if share >= LEAST]
        except Exception:  # HTA's own, of what a profile lacks: it shows nothing then
            pass
    return sorted(found, reverse=True)


for name in sys.argv[1:]:
    try:
        print(json.dumps(look(name)), flush=True)
    except Exception as error:
        print(json.dumps([]), flush=True)
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
