/* Hangs in traces that end while the program goes on: copies by ctl dump, recordings that were stopped; and what is idle there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../analyze/studies/standstill.h"
#include "../lib/count_of.h"
#include "finding_kit.h"
#include "record_kit.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* How long a program may take to become silent, on a machine that is busy. */
enum { PATIENCE_S = 120 };

/* --- recordings ----------------------------------------------------------------------------------------- */

/* Of the client `silent`. All go on side by side, so that they are waited for once. */
struct recording {
    const char *how, *levels, *option, *ms;
    const char *cause, *says; /* of what hangs: the rule, and what its text ends with */
    pid_t pid;
};

static const char *path_of(const struct recording *recording, const char *what)
{
    char name[80];
    snprintf(name, sizeof(name), "%s-%s%s-%s.nvt", recording->how, recording->levels,
             recording->option, what);
    return recorded_in(name);
}

static void begin(struct recording *recording)
{
    const char *program = cli_built("nvtally"), *path = path_of(recording, "all"),
               *command = cli_client("silent");
    recording->pid = fork();
    assert_true(recording->pid >= 0);
    if (recording->pid)
        return;
    /* It ends with this program, and its command with it, whatever fails here. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
        _exit(126);
    execl(program, program, "record", "--trace", recording->levels, recording->option, "-f", "-o",
          path, "--", command, recording->how, recording->ms, (char *)NULL);
    _exit(127);
}

/* `nvtally ctl`, of that recording; whether it could be done. */
static int control(const struct recording *recording, const char *request, const char *last,
                   const char *output)
{
    char number[24];
    snprintf(number, sizeof(number), "%d", (int)recording->pid);
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "ctl", "-s", number, request, last ? "--last" : NULL, last, "-o", output, NULL});
    const int is_done = !result.status;
    cli_result_free(&result);
    return is_done;
}

static void ask(const struct recording *recording, const char *request)
{
    for (int i = 0; !control(recording, request, NULL, NULL); i++) {
        if (i == 10 * PATIENCE_S)
            fail_msg("%s: ctl %s is not done", recording->how, request);
        usleep(100000);
    }
}

/* A copy; its last part, where `last` is given. The trace is the caller's. */
static struct nvt_trace *dump(const struct recording *recording, const char *last)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s", path_of(recording, "copy"));
    (void)unlink(path);
    for (int i = 0; !control(recording, "dump", last ? last : "1000s", path); i++) {
        if (i == 10 * PATIENCE_S)
            fail_msg("%s: no copy", recording->how);
        usleep(100000);
    }
    return recorded_trace_at(path);
}

static void end(struct recording *recording)
{
    int status;
    (void)kill(recording->pid, SIGTERM);
    assert_int_equal(waitpid(recording->pid, &status, 0), recording->pid);
}

/* --- what is found -------------------------------------------------------------------------------------- */

/* What the rules of this kind find in a trace, which stays; at most one of them finds anything. The caller frees the items. */
static struct nvt_findings find(struct nvt_trace *trace)
{
    static const struct nvt_rule *const rules[] = {&nvt_rule_hang, &nvt_rule_deadlock};
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(rules); i++)
        assert_int_equal(nvt_rule_apply(rules[i], &facts, &findings, NULL), 0);
    assert_true(findings.count <= 1);
    return findings;
}

/* Whether the first process of a trace has been silent for so long, in an open range, that it would hang if that were all. */
static int is_silent(struct nvt_trace *trace)
{
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_process_ends ends = {0};
    const size_t run = 0;
    int is_still = 0;
    assert_int_equal(nvt_process_ends_make(&ends, &input, &run, 0), 0);
    for (size_t i = 0; i < ends.count; i++)
        is_still |= ends.items[i].end > ends.items[i].first &&
                    ends.items[i].events >= NVT_STILL_EVENTS &&
                    nvt_still_ns(&ends.items[i]) >= NVT_STILL_NS + S &&
                    nvt_still_ns(&ends.items[i]) / NVT_STILL_PAUSES >= ends.items[i].pause;
    nvt_process_ends_free(&ends);
    return is_still;
}

