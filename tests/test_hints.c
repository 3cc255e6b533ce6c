/*
 * What `diagnose` says beside its findings: how the command ended and in which iteration, what was not recorded and how to record
 * it, and remedies that fit who reads them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/recording.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "record_kit.h"

enum lines { END, MISSING, MORE };

/* The lines of one kind about a trace, owned. */
static char *lines_of(struct nvt_trace *trace, enum lines kind)
{
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_buffer text = {0};
    assert_int_equal(kind == END       ? nvt_diagnose_end(&input, &text, NULL)
                     : kind == MISSING ? nvt_diagnose_missing(&input, &text, NULL)
                                       : nvt_diagnose_more(&input, &text, NULL),
                     0);
    assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
    return (char *)text.data;
}

static void expect_lines(struct nvt_trace *trace, enum lines kind, const char *expected)
{
    char *text = lines_of(trace, kind);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_in(struct nvt_trace *trace, enum lines kind, const char *needle)
{
    char *text = lines_of(trace, kind);
    if (!strstr(text, needle))
        fail_msg("no '%s' in '%s'", needle, text);
    free(text);
}

static void expect_absent(struct nvt_trace *trace, enum lines kind, const char *needle)
{
    char *text = lines_of(trace, kind);
    if (strstr(text, needle))
        fail_msg("'%s' in '%s'", needle, text);
    free(text);
}

/* --- how it ended ---------------------------------------------------------------------------------- */

static void ends_are_told_in_words(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *text; /* NULL: nothing */
    } cases[] = {{0, NULL},
                 {SIGKILL, "was killed by SIGKILL"},
                 {SIGSEGV, "crashed with SIGSEGV"},
                 {SIGABRT | 0x80, "crashed with SIGABRT"}, /* with a core file */
                 {50, "was killed by signal 50"},
                 {3 << 8, "ended with exit status 3"},
                 {137 << 8, "ended with exit status 137, as a shell does after SIGKILL"},
                 {255 << 8, "ended with exit status 255"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = nvt_trace_new("t", "nvt");
        assert_non_null(trace);
        assert_int_equal(nvt_recording_set_ended(trace, cases[i].status), 0);
        const char *ended = nvt_trace_meta(trace, NVT_FACT_ENDED);
        if (!cases[i].text != !ended || (ended && strcmp(ended, cases[i].text) != 0))
            fail_msg("%d: %s", cases[i].status, ended);
        assert_int_equal(nvt_recording_has_signal(trace), ended && strncmp(ended, "ended", 5) != 0);
        nvt_trace_free(trace);
    }
}

/* So many iterations of 1 ms, the last of which is left in a range `load` of it, if `is_cut`. */
static struct nvt_trace *loop(int iterations, int is_cut, int status)
{
    struct maker maker = make_begin();
    for (int i = 0; i < iterations; i++) {
        int64_t start = maker.now;
        maker.now += 1000000;
        make_range(&maker, "iteration", start);
        if (is_cut && i == iterations - 1)
            make_range(&maker, "load", start + 400000);
    }
    struct nvt_trace *trace = maker.trace;
    for (uint32_t i = trace->ranges.count - 2; i < trace->ranges.count && is_cut; i++)
        trace->ranges.flags[i] |= NVT_RANGE_UNCLOSED;
    assert_int_equal(nvt_recording_set_ended(trace, status), 0);
    return make_end(&maker);
}

static void a_cut_iteration_comes_first(void **state)
{
    (void)state;
    static const struct {
        int iterations, is_cut, status;
        const char *text;
    } cases[] = {
        {1, 1, SIGKILL, "the command was killed by SIGKILL in its 1st iteration: iteration"},
        {2, 1, SIGSEGV, "the command crashed with SIGSEGV in its 2nd iteration: iteration"},
        {3, 1, 1 << 8, "the command ended with exit status 1 in its 3rd iteration: iteration"},
        {11, 1, SIGTERM, "the command was killed by SIGTERM in its 11th iteration: iteration"},
        {22, 1, SIGTERM, "the command was killed by SIGTERM in its 22nd iteration: iteration"},
        {113, 1, SIGTERM, "the command was killed by SIGTERM in its 113th iteration: iteration"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = loop(cases[i].iterations, cases[i].is_cut, cases[i].status);
        expect_in(trace, END, cases[i].text);
        expect_in(trace, END, " > load");
        nvt_trace_free(trace);
    }
    /* Behind the last one, a signal is told of alone; a status is the program's own business. */
    struct nvt_trace *trace = loop(5, 0, SIGKILL);
    expect_lines(trace, END, "the command was killed by SIGKILL\n");
    trace->is_part = 1;
    expect_lines(trace, END, "");
    nvt_trace_free(trace);
    trace = loop(5, 0, 1 << 8);
    expect_lines(trace, END, "");
    nvt_trace_free(trace);
    trace = loop(5, 1, 0);
    expect_lines(trace, END, "");
    nvt_trace_free(trace);
}

/* Where there are no iterations, it was in a range. */
static void recorded_ends(void **state)
{
    (void)state;
    static const char *const signals[][2] = {{"KILL", "the command was killed by SIGKILL\n"},
                                             {"SEGV", "the command crashed with SIGSEGV\n"}};
    for (size_t i = 0; i < 2; i++) {
        char script[32];
        snprintf(script, sizeof(script), "kill -%s $$", signals[i][0]);
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "record", "-f", "-o", recorded_path(), "--", "sh", "-c", script, NULL});
        assert_true(result.signal != 0);
        cli_result_free(&result);
        result = cli_run((const char *const[]){"nvtally", "diagnose", recorded_path(), NULL});
        cli_expect_status(&result, 0);
        if (strncmp(result.out, signals[i][1], strlen(signals[i][1])) != 0)
            fail_msg("%s", result.out);
        cli_result_free(&result);
    }
    /* As tables, too. */
    const char *tables = recorded_in("tables.nvt");
    struct cli_result result = cli_run((const char *const[]){"nvtally", "export", recorded_path(),
                                                             "--to", "nvt", "-o", tables, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace_at(tables);
    expect_lines(trace, END, signals[1][1]);
    nvt_trace_free(trace);
}

/* --- what was not recorded ----------------------------------------------------------------------------- */

static struct nvt_trace *recording(const char *levels, const char *command)
{
    struct nvt_trace *trace = loop(30, 0, 0);
    if (levels)
        assert_int_equal(nvt_trace_set_meta(trace, "trace", levels), 0);
    assert_int_equal(nvt_trace_set_meta(trace, "record", "nvtally record …"), 0);
    assert_int_equal(nvt_trace_set_meta(trace, "command", command), 0);
    return trace;
}

static void what_was_on_is_not_asked_for(void **state)
{
    (void)state;
    struct nvt_trace *trace = recording("nvtx,kernel,api,memory", "a.out");
    expect_in(trace, MISSING, " rules skipped: no GPU work was recorded\n");
    expect_absent(trace, MISSING, "no API calls");
    expect_absent(trace, MISSING, "kernel");
    expect_in(trace, MISSING,
              " rules skipped: no OS calls, CPU samples, machine samples, process memory "
              "samples, MPI or torch.distributed calls or CPU counters in the trace (nvtally "
              "record --trace osrt,cpu,machine,process,mpi,counters)\n");
    nvt_trace_free(trace);
    /* It may have been another level that was off. */
    trace = recording("nvtx,osrt", "a.out");
    expect_in(trace, MISSING,
              " rules skipped: no device operations in the trace (nvtally record "
              "--trace kernel, on a machine with a GPU)\n");
    nvt_trace_free(trace);
    /* What --pytorch makes was wanted, and there is none of it. */
    struct maker maker = make_begin();
    maker.now += 1000;
    make_range(&maker, "forward", 0);
    trace = make_end(&maker);
    assert_int_equal(nvt_trace_set_meta(trace, "trace", "nvtx,pytorch"), 0);
    expect_in(trace, MISSING, "(a range 'iteration' around each, or --iteration NAME)\n");
    nvt_trace_free(trace);
    struct nvt_trace *device = make_program(&(struct program){.kernels = 4, .kernel_ns = 80000});
    assert_int_equal(nvt_trace_set_meta(device, "trace", "nvtx,kernel,api,memory"), 0);
    expect_in(device, MISSING, " rules skipped: no memory events in the trace\n");
    nvt_trace_free(device);
}

/* A level of the host that was on is not asked for, and what there is of it has been looked at. */
static void each_level_of_the_host_is_counted(void **state)
{
    (void)state;
    static const char *const levels[] = {"osrt", "cpu", "machine", "process", "mpi"};
    static const char *const names[] = {"OS calls", "CPU samples", "machine samples",
                                        "process memory samples", "MPI or torch.distributed calls"};
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        char on[32];
        snprintf(on, sizeof(on), "nvtx,%s", levels[i]);
        struct nvt_trace *trace = recording(on, "a.out");
        expect_in(trace, MISSING, names[i]);
        for (size_t k = 0; k < NVT_COUNT_OF(levels); k++) {
            char asked[32];
            snprintf(asked, sizeof(asked), k ? ",%s" : "--trace %s", levels[k]);
            if (k == i)
                expect_absent(trace, MISSING, asked);
            else if (k && i)
                expect_in(trace, MISSING, asked);
        }
        nvt_trace_free(trace);
    }
    struct nvt_trace *calls =
        make_program(&(struct program){.os_call = "read", .os_ns = 100000, .host_ns = 800000});
    expect_in(calls, MISSING, "no CPU samples, machine samples");
    expect_absent(calls, MISSING, "OS calls");
    nvt_trace_free(calls);
    struct nvt_trace *machine = make_program(&(struct program){.ready = 1, .host_ns = 800000});
    expect_in(machine, MISSING, "no OS calls, CPU samples, process memory samples");
    nvt_trace_free(machine);
}

static void who_finds_nothing_gets_levels(void **state)
{
    (void)state;
    static const struct {
        const char *levels, *command, *text;
    } cases[] = {
        {"nvtx,kernel", "./a.out 1",
         "nvtally record --trace nvtx,osrt,cpu,machine shows more, with or without a GPU: what the "
         "program waits for, what it runs, the load of the machine\n"},
        {"nvtx,osrt", "./a.out",
         "nvtally record --trace nvtx,cpu,machine shows more, with or without a GPU: what it runs, "
         "the load of the machine\n"},
        {"nvtx,osrt,cpu,machine", "./a.out", ""},
        {"nvtx", "/usr/bin/python3 -u train.py",
         "nvtally record --python shows more, with or without a GPU: what the program waits for, "
         "what it runs, the load of the machine\n"},
        {"nvtx,cpu", "python train.py",
         "nvtally record --trace nvtx,osrt,machine shows more, with or without a GPU: what the "
         "program waits for, the load of the machine\n"},
        {NULL, "pythonic/prog",
         "nvtally record --trace nvtx,osrt,cpu,machine shows more, with or without a GPU: what the "
         "program waits for, what it runs, the load of the machine\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = recording(cases[i].levels, cases[i].command);
        expect_lines(trace, MORE, cases[i].text);
        /* Of another recorder's, its own options would be asked for. */
        trace->recorder = NVT_BY_NSYS;
        expect_lines(trace, MORE, "");
        nvt_trace_free(trace);
    }
    /* An older recording does not say what was on; what is there was. */
    struct maker maker = make_begin();
    maker.now += 1000000;
    make_os_call(&maker, "read", maker.thread, 0, 1000000);
    struct nvt_trace *trace = make_end(&maker);
    assert_int_equal(nvt_trace_set_meta(trace, "record", "nvtally record …"), 0);
    expect_in(trace, MORE, "--trace nvtx,cpu,machine shows");
    nvt_trace_free(trace);
}

/* --- remedies -------------------------------------------------------------------------------------------- */

static struct nvt_findings findings_of(struct nvt_trace *trace, const struct nvt_rule *rule)
{
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    const struct nvt_case facts = {.input = &input};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(rule, &facts, &findings, NULL), 0);
    return findings;
}

static void pytorch_has_its_own_remedies(void **state)
{
    (void)state;
    static const struct {
        const char *domain;
        enum nvt_recorder recorder;
        int is_pytorch;
    } cases[] = {{NULL, NVT_BY_NVTALLY, 0},
                 {"PyTorch", NVT_BY_NVTALLY, 1},
                 {NULL, NVT_BY_NSYS, 0},
                 {NULL, NVT_BY_PYTORCH, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct program program = {
            .kernels = 40, .kernel_ns = 2000, .launch_ns = 9000, .domain = cases[i].domain};
        struct nvt_trace *trace = make_program(&program);
        trace->recorder = cases[i].recorder;
        struct nvt_findings findings = findings_of(trace, &nvt_rule_launch);
        assert_int_equal(findings.count, 1);
        const char *remedy = findings.items[0].remedy;
        assert_int_equal(strstr(remedy, "torch.compile") != NULL, cases[i].is_pytorch);
        assert_int_equal(strstr(remedy, "larger batch") != NULL, cases[i].is_pytorch);
        assert_non_null(strstr(remedy, "CUDA graph"));
        free(findings.items);
        nvt_trace_free(trace);
    }
    /* By a kernel's name alone. */
    struct maker maker = make_begin();
    make_launch(&maker, "void at::native::elementwise_kernel<128>(int)", 1000);
    struct nvt_trace *trace = make_end(&maker);
    trace->recorder = NVT_BY_NSYS;
    assert_true(nvt_is_pytorch_program(trace));
    nvt_trace_free(trace);
}

/* Ranges that end in front of their kernels, of the program's or of --pytorch's making. */
static void ranges_of_the_recorder_are_no_complaint(void **state)
{
    (void)state;
    static const struct {
        const char *domain;
        enum nvt_recorder recorder;
        size_t findings;
    } cases[] = {{NULL, NVT_BY_NVTALLY, 1},
                 {"PyTorch", NVT_BY_NVTALLY, 0},
                 {"mine", NVT_BY_NVTALLY, 1},
                 {"PyTorch", NVT_BY_NSYS, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct program program = {
            .kernels = 4, .kernel_ns = 900000, .no_wait = 1, .domain = cases[i].domain};
        struct nvt_trace *trace = make_program(&program);
        trace->recorder = cases[i].recorder;
        struct nvt_findings findings = findings_of(trace, &nvt_rule_timing);
        if (findings.count != cases[i].findings)
            fail_msg("%zu: %zu findings", i, findings.count);
        free(findings.items);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told_in_words),
        cmocka_unit_test(a_cut_iteration_comes_first),
        cmocka_unit_test(recorded_ends),
        cmocka_unit_test(what_was_on_is_not_asked_for),
        cmocka_unit_test(each_level_of_the_host_is_counted),
        cmocka_unit_test(who_finds_nothing_gets_levels),
        cmocka_unit_test(pytorch_has_its_own_remedies),
        cmocka_unit_test(ranges_of_the_recorder_are_no_complaint),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
