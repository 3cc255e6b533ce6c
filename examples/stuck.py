"""A loop that saves what it has beside its work, until both wait for each other: what diagnose says of a hang."""
import threading
import time

import nvtx

weights, file = threading.Lock(), threading.Lock()
wanted, saved = threading.Event(), threading.Event()


def saver():
    while True:
        wanted.wait()
        wanted.clear()
        with nvtx.annotate("save"):
            with file:
                time.sleep(0.02)
                with weights:  # the loop takes them the other way round, if it logs meanwhile
                    time.sleep(0.01)
        saved.set()


threading.Thread(target=saver, daemon=True).start()
for step in range(1000):
    with nvtx.annotate("step"):
        with nvtx.annotate("update"), weights:
            time.sleep(0.05)
        if step % 10 == 0:
            wanted.set()
        if step == 20:
            time.sleep(0.01)
            with nvtx.annotate("log"), weights:
                time.sleep(0.05)
                with file:
                    pass
        elif step % 10 == 0:
            saved.wait()
            saved.clear()
