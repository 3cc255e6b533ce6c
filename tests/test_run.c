/*
 * The command `run`: rows, traces, and that both tell the same story.
 */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

static struct nvt_trace *read_trace_of(const char *folder, const struct nvt_record *record)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace =
        nvt_trace_read(cli_in(folder, nvt_record_text(record, "trace")), &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    return count;
}

static void a_sweep_has_a_row_and_a_trace_each(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "sweep");
    const char *argv[] = {
        "nvtally", "run",         "fragmented", "--size",   "64,128", "--batch",
        "1,3",     "--fragments", "2,8",        "--warmup", "2",      "--iterations",
        "5",       "--backend",   "host",       "-o",       out,      NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    /* size × batch × (linear + train·F + inference·F·variant) */
    assert_int_equal(runs->count, 2 * 2 * (1 + 2 + 2 * 2));
    size_t longer_backward = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        double size = nvt_record_number(record, "size");
        const char *mode = nvt_record_text(record, "mode");
        const char *variant = nvt_record_text(record, "variant");
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        assert_int_equal((variant != NULL), !strcmp(mode, "inference"));
        assert_int_equal(isnan(nvt_record_number(record, "fragments")), !strcmp(mode, "linear"));
        double expected =
            strcmp(mode, "linear") ? size + size * size + size / 32 * 2 * size : size * size + size;
        assert_true(nvt_record_number(record, "parameters") == expected);
        assert_true(nvt_record_number(record, "peak_allocated_bytes") >= 16 * expected);
        assert_true(nvt_record_number(record, "forward_ns_mean") > 0);
        assert_true(nvt_record_number(record, "optimizer_ns_mean") > 0);
        longer_backward += nvt_record_number(record, "backward_ns_median") >
                           nvt_record_number(record, "optimizer_ns_median");
        struct nvt_trace *trace = read_trace_of(out, record);
        uint32_t fragments = variant && !strcmp(variant, "looped")
                                 ? (uint32_t)nvt_record_number(record, "fragments")
                                 : 0;
        assert_int_equal(count_ranges(trace, "warmup"), 2);
        assert_int_equal(count_ranges(trace, "iteration"), 5);
        assert_int_equal(count_ranges(trace, "forward"), 5);
        assert_int_equal(count_ranges(trace, "optimizer"), 5);
        /* A range per fragment and iteration where the host loops, none where it does not. */
        assert_int_equal(count_ranges(trace, "fragment"), 5 * fragments);
        nvt_trace_free(trace);
    }
    /* Twice as long, or thrice; phases of some 10 us, of which a busy machine makes what it will. */
    assert_true(2 * longer_backward > runs->count);
    nvt_runs_free(runs);
}

/* Both variants start from the same seed and do the same steps: float rounding apart, the same loss. */
static void both_variants_agree(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "variants");
    const char *argv[] = {"nvtally", "run",       "fragmented", "--size",
                          "256",     "--batch",   "8",          "--fragments",
                          "4,32",    "--mode",    "inference",  "--iterations",
                          "5",       "--collect", "off",        "--backend",
                          "host",    "-o",        out,          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < 4; i += 2) {
        double looped = nvt_record_number(&runs->records[i], "loss");
        double grouped = nvt_record_number(&runs->records[i + 1], "loss");
        assert_true(looped > 0);
        assert_true(fabs(looped - grouped) <= 1e-4 * looped);
        assert_null(nvt_record_text(&runs->records[i], "trace"));
    }
    nvt_runs_free(runs);
}

/* The text of a CSV cell by row and heading, into out. */
static void csv_cell(const char *csv, int row, const char *heading, char *out, size_t size)
{
    int column = 0;
    const char *at = csv, *end = strchr(csv, '\n');
    while (strncmp(at, heading, strlen(heading)) ||
           (at[strlen(heading)] != ',' && at[strlen(heading)] != '\n' &&
            at[strlen(heading)] != '\r')) {
        at = memchr(at, ',', (size_t)(end - at));
        if (!at)
            fail_msg("no heading '%s'", heading);
        at++;
        column++;
    }
    for (at = csv; row >= 0; row--)
        at = strchr(at, '\n') + 1;
    while (column--)
        at = strchr(at, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(at, ",\r\n"), at);
}