static void expect(const struct recording *recording, const char *what, struct nvt_trace *trace)
{
    struct nvt_findings findings = find(trace);
    if (findings.count != (recording->cause != NULL))
        fail_msg("%s, %s, %s: %zu findings: %s", recording->how, recording->levels, what,
                 findings.count, findings.count ? findings.items[0].what : "");
    if (findings.count) {
        const struct nvt_finding *finding = &findings.items[0];
        assert_string_equal(finding->cause, recording->cause);
        assert_non_null(strstr(finding->what, recording->says));
        /* Since when, however little of it the copy has. */
        assert_true(finding->cost_ns >= (double)NVT_STILL_NS);
        /* Who else writes into a pipe is not known, nor whether a loop ends. */
        assert_int_equal(finding->confidence == NVT_POSSIBLE,
                         !strcmp(recording->how, "spin") || !strcmp(recording->how, "pipe"));
    }
    free(findings.items);
    nvt_trace_free(trace);
}

static void wait_until_silent(const struct recording *recording)
{
    for (int i = 0; i < 2 * PATIENCE_S; i++) {
        struct nvt_trace *trace = dump(recording, NULL);
        const int is_over = is_silent(trace);
        nvt_trace_free(trace);
        if (is_over)
            return;
        usleep(500000);
    }
    fail_msg("%s, %s: it never was silent", recording->how, recording->levels);
}

/* --- tests of recordings -------------------------------------------------------------------------------- */

#define HANG "has made no progress for "
static struct recording copied[] = {
    {"locks", "nvtx", "--max-age=60s", "10", "hang", HANG, 0},
    {"locks", "nvtx,osrt", "--max-age=60s", "10", "deadlock", "2 threads hold each other's", 0},
    {"pipe", "nvtx", "--max-age=60s", "10", "hang", HANG, 0},
    {"pipe", "nvtx,osrt", "--max-age=60s", "10", "hang", HANG, 0},
    {"condition", "nvtx", "--max-age=60s", "10", "hang", HANG, 0},
    {"condition", "nvtx,osrt", "--max-age=60s", "50", "hang", HANG, 0},
    {"spin", "nvtx", "--max-age=60s", "10", "hang", HANG, 0},
    {"poll", "nvtx", "--max-age=60s", "10", NULL, NULL, 0},
    {"poll", "nvtx,osrt", "--max-age=60s", "10", NULL, NULL, 0},
    {"accept", "nvtx", "--max-age=60s", "10", NULL, NULL, 0},
    {"accept", "nvtx,osrt", "--max-age=60s", "10", NULL, NULL, 0},
    {"pool", "nvtx", "--max-age=60s", "10", NULL, NULL, 0},
    {"pool", "nvtx,osrt", "--max-age=60s", "10", NULL, NULL, 0},
    {"loader", "nvtx", "--max-age=60s", "10", NULL, NULL, 0},
    {"loader", "nvtx,osrt", "--max-age=60s", "10", NULL, NULL, 0},
};

/* All of it is in the copy, or nothing of what the process did before it was silent. */
static void copies_say_what_hangs_and_what_is_idle(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    for (size_t i = 0; i < NVT_COUNT_OF(copied); i++)
        begin(&copied[i]);
    for (size_t i = 0; i < NVT_COUNT_OF(copied); i++) {
        wait_until_silent(&copied[i]);
        expect(&copied[i], "whole", dump(&copied[i], NULL));
        expect(&copied[i], "its last 2 s", dump(&copied[i], "2s"));
        end(&copied[i]);
    }
}

