/*
 * record --pytorch: ranges of PyTorch without a change to the program. PyTorch itself is too large for
 * this: tests/pytorch has a stand-in for as much of it as is changed.
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "record_kit.h"

static char stand_in[PATH_MAX]; /* folder */

static int has_python(void)
{
    const char *const argv[] = {"python3", "-c", "import ctypes", NULL};
    struct cli_result result = cli_run(argv);
    int there = result.status == 0;
    cli_result_free(&result);
    if (!there)
        print_message("not run: there is no python3\n");
    return there;
}

/* Record python3 with an argument, PYTHONPATH being those folders. */
static struct cli_result record(const char *path, const char *option, const char *argument)
{
    char variable[3 * PATH_MAX];
    snprintf(variable, sizeof(variable), "PYTHONPATH=%s", path);
    const char *const environment[] = {variable, NULL};
    const char *const argv[] = {"nvtally", "record",  "--pytorch", "-o",     recorded_path(),
                                "--",      "python3", option,      argument, NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 60};
    return cli_run_with(&options, argv);
}

static void expect_count(const struct nvt_trace *trace, const char *name, uint32_t count)
{
    if (recorded_count(trace, name) != count)
        fail_msg("%u ranges %s, not %u", recorded_count(trace, name), name, count);
}

static const char *around(const struct nvt_trace *trace, const char *name)
{
    uint32_t parent = trace->ranges.parent[recorded_range(trace, name)];
    return parent == NVT_NONE ? "" : nvt_name(trace, trace->ranges.name[parent]);
}

/* What the program prints and how it ends is as without it; exceptions leave nothing open. */
static void a_program_without_ranges_has_some(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    char program[PATH_MAX + 32];
    snprintf(program, sizeof(program), "%s/program.py", stand_in);
    struct cli_result result = record(stand_in, "-B", program);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "loss 42\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    /* One before all, three steps, one that fails, one at the end, one on a thread of its own; none of
     * what is compiled, and none around a checkpoint. */
    expect_count(trace, "forward", 7);
    expect_count(trace, "Net", 6);
    expect_count(trace, "first (Linear)", 6 + 3);
    expect_count(trace, "second (Linear)", 5);
    expect_count(trace, "Linear", 1);
    expect_count(trace, "backward", 3);
    expect_count(trace, "optimizer", 3 + 3);
    expect_count(trace, "data", 3 + 1);
    expect_count(trace, "loss", 3);
    expect_count(trace, "MSELoss", 3);
    expect_count(trace, "iteration", 3);
    expect_count(trace, "between steps", 3 * 2); /* around the step of the second optimizer */
    expect_count(trace, "evaluation", 1);        /* all that comes without gradient */
    assert_int_equal(trace->ranges.count, 7 + 6 + 9 + 5 + 1 + 3 + 6 + 4 + 3 + 3 + 3 + 6 + 1);
    /* An iteration has the wait for its data in it, and both steps: it runs to the next one, or to the end of the loop. */
    uint32_t iteration = recorded_range(trace, "iteration"), data = recorded_range(trace, "data");
    assert_int_equal(trace->ranges.style[iteration], NVT_START_END);
    assert_true(trace->ranges.start[iteration] <= trace->ranges.start[data]);
    for (uint32_t i = 0, optimizers = 0; i < trace->ranges.count && optimizers < 3; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), "optimizer"))
            assert_int_equal(trace->ranges.start[i] < trace->ranges.end[iteration],
                             optimizers++ < 2);
    assert_string_equal(around(trace, "second (Linear)"), "Net");
    assert_string_equal(around(trace, "Net"), "forward");
    assert_string_equal(around(trace, "optimizer"), "");
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        assert_int_equal(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED, 0);
        assert_string_equal(nvt_name(trace, trace->domains.name[trace->ranges.domain[i]]),
                            "PyTorch");
    }
    nvt_trace_free(trace);
}

/* What workers do, forked or started; a sample that fails, a loader within a dataset and whoever else collates leave
 * nothing open. */
static void workers_tell_what_they_do(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    char program[PATH_MAX + 32];
    snprintf(program, sizeof(program), "%s/workers.py", stand_in);
    struct cli_result result = record(stand_in, "-B", program);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "ended\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_ranges *ranges = &trace->ranges;
    expect_count(trace, "worker", 2 * 3);
    expect_count(trace, "dataset", 2 * 3 + 2 + 2);
    expect_count(trace, "collate", 2 * 2 + 1 + 2);
    /* Transforms are modules, but no forward pass, and begin no iteration, although there is an optimizer. */
    expect_count(trace, "Scale", 2 * 3 + 2);
    expect_count(trace, "forward", 0);
    expect_count(trace, "iteration", 0);
    assert_string_equal(around(trace, "dataset"), "worker");
    assert_string_equal(around(trace, "collate"), "worker");
    assert_string_equal(around(trace, "Scale"), "dataset");
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->style[i] == NVT_PUSH_POP)
            assert_int_equal(ranges->flags[i] & NVT_RANGE_UNCLOSED, 0);
    nvt_trace_free(trace);
}

