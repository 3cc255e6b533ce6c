#!/usr/bin/env python3
"""Other analyzers on the cases of `make bench-diagnosis` that they can read: files of nsys's schema, one trouble or none each.

    beside.py FOLDER [NSYS_AI [HTA_PYTHON]]    FOLDER: with cases.tsv (NVTALLY_BENCH_WRITE); NSYS_AI: that program, HTA_PYTHON: a
                                               Python that has HolisticTraceAnalysis (hta_says.py), if they are to be run

Each tool's findings count as right if a word of the trouble is in them, however they put it. Findings that only describe
(nsys-ai's severity "info", all of HTA's) count as found, but not as false. `nvtally diagnose` reads the same files; HTA gets them
as profiles of PyTorch (`export --to chrome`). BEFORE=build folder of an earlier nvtally, to compare with.
"""
import collections
import concurrent.futures
import json
import os
import re
import sqlite3
import subprocess
import sys

NVTALLY = os.path.join(os.environ.get("BUILD", "build"), "nvtally")

# What a finding has to say to be about a trouble, by any tool but ours. Generous: any mention of the kind will do.
WORDS = {
    "sync-bound": r"sync",
    "launch-bound": r"launch|small kernel",
    "many small kernels": r"launch|small kernel",
    "GPU idle": r"idle|gap|bubble|utili[sz]ation",
    "code loading": r"load|jit|compil",
    "stalled device": r"idle|gap|bubble|stall",
    "pageable copies": r"pageable|pinned",
    "exposed copies": r"h2d|memory transfer|memcpy|copy|copies",
    "tiny copies": r"h2d|memory transfer|memcpy|copy|copies",
    "allocation in the loop": r"alloc",
    "exposed communication": r"nccl|communication|collective",
    "tail effect": r"\btail|wave|\bgrid|occupancy",
    "small grid": r"\bgrid|occupancy|blocks\b",
    "pages on demand": r"unified|managed|migration|page fault",
    "page faults": r"unified|managed|page fault",
    "memory growth": r"grow|leak",
    "slow iterations": r"iteration|outlier|variance",
    "un-synchronised timing": r"async|un-?synchroni",
    "cold start": r"warm|cold|first",
    "warm-up": r"warm|cold|first|iteration",
    "between steps": r"checkpoint|fsync|between|idle|gap|bubble",
    "periodic work": r"period|every|iteration|evaluat|idle|gap",
    "slow clock": r"clock|throttl|thermal",
    "held memory": r"fragment|reserved|cache",
    "out of memory": r"out of memory|oom",
    "MPI": r"mpi",
    "torch.distributed": r"distributed|communication|collective",
}
OURS = {"launch-bound": ("launch-bound", "many small kernels"), "many small kernels": ("many small kernels", "launch-bound"),
        "between steps": ("between steps", "host blocked"), "cold start": ("cold start", "warm-up inside"),
        "warm-up": ("warm-up inside", "cold start")}


def nvtally(path, program=NVTALLY):
    out = subprocess.run([program, "diagnose", "-f", "json", path], capture_output=True, text=True, check=True).stdout
    data = json.loads(out)
    rows = data if isinstance(data, list) else data.get("findings", data.get("rows", []))
    return [(row["cause"], True) for row in rows]


def nsys_ai(program, path):
    done = subprocess.run([program, "diagnose", path, "--format", "json"], capture_output=True, text=True, cwd="/tmp")
    try:
        found = json.loads(done.stdout[done.stdout.index("{"):])["findings"]
    except (ValueError, KeyError):
        return []
    return [(f"{row.get('category')} {row.get('label')} {row.get('note')}", row.get("severity") != "info") for row in found]


def hta(python, paths):
    """Of all files at once, as loading HTA takes seconds."""
    profiles = []
    for path in paths:
        profiles.append(os.path.abspath(path[:-len("sqlite")] + "json"))
        subprocess.run([NVTALLY, "export", path, "--to", "chrome", "-f", "-o", profiles[-1]], capture_output=True, check=True)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hta_says.py")
    out = subprocess.run([python, script, *profiles], capture_output=True, text=True, check=True).stdout
    return {path: [(words, False) for _, words in json.loads(line)] for path, line in zip(paths, out.splitlines(), strict=True)}


