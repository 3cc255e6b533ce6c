"""Calls in pools of threads and processes, each around a range that says what it is. Argument: how processes start."""
import asyncio
import concurrent.futures
import ctypes
import functools
import multiprocessing
import multiprocessing.pool
import os
import sys

_library = ctypes.PyDLL(os.environ["NVTALLY_PYTORCH_LIBRARY"])  # which calls NVTX, without a package
_library.nvtally_pytorch_name.restype = ctypes.c_void_p
_library.nvtally_pytorch_push.argtypes = [ctypes.c_void_p]
_library.nvtally_pytorch_begin()


def inner(name):
    _library.nvtally_pytorch_push(_library.nvtally_pytorch_name(name.encode()))
    _library.nvtally_pytorch_pop()
    return len(name)


def threaded(name):
    return inner(name)


def submitted(name, more=""):
    return inner(name + more)


def mapped(name):
    return inner(name)


def pooled(name):
    return inner(name)


def applied(name):
    return inner(name)


def fails(name):
    inner(name)
    raise ValueError(name)


class Model:
    def predict(self, name):
        return inner(name)


class Callable:
    def __call__(self, name):
        return inner(name)


async def in_threads():
    await asyncio.gather(*(asyncio.to_thread(threaded, "to_thread-%d" % i) for i in range(4)))
    await asyncio.get_running_loop().run_in_executor(None, Model().predict, "run_in_executor")


def of_executor(pool):
    kind = type(pool).__name__
    assert pool.submit(submitted, kind, more="-submit").result() == len(kind) + 7
    pool.submit(functools.partial(submitted, kind), "-partial").result()
    list(pool.map(mapped, [kind + "-map"] * 3))
    assert isinstance(pool.submit(fails, kind + "-fails").exception(), ValueError)


def of_pool(pool):
    kind = type(pool).__name__
    assert pool.map(pooled, [kind + "-map"] * 4) == [len(kind) + 4] * 4
    assert pool.apply(applied, [kind + "-apply"]) == len(kind) + 6
    try:
        pool.apply(fails, [kind + "-fails"])
        raise AssertionError
    except ValueError:
        pass


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    asyncio.run(in_threads())
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        of_executor(executor)
        executor.submit(Callable(), "callable").result()
        executor.submit(lambda: inner("lambda")).result()
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        of_executor(executor)
    with multiprocessing.pool.ThreadPool(2) as threads:
        of_pool(threads)
    with multiprocessing.Pool(1) as processes:
        of_pool(processes)
        processes.close()
        processes.join()
