/*
 * What `record` takes for its levels: presets, words and options of nsys; and the name of a trace that was not given
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../collectors/levels.h"
#include "../collectors/nsys_options.h"
#include "../collectors/output_name.h"
#include "../collectors/record_options.h"
#include "../collectors/ring.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "record_kit.h"

static struct nvt_error err;

static uint64_t levels(const char *text)
{
    struct nvt_levels parsed;
    assert_int_equal(nvt_levels_parse(text, &parsed, &err), 0);
    return parsed.trace;
}

static void lists_of_levels(void **state)
{
    (void)state;
    struct nvt_levels parsed;
    char text[128];
    assert_int_equal(levels("nvtx"), NVT_TRACE_NVTX);
    assert_int_equal(levels("cpu,osrt,cpu"), NVT_TRACE_CPU | NVT_TRACE_OSRT);
    /* What is left out of both is what the help says. */
    assert_int_equal(levels("all") & ~levels("full"),
                     NVT_TRACE_CPU | NVT_TRACE_MPI | NVT_TRACE_OSRT | NVT_TRACE_UM);
    assert_int_equal(levels("all,graph") & ~levels("all"), NVT_TRACE_GRAPH);
    /* Nobody named what `all` has: that there is none of it is no surprise. */
    assert_int_equal(nvt_levels_parse("all,osrt", &parsed, &err), 0);
    assert_int_equal(parsed.asked, NVT_TRACE_OSRT);
    /* Of nsys. */
    assert_int_equal(nvt_levels_parse("cuda,nvtx,osrt,cudnn,cublas", &parsed, &err), 0);
    assert_int_equal(parsed.trace,
                     NVT_TRACE_KERNEL | NVT_TRACE_API | NVT_TRACE_NVTX | NVT_TRACE_OSRT);
    assert_string_equal(parsed.unrecorded, "cudnn, cublas");
    assert_int_equal(levels("cublas"), NVT_TRACE_KERNEL);
    nvt_levels_text(levels("full,mpi"), text, sizeof(text));
    assert_string_equal(text, "nvtx,kernel,api,memory,sync,overhead,external,machine,mpi");
    nvt_levels_text(levels("graph,um,cpu"), text, sizeof(text));
    assert_string_equal(text, "graph,um,cpu");
    assert_int_equal(levels(text), levels("graph,um,cpu"));
    nvt_levels_text(levels("counters"), text, sizeof(text));
    assert_string_equal(text, "nvtx,counters");
    assert_int_equal(levels("all") & levels("counters"), NVT_TRACE_NVTX);
    nvt_levels_text(levels("nccl"), text, sizeof(text));
    assert_string_equal(text, "nvtx,nccl");
    nvt_levels_host(levels("nvtx"), text, sizeof(text));
    assert_string_equal(text, "osrt,cpu,machine");
    nvt_levels_host(levels("osrt,cpu"), text, sizeof(text));
    assert_string_equal(text, "machine");
    nvt_levels_host(levels("all"), text, sizeof(text));
    assert_string_equal(text, "");
}

