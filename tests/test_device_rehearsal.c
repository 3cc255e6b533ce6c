/*
 * tests/device/run dry, with the host or the stand-in for CUDA in the place of the device: rows, going on after a
 * break, packing. And the programs of its parts that are run beside PyTorch.
 */
#include <glob.h>
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
#include "cli.h"
#include "device_run_kit.h"

/* What failed is run again, and the rest stays as it is. */
static void run_failed_again(const char *const parts[])
{
    char results_of[4096];
    snprintf(results_of, sizeof(results_of), "%s",
             cli_in(cli_in(cli_folder, "work"), "fragments-128/results.jsonl"));
    size_t size;
    char *before = cli_read_file(results_of, &size), *second = strchr(before, '\n') + 1;
    strstr(second, "\"ok\"")[1] = 'n';
    cli_write_file(results_of, before, size);
    unlink(cli_in(cli_in(cli_folder, "work"), "state/fragments"));
    struct cli_result result = device_run("1", "work", "1", parts);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "39 of 39 rows"));
    cli_result_free(&result);
    char *after = cli_read_file(results_of, NULL);
    size_t first = (size_t)(second - before), third = (size_t)(strchr(second, '\n') + 1 - before);
    assert_memory_equal(after, before, first);
    assert_memory_equal(after + first, before + third, size - third);
    free(before);
    free(after);
}

static void expect_packed(const char *results)
{
    glob_t packed;
    assert_int_equal(glob(cli_in(cli_in(cli_folder, "packed"), "*"), 0, NULL, &packed), 0);
    /* The results, and the traces of the four inference runs. */
    assert_int_equal(packed.gl_pathc, 2);
    globfree(&packed);
    const char *argv[] = {"tar", "tzf", results, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "fragments-128/results.jsonl"));
    assert_non_null(strstr(result.out, "fragments-128/env.json"));
    cli_result_free(&result);
}

/* Another machine goes on from what was packed. */
static void go_on_elsewhere(const char *const parts[])
{
    setenv("FROM", cli_in(cli_folder, "packed"), 1);
    struct cli_result result = device_run("1", "unpacked-work", "1", parts);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "FROM: goes on from the results in "));
    assert_non_null(strstr(result.err, "fragments: was done before"));
    cli_result_free(&result);
    /* What is here already is newer. */
    result = device_run("1", "unpacked-work", "1", parts);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "FROM: results are here already, nothing is unpacked"));
    cli_result_free(&result);
    setenv("FROM", cli_in(cli_folder, "nowhere"), 1);
    result = device_run("1", "unpacked-nowhere", "1", parts);
    unsetenv("FROM");
    cli_expect_status(&result, 2);
    cli_result_free(&result);
}

static void a_part_is_resumed_and_packed(void **state)
{
    (void)state;
    static const char *const fragments[] = {"fragments", NULL};
    static const char *const both[] = {"fragments", "pack", NULL};
    char results[4096];
    snprintf(results, sizeof(results), "%s",
             cli_in(cli_in(cli_folder, "packed"), "nvtally-device-results.tar.gz"));
    unlink(results);
    struct cli_result result = device_run("1", "work", "no number", fragments);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "fragments          failed   0 of 1 rows; a second call"));
    cli_result_free(&result);
    result = device_run("1", "work", "1", fragments);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "39 of 39 rows"));
    cli_result_free(&result);
    run_failed_again(fragments);
    /* After each part, so that they are there should the next one not end. */
    assert_int_equal(access(results, R_OK), 0);
    result = device_run("1", "work", "1", both);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "fragments: was done before"));
    assert_non_null(
        strstr(result.out,
               "Not run: build check losses accumulate beside_linear overhead "
               "beside_transformer switchback beside_gpipe gpipe train nccl sanitize "
               "beside_switchback transformer precisions nsys twice cupti metrics endings live "
               "beside_forms beside_fused warmup "
               "devices nccl_devices\n"));
    assert_non_null(strstr(result.out, "A dry run on the processor"));
    cli_result_free(&result);
    expect_packed(results);
    go_on_elsewhere(fragments);
}

/* Parts with one iteration, dry, all of which end well; what is said then, up to NULL. */
static void rehearse(const char *dry, const char *work, const char *const parts[],
                     const char *const said[])
{
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    struct cli_result result = device_run(dry, work, "1", parts);
    cli_expect_status(&result, 0);
    for (size_t i = 0; said[i]; i++)
        if (!strstr(result.out, said[i]))
            fail_msg("no '%s' in\n%s", said[i], result.out);
    cli_result_free(&result);
}