/* Once a hang has lasted for so long, copies of its last seconds have no event. What was open and since when is there all the same. */
static void a_short_copy_has_what_began_before_it(void **state)
{
    (void)state;
    struct recording recording = {"pipe", "nvtx,osrt", "--max-age=60s", "10", "hang", HANG, 0};
    if (!recorded_preloads())
        skip();
    begin(&recording);
    wait_until_silent(&recording);
    struct nvt_trace *trace = dump(&recording, "1s");
    assert_int_equal(trace->carried.count, 2);
    assert_true(trace->last_ns - trace->carried.begun[0] > 5 * S);
    assert_true(trace->earlier.count > 2 && !trace->earlier.what[0]);
    assert_true(trace->earlier.number[0] >= 300);
    const uint32_t call = trace->os_calls.count - 1;
    assert_string_equal(nvt_name(trace, trace->os_calls.name[call]), "read");
    assert_true(trace->os_calls.flags[call] & NVT_RANGE_UNCLOSED);
    assert_true(trace->os_calls.end[call] - trace->os_calls.start[call] > 5 * S);
    expect(&recording, "its last second", trace);
    end(&recording);
}

static struct recording stopped[] = {
    {"locks", "nvtx", "--dormant", "100", "hang", HANG, 0},
    {"locks", "nvtx,osrt", "--dormant", "100", "deadlock", "2 threads hold each other's", 0},
    {"pipe", "nvtx", "--dormant", "100", "hang", HANG, 0},
    {"condition", "nvtx,osrt", "--dormant", "100", "hang", HANG, 0},
    {"poll", "nvtx", "--dormant", "100", NULL, NULL, 0},
    {"pool", "nvtx,osrt", "--dormant", "100", NULL, NULL, 0},
};

/* Rank 1 reads from a pipe, and rank 0 waits for it in MPI. */
static void ranks_say_who_is_waited_for(void **state)
{
    (void)state;
    const char *const argv[] = {
        "sh",
        "-c",
        "export OMPI_MCA_mpi_yield_when_idle=1\n"
        "\"$0\" record --trace mpi,osrt --max-age 60s -o mpi.nvt -- mpirun --allow-run-as-root "
        "--oversubscribe -n 2 \"$1\" stuck 100 >/dev/null 2>&1 & recorder=$!\n"
        "for i in $(seq 240); do sleep 0.5; rm -f copy.nvt\n"
        "\"$0\" ctl -s $recorder dump --last 1s -o copy.nvt >/dev/null 2>&1 || continue\n"
        "\"$0\" diagnose copy.nvt 2>&1 | grep -A3 '  hang  ' && break\n"
        "done; kill $recorder; wait",
        cli_built("nvtally"),
        cli_built("tests/mpi/waits"),
        NULL};
    const struct cli_options options = {.directory = recorded_in(""), .timeout_s = 2 * PATIENCE_S};
    if (!cli_has_mpirun() || !recorded_preloads())
        skip();
    struct cli_result result = cli_run_with(&options, argv);
    if (!strstr(result.out, "1 of 2 ranks has been blocked in MPI_Allreduce for ") ||
        !strstr(result.out, " has not reached the call (likely)") ||
        !strstr(result.out, " > pack ("))
        fail_msg("%s%s", result.out, result.err);
    cli_result_free(&result);
}

/* And so does the whole trace, when the program was ended long after. */
static void stopped_recordings_say_so_too(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    /* While it still has iterations to do, of 10 s in all. */
    for (size_t i = 0; i < NVT_COUNT_OF(stopped); i++) {
        begin(&stopped[i]);
        ask(&stopped[i], "start");
    }
    for (size_t i = 0; i < NVT_COUNT_OF(stopped); i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s", path_of(&stopped[i], "all"));
        wait_until_silent(&stopped[i]);
        ask(&stopped[i], "stop");
        expect(&stopped[i], "a copy of it", dump(&stopped[i], NULL));
        end(&stopped[i]);
        expect(&stopped[i], "all of it", recorded_trace_at(path));
    }
}