/* The times of a phase, by the run's own clock or by the trace's report; in ns. */
struct phase_times {
    double mean, std;
};

static struct phase_times times_of_run(const struct nvt_record *record, const char *phase)
{
    char mean[64], std[64];
    snprintf(mean, sizeof(mean), "%s_ns_mean", phase);
    snprintf(std, sizeof(std), "%s_ns_std", phase);
    return (struct phase_times){nvt_record_number(record, mean), nvt_record_number(record, std)};
}

static struct phase_times times_of_trace(const char *csv, int row, const char *phase)
{
    char cell[64];
    struct phase_times times;
    csv_cell(csv, row, "phase", cell, sizeof(cell));
    assert_string_equal(cell, phase);
    csv_cell(csv, row, "mean (ns)", cell, sizeof(cell));
    times.mean = strtod(cell, NULL);
    csv_cell(csv, row, "std (ns)", cell, sizeof(cell));
    times.std = strtod(cell, NULL);
    return times;
}

/* Whether run and trace agree in all phases, to 1 %, and to that of a millisecond where a fast machine takes less. */
static bool phases_agree(const struct nvt_record *record, const char *csv)
{
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    int apart = 0;
    for (int row = 0; row < 3; row++) {
        struct phase_times ours = times_of_run(record, phases[row]);
        struct phase_times theirs = times_of_trace(csv, row, phases[row]);
        double slack = 0.01 * fmax(ours.mean, 1e6);
        if (fabs(theirs.mean - ours.mean) < slack && fabs(theirs.std - ours.std) < slack)
            continue;
        apart++;
        print_message("%s: the run says %.0f ± %.0f ns, its trace %.0f ± %.0f ns\n", phases[row],
                      ours.mean, ours.std, theirs.mean, theirs.std);
    }
    return !apart;
}

static bool a_run_and_its_trace_agree(const char *out)
{
    const char *argv[] = {"nvtally",  "run", "linear",       "--size", "2048",      "--batch", "16",
                          "--warmup", "2",   "--iterations", "20",     "--backend", "host",    "-o",
                          out,        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    const char *trace = cli_in(out, nvt_record_text(&runs->records[0], "trace"));
    const char *stats[] = {"nvtally", "stats", trace, "-r", "phases", "-f", "csv", NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    bool agree = phases_agree(&runs->records[0], result.out);
    cli_result_free(&result);
    nvt_runs_free(runs);
    return agree;
}

/* Phases of some milliseconds, on a fast machine of less: the trace alone gives the mean within 1 %, and the
 * deviation. Two clocks are read a few ns apart, and a machine that takes the processor away in between, for
 * some ms, sets the two apart in that run; what is wrong in the program does so in each. */
static void the_trace_tells_what_the_run_measured(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("what it does between two clocks takes milliseconds");
    cli_expect_one_run("story", a_run_and_its_trace_agree);
}

/* Runs that differ only in how they were measured are rows of their own. */
static void phases_keep_levels_and_warmups_apart(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "run", "linear", "--size", "32", "--batch", "1", "--collect", "off,nvtx",
        "--warmup", "0,2", "--iterations", "3", "-o", cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", cli_folder, "-r", "phases", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    for (const char *const *way = (const char *const[]){"collect=off warmup=0,forward,3,",
                                                        "collect=off warmup=2,forward,3,",
                                                        "collect=nvtx warmup=0,forward,3,",
                                                        "collect=nvtx warmup=2,forward,3,", NULL};
         *way; way++)
        if (!strstr(result.out, *way))
            fail_msg("no '%s' in\n%s", *way, result.out);
    cli_result_free(&result);
}