def expert_rules(path):
    """The six expert-system rules that Nsight Systems documents (User Guide, "Expert Systems Analysis"), as plain SQL."""
    base = sqlite3.connect(path)
    has = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def count(table, query):
        return base.execute(query).fetchone()[0] or 0 if table in has else 0

    found = []
    copies, sets, calls = ("CUPTI_ACTIVITY_KIND_" + kind for kind in ("MEMCPY", "MEMSET", "RUNTIME"))
    api = "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = c.correlationId JOIN StringIds s ON s.id = r.nameId"
    if count(copies, f"SELECT count(*) FROM {copies} c {api} WHERE (srcKind = 0 OR dstKind = 0) AND s.value LIKE '%Async%'"):
        found.append("cuda_memcpy_async: asynchronous copies of pageable memory")
    if count(copies, f"SELECT count(*) FROM {copies} c {api} WHERE s.value NOT LIKE '%Async%' AND copyKind != 8"):
        found.append("cuda_memcpy_sync: synchronous memcpy that blocks the host")
    if count(sets, f"SELECT count(*) FROM {sets} c {api} WHERE s.value NOT LIKE '%Async%'"):
        found.append("cuda_memset_sync: synchronous memset")
    if count(calls, f"SELECT count(*) FROM {calls} r JOIN StringIds s ON s.id = r.nameId WHERE s.value LIKE '%Synchronize%'"):
        found.append("cuda_api_sync: synchronization calls that block the host")
    work = sorted(row for table in ("CUPTI_ACTIVITY_KIND_KERNEL", copies, sets) if table in has
                  for row in base.execute(f"SELECT start, end FROM {table}"))
    last, busy, gap = work[0][0], 0, 0
    for start, end in work:
        gap = max(gap, start - last)
        busy += max(0, end - max(start, last))
        last = max(last, end)
    if gap > 500e6:
        found.append("gpu_gaps: idle for more than 500 ms")
    if busy < 0.5 * (last - work[0][0]):
        found.append("gpu_time_util: GPU utilization below 50 %")
    return [(text, True) for text in found]


def main():
    folder, program, python = (sys.argv[1:] + [None] * 2)[:3]
    tools = {"nvtally": nvtally, "nsys's expert rules": expert_rules}
    if os.environ.get("BEFORE"):
        tools["nvtally, before"] = lambda path: nvtally(path, os.path.join(os.environ["BEFORE"], "nvtally"))
    if program:
        tools["nsys-ai"] = lambda path: nsys_ai(program, path)
    with open(os.path.join(folder, "cases.tsv"), encoding="utf-8") as file:
        cases = [line.rstrip("\n").split("\t") for line in file]
    if python:
        tools["HTA"] = hta(python, [case[0] for case in cases]).get
    score = {tool: collections.Counter() for tool in tools}
    kinds = collections.defaultdict(lambda: collections.Counter())
    with concurrent.futures.ThreadPoolExecutor(16) as pool:  # nsys-ai waits for the network
        answers = {tool: list(pool.map(look, [case[0] for case in cases])) for tool, look in tools.items()}
    for number, (_, trouble, variant, _) in enumerate(cases):
        for tool in tools:
            found, total = answers[tool][number], score[tool]
            if trouble == "healthy":
                allowed = ("warm-up inside", "cold start") if variant == "compiling" else ()
                total["healthy"] += 1
                total["false"] += sum(1 for text, warns in found if warns and text not in allowed)
                continue
            if tool.startswith("nvtally"):
                right = [text in OURS.get(trouble, (trouble,)) for text, _ in found]
            else:
                right = [bool(re.search(WORDS[trouble], text, re.I)) for text, _ in found]
            total["cases"] += 1
            total["found"] += any(right)
            total["first"] += bool(right and right[0])
            total["findings"] += len(found)
            kinds[trouble][tool] += any(right)
            kinds[trouble]["cases"] += tool == "nvtally"
    print(f"{'tool':22} {'cases':>6} {'found':>8} {'first':>8} {'findings a case':>16} {'false a healthy trace':>22}")
    for tool, total in score.items():
        print(f"{tool:22} {total['cases']:6} {total['found'] / total['cases']:8.1%} {total['first'] / total['cases']:8.1%} "
              f"{total['findings'] / total['cases']:16.1f} {total['false'] / max(total['healthy'], 1):22.2f}")
    print(f"\n{'trouble':26} {'cases':>6}" + "".join(f" {tool:>20}" for tool in tools))
    for trouble, counts in kinds.items():
        print(f"{trouble:26} {counts['cases']:6}" + "".join(f" {counts[tool] / counts['cases']:20.0%}" for tool in tools))


if __name__ == "__main__":
    main()