/* Whatever moment it is; an iteration may be as long as what counts as a hang is at least. */
static void a_loop_never_hangs(void **state)
{
    (void)state;
    struct recording loops[] = {{"loop", "nvtx,osrt", "--max-age=10s", "1", NULL, NULL, 0},
                                {"loop", "nvtx", "--max-age=20s", "50", NULL, NULL, 0},
                                {"loop", "nvtx,osrt", "--max-age=30s", "2000", NULL, NULL, 0},
                                {"loop", "nvtx", "--dormant", "50", NULL, NULL, 0}};
    const size_t dormant = NVT_COUNT_OF(loops) - 1;
    for (size_t i = 0; i < NVT_COUNT_OF(loops); i++)
        begin(&loops[i]);
    ask(&loops[dormant], "start");
    for (int round = 0; round < (cli_is_long() ? 200 : 10); round++) {
        for (size_t i = 0; i < NVT_COUNT_OF(loops); i++)
            expect(&loops[i], "any moment", dump(&loops[i], round % 2 ? "1s" : "5s"));
        usleep((useconds_t)(round * 7919 % 97 * 1000));
    }
    ask(&loops[dormant], "stop");
    expect(&loops[dormant], "stopped", dump(&loops[dormant], NULL));
    for (size_t i = 0; i < NVT_COUNT_OF(loops); i++)
        end(&loops[i]);
}

/* --- what is unusual, in traces that are made up -------------------------------------------------------- */

/* Begun now, and never ended. */
static void open_range(struct maker *maker, const char *name)
{
    struct nvt_ranges *ranges = &maker->trace->ranges;
    make_range(maker, name, maker->now);
    ranges->flags[ranges->count - 1] = NVT_RANGE_UNCLOSED;
}

static void steps(struct maker *maker, int count)
{
    for (int i = 0; i < count; i++) {
        maker->now += 100 * MS;
        make_range(maker, "step", maker->now - 100 * MS);
    }
}

/* A copy in which the thread has been in that call for 8 s, in a range of a name of which there are so many others. */
static struct maker make_copy(int alike, const char *range, const char *call)
{
    struct maker maker = make_begin();
    maker.now = 0;
    steps(&maker, alike);
    for (int i = 0; i < 12; i++) {
        maker.now += 100 * MS;
        make_range(&maker, "other", maker.now - 100 * MS);
    }
    open_range(&maker, range);
    maker.trace->threads.waits[0] = nvt_strings_add_text(maker.trace->strings, call);
    maker.trace->threads.ended_ns[0] = maker.now + 8 * S;
    maker.trace->was_stopped = 1;
    assert_int_equal(nvt_trace_set_meta(maker.trace, "copy", "of a recording that went on"), 0);
    return maker;
}

/* How many findings, and how sure the one is. */
static size_t count_findings(struct maker *maker, enum nvt_confidence confidence)
{
    struct nvt_findings findings = kit_find(maker, &nvt_rule_hang);
    const size_t count = findings.count;
    if (count)
        assert_int_equal(findings.items[0].confidence, confidence);
    free(findings.items);
    return count;
}

static void what_a_thread_is_in_decides(void **state)
{
    static const struct {
        const char *call;
        int is_found;
        enum nvt_confidence confidence;
    } calls[] = {{"read", 1, NVT_POSSIBLE},        {"futex", 1, NVT_LIKELY},
                 {"recvfrom", 1, NVT_POSSIBLE},    {"system call 999", 1, NVT_POSSIBLE},
                 {"sem_clockwait", 0, NVT_LIKELY}, {"futex with a timeout", 0, NVT_LIKELY},
                 {"running", 1, NVT_POSSIBLE},     {"", 1, NVT_POSSIBLE},
                 {"epoll_wait", 0, NVT_LIKELY},    {"accept4", 0, NVT_LIKELY},
                 {"nanosleep", 0, NVT_LIKELY},     {"wait4", 0, NVT_LIKELY}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        struct maker maker = make_copy(5, "step", calls[i].call);
        if (count_findings(&maker, calls[i].confidence) != (size_t)calls[i].is_found)
            fail_msg("in '%s'", calls[i].call);
    }
}