static void memory_that_runs_out_is_a_row(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "oom");
    const char *argv[] = {"nvtally", "run",       "linear",       "--size", "64,1024",
                          "--batch", "1",         "--iterations", "2",      "--memory-limit",
                          "8M",      "--backend", "host",         "-o",     out,
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "1 of 2 configurations"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    assert_non_null(strstr(nvt_record_text(&runs->records[1], "message"), "bytes were asked for"));
    assert_non_null(strstr(nvt_record_text(&runs->records[1], "message"),
                           "would exceed --memory-limit (8388608 bytes)"));
    assert_true(isnan(nvt_record_number(&runs->records[1], "forward_ns_mean")));
    nvt_runs_free(runs);
}

/* So many that the last size is not through when the first result is seen, and that the first comes. */
#ifdef __SANITIZE_THREAD__
#define LONG_RUN "200"
#else
#define LONG_RUN "2000"
#endif

/* The beginning of a script: a run into `out` that takes long, as $p, and has written its first row. `quietly`: its output
 * goes nowhere. Returns its length. */
static size_t begin_long_run(char *script, size_t size, const char *out, int quietly)
{
    return (size_t)snprintf(
        script, size,
        "%s run linear --size 256,2048,4096 --batch 16 --iterations " LONG_RUN
        " --backend host -o %s %s & "
        "p=$!; for i in $(seq 5000); do sleep 0.1; [ -s %s/results.jsonl ] && break; done; ",
        cli_built("nvtally"), out, quietly ? ">/dev/null 2>&1" : "", out);
}