/* What workers do beside the loop is no share of its time: a report begins with what the loop's own ranges take. */
static void workers_are_no_share_of_the_loop(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    char program[PATH_MAX + 32], path[PATH_MAX];
    snprintf(program, sizeof(program), "%s/workers.py", stand_in);
    struct cli_result result = record(stand_in, "-B", program);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(path, sizeof(path), "%s.md", recorded_path());
    result = cli_run((const char *[]){"nvtally", "report", recorded_path(), "-o", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(path, NULL), *line = text ? strstr(text, "Host: of the time") : NULL;
    assert_non_null(line);
    line[strcspn(line, "\n")] = 0;
    assert_null(strstr(line, "worker"));
    assert_non_null(strstr(line, "PyTorch:dataset"));
    free(text);
}

/* A sitecustomize of the user's is run and found as ever; children of the program have ranges, too. */
static void it_makes_way_for_others(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char theirs[] = "print('theirs')\nmine = 7\n";
    static const char script[] =
        "import sitecustomize, subprocess, sys\n"
        "assert sitecustomize.mine == 7\n"
        "assert not any(path.rstrip('/').endswith('/pytorch') and 'tests' not in path "
        "for path in sys.path), sys.path\n"
        "if len(sys.argv) == 1:\n"
        "    subprocess.check_call([sys.executable, '-B', __file__, 'child'])\n"
        "import torch\n"
        "torch.autograd.backward(1)\n"
        "assert torch.autograd.grad(1, [2, 3]) == [1, 1]\n";
    char *folder = cli_tempdir(), path[3 * PATH_MAX];
    cli_write_file(cli_in(folder, "sitecustomize.py"), theirs, sizeof(theirs) - 1);
    cli_write_file(cli_in(folder, "script.py"), script, sizeof(script) - 1);
    snprintf(path, sizeof(path), "%s:%s", folder, stand_in);
    struct cli_result result = record(path, "-B", cli_in(folder, "script.py"));
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "theirs\ntheirs\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    expect_count(trace, "backward", 4);
    nvt_trace_free(trace);
    cli_tempdir_remove(folder);
}

/* A PyTorch that is not as known is told of and works; so is one where our library is not. */
static void what_fails_does_not_reach_the_program(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char other[] = "answer = 42\n";
    char *folder = cli_tempdir(), path[3 * PATH_MAX];
    assert_int_equal(mkdir(cli_in(folder, "torch"), 0700), 0);
    assert_int_equal(mkdir(cli_in(folder, "torch/autograd"), 0700), 0);
    cli_write_file(cli_in(folder, "torch/__init__.py"), "", 0);
    cli_write_file(cli_in(folder, "torch/autograd/__init__.py"), other, sizeof(other) - 1);
    struct cli_result result =
        record(folder, "-c", "import torch.autograd; print(torch.autograd.answer)");
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "42\n");
    assert_non_null(strstr(result.err, "nvtally: --pytorch: no ranges of torch.autograd: "
                                       "AttributeError: "));
    cli_result_free(&result);
    const char *const copy[] = {"cp", "-r", cli_built("pytorch"), cli_in(folder, "alone"), NULL};
    result = cli_run(copy);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(path, sizeof(path), "PYTHONPATH=%s:%s", cli_in(folder, "alone"), stand_in);
    const char *const environment[] = {path, "NVTALLY_PYTORCH=1", NULL};
    const char *const argv[] = {"python3", "-B", "-c", "import torch; print('goes on')", NULL};
    struct cli_options options = {.environment = environment};
    result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "goes on\n");
    assert_int_equal(strncmp(result.err, "nvtally: --pytorch: no ranges of this process: ", 47), 0);
    cli_result_free(&result);
    cli_tempdir_remove(folder);
}

/* Without a recorder nothing is changed; without ranges there is nothing to record; and a program of
 * Python without any is told how to get some. */
static void it_needs_a_recorder_of_ranges(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally",   "record", "--trace", "kernel",
                                "--pytorch", "--",     "true",    NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "--trace must include nvtx");
    cli_result_free(&result);
    if (!has_python())
        skip();
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "PYTHONPATH=%s:%s", cli_built("pytorch"), stand_in);
    const char *const environment[] = {path, NULL};
    static const char asks[] = "import torch; print(torch.autograd.backward.__module__, "
                               "hasattr(torch.autograd.backward, '__wrapped__'))";
    const char *const bare[] = {"python3", "-B", "-c", asks, NULL};
    struct cli_options options = {.environment = environment};
    result = cli_run_with(&options, bare);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "torch.autograd False\n");
    assert_string_equal(result.err, "");
    cli_result_free(&result);
    const char *const without[] = {"nvtally", "record", "-o", recorded_path(), "--", "python3",
                                   "-c",      "0",      NULL};
    result = cli_run(without);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "and PyTorch's ranges if it uses PyTorch"));
    cli_result_free(&result);
}