/* Every part that needs neither PyTorch nor a device, as a dry run has it. */
static void every_part_can_be_rehearsed(void **state)
{
    (void)state;
    static const char *const parts[] = {"losses", "overhead",   "transformer", "switchback",
                                        "gpipe",  "accumulate", "nccl",        "warmup",
                                        "twice",  NULL};
    static const char *const said[] = {
        "losses             ok       4 of 4 rows",
        "2 rounds of bare and then again nvtx",
        "loss after ten steps, fp32: within 1.0e-04 of reference        reached  fp32 ",
        "2 rounds of off,nvtx",
        "transformer        ok       8 of 8 rows",
        "4 of 4 rows",
        "2 of 2 rows",
        "28 of 28 rows",
        "24 of 24 rows",
        "losses over NCCL, one rank, equal those without, to 1e-6       reached  12 of 12 cases",
        "sums, the host's to the bit",
        NULL};
    rehearse("1", "dry", parts, said);
}

/* The same with the CUDA backend, on the stand-in for CUDA: what a device has and the host has not, graphs and the
 * levels of the collector, too. It takes minutes: the short form leaves it out. */
static void a_device_can_be_rehearsed(void **state)
{
    (void)state;
    if (!cli_is_long())
        skip();
    static const char *const parts[] = {"losses",     "fragments",  "overhead", "transformer",
                                        "switchback", "accumulate", "nccl",     "warmup",
                                        "twice",      NULL};
    static const char *const said[] = {
        "losses             ok       8 of 8 rows",
        "2 rounds of bare and then again kernel full",
        "forward at kernel to CUPTI alone)",
        "loss after ten steps, fp32: within 1.0e-04 of reference        reached  fp32 ",
        "loss after ten steps, tf32, fp16: within 4.9e-04 of reference  reached  tf32 ",
        "loss after ten steps, bf16: within 3.9e-03 of reference        reached  bf16 ",
        "CUDA-graph loss bit-identical to eager                         reached  fp32, tf32, bf16, "
        "fp16",
        "39 of 39 rows",
        "4 of 4 rows",
        "at kernel and full               partly   ",
        "2 rounds of off,nvtx,kernel,full",
        "transformer        ok       14 of 14 rows",
        "2 of 2 rows",
        "24 of 24 rows",
        "12 of 12 cases",
        "sums, the host's to the bit",
        "nothing below is a result of a device",
        NULL};
    rehearse("emulated", "emulated", parts, said);
    glob_t buffers;
    char *kept = strdup(cli_in(cli_in(cli_folder, "emulated"), "buffers/cupti-*.buffer"));
    assert_int_equal(glob(kept, 0, NULL, &buffers), 0);
    assert_true(buffers.gl_pathc >= 4); /* of each level, with and without a graph */
    globfree(&buffers);
    free(kept);
}

/* The steps of the SwitchBack study are all of it, and no row more; nothing is computed. */
static void the_switchback_study_is_whole(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char *const parts[] = {"switchback", NULL};
    static const char *const settings[][2] = {{"EMULATED_IGNORE", "work"},
                                              {"EMULATED_MEMORY", "149250000000"},
                                              {"SWITCHBACK_SIDES", ""},
                                              {"SWITCHBACK_BATCHES", ""}};
    for (size_t i = 0; i < 4; i++)
        setenv(settings[i][0], settings[i][1], 1);
    struct cli_result result = device_run("emulated", "study", "1", parts);
    for (size_t i = 0; i < 4; i++)
        unsetenv(settings[i][0]);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "142 of 142 rows"));
    assert_non_null(strstr(result.out, "SwitchBack study: 142 rows                                 "
                                       "    reached  142 of 142 rows"));
    device_expect_line(&result, "time_global below fp16's", " of 16 cases, rounds: 1");
    cli_result_free(&result);
    assert_int_equal(
        access(cli_in(cli_in(cli_folder, "study"), "switchback-1-goal/results.jsonl"), R_OK), 0);
}