static void ctrl_c_keeps_what_was_finished(void **state)
{
    (void)state;
    char script[2048];
    const char *out = cli_in(cli_folder, "stopped");
    size_t used = begin_long_run(script, sizeof(script), out, 0);
    snprintf(script + used, sizeof(script) - used, "kill -TERM $p; wait $p");
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    assert_false(result.timed_out);
    assert_int_equal(result.status, 128 + SIGTERM);
    assert_non_null(strstr(result.err, "finished runs are kept"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_null(runs->warning);
    assert_in_range(runs->count, 1, 2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    nvt_runs_free(runs);
}

/* A recorded sweep of many short runs that gets a signal at some time after its first row: to itself alone, or, as a
 * terminal sends it, to its process group. Its wait status. */
static int interrupt_sweep(const char *out, int number, int is_to_all, int after_us)
{
    enum { LIMIT_S = 30, POLL_US = 5000 };
    const char *rows = cli_in(out, "results.jsonl"), *program = cli_built("nvtally");
    struct stat status;
    int wait_status = 0, waited_us = 0;
    char batches[256] = "1";
    for (int i = 2; i < 60; i++)
        snprintf(batches + strlen(batches), sizeof(batches) - strlen(batches), ",%d", i);
    const char *argv[] = {program, "run",          "fragmented", "--size",   "128", "--batch",
                          batches, "--iterations", "20",         "--warmup", "2",   "--backend",
                          "host",  "-o",           out,          NULL};
    pid_t sweep = fork();
    if (!sweep) {
        setpgid(0, 0);
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execv(program, (char *const *)argv);
        _exit(127);
    }
    assert_true(sweep > 0);
    setpgid(sweep, sweep);
    for (; (stat(rows, &status) || !status.st_size) && waited_us < LIMIT_S * 1000000;
         waited_us += POLL_US)
        usleep(POLL_US);
    usleep((useconds_t)after_us);
    kill(is_to_all ? -sweep : sweep, number);
    assert_int_equal(waitpid(sweep, &wait_status, 0), sweep);
    return wait_status;
}

static size_t count_traces(const char *folder)
{
    glob_t found = {0};
    int status = glob(cli_in(folder, "*.nvt*"), 0, NULL, &found);
    assert_true(!status || status == GLOB_NOMATCH);
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

/* Between the end of a run's process and that of its trace a quarter of a sweep's time goes by. */
static void no_signal_is_lost(void **state)
{
    (void)state;
    enum { TRIES = 24 };
    for (int try = 0; try < TRIES; try++) {
        char name[32];
        int is_to_all = try % 2, number = is_to_all ? SIGINT : SIGTERM;
        snprintf(name, sizeof(name), "signal-%d", try);
        const char *out = cli_in(cli_folder, name);
        int wait_status = interrupt_sweep(out, number, is_to_all, try * 3700);
        assert_true(WIFEXITED(wait_status));
        assert_int_equal(WEXITSTATUS(wait_status), 128 + number);
        struct nvt_runs *runs = cli_read_runs(out);
        assert_null(runs->warning);
        assert_int_equal(count_traces(out), runs->count);
        for (size_t i = 0; i < runs->count; i++)
            assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        nvt_runs_free(runs);
    }
}

/* Two runs do not write to one directory, and the first is not disturbed by who tries. */
static void a_directory_is_of_one_run(void **state)
{
    (void)state;
    char script[2048];
    const char *out = cli_in(cli_folder, "taken");
    size_t used = begin_long_run(script, sizeof(script), out, 1);
    snprintf(script + used, sizeof(script) - used,
             "%s run linear --size 64 --batch 1 --iterations 1 --backend host -o %s; s=$?; "
             "kill -TERM $p; wait $p; exit $s",
             cli_built("nvtally"), out);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    cli_expect_failure(&result, "another nvtally run is writing to it");
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_in_range(runs->count, 1, 2);
    assert_true(nvt_record_number(&runs->records[0], "size") == 256);
    nvt_runs_free(runs);
    /* When it has ended, or was killed, the directory is free. */
    result =
        cli_run((const char *const[]){"nvtally", "run", "linear", "--size", "64", "--batch", "1",
                                      "--iterations", "1", "--backend", "host", "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static void bad_axes_run_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *needle;
    } bad[] = {{"--size", "0", "--size 0"},
               {"--size", "abc", "--size abc"},
               {"--size", "48", "multiple of 32"},
               {"--size", "99999999999999999999", "--size 9999"},
               {"--size", "64,", "--size 64,"},
               {"--size", "64,64", "twice"},
               {"--fragments", "3", "cannot be cut into 3 fragments"},
               {"--batch", "-1", "--batch -1"},
               {"--mode", "fast", "linear, train, inference"},
               {"--iterations", "0", "--iterations 0"},
               {"--memory-limit", "many", "--memory-limit many"},
               {"--checkpoint", "maybe", "fragmented has no such axis"},
               {"--collect", "everything", "off, nvtx"},
               {"--backend", "tpu", "auto, host or cuda"}};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        const char *argv[] = {"nvtally", "run", "fragmented", bad[i].option, bad[i].value, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, bad[i].needle);
        cli_result_free(&result);
    }
    if (cli_has_device())
        return;
    const char *argv[] = {"nvtally", "run", "linear", "--backend", "cuda", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "no CUDA device answers here");
    cli_result_free(&result);
}

/* What `run WORDS --list` prints. */
static struct cli_result list(const char *words)
{
    char command[600];
    snprintf(command, sizeof(command), "exec \"$0\" run %s --list", words);
    return cli_run((const char *const[]){"sh", "-c", command, cli_built("nvtally"), NULL});
}

static void expect_list(const char *words, const char *needle)
{
    struct cli_result result = list(words);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, needle))
        fail_msg("no '%s' of %s in\n%s", needle, words, result.out);
    cli_result_free(&result);
}

static void what_was_not_typed_is_the_studys(void **state)
{
    (void)state;
    expect_list("gpipe --model resnet --partitions 1", "model=resnet batch=128");
    expect_list("gpipe --model resnet,gpt2 --partitions 1 --microbatches 4",
                "model=gpt2 attention_axis=sequence batch=64");
    expect_list("gpipe --model resnet --batch 32 --partitions 1 --microbatches 4",
                "model=resnet batch=32");
}

/* Values that a sweep leaves out are told, and why; those that only double others are not left out. */
static void what_is_left_out_is_told(void **state)
{
    (void)state;
    static const char why[] =
        "left out: --schedule interleaved needs --microbatches to be a multiple of --partitions\n";
    static const struct {
        const char *words;
        size_t configurations;
        const char *told; /* NULL: nothing is left out */
    } cases[] = {/* M = 1 and 2 of K = 4, M = 1 of K = 2: two checkpointings, two engines. */
                 {"gpipe --schedule interleaved --partitions 2,4 --microbatches 1,2,4", 12,
                  "12 configurations are "},
                 {"gpipe --schedule gpipe,interleaved --partitions 4 --microbatches 2,4 "
                  "--checkpoint off --engine self",
                  3, "1 configuration is "},
                 {"gpipe --schedule gpipe,1f1b --partitions 2,4 --microbatches 1,2,4", 48, NULL},
                 {"switchback", 142, NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = list(cases[i].words);
        char line[200] = "";
        size_t lines = 0;
        cli_expect_status(&result, 0);
        for (const char *at = result.out; (at = strchr(at, '\n')); at++)
            lines++;
        assert_int_equal(lines, cases[i].configurations);
        if (cases[i].told)
            snprintf(line, sizeof(line), "nvtally: %s%s", cases[i].told, why);
        assert_string_equal(result.err, line);
        cli_result_free(&result);
    }
    struct cli_result none = list("gpipe --schedule interleaved --partitions 4 --microbatches 2");
    cli_expect_failure(&none, "interleaved needs --microbatches to be a multiple");
    cli_result_free(&none);
}

/* Sizes of another model are taken, and do nothing. */
static void what_means_nothing_is_told(void **state)
{
    (void)state;
    struct cli_result result = list("gpipe --model resnet --partitions 1 --layers 2 --batch 128");
    cli_expect_status(&result, 0);
    assert_string_equal(result.err,
                        "nvtally: note: --layers has no effect on any of these configurations\n");
    cli_result_free(&result);
    result = list("gpipe --model resnet,gpt2 --partitions 1 --layers 2");
    assert_string_equal(result.err, "");
    cli_result_free(&result);
}

/* Where they are run, too. */
static void what_a_run_leaves_out_is_told(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){"nvtally",
                                                             "run",
                                                             "gpipe",
                                                             "--schedule",
                                                             "interleaved",
                                                             "--partitions",
                                                             "2",
                                                             "--microbatches",
                                                             "1,2",
                                                             "--checkpoint",
                                                             "off",
                                                             "--engine",
                                                             "self",
                                                             "--layers",
                                                             "2",
                                                             "--d-model",
                                                             "8",
                                                             "--heads",
                                                             "2",
                                                             "--d-ff",
                                                             "8",
                                                             "--batch",
                                                             "2",
                                                             "--sequence",
                                                             "4",
                                                             "--vocabulary",
                                                             "9",
                                                             "--backend",
                                                             "host",
                                                             "--iterations",
                                                             "1",
                                                             "-o",
                                                             cli_in(cli_folder, "left-out"),
                                                             NULL});
    cli_expect_status(&result, 0);
    assert_ptr_equal(strstr(result.err, "nvtally: 1 configuration is left out"), result.err);
    cli_result_free(&result);
}

static void a_flag_by_itself_is_on(void **state)
{
    (void)state;
    expect_list("transformer --graph --size tiny", " graph=on");
    expect_list("--graph transformer --size tiny", " graph=on");
    expect_list("transformer --size tiny --graph", " graph=on");
    expect_list("transformer --graph off --size tiny", " graph=off");
    static const char *const bad[][2] = {
        {"gpipe --checkpoint maybe", "--checkpoint maybe: must be a list out of off, on"},
        {"transformer --size tiny --d-model 8 --d-ff 8 --layers 1 --heads 1",
         "give either --size"}};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        struct cli_result result = list(bad[i][0]);
        cli_expect_failure(&result, bad[i][1]);
        cli_result_free(&result);
    }
}