static void metrics_have_names_and_a_rate(void **state)
{
    (void)state;
    static const struct {
        const char *text, *first;
        uint64_t trace;
        uint32_t count, hz;
    } cases[] = {
        {"metrics", "gr__cycles_active", NVT_TRACE_METRICS, 8, 10000},
        {"nvtx,metrics@20kHz,cpu", "gr__", NVT_TRACE_METRICS | NVT_TRACE_NVTX | NVT_TRACE_CPU, 8,
         20000},
        {"metrics=throughput@10Hz", "gr__", NVT_TRACE_METRICS, 8, 10},
        {"metrics=a__b.sum,kernel", "a__b.sum\n", NVT_TRACE_METRICS | NVT_TRACE_KERNEL, 1, 10000},
        {"metrics=a__b.sum,c__d.avg@1.5kHz,nvtx", "a__b.sum\nc__d.avg\n",
         NVT_TRACE_METRICS | NVT_TRACE_NVTX, 2, 1500},
        {"metrics=throughput,a__b.sum", "gr__", NVT_TRACE_METRICS, 9, 10000},
    };
    static const char *const wrong[][2] = {
        {"metrics=", "there is no ''"},
        {"metrics=dram", "there is no 'dram'"},
        {"metrics=a__b", "there is no 'a__b'"},
        {"metrics=a__b.sum,zzz", "there is no 'zzz'"},
        {"metrics=a__b.sum,nvtx,c__d.sum", "there is no 'c__d.sum'"},
        {"metrics@5Hz", "from 10Hz to 200kHz"},
        {"metrics@300kHz", "from 10Hz to 200kHz"},
        {"metrics@", "from 10Hz to 200kHz"},
        {"metrics@fast", "from 10Hz to 200kHz"},
        {"metrics@20kHz,a__b.sum", "there is no 'a__b.sum'"},
        {"metrics=throughput,throughput,a__b.sum", "16 names at most"},
        {"metricsx", "there is no 'metricsx'"},
    };
    struct nvt_levels parsed;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        assert_int_equal(nvt_levels_parse(cases[i].text, &parsed, &err), 0);
        assert_int_equal(parsed.trace, cases[i].trace);
        assert_int_equal(parsed.metrics.count, cases[i].count);
        assert_int_equal(parsed.metrics.hz, cases[i].hz);
        assert_memory_equal(parsed.metrics.names, cases[i].first, strlen(cases[i].first));
    }
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        err = (struct nvt_error)NVT_ERROR_INIT;
        assert_int_equal(nvt_levels_parse(wrong[i][0], &parsed, &err), -1);
        if (!strstr(err.message, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.message);
    }
    assert_int_equal(levels("all") & NVT_TRACE_METRICS, 0);
    assert_int_equal(levels("full") & NVT_TRACE_METRICS, 0);
}

static void wrong_lists(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "there is no ''"},           {"nvtx,", "there is no ''"},
        {",nvtx", "there is no ''"},      {"nvtx,,cpu", "there is no ''"},
        {"nvtx cpu", "no 'nvtx cpu'"},    {"NVTX", "no 'NVTX'"},
        {"kernels", "mean 'kernel'?"},    {"cuda,foo", "there is no 'foo'"},
        {"vulkan", "vulkan are not rec"}, {"nvtx,none", "there is no 'none'"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct nvt_levels parsed;
        assert_int_equal(nvt_levels_parse(wrong[i][0], &parsed, &err), -1);
        if (!strstr(err.message, wrong[i][1]) || strncmp(err.message, "--trace ", 8) != 0)
            fail_msg("'%s': %s", wrong[i][0], err.message);
    }
    /* All words at once are no more than there is room for, which the last one shows. */
    char all[2048] = "nvtx";
    for (size_t i = 0; i < 60; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), ",tegra-accelerators");
    struct nvt_levels parsed;
    assert_int_equal(nvt_levels_parse(all, &parsed, &err), 0);
    assert_int_equal(strlen(parsed.unrecorded), sizeof(parsed.unrecorded) - 1);
}

static const struct nvt_nsys_option *find(const char *name)
{
    size_t count, i = 0;
    const struct nvt_nsys_option *options = nvt_nsys_options(&count);
    while (i < count && strcmp(options[i].name, name) != 0)
        i++;
    assert_true(i < count);
    return &options[i];
}

