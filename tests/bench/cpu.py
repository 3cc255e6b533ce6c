"""Work of a fixed size, 30 functions of Python deep: ms that it takes."""
import json
import sys
import time


def work():
    total = 0
    for i in range(300):
        total += len(json.dumps({"a": i, "b": [i, i + 1, i + 2]}))
    return total


def deeper(depth):
    return deeper(depth - 1) + 1 if depth else work()


begin = time.perf_counter()
for _ in range(int(sys.argv[1])):
    deeper(27)
print("%.3f" % ((time.perf_counter() - begin) * 1e3))