/* Who types no size on a processor is told what would be one for it; who does is not. */
static void published_sizes_are_told(void **state)
{
    (void)state;
    static const char *const sized[][2] = {{"--mode", "linear"}, {"--size", "128"}};
    for (int i = 0; i < 2; i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "run", "fragmented", sized[i][0], sized[i][1], "--iterations", "1",
            "--memory-limit", "1M", "--backend", "host", NULL});
        cli_expect_status(&result, 0);
        assert_int_equal(strstr(result.err, "meant for a GPU; for a size that suits a CPU: nvtally "
                                            "run fragmented --size 256\n") != NULL,
                         i == 0);
        cli_result_free(&result);
    }
}

static void help_is_of_the_workload(void **state)
{
    (void)state;
    struct cli_result one =
        cli_run((const char *const[]){"nvtally", "run", "--help", "linear", NULL});
    struct cli_result all = cli_run((const char *const[]){"nvtally", "run", "--help", NULL});
    cli_expect_status(&one, 0);
    cli_expect_status(&all, 0);
    assert_non_null(strstr(one.out, "linear: "));
    assert_null(strstr(one.out, "gpipe: "));
    assert_non_null(strstr(all.out, "gpipe: "));
    cli_result_free(&one);
    cli_result_free(&all);
}

/* Of a checkout, which is where this runs; without a git that reads it the revision is not known. */
static void env_json_says_which_sources(void **state)
{
    (void)state;
    if (access(".git", F_OK))
        skip();
    struct cli_result git = cli_run((const char *const[]){"git", "rev-parse", "HEAD", NULL});
    int is_known = !git.status;
    cli_result_free(&git);
    const char *out = cli_in(cli_folder, "sources");
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "run", "linear", "--size", "32", "--batch", "1",
                                      "--iterations", "1", "--backend", "host", "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    const char *revision = nvt_record_text(&runs->env, "git_revision");
    if (is_known) {
        assert_non_null(revision);
        assert_int_equal(strspn(revision, "0123456789abcdef"), 40);
        assert_true(!revision[40] || !strcmp(revision + 40, "-dirty"));
    } else {
        assert_null(revision);
    }
    nvt_runs_free(runs);
}