static void options_of_nsys(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        uint64_t levels;
        const char *note; /* NULL: it is refused */
    } cases[] = {{"show-output", "true", 0, ""},
                 {"show-output", "false", 0, NULL},
                 {"stats", "false", 0, ""},
                 {"stats", "true", 0, "nvtally stats FILE"},
                 {"sample", "none", 0, ""},
                 {"sample", "cpu", NVT_TRACE_CPU, ""},
                 {"sample", "process-tree", NVT_TRACE_CPU, ""},
                 {"sample", "system-wide", 0, NULL},
                 {"sample", "", 0, NULL},
                 {"cuda-memory-usage", "true", NVT_TRACE_MEMORY, ""},
                 {"cuda-graph-trace", "graph:host-and-device", NVT_TRACE_GRAPH, ""},
                 {"cuda-graph-trace", "node", 0, ""},
                 {"cuda-graph-trace", "nod", 0, NULL},
                 {"backtrace", "dwarf", 0, ""},
                 {"cudabacktrace", "kernel:1000", 0, "not recorded"},
                 {"stop-on-exit", "false", 0, ""}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char note[256] = "";
        uint64_t more = 0;
        int status =
            nvt_nsys_take(find(cases[i].name), cases[i].value, &more, note, sizeof(note), &err);
        if (status != (cases[i].note ? 0 : -1) || more != cases[i].levels ||
            (cases[i].note && !strstr(note, cases[i].note)) ||
            (cases[i].note && !*cases[i].note && *note) ||
            (!cases[i].note && !strstr(err.message, cases[i].name)))
            fail_msg("--%s=%s: %d, %s%s", cases[i].name, cases[i].value, status, note, err.message);
    }
    /* None has the name or the letter of another one. */
    size_t count;
    const struct nvt_nsys_option *options = nvt_nsys_options(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(strcmp(options[i].name, options[j].name) != 0 &&
                        (!options[i].letter || options[i].letter != options[j].letter));
}

/*
 * Every option of `nsys profile` in the user guide of 2026.2 and some of older ones, with a value that it takes, most of them one that asks for
 * something: 't' it is taken, 'n' a line names the place of what is asked for, or that there is none, 'r' it is refused with its place.
 */
