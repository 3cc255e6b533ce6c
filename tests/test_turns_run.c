/* `run --interleave iterations`, with every level alive at once, one of them killed, and the whole interrupted. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../analyze/readers/reader.h"
#include "../lib/folder.h"
#include "cli.h"

/* --- the command -------------------------------------------------------------------------------- */

/* Names in a folder that begin with a dot: what is there only while a sweep goes on. */
static void expect_nothing_left(const char *folder)
{
    DIR *open_folder = opendir(folder);
    assert_non_null(open_folder);
    for (struct dirent *entry; (entry = nvt_folder_next(open_folder));)
        if (entry->d_name[0] == '.' && strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            fail_msg("%s is left in %s", entry->d_name, folder);
    closedir(open_folder);
}

static uint32_t iterations_in(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    uint32_t count = 0;
    assert_non_null(trace);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), "iteration");
    nvt_trace_free(trace);
    return count;
}

static void levels_take_turns(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "together");
    const char *argv[] = {
        "nvtally",    "run",       "linear", "--size",    "64",       "--batch",
        "2",          "--backend", "host",   "--collect", "off,nvtx", "--interleave",
        "iterations", "--repeat",  "2",      "--warmup",  "2",        "--iterations",
        "4",          "-o",        out,      NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        const char *trace = nvt_record_text(record, "trace");
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        assert_string_equal(nvt_record_text(record, "interleave"), "iterations");
        assert_string_equal(nvt_record_text(record, "collect"), i % 2 ? "nvtx" : "off");
        assert_true(nvt_record_number(record, "loss") == nvt_record_number(runs->records, "loss"));
        assert_true(nvt_record_number(record, "timed_ns") >=
                    4 * nvt_record_number(record, "forward_ns_mean"));
        double recorder = nvt_record_number(record, "recorder_cpu_ns");
        if (i % 2) {
            assert_non_null(trace);
            assert_int_equal(iterations_in(cli_in(out, trace)), 4);
            assert_true(recorder > 0 && recorder < 10e9);
        } else {
            assert_null(trace);
            assert_false(recorder > 0);
        }
    }
    nvt_runs_free(runs);
    expect_nothing_left(out);
}

#define ITERATIONS 20
#define APART_NS   200000 /* two traces have their axes by CLOCK_REALTIME, each read it for itself */

struct side {
    int64_t start[ITERATIONS], end[ITERATIONS];
};

static void read_side(const char *path, struct side *side)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    int count = 0;
    assert_non_null(trace);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        if (strcmp(nvt_name(trace, trace->ranges.name[i]), "iteration"))
            continue;
        assert_true(count < ITERATIONS);
        side->start[count] = trace->ranges.start[i] + trace->origin_ns;
        side->end[count++] = trace->ranges.end[i] + trace->origin_ns;
    }
    assert_int_equal(count, ITERATIONS);
    nvt_trace_free(trace);
}