/* A row whose trace is gone is run again, and has it; frees the rows as they were. */
static void run_without_trace(const char *const *argv, const char *folder, struct nvt_runs *runs)
{
    char gone[4096];
    snprintf(gone, sizeof(gone), "%s", cli_in(folder, nvt_record_text(&runs->records[0], "trace")));
    nvt_runs_free(runs);
    assert_int_equal(unlink(gone), 0);
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(access(gone, R_OK), 0);
    runs = cli_read_runs(folder);
    assert_int_equal(runs->count, 4);
    assert_int_equal((int)nvt_record_number(&runs->records[3], "batch"), 1);
    nvt_runs_free(runs);
}

/* What ended stays as it is, with its traces; what failed, was cut or is missing is run. */
static void a_sweep_is_resumed(void **state)
{
    (void)state;
    char folder[4096], path[4096];
    snprintf(folder, sizeof(folder), "%s", cli_in(cli_folder, "resumed"));
    snprintf(path, sizeof(path), "%s", cli_in(folder, "results.jsonl"));
    const char *argv[] = {"nvtally", "run",     "linear",       "--size",   "32",
                          "--batch", "1,2,3,4", "--iterations", "2",        "--backend",
                          "host",    "-o",      folder,         "--resume", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    size_t size;
    char *before = cli_read_file(path, &size), *rows[5] = {before};
    assert_non_null(before);
    for (int i = 0; i < 4; i++)
        rows[i + 1] = strchr(rows[i], '\n') + 1;
    /* Of the four: ok, an error, out of memory, and one that was cut. */
    memcpy(strstr(rows[1], "\"status\": \"ok\""), "\"status\": \"no\"", 14);
    memcpy(strstr(rows[2], "\"status\": \"ok\", "), "\"status\": \"oom\",", 16);
    cli_write_file(path, before, size - 20);
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "that ended are kept"));
    cli_result_free(&result);
    char *after = cli_read_file(path, NULL);
    assert_non_null(after);
    size_t first = (size_t)(rows[1] - before);
    assert_memory_equal(after, before, first);
    struct nvt_runs *runs = cli_read_runs(folder);
    static const char *const statuses[] = {"ok", "oom", "ok", "ok"};
    static const int batches[] = {1, 3, 2, 4};
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "status"), statuses[i]);
        assert_int_equal((int)nvt_record_number(record, "batch"), batches[i]);
        nvt_trace_free(read_trace_of(folder, record));
    }
    run_without_trace(argv, folder, runs);
    free(before);
    free(after);
    /* Of other counts there is none. */
    argv[8] = "3";
    argv[6] = "1";
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: the results that were in "));
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "run", "linear", "--resume", NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "needs -o DIR");
    cli_result_free(&result);
}