/* The longest one took 100 ms: of fewer than five it is not known what is usual. */
static void only_what_is_known_to_be_shorter_is_unusual(void **state)
{
    (void)state;
    struct maker maker = make_copy(4, "step", "read");
    assert_int_equal(count_findings(&maker, NVT_POSSIBLE), 0);
    maker = make_copy(5, "first", "read");
    assert_int_equal(count_findings(&maker, NVT_POSSIBLE), 0);
    for (int is_long = 0; is_long < 2; is_long++) {
        maker = make_copy(5, "step", "read");
        maker.trace->ranges.end[2] = maker.trace->ranges.start[2] + 1600 * MS + is_long;
        assert_int_equal(count_findings(&maker, NVT_POSSIBLE), !is_long);
    }
}

/* Who waits for another thread waits for it as long as that may bring something. */
static void who_is_fed_is_idle(void **state)
{
    static const char *const others[] = {"running", "poll", "nanosleep", "", "futex", "read"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++) {
        struct maker maker = make_copy(5, "step", "futex");
        const uint32_t other = nvt_trace_thread(maker.trace, maker.process, 2);
        maker.trace->threads.ended_ns[other] = maker.trace->threads.ended_ns[0];
        maker.trace->threads.waits[other] = nvt_strings_add_text(maker.trace->strings, others[i]);
        if (count_findings(&maker, i == 5 ? NVT_POSSIBLE : NVT_LIKELY) != (i >= 3))
            fail_msg("with another in '%s'", others[i]);
    }
    struct maker maker = make_copy(5, "step", "futex");
    maker.trace->processes.is_fed[0] = 1;
    assert_int_equal(count_findings(&maker, NVT_LIKELY), 0);
}

/* A worker without work is idle while its parent is in nothing unusual. */
static void a_worker_waits_for_its_parent(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct maker maker = make_copy(5, "step", "read");
        const uint32_t thread = maker.thread;
        maker.trace->processes.parent_pid[maker.process] = 77;
        make_process(&maker, 77, 0);
        maker.now = 0;
        steps(&maker, 12);
        open_range(&maker, is_late ? "step" : "validate");
        maker.trace->threads.waits[maker.thread] =
            nvt_strings_add_text(maker.trace->strings, "poll");
        maker.trace->threads.ended_ns[maker.thread] = maker.trace->threads.ended_ns[thread];
        assert_int_equal(count_findings(&maker, NVT_POSSIBLE), is_late);
    }
}

/* A first checkpoint in a step is long; where threads wait for each other, a step that is has more to say than a name that is new. */
static void a_step_counts_where_all_wait_for_each_other(void **state)
{
    static const char *const calls[] = {"read", "running", "futex"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        struct maker maker = make_copy(5, "step", calls[i]);
        open_range(&maker, "first of its name");
        assert_int_equal(count_findings(&maker, NVT_LIKELY), i == 2);
    }
}

/* What another thread did meanwhile: it may bring what one waits for, whatever it is in at the moment. */
static void who_did_anything_meanwhile_goes_on(void **state)
{
    (void)state;
    for (int is_meanwhile = 0; is_meanwhile < 2; is_meanwhile++) {
        struct maker maker = make_copy(5, "step", "futex");
        const uint32_t other = nvt_trace_thread(maker.trace, maker.process, 2);
        maker.trace->threads.ended_ns[other] = maker.trace->threads.ended_ns[0];
        maker.trace->threads.waits[other] = nvt_strings_add_text(maker.trace->strings, "fsync");
        const struct nvt_os_call row = {.start = maker.now + (is_meanwhile ? 6 * S : -8 * MS),
                                        .end = maker.now + (is_meanwhile ? 6 * S : -8 * MS) + MS,
                                        .thread = other,
                                        .name =
                                            nvt_strings_add_text(maker.trace->strings, "fsync")};
        assert_int_not_equal(nvt_os_call_add(maker.trace, &row), NVT_NONE);
        assert_int_equal(count_findings(&maker, NVT_POSSIBLE), !is_meanwhile);
    }
}