/* All of this process's devices beside the first alone, where there are several. */
static void devices_can_be_rehearsed(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char *const parts[] = {"devices", NULL};
    struct cli_result result = device_run("emulated", "alone", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "devices: not run: one device here"));
    cli_result_free(&result);
    setenv("EMULATED_DEVICES", "2", 1);
    result = device_run("emulated", "both", "1", parts);
    unsetenv("EMULATED_DEVICES");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "8 of 8 rows, 2 devices"));
    assert_non_null(strstr(
        result.out, "losses on all devices equal one device's, to 1e-6              reached"));
    cli_result_free(&result);
}

/* A rank a device, where there are several and a launcher. */
static void ranks_can_be_rehearsed(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("a script over every workload, which have tests of their own");
    static const char *const parts[] = {"nccl_devices", NULL};
    struct cli_result version = cli_run((const char *const[]){"mpirun", "--version", NULL});
    int has_ranks = !version.status && !access(cli_built("emulated/libnvtally-mpi.so"), R_OK);
    cli_result_free(&version);
    struct cli_result result = device_run("emulated", "one", "1", parts);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "nccl_devices: not run: one device here"));
    cli_result_free(&result);
    if (!has_ranks)
        skip();
    setenv("EMULATED_DEVICES", "2", 1);
    result = device_run("emulated", "two", "1", parts);
    unsetenv("EMULATED_DEVICES");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "4 of 4 rows, 2 ranks"));
    assert_non_null(strstr(
        result.out, "losses over NCCL, several, equal those without, to 1e-6        reached"));
    cli_result_free(&result);
}

/* With PyTorch for python3 here, ours and theirs in turn; without, that is said. */
static void beside_pytorch_or_not_run(void **state)
{
    (void)state;
    static const char *const import[] = {"python3", "-c", "import torch", NULL};
    static const char *const parts[] = {"beside_linear", "beside_transformer", "beside_gpipe",
                                        "beside_switchback", NULL};
    static const char *const decided[] = {"linear forward no slower",
                                          "linear backward no slower",
                                          "grouped forward, 128 fragments at most",
                                          "grouped forward, 128 fragments, 20",
                                          "(soft training backward, ours to PyTorch's)",
                                          "(looped forward, ours to PyTorch's)",
                                          "transformer forward at most eager's",
                                          "transformer backward at most eager's",
                                          "(transformer backward, to scaled_dot_product_attention)",
                                          "pipeline's samples/s no fewer",
                                          "(time_global, ours to the torch path)"};
    struct cli_result result = cli_run(import);
    int has_torch = result.status == 0;
    cli_result_free(&result);
    result = device_run("1", "beside", "1", parts);
    cli_expect_status(&result, has_torch ? 0 : 3);
    assert_non_null(strstr(result.out, has_torch ? "2 rounds, ours and theirs in turn"
                                                 : "no PyTorch with cpu for python3 here"));
    for (size_t i = 0; i < NVT_COUNT_OF(decided) && has_torch; i++) {
        const char *line = strstr(result.out, decided[i]);
        assert_non_null(line);
        if (!strstr(line, "[") || strcspn(line, "[") > strcspn(line, "\n"))
            fail_msg("'%s' is decided by no ratio in\n%s", decided[i], result.out);
    }
    cli_result_free(&result);
}

/* Of a product's blocks the fastest are taken, and those that a device has no room for are passed over. Neither PyTorch nor
 * Triton is here for that. */