static struct nvt_runs *run_with(const char *option, const char *value, const char *folder,
                                 const char *collect, const char *iterations, int status)
{
    const char *out = cli_in(cli_folder, folder);
    const char *argv[] = {"nvtally",  "run",       "linear",   "--size",    "64,128",
                          "--batch",  "8",         "--warmup", "0",         "--iterations",
                          iterations, "--backend", "host",     "--collect", collect,
                          "-o",       out,         option,     value,       NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    return cli_read_runs(out);
}

/* One after the other in one process they compute what they do each in its own; one that runs out of memory is a row, and
 * those behind it come in a new one. */
static void one_process_runs_all(void **state)
{
    (void)state;
    struct nvt_runs *alone = run_with("--seed", "1", "alone", "off", "5", 0);
    struct nvt_runs *together = run_with("--one-process", NULL, "together", "off", "5", 0);
    assert_int_equal(together->count, 2);
    for (size_t i = 0; i < 2; i++) {
        static const char *const same[] = {"size", "loss", "peak_allocated_bytes",
                                           "peak_reserved_bytes", "parameters"};
        assert_string_equal(nvt_record_text(&together->records[i], "status"), "ok");
        for (size_t k = 0; k < NVT_COUNT_OF(same); k++)
            assert_true(nvt_record_number(&alone->records[i], same[k]) ==
                        nvt_record_number(&together->records[i], same[k]));
    }
    nvt_runs_free(alone);
    nvt_runs_free(together);
    const char *out = cli_in(cli_folder, "full");
    const char *full[] = {"nvtally",    "run",
                          "linear",     "--size",
                          "1024,32,64", "--batch",
                          "8",          "--iterations",
                          "2",          "--backend",
                          "host",       "--collect",
                          "off",        "--memory-limit",
                          "8M",         "--one-process",
                          "-o",         out,
                          NULL};
    struct cli_result result = cli_run(full);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 3);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[2], "status"), "ok");
    nvt_runs_free(runs);
    const char *traced[] = {"nvtally", "run", "linear", "--one-process", "--collect", "nvtx", NULL};
    result = cli_run(traced);
    cli_expect_failure(&result, "needs --collect off");
    cli_result_free(&result);
}

/* What takes longer than it may is an error of its own row, however it is run. */
static void a_run_that_takes_too_long_is_ended(void **state)
{
    (void)state;
    static const char *const levels[] = {"off", "off", "nvtx"};
    for (int i = 0; i < 3; i++) {
        const char *out = cli_in(cli_folder, "long");
        const char *argv[] = {"nvtally", "run",
                              "linear",  "--size",
                              "512,256", "--batch",
                              "64",      "--iterations",
                              "1000000", "--backend",
                              "host",    "--collect",
                              levels[i], "-o",
                              out,       "--time-limit",
                              "1",       i == 1 ? "--one-process" : NULL,
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 128 + SIGALRM);
        cli_result_free(&result);
        struct nvt_runs *runs = cli_read_runs(out);
        assert_int_equal(runs->count, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_string_equal(nvt_record_text(&runs->records[k], "status"), "error");
            assert_string_equal(nvt_record_text(&runs->records[k], "message"),
                                "took longer than 1 s");
        }
        nvt_runs_free(runs);
    }
}

