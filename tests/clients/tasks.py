"""Ranges in tasks of Python that take turns, each with a name of its own. For each it prints its name, that of the range that
encloses it in its task, and between which times it began and ended, in ns since 1970. Arguments: what to do."""
import _thread
import asyncio
import concurrent.futures
import contextvars
import ctypes
import inspect
import os
import sys
import threading
import time

_library = ctypes.PyDLL(os.environ["NVTALLY_PYTORCH_LIBRARY"])  # which calls NVTX, without a package
_library.nvtally_pytorch_name.restype = ctypes.c_void_p
_library.nvtally_pytorch_push.argtypes = [ctypes.c_void_p]
if not _library.nvtally_pytorch_begin():
    sys.exit("nobody listens")
SLEEPS = (("A", 0.02, 0.05), ("B", 0.04, 0.01), ("C", 0.06, 0.03))
_lines = []


class Range:
    def __init__(self, name, parent="-", closes=True):
        self.name, self.parent, self.closes = name, parent, closes

    def __enter__(self):
        name = _library.nvtally_pytorch_name(self.name.encode())
        before = time.time_ns()
        _library.nvtally_pytorch_push(name)
        self.began = before, time.time_ns()

    def __exit__(self, *error):
        if self.closes:
            before = time.time_ns()
            _library.nvtally_pytorch_pop()
            _lines.append((self.name, self.parent) + self.began + (before, time.time_ns()))


async def worker(name, first, second, sleep=asyncio.sleep):
    with Range(name):
        await sleep(first)
        with Range(name + "/in", name):
            await sleep(second)
        await sleep(0)


def workers(prefix):
    return [worker(prefix + name, first, second) for name, first, second in SLEEPS]


async def gather(prefix):
    await asyncio.gather(*workers(prefix))


async def group(prefix):
    if sys.version_info >= (3, 11):
        async with asyncio.TaskGroup() as tasks:
            for each in workers(prefix):
                tasks.create_task(each)


async def eager(prefix):
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await gather(prefix)


async def fails(name):
    with Range(name):
        await asyncio.sleep(0.01)
        raise ValueError


async def errors(prefix):
    tasks = [asyncio.ensure_future(each) for each in
             (worker(prefix + "cancelled", 0.01, 9), fails(prefix + "fails"), worker(prefix + "fine", 0.02, 0.02))]
    await asyncio.sleep(0.03)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def leaves_open(name):
    Range(name, closes=False).__enter__()
    await asyncio.sleep(0.01)


async def leaks(prefix):
    tasks = [asyncio.ensure_future(each) for each in
             (leaves_open(prefix + "open"), worker(prefix + "with", 0.005, 0.02))]
    await asyncio.gather(*tasks)
    await gather(prefix + "after/")


async def contexts(prefix):
    """Code that a task runs in another context is the task's."""
    async def one(name):
        def run():
            with Range(name + "/run", name):
                time.sleep(0.002)

        with Range(name):
            await asyncio.sleep(0.01)
            contextvars.copy_context().run(run)
            await asyncio.sleep(0.01)

    await asyncio.gather(*[one(prefix + str(i)) for i in range(3)])


async def generators(prefix):
    """An asynchronous generator runs in the task that asks it."""
    async def generate(name):
        for i in range(3):
            with Range("%s/%d" % (name, i), name):
                yield i
                await asyncio.sleep(0.003)

    async def one(name):
        with Range(name):
            async for _ in generate(name):
                await asyncio.sleep(0.002)

    await asyncio.gather(*[one(prefix + str(i)) for i in range(3)])


async def short(prefix):
    """More tasks than get a name, whose contexts and objects are where those of others were."""
    async def one(name, ms):
        with Range(name):
            await asyncio.sleep(ms / 1000)

    for turn in range(20):
        await asyncio.gather(*[one("%s%d/%d" % (prefix, turn, i), (7 * i + turn) % 5) for i in range(20)])


async def alone(prefix):
    with Range(prefix + "main"):
        with Range(prefix + "in", prefix + "main"):
            await asyncio.sleep(0.002)