static void the_fastest_blocks_are_taken(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, types\n"
        "torch, triton, language = (types.ModuleType(name) for name in ('torch', 'triton', 't'))\n"
        "now = 0\n"
        "class Event:\n"
        "    def __init__(self, enable_timing): assert enable_timing\n"
        "    def record(self): self.at = now\n"
        "    def synchronize(self): pass\n"
        "    def elapsed_time(self, end): return end.at - self.at\n"
        "torch.cuda = types.SimpleNamespace(Event=Event)\n"
        "triton.jit, triton.language, language.constexpr = (lambda kernel: kernel), language, int\n"
        "sys.modules.update({'torch': torch, 'triton': triton, 'triton.language': language})\n"
        "sys.path.insert(0, 'tests/device')\n"
        "from switchback_triton import CONFIGURATIONS, tuned\n"
        "def run(*one):\n"
        "    global now\n"
        "    if one == CONFIGURATIONS[0]: raise RuntimeError('no room')\n"
        "    now += 1 if one == CONFIGURATIONS[3] else 2\n"
        "assert tuned(run, 'm n k') == CONFIGURATIONS[3]\n"
        "def fail(*one): raise RuntimeError('none has room')\n"
        "try:\n"
        "    tuned(fail, 'm n k')\n"
        "except RuntimeError as error:\n"
        "    print(error)\n";
    struct cli_result result = cli_run((const char *const[]){"python3", "-B", "-c", script, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "none has room\n");
    assert_non_null(strstr(result.err, "is left out: no room\n"));
    cli_result_free(&result);
}

/* Triton's kernels on the host's interpreter, where there is Triton, and PyTorch's operations: every integer as defined. */
static void int8_beside_is_as_defined(void **state)
{
    (void)state;
    const char *const variables[] = {"TRITON_INTERPRET=1", "PYTHONDONTWRITEBYTECODE=1", NULL};
    struct cli_options options = {.environment = variables, .timeout_s = 120};
    struct cli_result result = cli_run((const char *const[]){
        "python3", "-c", "import torch, triton, numpy; int(numpy.zeros(1))", NULL});
    int here = !result.status;
    cli_result_free(&result);
    if (!here)
        skip();
    result = cli_run_with(&options, (const char *const[]){"python3", "tests/device/switchback.py",
                                                          "--check", "--device", "cpu", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "triton: products off by at most "));
    cli_result_free(&result);
}

/* Every row of PyTorch's says how float is multiplied: an environment that allows TF32 is not asked. Without PyTorch, by
 * what takes its place: each setting that a script makes before it needs anything else. */
static void float_is_multiplied_as_float(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, types\n"
        "class Anything(types.ModuleType):\n"
        "    def __getattr__(self, name): return Anything\n"
        "    def __init__(self, *words, **more): pass\n"
        "class Stop(Exception): pass\n"
        "def stop(*words): raise Stop\n"
        "torch, nn = Anything(), Anything()\n"
        "matmul = types.SimpleNamespace(allow_tf32=True)\n"
        "torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=matmul))\n"
        "torch.manual_seed, torch.nn, nn.functional = stop, nn, Anything()\n"
        "nn.Module = object\n"
        "sys.modules.update({'torch': torch, 'torch.nn': nn})\n"
        "sys.path.insert(0, 'tests/device')\n"
        "from importlib import import_module\n"
        "study = import_module('study')\n"
        "row = {'size': 2, 'batch': 2}\n"
        "for name, words in ('fragmented', (row, None)), ('gpipe', (None,)):\n"
        "    matmul.allow_tf32 = True\n"
        "    try: import_module(name).measure(*words)\n"
        "    except Stop: print(name, matmul.allow_tf32)\n"
        "study.products(tf32=True)\n"
        "print(matmul)\n";
    struct cli_result result = cli_run((const char *const[]){"python3", "-B", "-c", script, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out,
                        "fragmented False\ngpipe False\n"
                        "namespace(allow_tf32=True, allow_fp16_reduced_precision_reduction=False, "
                        "allow_bf16_reduced_precision_reduction=False)\n");
    cli_result_free(&result);
}

/* No time of PyTorch's has a collection of Python's garbage in it, and none is off behind it, however it ended. */
static void no_garbage_is_collected_in_time(void **state)
{
    (void)state;
    static const char script[] =
        "import gc, sys, types\n"
        "torch = types.ModuleType('torch')\n"
        "torch.cuda = types.SimpleNamespace(OutOfMemoryError=MemoryError)\n"
        "sys.modules['torch'] = torch\n"
        "sys.path.insert(0, 'tests/device')\n"
        "from study import outcome\n"
        "print(outcome({}, 'cpu', lambda: {'collects': gc.isenabled()}), gc.isenabled())\n"
        "print(outcome({}, 'cpu', lambda: 1 / 0)['status'], gc.isenabled())\n";
    struct cli_result result = cli_run((const char *const[]){"python3", "-B", "-c", script, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "{'status': 'ok', 'collects': False} True\nerror True\n");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_resumed_and_packed),
        cmocka_unit_test(every_part_can_be_rehearsed),
        cmocka_unit_test(a_device_can_be_rehearsed),
        cmocka_unit_test(the_switchback_study_is_whole),
        cmocka_unit_test(devices_can_be_rehearsed),
        cmocka_unit_test(ranks_can_be_rehearsed),
        cmocka_unit_test(beside_pytorch_or_not_run),
        cmocka_unit_test(the_fastest_blocks_are_taken),
        cmocka_unit_test(float_is_multiplied_as_float),
        cmocka_unit_test(no_garbage_is_collected_in_time),
        cmocka_unit_test(int8_beside_is_as_defined),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