/* What is left of a run that was killed holds the directory for a moment longer. */
static void a_directory_is_waited_for(void **state)
{
    (void)state;
    static const char script[] =
        "mkdir held\n"
        "flock held sh -c 'touch is-held; sleep 1' &\n"
        "for i in $(seq 100); do [ -e is-held ] && break; sleep 0.05; done\n"
        "\"$0\" run linear --backend host --size 32 --batch 1 --iterations 2 -o held >/dev/null\n";
    struct cli_result result =
        cli_run_with(&(struct cli_options){.directory = cli_folder, .timeout_s = 60},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Whoever kills a run ends what it had started, and no run takes another one's results for its own. */
static void a_killed_run_leaves_nobody(void **state)
{
    (void)state;
    static const char script[] =
        "set -e\n"
        "for level in off nvtx off,nvtx; do\n"
        "    \"$0\" run linear --backend host --size 512 --batch 512 --iterations 100000 --collect "
        "$level \\\n"
        "        --interleave $(case $level in *,*) echo iterations;; *) echo runs;; esac) -o left "
        "2>/dev/null &\n"
        "    run=$!\n"
        "    workers() { ps -A -o pid= -o args= | grep -c \"[-]-worker.*left\" || :; }\n"
        "    for i in $(seq 100); do [ \"$(workers)\" != 0 ] && break; sleep 0.1; done\n"
        "    [ \"$(workers)\" != 0 ]\n"
        "    kill -9 $run\n"
        "    wait $run 2>/dev/null || :\n"
        "    for i in $(seq 100); do [ \"$(workers)\" = 0 ] && break; sleep 0.1; done\n"
        "    echo \"$level $(workers)\"\n"
        "done\n"
        "printf '{\"status\": \"ok\", \"parameters\": 1}' >left/.result-0.json\n"
        "cp left/.result-0.json left/.result-0-1.json\n"
        "\"$0\" run linear --backend host --size 32 --batch 1 --iterations 2 --collect off -o left "
        ">/dev/null\n"
        "ls -A left | grep '^[.]' || :\n"
        "grep -o '\"parameters\": [0-9]*' left/results.jsonl\n";
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = cli_folder, .timeout_s = 60},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "off 0\nnvtx 0\noff,nvtx 0\n"
                                    "\"parameters\": 1056\n");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_has_a_row_and_a_trace_each),
        cmocka_unit_test(both_variants_agree),
        cmocka_unit_test(the_trace_tells_what_the_run_measured),
        cmocka_unit_test(phases_keep_levels_and_warmups_apart),
        cmocka_unit_test(memory_that_runs_out_is_a_row),
        cmocka_unit_test(ctrl_c_keeps_what_was_finished),
        cmocka_unit_test(no_signal_is_lost),
        cmocka_unit_test(a_sweep_is_resumed),
        cmocka_unit_test(one_process_runs_all),
        cmocka_unit_test(a_run_that_takes_too_long_is_ended),
        cmocka_unit_test(a_directory_is_of_one_run),
        cmocka_unit_test(bad_axes_run_nothing),
        cmocka_unit_test(what_was_not_typed_is_the_studys),
        cmocka_unit_test(what_is_left_out_is_told),
        cmocka_unit_test(what_means_nothing_is_told),
        cmocka_unit_test(what_a_run_leaves_out_is_told),
        cmocka_unit_test(a_directory_is_waited_for),
        cmocka_unit_test(a_killed_run_leaves_nobody),
        cmocka_unit_test(a_flag_by_itself_is_on),
        cmocka_unit_test(published_sizes_are_told),
        cmocka_unit_test(help_is_of_the_workload),
        cmocka_unit_test(env_json_says_which_sources),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
