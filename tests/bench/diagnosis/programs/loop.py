"""Loops of plain Python for the benchmark of diagnosis: `loop.py PROGRAM STEPS COST_MS [well]`.

Each step works with compiled code for BASE_S, and PROGRAM's trouble adds about COST_MS. Prints the median and the mean step of the
second half in ns.
"""
import asyncio
import copy
import hashlib
import json
import logging
import os
import sys
import threading
import time

import nvtx

BASE_S = 0.008
BLOCK = bytes(1 << 18)
SETTINGS = {f"layer{i}": {"sizes": list(range(20)), "names": ["a", "b", "c"]} for i in range(20)}


def work():
    """Compiled code that nothing is to be said about."""
    until = time.thread_time() + BASE_S
    while time.thread_time() < until:
        hashlib.blake2b(BLOCK).digest()


def for_s(seconds, piece):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        piece()


def copy_settings():
    copy.deepcopy(SETTINGS)


def dump_state():
    json.loads(json.dumps(SETTINGS))


def write_log():
    for i in range(20):
        logging.debug("step %d of %s", i, "prepare")


class Holder(threading.Thread):
    """Holds a lock for so long whenever it is asked to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.lock, self.asked, self.holds, self.cost_s = threading.Lock(), threading.Event(), threading.Event(), 0
        self.start()

    def run(self):
        while True:
            self.asked.wait()
            self.asked.clear()
            with self.lock:
                self.holds.set()
                time.sleep(self.cost_s)

    def wait_for(self, cost_s):
        self.cost_s = cost_s
        self.holds.clear()
        self.asked.set()
        self.holds.wait()
        with self.lock:
            pass


def save(cost_s):
    until = time.perf_counter() + cost_s
    while time.perf_counter() < until:
        with open("state.bin", "wb") as file:
            file.write(BLOCK)
            file.flush()
            os.fsync(file.fileno())


def block_loop(cost_s):
    time.sleep(cost_s)


async def serve(steps, cost_s, bad):
    """Requests, and a task that wants to run every 5 ms: "block" does not await what takes long, "serve" is well."""
    async def beat():
        while True:
            with nvtx.annotate("beat"):
                await asyncio.sleep(0.005)

    other, times = asyncio.create_task(beat()), []
    for _ in range(steps):
        begin = time.perf_counter_ns()
        with nvtx.annotate("iteration"):
            await asyncio.sleep(BASE_S)
            if bad:
                block_loop(cost_s)
        times.append(time.perf_counter_ns() - begin)
    other.cancel()
    return times


def main():
    program, steps, cost_s, bad = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000, len(sys.argv) < 5
    troubles = {
        "deepcopy": lambda: for_s(cost_s, copy_settings),
        "json": lambda: for_s(cost_s, dump_state),
        "log": lambda: for_s(cost_s, write_log),
        "lock": lambda: holder.wait_for(cost_s),
        "save": lambda: save(cost_s),
        "sleep": lambda: time.sleep(cost_s),
        "plain": lambda: None,
    }
    trouble = troubles.get(program)
    logging.basicConfig(filename="loop.log", level=logging.DEBUG)
    holder = Holder() if program == "lock" else None
    times = [] if trouble else asyncio.run(serve(steps, cost_s, bad and program == "block"))
    for _ in range(steps if trouble else 0):
        begin = time.perf_counter_ns()
        with nvtx.annotate("iteration"):
            work()
            if bad:
                with nvtx.annotate("prepare"):
                    trouble()
        times.append(time.perf_counter_ns() - begin)
    half = times[len(times) // 2:]
    print(sorted(half)[len(half) // 2], sum(half) // len(half), flush=True)


if __name__ == "__main__":
    main()
