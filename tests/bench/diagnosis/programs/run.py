#!/usr/bin/env python3
"""Real programs with a known trouble, or none, recorded and diagnosed on this machine.

    run.py LOOP [CASES [SEED]]    LOOP: the program built of loop.c, LOOP++: that of loop.cpp; NVTALLY_TORCH_PYTHON: a Python with
                                  PyTorch, if there is one

Each case draws what its trouble costs. The truth is the difference of the mean iterations with and without it, unrecorded, run in
turn. Prints a table as bench.c does for made-up traces, with the load of the machine: sizes mean little on a busy one.
"""
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
NVTALLY = os.path.join(BUILD, "nvtally")
HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_PYTHON = os.environ.get("NVTALLY_TORCH_PYTHON")
PACKAGES = os.path.abspath(".deps/python")  # Python's nvtx

# Programs of one kind: how they are started (the cost is given in us or ms), a step without trouble, how many of them, troubles:
# (causes that are right, a word of its place, what it costs of the iteration at least; None: no size), and healthy programs.
Kind = collections.namedtuple("Kind", "command unit base_ms iterations options troubles healthy")


def kinds(loop):
    own = {
        "C": Kind([loop], 1000, 4, 200, [], {
            "save": (("host blocked",), "model.ckpt", 0.2),
            "sleep": (("host blocked",), "throttle", 0.2),
            "lock": (("host blocked",), "enqueue", 0.2),
            "busy": (("busy host",), "parse", 0.2),
            "evaluate": (("periodic work",), "evaluat", 0.1),
            "hiccup": (("slow iterations", "periodic work"), None, 0.15),
            "serial": (("serial part",), "merge", None),
            "deadlock": (("deadlock",), "pthread_mutex_lock", None),
            "hang": (("hang",), "read", None),
        }, ["plain", "loader", "serve", "watch", "script"]),
        "C++": Kind([loop + "++"], 1000, 4, 200, [], {
            "allocate": (("busy host",), "index", 0.2),
            "text": (("busy host",), "log", 0.2),
            "lock": (("host blocked",), "look up", 0.2),
            "sleep": (("host blocked",), "poll", 0.2),
        }, ["plain"]),
        "Python": Kind([sys.executable, os.path.join(HERE, "loop.py")], 1, 8, 240, [], {
            "deepcopy": (("busy host",), "prepare", 0.2),
            "json": (("busy host",), "prepare", 0.2),
            "log": (("busy host",), "prepare", 0.2),
            "lock": (("host blocked",), "prepare", 0.2),
            "save": (("host blocked",), "state.bin", 0.2),
            "sleep": (("host blocked",), "prepare", 0.2),
            "block": (("host blocked",), "block_loop", 0.2),
        }, ["plain", "serve"]),
    }
    if TORCH_PYTHON:
        own["PyTorch"] = Kind([TORCH_PYTHON, os.path.join(HERE, "train.py")], 1, 8, 120, ["--pytorch"], {
            "input": (("input-bound",), None, 0.2),
            "checkpoint": (("between steps", "host blocked"), None, 0.2),
            "evaluation": (("periodic work",), "evaluation", 0.1),
            "pause": (("between steps", "host blocked"), None, 0.2),
            "lock": (("between steps", "host blocked"), None, 0.2),
        }, ["plain", "workers"])
    return own


# Of a healthy program: what is true of the machine and not of it, and of a process that starts.
ALLOWED = {"busy machine", "warm-up inside", "cold start"}


def command(kind, program, iterations, cost_ms, well):
    return kind.command + [program, str(iterations), f"{cost_ms * kind.unit:.3f}"] + ["well"] * well


def mean_ns(words, folder):
    return int(subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout.split()[1])


def truth_ns(kind, program, cost_ms, folder):
    """The median over three turns of how much longer the mean iteration is."""
    differences = []
    for _ in range(3):
        good, bad = (mean_ns(command(kind, program, kind.iterations, cost_ms, well), folder) for well in (True, False))
        differences.append(bad - good)
    return sorted(differences)[1]


