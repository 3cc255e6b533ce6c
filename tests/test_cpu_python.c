/*
 * `record --trace cpu` of Python: its functions in stacks, whatever a program does to the handler that says them, and
 * what Python leaves out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cpu_kit.h"
#include "pythons.h"
#include "record_kit.h"

/* --- Python ------------------------------------------------------------------------------------------- */

static const char *python_script(const char *name, const char *text)
{
    const char *path = recorded_in(name);
    cli_write_file(path, text, strlen(text));
    return path;
}

static void skip_without_python(void)
{
    struct cli_result result = cli_run((const char *const[]){"python3", "-c", "pass", NULL});
    int status = result.status;
    cli_result_free(&result);
    if (status) {
        print_message("no python3 here: not run\n");
        skip();
    }
}

static struct nvt_trace *record_python(const char *const options[4], const char *const command[])
{
    struct cli_result result = cpu_run_with("cpu", options, command);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    return recorded_trace();
}

#define BURNING                                                                                    \
    "import time, zlib, sys, os\n"                                                                 \
    "def inner(ms):\n"                                                                             \
    "    end = time.thread_time() + ms / 1000\n"                                                   \
    "    x = 0\n"                                                                                  \
    "    while time.thread_time() < end:\n"                                                        \
    "        for i in range(1000):\n"                                                              \
    "            x += i * i\n"                                                                     \
    "def outer(ms):\n"                                                                             \
    "    inner(ms)\n"

static void python_tells_its_functions(void **state)
{
    (void)state;
    skip_without_python();
    const char *path =
        python_script("burns.py", BURNING "def packing(ms):\n"
                                          "    data = os.urandom(1 << 20)\n"
                                          "    end = time.thread_time() + ms / 1000\n"
                                          "    while time.thread_time() < end:\n"
                                          "        zlib.compress(data, 6)\n"
                                          "outer(600)\n"
                                          "packing(400)\n");
    struct nvt_trace *trace = record_python(NULL, (const char *const[]){"python3", path, NULL});
    int64_t inner = 0, compress = 0, within = 0;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        int is_inner = 0;
        for (uint32_t at = trace->cpu_samples.frame[i]; at; at = trace->call_frames.parent[at - 1])
            is_inner |=
                !strncmp(nvt_name(trace, trace->call_frames.name[at - 1]), "inner (burns.py:", 16);
        if (is_inner) {
            inner += trace->cpu_samples.cpu_ns[i] / 1000000;
            assert_true(cpu_is_in(trace, i, "outer (burns.py:9)"));
            assert_true(cpu_is_in(trace, i, "<module> (burns.py:15)"));
        }
        if (cpu_is_in(trace, i, "packing (burns.py:14)")) {
            uint32_t innermost = trace->cpu_samples.frame[i] - 1;
            compress += trace->cpu_samples.cpu_ns[i] / 1000000;
            within += strstr(nvt_name(trace, trace->call_frames.module[innermost]), "libz") != NULL;
        }
        /* Of the interpreter's own functions there is none. */
        if (is_inner || cpu_is_in(trace, i, "packing (burns.py:14)"))
            assert_false(cpu_is_in(trace, i, "_PyEval_EvalFrameDefault"));
    }
    CPU_EXPECT_TIMES(inner >= 540 && inner <= 680);
    CPU_EXPECT_TIMES(compress >= 340 && compress <= 480);
    (void)within; /* a Python may have zlib in itself */
    nvt_trace_free(trace);
}

/* Where both are in front of libc, a call is the program's, not of the one that hands it on. */
static void calls_are_of_who_makes_them(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("threads", "osrt,cpu", "--osrt-threshold", "0");
    unsigned created = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        const char *name = nvt_name(trace, trace->os_calls.name[i]);
        const char *caller = nvt_name(trace, trace->os_calls.caller[i]);
        if (!strncmp(caller, "libnvtally", 10))
            fail_msg("%s is of %s", name, caller);
        created += (!strcmp(name, "pthread_create") || !strcmp(name, "thrd_create")) &&
                   !strcmp(caller, "cpu_samples");
    }
    assert_int_equal(created, 3);
    nvt_trace_free(trace);
}