static const struct {
    char outcome;
    const char *option;
} documented[] = {
    {'n', "accelerator-trace=tegra-accelerators"},
    {'r', "after-collection-start=ls"},
    {'r', "after-report-ready=ls"},
    {'n', "auto-report-name=true"},
    {'t', "backtrace=dwarf"},
    {'t', "capture-range=cudaProfilerApi"},
    {'r', "capture-range=hotkey"},
    {'t', "capture-range-end=repeat:5"},
    {'n', "clock-frequency-changes=true"},
    {'r', "command-file=options.txt"},
    {'n', "cpu-cluster-events=0x16"},
    {'n', "cpu-core-events=1,2"},
    {'n', "cpu-core-metrics=1"},
    {'n', "cpu-metrics=1"},
    {'n', "cpu-socket-events=1"},
    {'n', "cpu-socket-metrics=1"},
    {'n', "cpuctxsw=process-tree"},
    {'t', "cuda-event-trace=true"},
    {'t', "cuda-flush-interval=100"},
    {'t', "cuda-graph-trace=graph:host-and-device"},
    {'t', "cuda-memory-usage=true"},
    {'n', "cuda-trace-all-apis=true"},
    {'t', "cuda-trace-scope=process-tree"},
    {'n', "cuda-trace-scope=system-wide"},
    {'t', "cuda-um-cpu-page-faults=true"},
    {'t', "cuda-um-gpu-page-faults=true"},
    {'n', "cudabacktrace=kernel:10000"},
    {'n', "dask=functions-trace"},
    {'n', "debug-symbols=/usr/lib/debug"},
    {'t', "delay=5"},
    {'t', "discard-environment=true"},
    {'t', "duration=10"},
    {'r', "duration-frames=60"},
    {'n', "dx-force-declare-adapter-removal-support=true"},
    {'n', "dx12-gpu-workload=batch"},
    {'n', "dx12-wait-calls=true"},
    {'n', "enable=network_interface"},
    {'r', "env-var=A=B"},
    {'n', "etw-provider=a,b"},
    {'n', "event-sample=system-wide"},
    {'t', "event-sampling-frequency=3"},
    {'t', "event-sampling-interval=10"},
    {'t', "event-sampling-multiplex-interval=2000"},
    {'n', "export=sqlite"},
    {'t', "flush-on-cudaprofilerstop=false"},
    {'t', "force-overwrite=true"},
    {'n', "ftrace=sched/sched_switch"},
    {'t', "ftrace-keep-user-config=true"},
    {'t', "gds-libs-path=/opt"},
    {'n', "gds-metrics=driver"},
    {'n', "gpu-metrics-device=all"},
    {'n', "gpu-metrics-devices=all"},
    {'t', "gpu-metrics-frequency=10000"},
    {'t', "gpu-metrics-set=gh100"},
    {'n', "gpu-video-device=all"},
    {'n', "gpuctxsw=true"},
    {'t', "hotkey-capture=F12"},
    {'n', "ib-net-info-devices=mlx5_0"},
    {'n', "ib-net-info-files=net.csv"},
    {'t', "ib-net-info-output=net"},
    {'n', "ib-switch-congestion-device=1"},
    {'n', "ib-switch-congestion-devices=1"},
    {'t', "ib-switch-congestion-nic-device=mlx5_0"},
    {'t', "ib-switch-congestion-percent=50"},
    {'t', "ib-switch-congestion-threshold-high=75"},
    {'n', "ib-switch-metrics=1"},
    {'n', "ib-switch-metrics-device=1"},
    {'n', "ib-switch-metrics-devices=1"},
    {'t', "ib-switch-metrics-nic-device=mlx5_0"},
    {'r', "inherit-environment=false"},
    {'t', "injection-use-detours=true"},
    {'n', "isr=true"},
    {'t', "kill=sigterm"},
    {'t', "mpi-impl=mpich"},
    {'n', "nic-metrics=lf"},
    {'t', "nvtx-capture=range@domain"},
    {'n', "nvtx-domain-exclude=a"},
    {'n', "nvtx-domain-include=a"},
    {'t', "opengl-gpu-workload=false"},
    {'n', "os-events=1"},
    {'t', "osrt-backtrace-depth=24"},
    {'t', "osrt-backtrace-stack-size=6144"},
    {'t', "osrt-backtrace-threshold=80000"},
    {'t', "osrt-file-access=true"},
    {'t', "osrt-threshold=1000"},
    {'t', "output=report"},
    {'n', "process-scope=system-wide"},
    {'n', "python-backtrace=cuda"},
    {'n', "python-functions-trace=file.json"},
    {'t', "python-sampling=true"},
    {'r', "python-sampling-frequency=1000"},
    {'t', "pytorch=autograd-nvtx"},
    {'n', "qnx-kernel-events=process/name"},
    {'t', "qnx-kernel-events-mode=system:fast"},
    {'t', "resolve-symbols=true"},
    {'n', "retain-etw-files=true"},
    {'r', "run-as=me"},
    {'t', "sample=process-tree"},
    {'r', "sample=system-wide"},
    {'t', "samples-per-backtrace=4"},
    {'r', "sampling-frequency=1000"},
    {'r', "sampling-period=1000000"},
    {'t', "sampling-trigger=timer"},
    {'t', "session-new=mine"},
    {'r', "show-output=false"},
    {'n', "soc-metrics=true"},
    {'t', "soc-metrics-frequency=10000"},
    {'t', "soc-metrics-set=t194"},
    {'r', "start-frame-index=3"},
    {'r', "start-later=true"},
    {'n', "stats=true"},
    {'t', "stop-on-exit=false"},
    {'n', "syscall=process-tree"},
    {'t', "trace=cuda,nvtx,osrt"},
    {'t', "trace-fork-before-exec=true"},
    {'n', "vsync=true"},
    {'t', "vulkan-gpu-workload=none"},
    {'t', "wait=primary"},
    {'n', "wddm-additional-events=true"},
    {'n', "wddm-backtraces=true"},
    {'n', "wddm-memory-trace=true"},
    {'n', "xhv-trace=pct.json"},
    {'t', "xhv-trace-events=sched"},
    {'n', "xhv-vm-symbols=file"},
};