static int64_t shortest_iteration(const struct side *sides, int count)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < count * ITERATIONS; i++) {
        const struct side *side = &sides[i / ITERATIONS];
        int64_t took = side->end[i % ITERATIONS] - side->start[i % ITERATIONS];
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

/* Whether one timed iteration of each side lies behind the other's, none beside it. */
static bool take_turns(const struct side *first, const struct side *second)
{
    int beside = 0;
    for (int i = 0; i < ITERATIONS; i++) {
        if (first->end[i] <= second->start[i] + APART_NS &&
            (!i || second->end[i - 1] <= first->start[i] + APART_NS))
            continue;
        if (!beside++)
            print_message("iteration %d: %lld to %lld ns, the other's %lld to %lld ns\n", i,
                          (long long)first->start[i], (long long)first->end[i],
                          (long long)second->start[i], (long long)second->end[i]);
    }
    return !beside;
}

/* Two levels, twice. */
static void run_sides(const char *out, int batch, struct side sides[4])
{
    char rows[16];
    snprintf(rows, sizeof(rows), "%d", batch);
    const char *argv[] = {"nvtally",    "run",       "linear",    "--size",
                          "512",        "--batch",   rows,        "--backend",
                          "host",       "--collect", "nvtx,full", "--interleave",
                          "iterations", "--warmup",  "2",         "--iterations",
                          "20",         "--repeat",  "2",         "-o",
                          out,          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < 4; i++)
        read_side(cli_in(out, nvt_record_text(&runs->records[i], "trace")), &sides[i]);
    nvt_runs_free(runs);
}

/* Whether the traces of two levels say so. The first level has the first turn, and of the second repeat
 * the second one. */
static bool traces_take_turns(const char *folder)
{
    struct side sides[4];
    char out[600]; /* cli_in's paths do not last for so many runs */
    int batch = 64;
    snprintf(out, sizeof(out), "%s", folder);
    run_sides(out, batch, sides);
    while (shortest_iteration(sides, 4) <= 2 * APART_NS) { /* which shows nothing */
        batch *= 4;
        assert_true(batch <= 65536);
        run_sides(out, batch, sides);
    }
    bool first = take_turns(&sides[0], &sides[1]), second = take_turns(&sides[3], &sides[2]);
    return first && second;
}

/* An axis is off by what another program got of the processor while the clocks were read for it. */
static void no_iteration_lies_beside_another(void **state)
{
    (void)state;
    cli_expect_one_run("apart", traces_take_turns);
}

static void out_of_memory_hangs_nobody(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "oom");
    const char *argv[] = {"nvtally",
                          "run",
                          "linear",
                          "--size",
                          "512",
                          "--batch",
                          "2",
                          "--backend",
                          "host",
                          "--memory-limit",
                          "1M",
                          "--collect",
                          "off,nvtx,control",
                          "--interleave",
                          "iterations",
                          "--iterations",
                          "4",
                          "-o",
                          out,
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "oom");
    nvt_runs_free(runs);
    expect_nothing_left(out);
}

/* --- one of them killed, all of them interrupted ------------------------------------------------ */

/* The worker whose command line has this text, or 0. */
static pid_t find_worker(const char *text)
{
    DIR *processes = opendir("/proc");
    pid_t found = 0;
    assert_non_null(processes);
    for (struct dirent *entry; !found && (entry = nvt_folder_next(processes));) {
        char path[300], line[4096] = "";
        snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        size_t size = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
        if (file)
            fclose(file);
        if (memmem(line, size, "--worker", 8) && memmem(line, size, text, strlen(text)))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(processes);
    return found;
}

static bool has_ended(pid_t run)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)run, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == run;
}

/* Until there is one, or the run has ended without. */
static void wait_for_worker(pid_t run, const char *text)
{
    struct timespec moment = {0, 20000000};
    for (int i = 0; i < 30000; i++) {
        if (find_worker(text) || has_ended(run))
            return;
        nanosleep(&moment, NULL);
    }
    fail_msg("no worker with %s", text);
}

/* `nvtally run` of two levels in a process group of its own. */
static pid_t start_run(const char *out, const char *iterations)
{
    const char *program = cli_built("nvtally");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    setpgid(0, 0);
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    alarm(CLI_HANG_S);
    execl(program, program, "run", "linear", "--size", "512", "--batch", "32", "--backend", "host",
          "--collect", "off,nvtx", "--interleave", "iterations", "--warmup", "1", "--iterations",
          iterations, "-o", out, (char *)NULL);
    _exit(127);
}

/* The middle of the run of both: each has come, and a moment has gone. */
static void wait_for_both(pid_t run, const char *out)
{
    struct timespec moment = {0, 300000000};
    wait_for_worker(run, cli_in(out, ".result-0-"));
    wait_for_worker(run, cli_in(out, ".result-1-"));
    nanosleep(&moment, NULL);
}