/* A stack that Python writes down for us is no call of the program's. */
static void python_writes_nothing_of_its_own(void **state)
{
    (void)state;
    skip_without_python();
    const char *path = python_script("burns.py", BURNING "outer(400)\n");
    static const char *const options[4] = {"--osrt-threshold", "0", "--cpu-rate", "1000"};
    struct cli_result result =
        cpu_run_with("osrt,cpu", options, (const char *const[]){"python3", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    cpu_expect_time(trace, "outer (burns.py:9)", NULL, 400);
    uint32_t samples = 0, writes = 0;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        samples += cpu_is_in(trace, i, "outer (burns.py:9)") != 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        writes += !strcmp(nvt_name(trace, trace->os_calls.name[i]), "write") &&
                  strstr(nvt_name(trace, trace->os_calls.caller[i]), "python");
    /* Each stack is many writes. On a busy machine samples are few, and stand for 20 ms and more each. */
    if (samples < 5 || writes >= samples)
        fail_msg("%u samples, %u writes", samples, writes);
    nvt_trace_free(trace);
}

static void python_threads_and_processes(void **state)
{
    (void)state;
    skip_without_python();
    const char *path =
        python_script("many.py", BURNING
                      "import threading, subprocess, multiprocessing\n"
                      "def in_thread():\n"
                      "    outer(300)\n"
                      "def in_process():\n"
                      "    outer(300)\n"
                      "if __name__ == '__main__':\n"
                      "    if len(sys.argv) > 1:\n"
                      "        outer(300)\n"
                      "        sys.exit(0)\n"
                      "    threads = [threading.Thread(target=in_thread) for _ in range(2)]\n"
                      "    [t.start() for t in threads]; [t.join() for t in threads]\n"
                      "    child = multiprocessing.get_context('fork').Process(target=in_process)\n"
                      "    child.start(); child.join()\n"
                      "    subprocess.run([sys.executable, __file__, 'again'], check=True)\n");
    struct nvt_trace *trace = record_python(NULL, (const char *const[]){"python3", path, NULL});
    cpu_expect_time(trace, "in_thread (many.py:12)", NULL, 600);
    if (recorded_wipes())
        cpu_expect_time(trace, "in_process (many.py:14)", NULL, 300);
    cpu_expect_time(trace, "<module> (many.py:17)", NULL, 300);
    nvt_trace_free(trace);
}

/* --- every Python there is ----------------------------------------------------------------------------- */

/* What a program does before each part that is then looked for. The signal of the samples is one of all those that it touches. */
static const struct {
    const char *name, *text;
} upsets[] = {
    {"nothing", "pass"},
    {"subprocess", "subprocess.run(['true'], check=True)"},
    {"close_fds", "subprocess.run(['true'], close_fds=False, start_new_session=True, check=True)"},
    {"preexec", "subprocess.run(['true'], preexec_fn=os.setsid, check=True)"},
    {"not_found", "\n    try: subprocess.run(['/nonexistent'])\n    except OSError: pass"},
    {"spawn", "os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ,"
              " setsigdef=[s for s in signal.valid_signals() if s not in (9, 19)]), 0)"},
    {"system", "os.system('true'); os.popen('true').read()"},
    {"handlers", "each(lambda s: signal.signal(s, lambda n, f: None))"},
    {"run_with_handlers", "subprocess.run(['true'], check=True)"},
    {"ignored", "each(lambda s: signal.signal(s, signal.SIG_IGN))"},
    {"default", "each(lambda s: signal.signal(s, signal.SIG_DFL))"},
    {"wakeup", "a, b = socket.socketpair(); b.setblocking(False); signal.set_wakeup_fd(b.fileno());"
               " each(lambda s: signal.siginterrupt(s, True))"},
    {"masked", "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"},
    {"faulthandler", "faulthandler.enable(file); faulthandler.dump_traceback(file);"
                     " each(lambda s: faulthandler.register(s, file=file, chain=False))"},
    {"later", "faulthandler.dump_traceback_later(0.01, repeat=True, file=file)"},
    {"unregister", "faulthandler.cancel_dump_traceback_later(); each(faulthandler.unregister);"
                   " faulthandler.disable()"},
    {"forked", "pid = os.fork(); pid and (os.waitpid(pid, 0), outer(10), os._exit(0))"},
};
#define UPSETS NVT_COUNT_OF(upsets)

static void is_upset(const char *python)
{
    static char text[8192];
    size_t length =
        (size_t)snprintf(text, sizeof(text), "%s",
                         BURNING "import faulthandler, signal, socket, subprocess\n"
                                 "file = open(os.devnull, 'w')\n"
                                 "def each(do):\n"
                                 "    for s in range(1, 65):\n"
                                 "        if s in (2, 9, 15, 17, 19, 32): continue\n"
                                 "        try: do(s)\n"
                                 "        except (OSError, ValueError, RuntimeError): pass\n");
    for (size_t i = 0; i < UPSETS; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "def after_%s():\n    outer(100)\n", upsets[i].name);
    length += (size_t)snprintf(text + length, sizeof(text) - length, "if 1:\n");
    for (size_t i = 0; i < UPSETS; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "    %s\n    after_%s()\n",
                                   upsets[i].text, upsets[i].name);
    assert_true(length < sizeof(text) - 1);
    const char *path = python_script("upset.py", text);
    struct nvt_trace *trace = record_python(NULL, (const char *const[]){python, path, NULL});
    for (size_t i = 0; i < UPSETS; i++) {
        int64_t ms = 0;
        char name[64];
        snprintf(name, sizeof(name), "after_%s ", upsets[i].name);
        for (uint32_t row = 0; row < trace->cpu_samples.count; row++)
            for (uint32_t at = trace->cpu_samples.frame[row]; at;
                 at = trace->call_frames.parent[at - 1])
                if (!strncmp(nvt_name(trace, trace->call_frames.name[at - 1]), name, strlen(name)))
                    ms += trace->cpu_samples.cpu_ns[row] / 1000000;
        if (ms < 40) /* the clock's ticks may count for the part before, or behind */
            snprintf(cpu_wrong, sizeof(cpu_wrong), "%s: %s%lld ms, not 100", python, name,
                     (long long)ms);
    }
    nvt_trace_free(trace);
}

static void stacks_survive_what_programs_do(void **state)
{
    (void)state;
    with_every_python(is_upset);
}

/* Each asks for the handler again, and may not have the module. Nothing is said, and the stacks are of the right interpreter. */
static void has_others(const char *python)
{
    const char *path = python_script(
        "others.py",
        "try: import _interpreters as others\n"
        "except ImportError: import _xxsubinterpreters as others\n"
        "run = getattr(others, 'exec', None) or others.run_string\n"
        "for _ in range(3):\n"
        "    other = others.create()\n"
        "    run(other, \"\"\"\n" BURNING "def in_other(): outer(100)\nin_other()\n\"\"\")\n"
        "    others.destroy(other)\n" BURNING "def in_main(): outer(100)\nin_main()\n"
        "print(sys.version_info >= (3, 12))\n");
    struct cli_result result =
        cpu_run_with("cpu", NULL, (const char *const[]){python, "-W", "ignore", path, NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "Python"));
    int tells_others = !strncmp(result.out, "True", 4);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    /* Before 3.12, the thread's stack is that of the interpreter that has called the other. */
    cpu_expect_time(trace, tells_others ? "in_other" : "<module> (others.py:6)", NULL, 300);
    cpu_expect_time(trace, "in_main", NULL, 100);
    nvt_trace_free(trace);
}

static void sub_interpreters_have_stacks(void **state)
{
    (void)state;
    with_every_python(has_others);
}

/* Of a program that burns as many ms as its last word says: on a busy machine the clock ticks seldom for a thread, so it burns more
 * where a second has few samples. */
static struct cli_result run_with_samples(const char *const command[])
{
    enum { ENOUGH = 60 };
    static const char *const burnt_ms[] = {"1000", "4000", "16000"};
    struct cli_result result = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(burnt_ms); i++) {
        const char *argv[8] = {NULL};
        size_t count = 0;
        for (; command[count]; count++)
            argv[count] = command[count];
        argv[count] = burnt_ms[i];
        cli_result_free(&result);
        result = cpu_run_with("cpu", NULL, argv);
        cli_expect_status(&result, 0);
        const char *samples = strstr(result.err, " CPU samples");
        while (samples && samples > result.err && samples[-1] != ' ')
            samples--;
        if (samples && strtol(samples, NULL, 10) >= ENOUGH)
            break;
    }
    return result;
}

/* What record says of missing stacks, and what the report says. */
static void expect_missing(const char *const command[], const char *reason)
{
    struct cli_result result = run_with_samples(command);
    const char *said = strstr(result.err, "Python's stack is missing in ");
    if (!reason != !said || (reason && !strstr(said, reason)))
        fail_msg("not \"%s\": %s", reason ? reason : "nothing", result.err);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", "-r", "cpu_functions", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    said = strstr(result.err, "note: Python's stack is missing in ");
    if (!reason != !said || (reason && !strstr(said, reason)))
        fail_msg("not \"%s\": %s", reason ? reason : "nothing", result.err);
    cli_result_free(&result);
}

static void missing_stacks_are_told(const char *python)
{
    const char *path = python_script("burns.py", BURNING "outer(int(sys.argv[1]))\n");
    expect_missing((const char *const[]){python, path, NULL}, NULL);
    expect_missing((const char *const[]){python, "-S", path, NULL}, "sitecustomize had not run");
    path = python_script("gone.py", BURNING "import faulthandler\nouter(100)\n"
                                            "for s in range(1, 65):\n"
                                            "    try: faulthandler.unregister(s)\n"
                                            "    except (ValueError, RuntimeError): pass\n"
                                            "outer(int(sys.argv[1]))\n");
    expect_missing((const char *const[]){python, path, NULL}, "faulthandler.unregister");
}

static void who_has_no_stack_and_why(void **state)
{
    (void)state;
    with_every_python(missing_stacks_are_told);
}

/* Python takes its handler back when it ends, and still runs for a while. */
static void python_ends(void **state)
{
    (void)state;
    skip_without_python();
    static const char *const options[4] = {"--cpu-rate", "1000"};
    static const char program[] = "import json, decimal, argparse, email, threading\n"
                                  "threads = [threading.Thread(target=lambda: sum(range(10**7)), "
                                  "daemon=True) for _ in range(2)]\n"
                                  "[t.start() for t in threads]\n";
    for (int turn = 0; turn < 30; turn++)
        nvt_trace_free(record_python(
            options, (const char *const[]){"python3", "-c", turn % 2 ? program : "pass", NULL}));
}

/* Python's handler may find a frame that is just being made, and follows a pointer to nowhere. */
static void python_is_interrupted_anywhere(void **state)
{
    (void)state;
    skip_without_python();
    const char *path = python_script(
        "anywhere.py", "import time, threading, json, gc, os\n"
                       "end = time.time() + 3\n"
                       "def gen(n):\n"
                       "    for i in range(n):\n"
                       "        yield from (x for x in range(3))\n"
                       "def rec(n):\n"
                       "    if n: return rec(n - 1)\n"
                       "    raise ValueError\n"
                       "class A:\n"
                       "    def __getattr__(self, name): return name\n"
                       "def work():\n"
                       "    while time.time() < end:\n"
                       "        list(gen(200))\n"
                       "        try: rec(60)\n"
                       "        except ValueError: pass\n"
                       "        [A().foo for _ in range(50)]\n"
                       "        json.loads(json.dumps({str(i): [i] * 3 for i in range(50)}))\n"
                       "        sorted(range(200), key=lambda x: -x)\n"
                       "        exec('def f(x): return x + 1\\nf(2)', {})\n"
                       "        gc.collect(0)\n"
                       "threads = [threading.Thread(target=work) for _ in range(3)]\n"
                       "[t.start() for t in threads]; [t.join() for t in threads]\n"
                       "pid = os.fork()\n"
                       "if not pid: os.kill(os.getpid(), 11)\n"
                       "assert os.waitpid(pid, 0)[1] & 127 == 11\n");
    static const char *const options[4] = {"--cpu-rate", "1000"};
    for (int turn = 0; turn < 2; turn++) {
        struct nvt_trace *trace =
            record_python(options, (const char *const[]){"python3", path, NULL});
        int64_t all = cpu_time_in(trace, NULL, NULL), known = 0;
        for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
            known +=
                cpu_is_in(trace, i, "work (anywhere.py:13)") ||
                        cpu_is_in(trace, i, "gen (anywhere.py:5)") ||
                        strstr(nvt_name(trace,
                                        trace->call_frames.name[trace->cpu_samples.frame[i] - 1]),
                               ".py:")
                    ? trace->cpu_samples.cpu_ns[i] / 1000000
                    : 0;
        CPU_EXPECT_TIMES(known > all / 4); /* to the end: most are in other lines */
        nvt_trace_free(trace);
    }
}

/* What Python leaves out by these options is no failure. */
static void python_without_site(void **state)
{
    (void)state;
    skip_without_python();
    const char *path = python_script("burns.py", BURNING "outer(400)\n");
    static const char *const options[] = {"-S", "-I", "-E"};
    for (size_t i = 0; i < 3; i++) {
        struct nvt_trace *trace =
            record_python(NULL, (const char *const[]){"python3", options[i], path, NULL});
        CPU_EXPECT_TIMES(cpu_time_in(trace, NULL, NULL) >= 350);
        assert_false(cpu_time_in(trace, "outer (burns.py:9)", NULL));
        nvt_trace_free(trace);
    }
}

/* The user's path, module of that name, handlers and descriptors are as they would be. */
static void python_is_the_users(void **state)
{
    char folder[4200], path_is[4400];
    (void)state;
    skip_without_python();
    snprintf(folder, sizeof(folder), "%s", recorded_in("."));
    snprintf(path_is, sizeof(path_is), "PYTHONPATH=%s", folder);
    python_script("sitecustomize.py", "import builtins\nbuiltins.mine = 42\n");
    const char *script = python_script(
        "users.py", BURNING
        "import faulthandler, signal\n"
        "assert mine == 42\n"
        "assert os.environ['PYTHONPATH'].split(':')[-1] == sys.argv[1], os.environ['PYTHONPATH']\n"
        "faulthandler.enable()\n"
        "with open(sys.argv[2], 'w+') as file:\n"
        "    faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)\n"
        "    seen = []\n"
        "    for number in signal.valid_signals():\n"
        "        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1):\n"
        "            try: signal.signal(number, lambda n, f: seen.append(n))\n"
        "            except (OSError, ValueError): pass\n"
        "    outer(300)\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    assert not seen, seen\n"
        "    file.seek(0)\n"
        "    text = file.read()\n"
        "    assert 'users.py\", line 22 in <module>' in text, text\n"
        "    faulthandler.dump_traceback(file, False)\n"
        "    faulthandler.dump_traceback_later(0.05, file=file)\n"
        "    outer(100)\n"
        "    faulthandler.cancel_dump_traceback_later()\n"
        "    os.closerange(3, 1024)\n"
        "    outer(100)\n"
        "    os._exit(0)\n");
    const char *argv[] = {"nvtally",           "record", "--trace", "cpu",  "-o",
                          recorded_path(),     "--",     "python3", script, folder,
                          recorded_in("dump"), NULL};
    struct cli_result result = cli_run_with(
        &(struct cli_options){.environment = (const char *const[]){path_is, NULL}}, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "");
    assert_null(strstr(result.err, "Traceback"));
    cli_result_free(&result);
    unlink(recorded_in("sitecustomize.py"));
    struct nvt_trace *trace = recorded_trace();
    cpu_expect_time(trace, "outer (users.py:9)", NULL, 500);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CPU_TEST(python_tells_its_functions),
        CPU_TEST(python_writes_nothing_of_its_own),
        CPU_TEST(python_threads_and_processes),
        CPU_TEST(stacks_survive_what_programs_do),
        CPU_TEST(sub_interpreters_have_stacks),
        CPU_TEST(who_has_no_stack_and_why),
        CPU_TEST(python_ends),
        CPU_TEST(python_is_interrupted_anywhere),
        CPU_TEST(python_without_site),
        CPU_TEST(python_is_the_users),
        CPU_TEST(calls_are_of_who_makes_them),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