/* Every word of its --trace but `none`. */
static const char documented_trace[] =
    "cuda,opengl,nvtx,osrt,cuda-sw,cuda-hw,cudnn,cublas,cusolver,cusparse,cublas-verbose,"
    "cusparse-verbose,cudla,cudla-verbose,cusolver-verbose,dx11,dx12,openacc,dx11-annotations,"
    "dx12-annotations,opengl-annotations,openmp,mpi,nvvideo,tegra-accelerators,ucx,openxr,oshmem,"
    "openxr-annotations,python-gil,gds,s3,s3-verbose,wddm,vulkan-annotations,vulkan,syscall";

static void every_word_of_nsys_is_known(void **state)
{
    (void)state;
    size_t counts[128] = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(documented); i++) {
        char option[80];
        static struct nvt_record_request request;
        const int is_levels = strstr(documented[i].option, "osrt-threshold=") != NULL;
        snprintf(option, sizeof(option), "--%s", documented[i].option);
        char *argv[] = {"record", option, "--trace=nvtx,kernel", "true", NULL};
        if (is_levels)
            argv[2] = "--trace=osrt";
        err = (struct nvt_error)NVT_ERROR_INIT;
        const int status = nvt_record_options_parse(4, argv, &request, &err);
        const char *end = strchr(option, '=');
        const char *said = status ? err.message : request.notes;
        const char outcome = status ? 'r' : *request.notes ? 'n' : 't';
        /* --kill has its own line, without --duration. */
        if (outcome != documented[i].outcome && strcmp(documented[i].option, "kill=sigterm") != 0)
            fail_msg("%s: %c instead of %c: %s", option, outcome, documented[i].outcome, said);
        if (outcome != 't' && strncmp(said, option, (size_t)(end - option)) != 0)
            fail_msg("%s is not named: %s", option, said);
        counts[(int)documented[i].outcome]++;
    }
    print_message("options of nsys: %zu taken, %zu with a line, %zu refused\n", counts['t'],
                  counts['n'], counts['r']);
    struct nvt_levels parsed;
    assert_int_equal(nvt_levels_parse(documented_trace, &parsed, &err), 0);
}

