/*
 * record --pytorch: ranges of PyTorch without a change to the program; what fails does not reach the program;
 * torch.distributed and counters of memory.
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

#include <cmocka.h>

#include "cli.h"
#include "pytorch_kit.h"
#include "record_kit.h"

static const char *around(const struct nvt_trace *trace, const char *name)
{
    uint32_t parent = trace->ranges.parent[recorded_range(trace, name)];
    return parent == NVT_NONE ? "" : nvt_name(trace, trace->ranges.name[parent]);
}

/* What the program prints and how it ends is as without it; exceptions leave nothing open. */
static void a_program_without_ranges_has_some(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    char program[PATH_MAX + 32];
    snprintf(program, sizeof(program), "%s/program.py", pytorch_stand_in);
    struct cli_result result = pytorch_record(pytorch_stand_in, "-B", program);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "loss 42\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    /* One before all, three steps, one that fails, one at the end, one on a thread of its own; none of
     * what is compiled, and none around a checkpoint. */
    pytorch_expect_count(trace, "forward", 7);
    pytorch_expect_count(trace, "Net", 6);
    pytorch_expect_count(trace, "first (Linear)", 6 + 3);
    pytorch_expect_count(trace, "second (Linear)", 5);
    pytorch_expect_count(trace, "Linear", 1);
    pytorch_expect_count(trace, "backward", 3);
    pytorch_expect_count(trace, "optimizer", 3 + 3);
    pytorch_expect_count(trace, "data", 3 + 1);
    pytorch_expect_count(trace, "loss", 3);
    pytorch_expect_count(trace, "MSELoss", 3);
    pytorch_expect_count(trace, "iteration", 3);
    /* around the step of the second optimizer */
    pytorch_expect_count(trace, "between steps", 3 * 2);
    pytorch_expect_count(trace, "evaluation", 1); /* all that comes without gradient */
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
    if (!pytorch_has_python())
        skip();
    char program[PATH_MAX + 32];
    snprintf(program, sizeof(program), "%s/workers.py", pytorch_stand_in);
    struct cli_result result = pytorch_record(pytorch_stand_in, "-B", program);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "ended\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_ranges *ranges = &trace->ranges;
    pytorch_expect_count(trace, "worker", 2 * 3);
    pytorch_expect_count(trace, "dataset", 2 * 3 + 2 + 2);
    pytorch_expect_count(trace, "collate", 2 * 2 + 1 + 2);
    /* Transforms are modules, but no forward pass, and begin no iteration, although there is an optimizer. */
    pytorch_expect_count(trace, "Scale", 2 * 3 + 2);
    pytorch_expect_count(trace, "forward", 0);
    pytorch_expect_count(trace, "iteration", 0);
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
    if (!pytorch_has_python())
        skip();
    char program[PATH_MAX + 32], path[PATH_MAX];
    snprintf(program, sizeof(program), "%s/workers.py", pytorch_stand_in);
    struct cli_result result = pytorch_record(pytorch_stand_in, "-B", program);
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
    if (!pytorch_has_python())
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
    snprintf(path, sizeof(path), "%s:%s", folder, pytorch_stand_in);
    struct cli_result result = pytorch_record(path, "-B", cli_in(folder, "script.py"));
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "theirs\ntheirs\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    pytorch_expect_count(trace, "backward", 4);
    nvt_trace_free(trace);
    cli_tempdir_remove(folder);
}

/* A PyTorch that is not as known is told of and works; so is one where our library is not. */
static void what_fails_does_not_reach_the_program(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    static const char other[] = "answer = 42\n";
    char *folder = cli_tempdir(), path[3 * PATH_MAX];
    assert_int_equal(mkdir(cli_in(folder, "torch"), 0700), 0);
    assert_int_equal(mkdir(cli_in(folder, "torch/autograd"), 0700), 0);
    cli_write_file(cli_in(folder, "torch/__init__.py"), "", 0);
    cli_write_file(cli_in(folder, "torch/autograd/__init__.py"), other, sizeof(other) - 1);
    struct cli_result result =
        pytorch_record(folder, "-c", "import torch.autograd; print(torch.autograd.answer)");
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "42\n");
    assert_non_null(strstr(result.err, "nvtally: --pytorch: no ranges of torch.autograd: "
                                       "AttributeError: "));
    cli_result_free(&result);
    const char *const copy[] = {"cp", "-r", cli_built("pytorch"), cli_in(folder, "alone"), NULL};
    result = cli_run(copy);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(path, sizeof(path), "PYTHONPATH=%s:%s", cli_in(folder, "alone"), pytorch_stand_in);
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
    if (!pytorch_has_python())
        skip();
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "PYTHONPATH=%s:%s", cli_built("pytorch"), pytorch_stand_in);
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
    if (!pytorch_has_python())
        skip();
    char script[2048];
    snprintf(script, sizeof(script), "%s%s", collectives_script,
             "torch.autograd.backward(1, again=lambda: [torch.autograd.reduce(world, T(1000 * i))\n"
             "                                           for i in (1, 2)])\n"
             "dist.destroy_process_group()\n"
             "print(len(world.before) + len(world.after) + len(pair.before), 'hooks left')\n");
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "0 hooks left\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    pytorch_expect_count(trace, "all_reduce", 6);
    pytorch_expect_count(trace, "all_gather", 2);
    pytorch_expect_count(trace, "barrier", 1);
    pytorch_expect_count(trace, "wait", 1);
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
    if (!pytorch_has_python())
        skip();
    char script[2048];
    snprintf(script, sizeof(script), "%s%s", "import os\nos.environ['NO_HOOKS'] = '1'\n",
             collectives_script);
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "--pytorch:"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    pytorch_expect_count(trace, "all_reduce", 4);
    pytorch_expect_count(trace, "all_gather", 2);
    pytorch_expect_count(trace, "barrier", 1);
    pytorch_expect_count(trace, "wait", 1);
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
    if (!pytorch_has_python())
        skip();
    static const char script[] =
        "import os, signal, torch, torch.distributed as dist\n"
        "from torch.distributed import distributed_c10d\n"
        "world = dist.make_group('0', 2, 0)\n"
        "dist.all_reduce(dist.Tensor(10))\n"
        "distributed_c10d.Work.wait = lambda self: os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.all_reduce(dist.Tensor(10))\n";
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c", script);
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
    if (!pytorch_has_python())
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
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c", script);
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
    if (!pytorch_has_python())
        skip();
    static const char script[] = "import time, torch\n"
                                 "torch.cuda.memory.in_use = 'much'\n"
                                 "for i in range(3):\n"
                                 "    torch.autograd.backward(1)\n"
                                 "    time.sleep(0.002)\n"
                                 "print('goes on')\n";
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c", script);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "goes on\n");
    const char *told = strstr(result.err, "nvtally: --pytorch: no counters of memory: ");
    assert_non_null(told);
    assert_null(strstr(told + 1, "nvtally: --pytorch: no counters"));
    cli_result_free(&result);
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
        cmocka_unit_test(collectives_are_ranges),
        cmocka_unit_test(collectives_are_ranges_without_hooks),
        cmocka_unit_test(a_killed_rank_was_in_a_collective),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(memory_that_is_not_told),
    };
    return cmocka_run_group_tests(tests, pytorch_find_stand_in, recorded_tear_down);
}
