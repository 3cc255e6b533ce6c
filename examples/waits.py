"""A loop whose host waits more than it works, for the file system and for another thread.

Each step reads a file, computes a little, looks every now and then whether another thread is done, and has its log
written to disk.

    nvtally record --trace nvtx,osrt -o waits.nvt -- python3 waits.py
    nvtally diagnose waits.nvt
    nvtally plot waits.nvt
"""
import os
import tempfile
import threading
import time

from nvtx import annotate

BYTES = 16 << 20


def work(milliseconds):
    end = time.perf_counter_ns() + 1000000 * milliseconds
    while time.perf_counter_ns() < end:
        pass


def answer(question, reply):
    while True:
        question.wait()
        question.clear()
        time.sleep(0.003)
        reply.set()


question, reply = threading.Event(), threading.Event()
threading.Thread(target=answer, args=(question, reply), daemon=True).start()

with tempfile.TemporaryDirectory(dir=".") as folder:
    data = os.open(os.path.join(folder, "samples.bin"), os.O_CREAT | os.O_RDWR)
    log = os.open(os.path.join(folder, "train.log"), os.O_CREAT | os.O_WRONLY)
    os.write(data, bytes(BYTES))
    for step in range(40):
        with annotate("step"):
            with annotate("load"):
                batch = os.pread(data, BYTES, 0)
            with annotate("compute"):
                work(2)
            with annotate("exchange"):
                question.set()
                while not reply.is_set():
                    time.sleep(0.001)
                reply.clear()
            with annotate("save"):
                os.write(log, b"step %d\n" % step)
                os.fsync(log)
