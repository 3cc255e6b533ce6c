"""Training loops of PyTorch on the CPU for the benchmark of diagnosis: `train.py PROGRAM STEPS COST_MS [well]`.

Prints the mean step of the second half in ns.
"""
import os
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    """Rows, the first of each batch slow to load."""

    def __init__(self, count, load_s, batch):
        self.count, self.load_s, self.batch = count, load_s, batch

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.load_s and index % self.batch == 0:
            time.sleep(self.load_s)
        return torch.full((64,), float(index % 7)), torch.tensor(index % 3)


def batches(steps, cost_s, workers=0):
    # To hand over a batch costs a worker and the loop 2 ms whatever its size: where that is to be little, the step is long.
    rows = 256 if workers else 8
    return DataLoader(Rows(rows * steps, cost_s, rows), batch_size=rows, num_workers=workers)


class Holder(threading.Thread):
    """Holds a lock for so long whenever it is asked to."""

    def __init__(self, lock, cost_s):
        super().__init__(daemon=True)
        self.lock, self.cost_s, self.asked, self.holds = lock, cost_s, threading.Event(), threading.Event()

    def run(self):
        while True:
            self.asked.wait()
            self.asked.clear()
            with self.lock:
                self.holds.set()
                time.sleep(self.cost_s)


def main():
    program, steps, cost_s, bad = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000, len(sys.argv) < 5
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(),
                                  torch.nn.Linear(1024, 3)])
    optimizer = torch.optim.AdamW(model.parameters())
    lock = threading.Lock()
    holder = Holder(lock, cost_s)
    holder.start()
    slow = program == "input" and bad
    ahead = program == "workers"
    times, begin, kept = [], time.perf_counter_ns(), []
    for step, (rows, labels) in enumerate(batches(steps, cost_s if slow else 0.0005 if ahead else 0, 1 if ahead else 0)):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        if program == "checkpoint" and bad:
            until = time.perf_counter() + cost_s
            while time.perf_counter() < until:
                with open("model.pt", "wb") as file:
                    torch.save(model.state_dict(), file)
                    file.flush()
                    os.fsync(file.fileno())
        if program == "evaluation" and bad and step % 10 == 9:
            until = time.perf_counter() + 10 * cost_s
            model.eval()
            with torch.no_grad():
                while time.perf_counter() < until:
                    model(rows)
            model.train()
        if program == "pause" and bad:
            time.sleep(cost_s)
        if program == "lock" and bad:
            holder.holds.clear()
            holder.asked.set()
            holder.holds.wait()
            with lock:
                pass
        now = time.perf_counter_ns()
        times.append(now - begin)
        begin = now
    half = times[len(times) // 2:]
    print(sorted(half)[len(half) // 2], sum(half) // len(half), flush=True)


if __name__ == "__main__":
    main()