static void ranks_have_names_of_their_own(void **state)
{
    (void)state;
    static const char *const variables[] = {
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
        "MV2_COMM_WORLD_RANK",  "MV2_COMM_WORLD_SIZE",  "RANK",     "WORLD_SIZE",
        "SLURM_PROCID",         "SLURM_NTASKS"};
    for (size_t i = 0; i < NVT_COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    assert_string_equal(nvt_output_default(), "trace.nvt");
    nvt_fail(&err, "busy");
    nvt_output_add_hint(&err);
    assert_string_equal(err.message, "busy");
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "1", 1); /* one task is no rank among others */
    assert_string_equal(nvt_output_default(), "trace.nvt");
    nvt_output_add_hint(&err);
    assert_string_equal(
        err.message,
        "busy; each rank needs a file of its own: -o 'trace-rank%q{SLURM_PROCID}.nvt'");
    unsetenv("SLURM_NTASKS");
    assert_string_equal(nvt_output_default(), "trace-rank%q{SLURM_PROCID}.nvt");
    setenv("SLURM_NTASKS", "2", 1);
    assert_string_equal(nvt_output_default(), "trace-rank%q{SLURM_PROCID}.nvt");
    /* Something else may have that name. */
    setenv("RANK", "major", 1);
    assert_string_equal(nvt_output_default(), "trace-rank%q{SLURM_PROCID}.nvt");
    setenv("RANK", "3", 1);
    assert_string_equal(nvt_output_default(), "trace-rank%q{RANK}.nvt");
    /* Within a task of Slurm's, torchrun has started several. */
    setenv("RANK", "5", 1);
    setenv("WORLD_SIZE", "8", 1);
    assert_string_equal(nvt_output_default(), "trace-rank%q{RANK}.nvt");
    static const char *const named[][2] = {{"x.nvt", "x-rank5.nvt"},
                                           {"a.b/x", "a.b/x-rank5"},
                                           {"a.b/.x", "a.b/.x-rank5"},
                                           {"x.old.nvt", "x.old-rank5.nvt"}};
    for (size_t i = 0; i < NVT_COUNT_OF(named); i++) {
        char *name = nvt_output_of_rank(named[i][0]);
        assert_string_equal(name, named[i][1]);
        free(name);
    }
    for (size_t i = 0; i < NVT_COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    assert_null(nvt_output_of_rank("x.nvt"));
    /* A batch script of Slurm's has the number of a task and is none; what srun starts is. */
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    assert_string_equal(nvt_output_default(), "trace.nvt");
    setenv("SLURM_STEP_ID", "4294967291", 1);
    assert_string_equal(nvt_output_default(), "trace.nvt");
    setenv("SLURM_STEP_ID", "0", 1);
    assert_string_equal(nvt_output_default(), "trace-rank%q{SLURM_PROCID}.nvt");
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_NTASKS");
}

/* Command lines of tutorials and issues, with what is recorded then; a message of each that asks for more. */
static void command_lines_are_taken_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *line, *levels;
        const char *notes[3];
    } cases[] = {
        {"--trace=cuda,nvtx,osrt --force-overwrite=true --stats=true",
         "nvtx,kernel,api,osrt",
         {"nvtally stats FILE prints them"}},
        {"-t cuda,nvtx -w true -s none -f true", "nvtx,kernel,api", {NULL}},
        {"-t cuda,cudnn,cublas,osrt,nvtx --delay=0.01",
         "nvtx,kernel,api,osrt",
         {"calls of cudnn, cublas are not recorded"}},
        {"--trace cuda --sample cpu --cuda-memory-usage true", "kernel,api,memory,cpu", {NULL}},
        {"-t none --sample=process-tree", "cpu", {NULL}},
        {"--trace=nvtx --export=sqlite --stats true",
         "nvtx",
         {"nvtally export FILE --to sqlite", "nvtally stats FILE"}},
        {"-t nvtx,cuda --gpu-metrics-device=all --nic-metrics=true --python-backtrace=cuda",
         "nvtx,kernel,api",
         {"counters of the GPU", "not sampled", "Python's stacks"}},
        {"-t cuda --cuda-graph-trace=graph:host-only --cudabacktrace=all",
         "kernel,api,graph",
         {"stacks of CUDA calls"}},
        {"-t nvtx -y 0 -d 30 --kill none --wait primary -x true", "nvtx", {NULL}},
        {"-t osrt --osrt-threshold=10000 --osrt-backtrace-stack-size=16384 -b fp", "osrt", {NULL}},
        {"-t nvtx --capture-range=none --capture-range-end=stop --stop-on-range-end=true",
         "nvtx",
         {NULL}},
        {"-t nvtx --session-new=a --cpuctxsw=none --trace-fork-before-exec=true", "nvtx", {NULL}}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char words[256], *rest = words;
        const char *argv[40] = {"nvtally", "record", "-o", recorded_path()};
        int argc = 4;
        snprintf(words, sizeof(words), "%s", cases[i].line);
        for (char *word; (word = strtok_r(rest, " ", &rest)); argc++)
            argv[argc] = word;
        argv[argc] = "echo";
        argv[argc + 1] = "ran";
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        assert_string_equal(result.out, "ran\n");
        for (int note = 0; note < 3 && cases[i].notes[note]; note++)
            if (!strstr(result.err, cases[i].notes[note]))
                fail_msg("%s: no '%s' in\n%s", cases[i].line, cases[i].notes[note], result.err);
        if (!cases[i].notes[0] && strstr(result.err, "nvtally: --"))
            fail_msg("%s:\n%s", cases[i].line, result.err);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        assert_string_equal(nvt_trace_meta(trace, "trace"), cases[i].levels);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_levels),
        cmocka_unit_test(metrics_have_names_and_a_rate),
        cmocka_unit_test(wrong_lists),
        cmocka_unit_test(options_of_nsys),
        cmocka_unit_test(every_word_of_nsys_is_known),
        cmocka_unit_test(command_lines_are_taken_as_they_are),
        cmocka_unit_test(ranks_have_names_of_their_own),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