static const char loops[] = "import threading, torch\n"
                            "class Net(torch.nn.Module):\n"
                            "    def forward(self, x):\n"
                            "        return x\n"
                            "class Step(torch.optim.Optimizer):\n"
                            "    def step(self):\n"
                            "        pass\n"
                            "net, first, second = Net(), Step([]), Step([])\n"
                            "def train(*optimizers):\n"
                            "    for optimizer in optimizers:\n"
                            "        torch.autograd.backward(net(1))\n"
                            "        optimizer.step()\n";

/* Record those definitions and a script that uses them, and read the trace. */
static struct nvt_trace *loop(const char *script)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s", loops, script);
    struct cli_result result = record(stand_in, "-c", text);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

static uint32_t unfinished(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += (trace->ranges.flags[i] & NVT_RANGE_UNCLOSED) != 0;
    return count;
}

/* One that takes over while the first one lives ends iterations, but for its first step; of two that take turns, one
 * does. */
static void optimizers_that_follow_each_other(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("train(*[first] * 5, *[second] * 20, *[first] * 2)\n");
    expect_count(trace, "iteration", 5 + 19 + 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    trace = loop("train(*[first, second] * 7)\n");
    expect_count(trace, "iteration", 7); /* the last step of the second one is in an eighth */
    assert_int_equal(unfinished(trace), 1);
    nvt_trace_free(trace);
}

/* A second thread that trains has iterations of its own, the first of which may be lost; a helper's calls belong to
 * the iteration of the loop that it helps. */
static void loops_of_several_threads(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char together[] = "turn = [threading.Semaphore(1), threading.Semaphore(0)]\n"
                                   "def one(me, optimizer):\n"
                                   "    for i in range(20):\n"
                                   "        for part in (lambda: net(1), optimizer.step):\n"
                                   "            turn[me].acquire()\n"
                                   "            part()\n"
                                   "            turn[1 - me].release()\n"
                                   "other = threading.Thread(target=one, args=(1, second))\n"
                                   "other.start()\n"
                                   "one(0, first)\n"
                                   "other.join()\n";
    struct nvt_trace *trace = loop(together);
    expect_count(trace, "forward", 2 * 20);
    expect_count(trace, "iteration", 20 + 19);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    trace = loop("def apart(call):\n"
                 "    thread = threading.Thread(target=call)\n"
                 "    thread.start()\n"
                 "    thread.join()\n"
                 "train(first)\n"
                 "for i in range(3):\n"
                 "    apart(lambda: net(1))\n"
                 "    train(first)\n"
                 "apart(lambda: train(*[second] * 5))\n");
    expect_count(trace, "iteration", 1 + 3 + 5);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

static int is_in_iteration(const struct nvt_trace *trace, const struct nvt_ranges *ranges,
                           uint32_t range)
{
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!strcmp(nvt_name(trace, ranges->name[i]), "iteration") &&
            ranges->start[i] <= ranges->start[range] && ranges->end[i] >= ranges->end[range])
            return 1;
    return 0;
}

/* That many calls of the module Aside are in iterations, and that many in none. */
static void expect_asides(const struct nvt_trace *trace, uint32_t within, uint32_t outside)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count[2] = {0};
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!strcmp(nvt_name(trace, ranges->name[i]), "Aside"))
            count[is_in_iteration(trace, ranges, i)]++;
    assert_int_equal(count[1], within);
    assert_int_equal(count[0], outside);
}

/* A batch that is fetched and not trained on has an iteration that ends with its loop, also where workers stay; what
 * comes then is in none. Loops that take each batch from an iterator of its own are as others. */