static void mpi_call(struct maker *maker, int is_open)
{
    const struct nvt_mpi_call row = {
        .start = maker->now,
        .end = maker->now,
        .thread = maker->thread,
        .name = nvt_strings_add_text(maker->trace->strings, "MPI_Allreduce"),
        .sent = UINT64_MAX,
        .received = UINT64_MAX,
        .peer = NVT_MPI_NONE,
        .tag = NVT_MPI_NONE,
        .kind = NVT_MPI_COLLECTIVE,
        .flags = is_open ? NVT_RANGE_UNCLOSED : 0};
    assert_int_not_equal(nvt_mpi_call_add(maker->trace, &row), NVT_NONE);
}

/* Rank 1 is in that range, and moved so long before the end. */
static size_t count_of_ranks(const char *range, int64_t moved, enum nvt_confidence confidence)
{
    struct maker maker = make_begin();
    nvt_trace_free(maker.trace);
    maker.trace = nvt_trace_new("made up", "nvt");
    for (uint32_t rank = 0; rank < 2; rank++) {
        make_process(&maker, 100 + rank, 0);
        maker.trace->processes.rank[maker.process] = rank;
        maker.now = 0;
        for (int i = 0; i < 12; i++) {
            steps(&maker, 1);
            mpi_call(&maker, 0);
        }
        if (!rank)
            mpi_call(&maker, 1);
        maker.now = rank ? 20 * S - moved : maker.now;
        if (rank)
            open_range(&maker, range);
        maker.trace->threads.waits[maker.thread] =
            nvt_strings_add_text(maker.trace->strings, rank ? "read" : "running");
        maker.trace->threads.ended_ns[maker.thread] = 20 * S;
    }
    maker.trace->was_stopped = 1;
    assert_int_equal(nvt_trace_set_meta(maker.trace, "copy", "of a recording that went on"), 0);
    return count_findings(&maker, confidence);
}

static void ranks_wait_for_one_that_gets_on(void **state)
{
    (void)state;
    assert_int_equal(count_of_ranks("step", 18 * S, NVT_LIKELY), 1);
    assert_int_equal(count_of_ranks("checkpoint", 18 * S, NVT_POSSIBLE), 1);
    assert_int_equal(count_of_ranks("step", 4 * S, NVT_LIKELY), 0);
}

/* A recording that was stopped, of a process that ended by itself or not; and an open range of an earlier part. */
static void a_stopped_recording_ends_where_it_was_stopped(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct maker maker = make_copy(5, "step", "read");
        const struct nvt_part parts[] = {{0, 9 * S, 9 * S}, {20 * S, 21 * S, 21 * S}};
        maker.trace->meta.count = 0;
        assert_int_equal(nvt_trace_set_meta(maker.trace, "recorded", "1 part, 9 s"), 0);
        assert_int_not_equal(nvt_part_add(maker.trace, &parts[0]), NVT_NONE);
        if (what == 1)
            assert_int_not_equal(nvt_part_add(maker.trace, &parts[1]), NVT_NONE);
        maker.trace->threads.ended_ns[0] = 0;
        maker.trace->was_stopped = what != 2;
        assert_int_equal(count_findings(&maker, NVT_POSSIBLE), what == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_thread_is_in_decides),
        cmocka_unit_test(only_what_is_known_to_be_shorter_is_unusual),
        cmocka_unit_test(who_is_fed_is_idle),
        cmocka_unit_test(a_worker_waits_for_its_parent),
        cmocka_unit_test(a_step_counts_where_all_wait_for_each_other),
        cmocka_unit_test(who_did_anything_meanwhile_goes_on),
        cmocka_unit_test(ranks_wait_for_one_that_gets_on),
        cmocka_unit_test(a_stopped_recording_ends_where_it_was_stopped),
        cmocka_unit_test(copies_say_what_hangs_and_what_is_idle),
        cmocka_unit_test(a_short_copy_has_what_began_before_it),
        cmocka_unit_test(ranks_say_who_is_waited_for),
        cmocka_unit_test(stopped_recordings_say_so_too),
        cmocka_unit_test(a_loop_never_hangs),
    };
    return cmocka_run_group_tests_name("hangs in copies", tests, recorded_set_up,
                                       recorded_tear_down);
}