/* With which status a run ends whose worker with this result is killed: 0 where it was over before. */
static int kill_midway(const char *out, const char *result, int iterations)
{
    char count[16];
    int status;
    snprintf(count, sizeof(count), "%d", iterations);
    pid_t run = start_run(out, count);
    wait_for_both(run, out);
    pid_t worker = find_worker(cli_in(out, result));
    if (worker)
        kill(worker, SIGKILL);
    assert_int_equal(waitpid(run, &status, 0), run);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void who_is_killed_stops_nobody(void **state)
{
    (void)state;
    if (getenv("NVTALLY_EMULATED")) {
        print_message("not run: an emulated run is not over in the time that it has\n");
        skip();
    }
    static const char *const results[] = {".result-0-", ".result-1-"};
    for (size_t killed = 0; killed < 2; killed++) {
        char out[600]; /* cli_in's paths do not last for so many runs */
        int status = 0;
        snprintf(out, sizeof(out), "%s",
                 cli_in(cli_folder, killed ? "killed_recorded" : "killed_bare"));
        /* All of it takes a second or so; what is over before, on a faster machine, is made longer. */
        for (int iterations = 600; !status && iterations < 1000000; iterations *= 5)
            status = kill_midway(out, results[killed], iterations);
        assert_int_equal(status, 128 + SIGKILL);
        struct nvt_runs *runs = cli_read_runs(out);
        assert_int_equal(runs->count, 2);
        assert_string_equal(nvt_record_text(&runs->records[killed], "status"), "error");
        assert_non_null(strstr(nvt_record_text(&runs->records[killed], "message"), "signal 9"));
        assert_string_equal(nvt_record_text(&runs->records[1 - killed], "status"), "ok");
        nvt_runs_free(runs);
        expect_nothing_left(out);
    }
}

/* Ctrl-C goes to the whole group, kill to the program alone. */
static void who_is_interrupted_leaves_nothing(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        const char *out = cli_in(cli_folder, alone ? "told_alone" : "told_all");
        pid_t run = start_run(out, "1000000");
        int status, number = alone ? SIGTERM : SIGINT;
        wait_for_both(run, out);
        kill(alone ? run : -run, number);
        assert_int_equal(waitpid(run, &status, 0), run);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) >= 128 + SIGINT);
        assert_int_equal(find_worker(out), 0);
        expect_nothing_left(out);
        char *rows = cli_read_file(cli_in(out, "results.jsonl"), NULL);
        assert_string_equal(rows, "");
        free(rows);
        assert_int_equal(access(cli_in(out, "linear-size512-batch32-linear.nvt"), F_OK), -1);
    }
}

static void what_cannot_take_turns_is_refused(void **state)
{
    (void)state;
    const char *one[] = {"nvtally", "run",          "linear",     "--collect",
                         "nvtx",    "--interleave", "iterations", NULL};
    const char *word[] = {"nvtally", "run", "linear", "--interleave", "phases", NULL};
    struct cli_result result = cli_run(one);
    cli_expect_failure(&result, "needs several levels to take turns");
    cli_result_free(&result);
    result = cli_run(word);
    cli_expect_failure(&result, "runs, iterations, within or halves");
    cli_result_free(&result);
}

/* A worker that is told of turns that are not there has an error, and hangs nobody. */
static void a_worker_without_its_turns_says_so(void **state)
{
    (void)state;
    const char *row = cli_in(cli_folder, "row.json"), *file = cli_in(cli_folder, "not_there");
    static const char *const places[] = {"0", "x", ""};
    for (int i = 0; i < 3; i++) {
        const char *argv[] = {"nvtally",
                              "run",
                              "--worker",
                              "run",
                              cli_built("libnvtally-host.so"),
                              row,
                              "linear",
                              "size=32 batch=1 mode=linear",
                              "1",
                              "2",
                              "1",
                              "0",
                              "0",
                              "0",
                              "{}",
                              file,
                              places[i],
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *text = cli_read_file(row, NULL);
        assert_non_null(text);
        assert_non_null(strstr(text, "\"status\": \"error\""));
        assert_non_null(strstr(text, i ? "not_there" : "cannot be opened"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_take_turns),
        cmocka_unit_test(no_iteration_lies_beside_another),
        cmocka_unit_test(out_of_memory_hangs_nobody),
        cmocka_unit_test(who_is_killed_stops_nobody),
        cmocka_unit_test(who_is_interrupted_leaves_nothing),
        cmocka_unit_test(what_cannot_take_turns_is_refused),
        cmocka_unit_test(a_worker_without_its_turns_says_so),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