async def crossing(prefix):
    """Ranges of tasks that were open before the capture end in the middle of it, and those of others after them."""
    steps = [asyncio.Event() for _ in range(5)]

    def push(name):
        _library.nvtally_pytorch_push(_library.nvtally_pytorch_name((prefix + name).encode()))

    async def before():
        push("quiet")
        steps[0].set()
        await steps[2].wait()
        _library.nvtally_pytorch_pop()
        steps[3].set()

    async def captured():
        await steps[0].wait()
        with Range(prefix + "captured"):
            steps[1].set()
            await steps[4].wait()
            with Range(prefix + "last", prefix + "captured"):
                pass

    async def within():
        await steps[1].wait()
        with Range(prefix + "within"):
            steps[2].set()
            await steps[3].wait()
        steps[4].set()

    await asyncio.gather(before(), captured(), within())
    push("quiet")
    _library.nvtally_pytorch_pop()


def threads(prefix):
    """A loop in each."""
    all_ = [threading.Thread(target=lambda i=i: asyncio.run(gather("%s%d/" % (prefix, i)))) for i in range(3)]
    for each in all_:
        each.start()
    for each in all_:
        each.join()


def names(prefix):
    """Of threads, one of which gets another name later; an executor's; and one that Python has not begun."""
    def work(name, later=None):
        with Range(prefix + name):
            time.sleep(0.001)
        for i in range(16 if later else 0):
            threading.current_thread().name = later
            with Range("%s%s/%d" % (prefix, name, i)):
                pass

    all_ = [threading.Thread(target=work, args=("first",), name="a name of more than fifteen bytes"),
            threading.Thread(target=work, args=("second", "named later"), name="before")]
    for each in all_:
        each.start()
        each.join()
    with concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="loads batches") as pool:
        pool.submit(work, "third").result()
    lock = threading.Lock()
    lock.acquire()
    _thread.start_new_thread(lambda: (work("fourth"), lock.release()), ())
    lock.acquire()


def busy(prefix):
    """Threads that make no range, one of which the main thread gives another name."""
    def work():
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass

    all_ = [threading.Thread(target=work, name="computes and does nothing else"),
            threading.Thread(target=work, name="before")]
    for each in all_:
        each.start()
    all_[1].name = "has got another name"
    for each in all_:
        each.join()
    with Range(prefix + "main"):
        pass


def forked(prefix):
    """Of a child of fork the ranges are its own."""
    asyncio.run(gather(prefix + "parent/"))
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        _lines.clear()
        asyncio.run(gather(prefix + "child/"))
        report()
        os._exit(0)
    os.waitpid(pid, 0)


def trio(prefix):
    import trio as library

    async def main():
        async with library.open_nursery() as nursery:
            for name, first, second in SLEEPS:
                nursery.start_soon(worker, prefix + name, first, second, library.sleep)

    library.run(main)


def uvloop(prefix):
    import uvloop as library
    library.run(gather(prefix))


def gevent(prefix):
    import gevent as library

    def work(name, first, second):
        with Range(name):
            library.sleep(first)
            with Range(name + "/in", name):
                library.sleep(second)

    library.joinall([library.spawn(work, prefix + name, first, second) for name, first, second in SLEEPS])


def greenlet(prefix):
    import greenlet as library

    def work(name):
        with Range(name):
            library.getcurrent().parent.switch()
            with Range(name + "/in", name):
                library.getcurrent().parent.switch()

    all_ = [library.greenlet(work) for _ in SLEEPS]
    for each, sleeps in zip(all_, SLEEPS):
        each.switch(prefix + sleeps[0])
    for _ in range(2):
        for each in all_:
            time.sleep(0.002)
            each.switch()


def report():
    for line in _lines:
        print("%s %s %d %d %d %d" % line)
    sys.stdout.flush()


for _what in sys.argv[1:]:
    _function = globals()[_what]
    if inspect.iscoroutinefunction(_function):
        asyncio.run(_function(_what + "/"))
    else:
        _function(_what + "/")
report()