static void loops_that_are_left(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char definitions[] = "class Aside(Net):\n"
                                      "    pass\n"
                                      "aside = Aside()\n"
                                      "def left(loader):\n"
                                      "    for x in loader:\n"
                                      "        if x == 3:\n"
                                      "            break\n"
                                      "        train(first)\n"
                                      "    torch.learns = False\n"
                                      "    aside(1)\n"
                                      "    torch.learns = True\n";
    char text[2048];
    snprintf(text, sizeof(text),
             "%sleft(torch.utils.data.DataLoader([1, 2, 3, 4]))\ntrain(first)\n", definitions);
    struct nvt_trace *trace = loop(text);
    expect_count(trace, "iteration", 2 + 1 + 1);
    expect_asides(trace, 0, 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    snprintf(text, sizeof(text),
             "%sloader = torch.utils.data.DataLoader([1, 2, 3, 4], persistent_workers=True)\n"
             "left(loader)\nleft(loader)\nlist(loader)\n",
             definitions);
    trace = loop(text);
    expect_count(trace, "iteration", 2 * 3 + 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    trace = loop("loader = torch.utils.data.DataLoader([1, 2, 3, 4])\n"
                 "next(iter(loader))\n"
                 "class Aside(Net):\n"
                 "    pass\n"
                 "torch.learns = False\n"
                 "Aside()(1)\n"
                 "torch.learns = True\n"
                 "for i in range(4):\n"
                 "    next(iter(loader))\n"
                 "    train(first)\n");
    expect_count(trace, "iteration",
                 1 + 4 + 1); /* no step was made when the first one's iterator ended */
    expect_asides(trace, 0, 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* A module that is put into a model which was called before has its path, too; those that it only uses have none. */
static void modules_that_come_later(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("class Passing(Net):\n"
                                   "    pass\n"
                                   "class Model(Net):\n"
                                   "    def forward(self, x):\n"
                                   "        return self.head(Passing()(x))\n"
                                   "model = Model()\n"
                                   "class Block(Net):\n"
                                   "    def __init__(self):\n"
                                   "        self.inner = Net()\n"
                                   "    def forward(self, x):\n"
                                   "        return self.inner(x)\n"
                                   "class Outer(Net):\n"
                                   "    def forward(self, x):\n"
                                   "        return self.head(x)\n"
                                   "outer = Outer()\n"
                                   "for outer.head in (Net(), Block(), Block()):\n"
                                   "    outer(1)\n"
                                   "model.head = Net()\n"
                                   "model(model(1))\n");
    expect_count(trace, "Outer", 3);
    expect_count(trace, "head (Net)", 1 + 2);
    expect_count(trace, "head (Block)", 2);
    expect_count(trace, "head.inner (Net)", 2);
    expect_count(trace, "Passing", 2);
    nvt_trace_free(trace);
}

/* A model that is evaluated while gradients are taken begins no iteration, unless it is never in the mode of training; nor do
 * batches for that. */
static void evaluation_with_gradients(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("class Aside(Net):\n"
                                   "    pass\n"
                                   "net = Aside()\n"
                                   "net.training = False\n"
                                   "train(first)\n"
                                   "net.training = True\n"
                                   "train(first)\n"
                                   "net.training = False\n"
                                   "torch.nn.MSELoss()(net(1), 1)\n"
                                   "for x in torch.utils.data.DataLoader([1, 2, 3]):\n"
                                   "    torch.nn.MSELoss()(net(x), 1)\n"
                                   "net.training = True\n"
                                   "train(first)\n");
    expect_count(trace, "iteration", 3);
    /* Both lie behind the second step. The loader's batches have one for them all. */
    expect_count(trace, "evaluation", 1 + 1);
    expect_asides(trace, 3 + 1 + 3, 0);
    nvt_trace_free(trace);
}

/* Of a stream, it is not known that there is no other batch: the wait for none has an iteration, too, which ends there. */
static void streams_of_batches(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("class Stream:\n"
                                   "    def __iter__(self):\n"
                                   "        return iter([1, 2, 3])\n"
                                   "for x in torch.utils.data.DataLoader(Stream()):\n"
                                   "    train(first)\n"
                                   "class Aside(Net):\n"
                                   "    pass\n"
                                   "torch.learns = False\n"
                                   "Aside()(1)\n");
    expect_count(trace, "data", 3 + 1);
    expect_count(trace, "iteration", 3 + 1);
    expect_asides(trace, 0, 1);
    uint32_t iteration = recorded_range(trace, "iteration"), data = recorded_range(trace, "data");
    assert_true(trace->ranges.start[iteration] <= trace->ranges.start[data]);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* A child that is forked within an iteration has its own; the parent's goes on. */
static void a_fork_within_an_iteration(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("import os\n"
                                   "net(1)\n"
                                   "child = os.fork()\n"
                                   "if child:\n"
                                   "    os.waitpid(child, 0)\n"
                                   "    first.step()\n"
                                   "train(first, first)\n");
    expect_count(trace, "forward", 1 + 2 + 2);
    expect_count(trace, "iteration", 3 + 2);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* What a thread calls while another one is in a backward pass is a forward pass; what autograd's own threads call is
 * none. A PyTorch that cannot tell them apart has none during any backward pass. */
static void passes_of_several_threads(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char threads[] = "def apart(call):\n"
                                  "    thread = threading.Thread(target=call)\n"
                                  "    thread.start()\n"
                                  "    thread.join()\n"
                                  "def autograd():\n"
                                  "    torch._C.thread.task = 0\n"
                                  "    net(1)\n"
                                  "def again():\n"
                                  "    net(1)\n"
                                  "    apart(lambda: net(1))\n"
                                  "    apart(autograd)\n"
                                  "torch.autograd.backward(1, again=again)\n";
    struct nvt_trace *trace = loop(threads);
    expect_count(trace, "Net", 3);
    expect_count(trace, "forward", 1);
    nvt_trace_free(trace);
    char text[2048];
    snprintf(text, sizeof(text),
             "import sys\nsys.modules['nvtally_pytorch']._graph_task = None\n%s", threads);
    trace = loop(text);
    expect_count(trace, "Net", 3);
    expect_count(trace, "forward", 0);
    nvt_trace_free(trace);
}

/* How many ranges of a name begin within one of another name, both of PyTorch. */
static uint32_t count_within(const struct nvt_trace *trace, const char *name, const char *outer)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        for (uint32_t k = 0; k < ranges->count; k++)
            if (!strcmp(nvt_name(trace, ranges->name[i]), name) &&
                !strcmp(nvt_name(trace, ranges->name[k]), outer) &&
                ranges->start[k] <= ranges->start[i] && ranges->end[k] > ranges->start[i]) {
                count++;
                break;
            }
    return count;
}

/* Whatever saves is a checkpoint, once where one function calls another; not where a dataset saves what it has read. */
static void checkpoints_behind_the_step(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace =
        loop("import torch.distributed.checkpoint as dcp\n"
             "from safetensors.torch import save_file\n"
             "import torch.utils.data._utils.fetch as fetching\n"
             "write = lambda state: None\n"
             "def fail(state):\n"
             "    raise OSError('no space')\n"
             "class Samples:\n"
             "    def __getitem__(self, index):\n"
             "        torch.save(1, write)\n"
             "        return 1\n"
             "fetcher = fetching._MapDatasetFetcher(Samples(), sum)\n"
             "for save in (torch.save, dcp.save, dcp.async_save, save_file):\n"
             "    train(first)\n"
             "    save(1, write)\n"
             "    fetcher.fetch([0, 1])\n"
             "try:\n"
             "    torch.save(1, fail)\n"
             "except OSError as error:\n"
             "    assert str(error) == 'no space'\n"
             "train(first)\n");
    expect_count(trace, "iteration", 5);
    expect_count(trace, "checkpoint", 4 + 1);
    assert_int_equal(count_within(trace, "checkpoint", "iteration"), 5);
    assert_int_equal(count_within(trace, "checkpoint", "between steps"), 0);
    expect_count(trace, "between steps", 2 + 2 + 2 + 3 + 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

static const char evaluates[] = "class Model(Net):\n"
                                "    pass\n"
                                "model = Model()\n"
                                "def learn():\n"
                                "    torch.autograd.backward(model(1))\n"
                                "    first.step()\n"
                                "Loader = torch.utils.data.DataLoader\n"
                                "items, others = [1, 2, 3, 4], [5, 6, 7]\n";

/* The same with a model that learns and one that is not trained. */
static struct nvt_trace *evaluation(const char *script)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s", evaluates, script);
    return loop(text);
}

/* A loop over a loader is one evaluation with its data, wherever no_grad() stands and whatever mode the model is in; the
 * iteration that it is in goes on. */
static void evaluations_behind_the_step(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char *const ways[] = {"    model.eval()\n"
                                       "    with torch.no_grad():\n"
                                       "        for y in Loader(others):\n"
                                       "            model(y)\n",
                                       "    model.eval()\n"
                                       "    for y in Loader(others):\n"
                                       "        with torch.no_grad():\n"
                                       "            model(y)\n",
                                       "    for y in Loader(others):\n"
                                       "        with torch.inference_mode():\n"
                                       "            model(y)\n",
                                       "    model.eval()\n"
                                       "    for y in Loader(others):\n"
                                       "        model(y)\n",
                                       "    with torch.set_grad_enabled(False):\n"
                                       "        for y in others:\n"
                                       "            model(y)\n",
                                       "    @torch.no_grad()\n"
                                       "    def estimate():\n"
                                       "        for y in Loader(others):\n"
                                       "            if y == 7:\n"
                                       "                break\n"
                                       "            model(y)\n"
                                       "        model(8)\n"
                                       "    estimate()\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        char script[1024];
        snprintf(script, sizeof(script),
                 "for x in Loader(items):\n    learn()\n%s    model.train()\n", ways[i]);
        struct nvt_trace *trace = evaluation(script);
        expect_count(trace, "iteration", 4);
        expect_count(trace, "evaluation", 4);
        assert_int_equal(count_within(trace, "evaluation", "iteration"), 4);
        assert_int_equal(count_within(trace, "evaluation", "between steps"), 0);
        assert_int_equal(count_within(trace, "forward", "evaluation"), 4 * 3);
        assert_int_equal(unfinished(trace), 0);
        nvt_trace_free(trace);
    }
}

/* Between epochs, an evaluation is in no iteration: the loop over the batches is over. It takes in no batch of the next one,
 * even if the model is left in the mode of evaluation until that is there. */
static void evaluations_between_epochs(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = evaluation("def evaluate():\n"
                                         "    model.eval()\n"
                                         "    with torch.no_grad():\n"
                                         "        for y in Loader(others):\n"
                                         "            model(y)\n"
                                         "evaluate()\n"
                                         "for epoch in range(3):\n"
                                         "    for x in Loader(items):\n"
                                         "        model.train()\n"
                                         "        learn()\n"
                                         "    evaluate()\n");
    expect_count(trace, "iteration", 3 * 4);
    expect_count(trace, "evaluation", 1 + 3);
    assert_int_equal(count_within(trace, "evaluation", "iteration"), 0);
    assert_int_equal(count_within(trace, "data", "iteration"), 3 * 5); /* the wait for none, too */
    assert_int_equal(count_within(trace, "data", "evaluation"), 4 * 4);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* Passes without gradient that training itself needs, before its step or by a model that is never trained, are none; nor is
 * what a program does that has no optimizer. */
static void passes_that_evaluate_nothing(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = evaluation("target = Net()\n"
                                         "for x in items:\n"
                                         "    with torch.no_grad():\n"
                                         "        target(x)\n"
                                         "    learn()\n"
                                         "for x in Loader(items):\n"
                                         "    with torch.no_grad():\n"
                                         "        model(x)\n"
                                         "    learn()\n");
    expect_count(trace, "iteration", 8);
    expect_count(trace, "evaluation", 0);
    nvt_trace_free(trace);
    struct cli_result result = record(stand_in, "-c",
                                      "import torch\n"
                                      "class Net(torch.nn.Module):\n"
                                      "    def forward(self, x):\n"
                                      "        return x\n"
                                      "net = Net().eval()\n"
                                      "with torch.no_grad():\n"
                                      "    for x in torch.utils.data.DataLoader([1, 2]):\n"
                                      "        net(x)\n");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    expect_count(trace, "forward", 2);
    expect_count(trace, "evaluation", 0);
    nvt_trace_free(trace);
}

/* The last iteration of a loop without a loader ends with its step, if nothing tells where the loop does: not with the
 * process. One that a killed process was in stays open. */
static void the_last_iteration(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("import time\ntrain(*[first] * 3)\ntime.sleep(0.2)\n");
    expect_count(trace, "iteration", 3);
    assert_int_equal(unfinished(trace), 0);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_true(trace->ranges.end[i] - trace->ranges.start[i] < 150000000);
    nvt_trace_free(trace);
    trace = loop("train(*[first] * 3)\nThird = Step([])\nnet(1)\ntrain(first)\n");
    /* Another optimizer is made where a loop has ended. */
    expect_count(trace, "iteration", 3 + 1);
    nvt_trace_free(trace);
    trace = loop("import os\ntrain(*[first] * 3)\nos._exit(0)\n");
    expect_count(trace, "iteration", 2);
    assert_int_equal(unfinished(trace), 2);
    nvt_trace_free(trace);
}

/* A step that a GradScaler leaves out ends the iteration all the same, and one that it makes ends one. */
static void steps_that_are_left_out(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    struct nvt_trace *trace = loop("scaler = torch.amp.GradScaler()\n"
                                   "for i in range(8):\n"
                                   "    scaler.finite = i % 4 > 0\n"
                                   "    torch.autograd.backward(net(1))\n"
                                   "    scaler.step(first)\n"
                                   "    scaler.update()\n");
    expect_count(trace, "optimizer", 6);
    expect_count(trace, "iteration", 8);
    nvt_trace_free(trace);
    trace = loop("for i in range(8):\n" /* accumulated gradients: one step for two passes */
                 "    torch.autograd.backward(net(1))\n"
                 "    if i % 2:\n"
                 "        first.step()\n");
    expect_count(trace, "iteration", 4);
    expect_count(trace, "between steps", 4);
    nvt_trace_free(trace);
}

/* --- torch.distributed ------------------------------------------------------------------------------ */

static const char collectives_script[] =
    "import torch, torch.distributed as dist\n"
    "T = dist.Tensor\n"
    "world, pair = dist.make_group('0', 4, 2), dist.make_group('pair', 2, 1)\n"
    "dist.all_reduce(T(10))\n"
    "dist.all_gather([T(30), T(30)], T(30), group=pair)\n"
    "work = dist.all_reduce(T(20), async_op=True)\n"
    "work.wait()\n"
    "dist.all_reduce(T(25), async_op=True)\n" /* nobody waits for it */
    "try:\n"
    "    dist.all_reduce(T(5), fails=True)\n"
    "except ValueError as error:\n"
    "    assert str(error) == 'no such tensor'\n"
    "dist.all_gather_object([None], 1)\n"
    "dist.barrier()\n";

static const char *payload_of(const struct nvt_trace *trace, const char *name)
{
    return nvt_name(trace, trace->ranges.payload[recorded_range(trace, name)]);
}

static uint32_t call_count(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->mpi_calls.count; i++)
        count += !strcmp(nvt_name(trace, trace->mpi_calls.name[i]), name);
    return count;
}

static void expect_closed(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_int_equal(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED, 0);
}

/* Those that a group tells its hooks of: by Python, and by a backward pass in C++. */
static void collectives_are_ranges(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    char script[2048];
    snprintf(script, sizeof(script), "%s%s", collectives_script,
             "torch.autograd.backward(1, again=lambda: [torch.autograd.reduce(world, T(1000 * i))\n"
             "                                           for i in (1, 2)])\n"
             "dist.destroy_process_group()\n"
             "print(len(world.before) + len(world.after) + len(pair.before), 'hooks left')\n");
    struct cli_result result = record(stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "0 hooks left\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    expect_count(trace, "all_reduce", 6);
    expect_count(trace, "all_gather", 2);
    expect_count(trace, "barrier", 1);
    expect_count(trace, "wait", 1);
    expect_closed(trace);
    assert_string_equal(payload_of(trace, "all_reduce"),
                        "{\"group\":\"0\",\"type\":\"float32\",\"sequence\":0,\"bytes given\":40,"
                        "\"bytes taken\":40,\"ranks\":4,\"rank in group\":2,\"ranks in all\":4,"
                        "\"rank\":2,\"root\":-1,\"flags\":1}");
    assert_string_equal(
        payload_of(trace, "all_gather"),
        "{\"group\":\"pair\",\"type\":\"float32\",\"sequence\":0,\"bytes given\":120,"
        "\"bytes taken\":240,\"ranks\":2,\"rank in group\":1,\"ranks in all\":4,"
        "\"rank\":2,\"root\":-1,\"flags\":1}");
    /* What the thread waits in: two that block, of which one fails, and the last one of the backward pass. */
    assert_int_equal(call_count(trace, "all_reduce"), 3);
    assert_int_equal(call_count(trace, "all_gather"), 2);
    assert_int_equal(call_count(trace, "wait"), 1);
    assert_int_equal(trace->processes.rank[0], 2);
    int of_pair = 0;
    for (uint32_t i = 0; i < trace->mpi_calls.count; i++) {
        of_pair += !strcmp(nvt_name(trace, trace->mpi_calls.group[i]), "pair") &&
                   trace->mpi_calls.sequence_and_1[i] == 1;
        assert_true(!trace->mpi_calls.ranks[i] == !trace->mpi_calls.group[i]);
    }
    assert_int_equal(of_pair, 1);
    for (uint32_t i = 0; i < trace->mpi_calls.count; i++)
        if (trace->mpi_calls.sent[i] == 8000) { /* it ends with the pass */
            uint32_t pass = recorded_range(trace, "backward");
            assert_true(trace->mpi_calls.start[i] > trace->ranges.start[pass] &&
                        trace->mpi_calls.end[i] <= trace->ranges.end[pass]);
        }
    nvt_trace_free(trace);
}

/* Of older versions the functions of Python; one that calls another is told by that. */
static void collectives_are_ranges_without_hooks(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    char script[2048];
    snprintf(script, sizeof(script), "%s%s", "import os\nos.environ['NO_HOOKS'] = '1'\n",
             collectives_script);
    struct cli_result result = record(stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "--pytorch:"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    expect_count(trace, "all_reduce", 4);
    expect_count(trace, "all_gather", 2);
    expect_count(trace, "barrier", 1);
    expect_count(trace, "wait", 1);
    expect_closed(trace);
    assert_non_null(
        strstr(payload_of(trace, "all_gather"), "\"bytes given\":120,\"bytes taken\":240"));
    assert_non_null(strstr(payload_of(trace, "all_gather"), "{\"group\":\"pair\""));
    nvt_trace_free(trace);
}

/* A rank that is killed: the call it was in has no end, and ranks are compared by it. */
static void a_killed_rank_was_in_a_collective(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char script[] =
        "import os, signal, torch, torch.distributed as dist\n"
        "from torch.distributed import distributed_c10d\n"
        "world = dist.make_group('0', 2, 0)\n"
        "dist.all_reduce(dist.Tensor(10))\n"
        "distributed_c10d.Work.wait = lambda self: os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.all_reduce(dist.Tensor(10))\n";
    struct cli_result result = record(stand_in, "-c", script);
    assert_int_equal(result.signal, SIGKILL);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->mpi_calls.count, 2);
    assert_int_equal(trace->mpi_calls.flags[1], NVT_RANGE_UNCLOSED);
    nvt_trace_free(trace);
}

/* The values of a counter of PyTorch's, in the order of time, as text. */
static const char *values_of(const struct nvt_trace *trace, const char *name)
{
    static char text[256];
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t counter = samples->counter[i];
        if (trace->counters.is_of_process[counter])
            continue;
        assert_string_equal(nvt_name(trace, trace->counters.unit[counter]), "bytes");
        if (!strcmp(nvt_name(trace, trace->counters.name[counter]), name))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%.0f ", samples->value[i]);
    }
    return text;
}

/* At the ends of phases, from when on there is a device; not twice within half a millisecond. */
static void memory_is_counted(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char script[] = "import time, torch\n"
                                 "memory = torch.cuda.memory\n"
                                 "def use(bytes):\n"
                                 "    memory.in_use = bytes\n"
                                 "    time.sleep(0.002)\n"
                                 "class Net(torch.nn.Module):\n"
                                 "    def forward(self, bytes):\n"
                                 "        use(bytes)\n"
                                 "class Step(torch.optim.Optimizer):\n"
                                 "    def step(self):\n"
                                 "        use(100)\n"
                                 "        torch.cuda.device = 5\n"
                                 "net, optimizer = Net(), Step([])\n"
                                 "net(None)\n"
                                 "use(50)\n"
                                 "net(300)\n"
                                 "torch.autograd.backward(1, again=lambda: use(500))\n"
                                 "optimizer.step()\n"
                                 "torch.autograd.backward(1)\n"
                                 "assert torch.autograd.grad(1, [2, 3]) == [1, 1]\n"
                                 "memory.most = 0\n"
                                 "use(70)\n"
                                 "net(80)\n"
                                 "memory.memory_stats_as_nested_dict = None\n";
    struct cli_result result = record(stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    /* Where the first iteration begins, no device is in use; the second one begins at once behind the first. */
    assert_string_equal(values_of(trace, "allocated"), "300 500 100 80 ");
    assert_string_equal(values_of(trace, "highest allocated"), "300 500 500 80 ");
    assert_string_equal(values_of(trace, "reserved"), "1000 1000 1000 1000 ");
    nvt_trace_free(trace);
}

/* An allocator that does not tell is asked once. */
static void memory_that_is_not_told(void **state)
{
    (void)state;
    if (!has_python())
        skip();
    static const char script[] = "import time, torch\n"
                                 "torch.cuda.memory.in_use = 'much'\n"
                                 "for i in range(3):\n"
                                 "    torch.autograd.backward(1)\n"
                                 "    time.sleep(0.002)\n"
                                 "print('goes on')\n";
    struct cli_result result = record(stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "goes on\n");
    const char *told = strstr(result.err, "nvtally: --pytorch: no counters of memory: ");
    assert_non_null(told);
    assert_null(strstr(told + 1, "nvtally: --pytorch: no counters"));
    cli_result_free(&result);
}

static int find_stand_in(void **state)
{
    return realpath("tests/pytorch", stand_in) ? recorded_set_up(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_ranges_has_some),
        cmocka_unit_test(workers_tell_what_they_do),
        cmocka_unit_test(workers_are_no_share_of_the_loop),
        cmocka_unit_test(it_makes_way_for_others),
        cmocka_unit_test(what_fails_does_not_reach_the_program),
        cmocka_unit_test(it_needs_a_recorder_of_ranges),
        cmocka_unit_test(optimizers_that_follow_each_other),
        cmocka_unit_test(passes_of_several_threads),
        cmocka_unit_test(loops_of_several_threads),
        cmocka_unit_test(loops_that_are_left),
        cmocka_unit_test(streams_of_batches),
        cmocka_unit_test(evaluation_with_gradients),
        cmocka_unit_test(a_fork_within_an_iteration),
        cmocka_unit_test(modules_that_come_later),
        cmocka_unit_test(checkpoints_behind_the_step),
        cmocka_unit_test(evaluations_behind_the_step),
        cmocka_unit_test(evaluations_between_epochs),
        cmocka_unit_test(passes_that_evaluate_nothing),
        cmocka_unit_test(the_last_iteration),
        cmocka_unit_test(steps_that_are_left_out),
        cmocka_unit_test(collectives_are_ranges),
        cmocka_unit_test(collectives_are_ranges_without_hooks),
        cmocka_unit_test(a_killed_rank_was_in_a_collective),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(memory_that_is_not_told),
    };
    return cmocka_run_group_tests(tests, find_stand_in, recorded_tear_down);
}