def diagnose(kind, program, iterations, cost_ms, folder, ends=True):
    trace = os.path.join(folder, "t.nvt")
    words = [NVTALLY, "record", "-o", trace] + kind.options
    recorder = subprocess.Popen(words + ["--trace", "nvtx,osrt,cpu,machine", "--"] + command(kind, program, iterations, cost_ms, False),
                                cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    if not ends:
        time.sleep(12)
        os.killpg(recorder.pid, signal.SIGINT)
    _, errors = recorder.communicate()
    if ends and recorder.returncode:
        sys.exit(f"{program}: {errors.decode()}")
    out = subprocess.run([NVTALLY, "diagnose", "-f", "json", trace], capture_output=True, text=True, check=True).stdout
    os.remove(trace)
    return json.loads(out)


def case(kind, program, draw, score, confidences):
    causes, place, least = kind.troubles[program]
    share = min((least or 0.2) * draw.uniform(1.3, 3), 0.7)
    cost_ms = kind.base_ms * share / (1 - share)
    with tempfile.TemporaryDirectory() as folder:
        truth = truth_ns(kind, program, cost_ms, folder) if least else None
        found = diagnose(kind, program, kind.iterations, cost_ms, folder, program not in ("deadlock", "hang"))
    score["cases"] += 1
    right = [row for row in found if row["cause"] in causes]
    for row in found:
        confidences[row["confidence"]]["told"] += 1
        confidences[row["confidence"]]["right"] += row["cause"] in causes or row["cause"] in ALLOWED
        if row["cause"] not in causes and os.environ.get("NVTALLY_BENCH_MISSES"):
            print(f"also told: {program}: {row['cause']}: {row['what']}; {row['evidence']}")
    if not right:
        if os.environ.get("NVTALLY_BENCH_MISSES"):
            print(f"missed: {program} ({share:.0%})")
        return
    score["found"] += 1
    score["first"] += [row for row in found if row["cause"] not in ALLOWED][0] is right[0]
    if place:
        score["placeable"] += 1
        score["placed"] += place in " ".join(str(right[0][key]) for key in ("what", "evidence", "where"))
    if least:
        score["sizeable"] += 1
        score["sized"] += abs(right[0]["cost (ns)"] - truth) <= 0.2 * truth
        if os.environ.get("NVTALLY_BENCH_MISSES"):
            print(f"size: {program}: {right[0]['cost (ns)'] / truth:.3f} of {truth} ns; {right[0]['what']}")


def share(part, whole):
    return f"{part / whole:11.1%}" if whole else f"{'-':>11}"


def row(name, score):
    print(f"{name:26} {score['cases']:6} {share(score['found'], score['cases'])} {share(score['first'], score['found'])} "
          f"{share(score['placed'], score['placeable'])} {share(score['sized'], score['sizeable'])}", flush=True)


def main():
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns() % 10**9
    draw = random.Random(seed)
    confidences = collections.defaultdict(collections.Counter)
    total, false, healthy = collections.Counter(), 0, 0
    os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGES] + os.environ.get("PYTHONPATH", "").split(os.pathsep)).strip(os.pathsep)
    print(f"seed {seed}, {cases} cases of each program, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print(f"{'program':26} {'cases':>6} {'found':>11} {'first':>11} {'right place':>11} {'size +-20 %':>11}")
    own = kinds(os.path.abspath(sys.argv[1]))
    for name, kind in own.items():
        for program in kind.troubles:
            score = collections.Counter()
            for _ in range(cases):
                case(kind, program, draw, score, confidences)
            total.update(score)
            row(f"{name}: {program}", score)
    row("all", total)
    print(f"\n{'healthy':26} {'traces':>6} {'false findings':>15}")
    for name, kind in own.items():
        for program in kind.healthy:
            wrong = 0
            for _ in range(cases):
                with tempfile.TemporaryDirectory() as folder:
                    found = [row for row in diagnose(kind, program, 200, 0, folder) if row["cause"] not in ALLOWED]
                wrong += len(found)
                for item in found:
                    confidences[item["confidence"]]["told"] += 1
                    print(f"false: {program}: {item['cause']}: {item['what']}; {item['evidence']}")
            false, healthy = false + wrong, healthy + cases
            print(f"{name + ': ' + program:26} {cases:6} {wrong:15}", flush=True)
    print(f"{'all':26} {healthy:6} {false:15}   {false / healthy:.3f} a trace")
    print(f"\n{'confidence':26} {'told':>6} {'right':>11}")
    for name, counts in confidences.items():
        print(f"{name:26} {counts['told']:6} {share(counts['right'], counts['told'])}")
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
