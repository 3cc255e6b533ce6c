/*
 * record --dormant and nvtally ctl: what is recorded is what was asked for, and who asks gets an answer, whoever else
 * asks for nothing.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ctl_socket.h"
#include "../collectors/ring.h"
#include "../lib/count_of.h"
#include "ctl_kit.h"
#include "record_kit.h"

#define A_MINUTE  INT64_C(60000000000)
#define NOT_ASKED "nothing was recorded: nobody has asked for it (nvtally ctl start)"
#define STAND_IN  "tests/libcupti-stand-in.so"

/* `record --dormant` of a script, in which $0 is nvtally and $1 a client; what it said. */
static struct cli_result record(const char *levels, const char *client, const char *script)
{
    char stand_in[600];
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s", cli_built(STAND_IN));
    const char *environment[] = {stand_in, NULL};
    const struct cli_options options = {.environment = environment};
    const char *argv[] = {
        "nvtally", "record", "-f", "-o",   recorded_path(),      "--dormant",        "--trace",
        levels,    "sh",     "-c", script, cli_built("nvtally"), cli_client(client), NULL};
    return cli_run_with(&options, argv);
}

static void expect_said(struct cli_result *result, const char *said)
{
    cli_expect_status(result, 0);
    if (!strstr(result->err, said) || strstr(result->err, "were lost"))
        fail_msg("not '%s':\n%s", said, result->err);
    cli_result_free(result);
}

static void expect_near(uint32_t a, uint32_t b)
{
    if (a > b + 3 || b > a + 3)
        fail_msg("%u and %u", a, b);
}

/* The parts are whole, as far as ranges were not open at their beginning or end, and there is nothing between. */
static void records_in_parts(void **state)
{
    (void)state;
    struct cli_result result = record(
        "nvtx", "flight",
        "\"$1\" 60000 & until [ $(ls /proc/$!/task | wc -l) -ge 3 ]; do sleep 0.05; done; "
        "\"$0\" ctl start; sleep 0.5; \"$0\" ctl stop; sleep 0.6; \"$0\" ctl start; sleep 0.4; "
        "\"$0\" ctl stop; \"$0\" ctl stop; kill $!; wait");
    assert_non_null(strstr(result.out, "recording to /"));
    assert_non_null(strstr(result.out, " were recorded to "));
    assert_non_null(strstr(result.out, "not recording, for 0."));
    const int64_t elapsed = result.elapsed_ns;
    expect_said(&result, " events of 2 threads in 1 process");
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *facts = nvt_trace_meta(trace, "recorded");
    assert_memory_equal(facts, "2 parts, ", 9);
    const int64_t recorded =
        (int64_t)(strtod(facts + 9, NULL) * (strstr(facts, " ms") ? 1e6 : 1e9));
    const uint32_t steps = recorded_count(trace, "step");
    assert_true(steps > 20);
    expect_near(recorded_count(trace, "forward"), steps);
    assert_in_range(recorded_count(trace, "kernel"), (steps - 4) * 50, (steps + 4) * 50);
    assert_int_equal(recorded_count(trace, "epoch"), 0);
    int64_t gap = 0, last = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (last && ranges->start[i] - last > gap)
            gap = ranges->start[i] - last;
        last = ranges->start[i];
        /* What never ended lasts no longer than its part. */
        if (ranges->style[i] == NVT_PUSH_POP)
            assert_true(ranges->end[i] - ranges->start[i] < recorded);
        /* Nor has it anything of the next one. */
        if (ranges->parent[i] != NVT_NONE)
            assert_true(ranges->start[i] <= ranges->end[ranges->parent[i]]);
    }
    if (gap < 500 * MS)
        fail_msg("%lld ms between the parts", (long long)(gap / MS));
    assert_in_range(recorded / MS, 900, (elapsed - gap) / MS);
    assert_non_null(trace->notes);
    assert_true(trace->is_late);
    nvt_trace_free(trace);
}

/* CUPTI comes when it is asked for, to a device that has long been at work, and comes again. */
static void records_devices_in_parts(void **state)
{
    (void)state;
    struct cli_result result =
        record("nvtx,kernel", "device",
               "until_has() { until cat /proc/$!/task/*/comm | grep $1; do sleep 0.05; done; }; "
               "part() { \"$0\" ctl start; until_has nvtally-cupti; sleep 0.5; \"$0\" ctl stop; }; "
               "\"$1\" endless & until_has nvtally-window; sleep 0.2; part; sleep 0.3; part; kill "
               "$!; wait");
    const char *begun = strstr(result.out, "recording to ");
    const char *flusher = strstr(result.out, "nvtally-cupti");
    assert_true(begun && flusher && flusher > begun);
    assert_true(strstr(result.out, "nvtally-window") < begun);
    expect_said(&result, " device records");
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_ops *ops = &trace->ops;
    assert_true(ops->count >= 20);
    /* CUPTI comes up, and lets go, while ranges are recorded already, or no more. */
    const uint32_t ticks = recorded_count(trace, "tick");
    assert_in_range(ops->count, ticks / 3, ticks * 2);
    int64_t gap = 0;
    for (uint32_t i = 1; i < ops->count; i++)
        gap = ops->launch[i] - ops->launch[i - 1] > gap ? ops->launch[i] - ops->launch[i - 1] : gap;
    if (gap < 250 * MS)
        fail_msg("%lld ms between the parts", (long long)(gap / MS));
    nvt_trace_free(trace);
}

static void nobody_asks(void **state)
{
    (void)state;
    struct cli_result result = record("nvtx", "flight", "\"$1\" 100");
    assert_non_null(strstr(result.err, "0 events of 0 threads in 0 processes"));
    expect_said(&result, NOT_ASKED);
    result = record("kernel", "device", "\"$1\" steady");
    expect_said(&result, NOT_ASKED);
    result =
        record("nvtx,machine,cpu", "flight",
               "\"$1\" 900 & \"$0\" ctl start; sleep 0.3; \"$0\" ctl stop; \"$0\" ctl start; wait");
    assert_null(strstr(result.err, "no CPU samples were recorded"));
    expect_said(&result, "nvtally: --dormant: CPU samples are not recorded\n");
    /* A trace that has nothing is one. */
    nvt_trace_free(recorded_trace());
}

/* --- the socket ------------------------------------------------------------------------------------ */

/* A recording of `sleep` in the background, and its session. */
static pid_t begin(struct nvt_ctl_session *session)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execl(cli_built("nvtally"), "nvtally", "record", "-f", "-o", recorded_path(), "--dormant",
              "--trace", "nvtx", "sleep", "600", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 3000 && nvt_ctl_sessions(session, 1) != 1; i++)
        usleep(10000);
    char text[NVT_CTL_ANSWER_MOST];
    struct nvt_error err = NVT_ERROR_INIT;
    /* It listens a moment after it has its page. */
    for (int i = 0; i < 3000 && nvt_ctl_ask(session, "status", A_MINUTE, text, sizeof(text), &err);
         i++)
        usleep(10000);
    assert_int_equal(session->recorder, pid);
    return pid;
}

static void expect_answer(const struct nvt_ctl_session *session, const char *request,
                          const char *answer)
{
    char text[NVT_CTL_ANSWER_MOST];
    struct nvt_error err = NVT_ERROR_INIT;
    const int status = nvt_ctl_ask(session, request, A_MINUTE, text, sizeof(text), &err);
    if (status < 0 || !strstr(text, answer))
        fail_msg("%s: %s", request, status < 0 ? err.message : text);
}

static int connect_raw(const struct nvt_ctl_session *session)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const int place = open(session->folder, O_PATH | O_CLOEXEC);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" NVT_CTL_NAME, place);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    close(place);
    return descriptor;
}

static void send_raw(int descriptor, const char *text)
{
    assert_true(send(descriptor, text, strlen(text), 0) >= 0);
}

/* Who says nothing, dies in the middle, or says what there is not, is in nobody's way. */
static void others_are_in_nobodys_way(void **state)
{
    (void)state;
    struct nvt_ctl_session session;
    int silent[20];
    const pid_t pid = begin(&session);
    for (size_t i = 0; i < NVT_COUNT_OF(silent); i++)
        silent[i] = connect_raw(&session);
    expect_answer(&session, "start", "recording to ");
    for (int i = 0; i < 50; i++) {
        const int descriptor = connect_raw(&session);
        send_raw(descriptor, i % 2 ? NVT_CTL_VERSION " status" : "\1\2 nonsense");
        close(descriptor);
    }
    expect_answer(&session, "status", "state\trecording\n");
    expect_answer(&session, "no", "does not know 'no'");
    expect_answer(&session, "", "does not know ''");
    for (size_t i = 0; i < NVT_COUNT_OF(silent); i++)
        close(silent[i]);
    ctl_end(pid, SIGTERM);
}

/* Two controllers at once: each request is done as a whole, and each is answered. */
static void many_requests(void **state)
{
    (void)state;
    struct nvt_ctl_session session;
    const int count = cli_is_long() ? 10000 : 500;
    const pid_t pid = begin(&session), other = fork();
    char text[NVT_CTL_ANSWER_MOST];
    int failed = 0;
    for (int i = 0; i < count; i++)
        failed |= nvt_ctl_ask(&session, i % 3 ? (i & 1 ? "start" : "stop") : "status", A_MINUTE,
                              text, sizeof(text), NULL);
    if (!other)
        _exit(failed ? 1 : 0);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(failed, 0);
    expect_answer(&session, "stop", "");
    expect_answer(&session, "status", "state\tdormant\n");
    ctl_end(pid, SIGTERM);
    struct nvt_trace *trace = recorded_trace();
    assert_non_null(nvt_trace_meta(trace, "part 1"));
    nvt_trace_free(trace);
}

static void expect_no_session(const char *folder, const char *why)
{
    struct nvt_ctl_session session;
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_ctl_session_of(folder, &session, &err), -1);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
}

/* A recorder that was killed, another user's, what is none. */
static void sessions_that_are_none(void **state)
{
    (void)state;
    struct nvt_ctl_session session, none;
    struct nvt_error err = NVT_ERROR_INIT;
    char text[NVT_CTL_ANSWER_MOST], path[400];
    const pid_t pid = begin(&session);
    ctl_end(pid, SIGKILL);
    assert_int_equal(nvt_ctl_sessions(&none, 1), 0);
    expect_no_session(session.folder, "has died");
    assert_int_equal(nvt_ctl_ask(&session, "status", A_MINUTE, text, sizeof(text), &err), -1);
    assert_non_null(strstr(err.message, "has ended"));
    snprintf(path, sizeof(path), "%s/" NVT_CONTROL_NAME, session.folder);
    if (!geteuid() && !chown(path, 12345, 12345))
        expect_no_session(session.folder, "another user");
    assert_int_equal(chown(path, geteuid(), getegid()), 0);
    assert_int_equal(truncate(path, 100), 0);
    expect_no_session(session.folder, "another version");
    assert_int_equal(truncate(path, 0), 0);
    expect_no_session(session.folder, "another version");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_no_session(session.folder, "another version");
    expect_no_session("/nowhere", "no recording is there");
}

/* --- marks ---------------------------------------------------------------------------------------- */

/* A mark is in every process that is recorded then and lives, and in no other. */
static void marks_every_process(void **state)
{
    (void)state;
    const char *script = CLI_UNTIL_STATUS
        "\"$0\" ctl start; \"$1\" 100; \"$1\" 60000 & first=$!; \"$1\" 60000 & "
        "until_status processes.3; sleep 0.3; \"$0\" ctl mark 'disk, \"full\"'; \"$0\" ctl mark "
        "again; \"$0\" ctl stop; \"$0\" ctl mark never; kill $first $!; wait";
    struct cli_result result = record("nvtx", "flight", script);
    assert_non_null(strstr(result.out, "\nmarked in 2 processes\nmarked in 2 processes\n"));
    assert_non_null(strstr(result.err, "not recording: a mark has no place in the trace"));
    /* Threads of the program alone: three of each process, or fewer of one that a busy machine has only just started. */
    const char *said = strstr(result.err, " events of ");
    int threads = 0;
    assert_true(said && sscanf(said, " events of %d threads in 3 processes", &threads) == 1);
    assert_in_range(threads, 5, 9);
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_marks *marks = &trace->marks;
    int64_t time[2] = {0};
    uint32_t found[2] = {0};
    for (uint32_t i = 0; i < marks->count; i++) {
        if (strcmp(nvt_domain_name(trace, marks->domain[i]), "nvtally ctl") != 0)
            continue;
        const uint32_t thread = marks->thread[i];
        const char *name = nvt_name(trace, marks->name[i]);
        const int is_second = !strcmp(name, "again");
        assert_string_equal(name, is_second ? "again" : "disk, \"full\"");
        assert_string_equal(nvt_name(trace, trace->threads.name[thread]), "nvtally ctl");
        assert_int_equal(trace->threads.events[thread], 2);
        /* The same moment in all of them. */
        assert_true(!found[is_second] || time[is_second] == marks->time[i]);
        time[is_second] = marks->time[i];
        found[is_second]++;
    }
    assert_int_equal(found[0], 2);
    assert_int_equal(found[1], 2);
    assert_true(time[0] < time[1]);
    nvt_trace_free(trace);
}

/* --- dumps ---------------------------------------------------------------------------------------- */

/* A copy is whole and has what was recorded up to then, while the program hangs; what is killed a moment later does it no harm. */
static void dumps_what_there_is(void **state)
{
    (void)state;
    const char *script =
        "\"$0\" record -f -o dumped.nvt --trace nvtx sh -c '\"$1\" 900; \"$0\" ctl "
        "dump; \"$0\" ctl dump; \"$0\" ctl dump -o own.nvt; \"$0\" ctl dump -o "
        "own.nvt; kill -9 $PPID' \"$0\" \"$1\"";
    const char *argv[] = {"sh", "-c", script, cli_built("nvtally"), cli_client("flight"), NULL};
    const struct cli_options options = {.directory = recorded_in("")};
    struct cli_result result = cli_run_with(&options, argv);
    assert_non_null(strstr(result.out, "/dumped-dump1.nvt\n"));
    assert_non_null(strstr(result.out, "/dumped-dump2.nvt\n"));
    assert_non_null(strstr(result.out, "\nown.nvt\n"));
    assert_non_null(strstr(result.err, "own.nvt: File exists"));
    cli_result_free(&result);
    static const char *const copies[] = {"dumped-dump1.nvt", "dumped-dump2.nvt", "own.nvt"};
    for (size_t i = 0; i < NVT_COUNT_OF(copies); i++) {
        struct nvt_trace *trace = recorded_trace_at(recorded_in(copies[i]));
        const uint32_t steps = recorded_count(trace, "step");
        assert_true(steps > 20);
        expect_near(recorded_count(trace, "forward"), steps);
        assert_null(trace->warning);
        assert_non_null(strstr(trace->notes, "a copy of a recording that went on"));
        nvt_trace_free(trace);
    }
}

static uint32_t ended_steps(const struct nvt_trace *trace, int64_t from, int64_t to)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        count += !strcmp(nvt_name(trace, ranges->name[i]), "step") && ranges->end[i] >= from &&
                 ranges->end[i] < to && !(ranges->flags[i] & NVT_RANGE_UNCLOSED);
    return count;
}

/* The last part alone: all that ended in it, with what was open before, and little else. */
static void dumps_the_last_part(void **state)
{
    (void)state;
    const char *script =
        "\"$0\" record -f -o long.nvt --trace nvtx sh -c '\"$1\" 60000 & sleep 2; \"$0\" ctl "
        "dump -o all.nvt; \"$0\" ctl dump --last 500ms -o last.nvt; \"$0\" ctl dump "
        "--last 1h -o hour.nvt; kill -9 $! $PPID' \"$0\" \"$1\"";
    const char *argv[] = {"sh", "-c", script, cli_built("nvtally"), cli_client("flight"), NULL};
    const struct cli_options options = {.directory = recorded_in("")};
    struct cli_result result = cli_run_with(&options, argv);
    assert_non_null(strstr(result.out, "all.nvt\nlast.nvt\nhour.nvt\n"));
    cli_result_free(&result);
    struct nvt_trace *all = recorded_trace_at(recorded_in("all.nvt"));
    struct nvt_trace *last = recorded_trace_at(recorded_in("last.nvt"));
    struct nvt_trace *hour = recorded_trace_at(recorded_in("hour.nvt"));
    assert_string_equal(nvt_trace_meta(last, "kept"), "0.5 s");
    assert_null(nvt_trace_meta(all, "kept"));
    assert_null(nvt_trace_meta(hour, "kept"));
    assert_true(last->is_late);
    assert_true(recorded_count(hour, "step") >= recorded_count(all, "step"));
    assert_true(recorded_count(last, "step") < recorded_count(all, "step"));
    assert_int_equal(recorded_count(last, "epoch"), recorded_count(all, "epoch"));
    /* The next copy has it, too. */
    const int64_t to = last->ranges.start[last->ranges.count - 1];
    const uint32_t expected = ended_steps(hour, to - 100 * MS, to);
    assert_true(expected > 0);
    assert_int_equal(ended_steps(last, to - 100 * MS, to), expected);
    nvt_trace_free(all);
    nvt_trace_free(last);
    nvt_trace_free(hour);
}

/* --- iterations ------------------------------------------------------------------------------------ */

/* Of a recording that does not know its iterations, or records all the time. */
static void steps_need_iterations(void **state)
{
    (void)state;
    struct cli_result result = record("nvtx", "flight", "\"$1\" 300 & \"$0\" ctl steps 5; wait");
    assert_non_null(strstr(result.err, "it is unknown which ranges are iterations"));
    cli_result_free(&result);
    const char *argv[] = {"nvtally",
                          "record",
                          "-f",
                          "-o",
                          recorded_path(),
                          "sh",
                          "-c",
                          "\"$0\" ctl steps 5; \"$0\" ctl status",
                          cli_built("nvtally"),
                          NULL};
    result = cli_run(argv);
    assert_non_null(strstr(result.err, "start and stop need record --dormant"));
    cli_result_free(&result);
}

/* --- the command ----------------------------------------------------------------------------------- */

static void expect_refused(const char *needle, const char *const words[])
{
    const char *argv[8] = {"nvtally", "ctl"};
    for (size_t i = 0; words[i]; i++)
        argv[i + 2] = words[i];
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}
#define EXPECT_REFUSED(needle, ...) expect_refused(needle, (const char *const[]){__VA_ARGS__, NULL})

static void wrong_requests(void **state)
{
    (void)state;
    EXPECT_REFUSED("needs a request", NULL);
    EXPECT_REFUSED("did you mean 'start'?", "strat");
    EXPECT_REFUSED("'now' is one word too many", "start", "now");
    EXPECT_REFUSED("no recording is going on", "start");
    EXPECT_REFUSED("no recording is going on", "mark", "text");
    EXPECT_REFUSED("ctl mark needs a text", "mark");
    EXPECT_REFUSED("ctl mark needs a text", "mark", "");
    EXPECT_REFUSED("'b' is one word too many: a text of several words needs quotes", "mark", "a",
                   "b");
    char text[NVT_CTL_REQUEST_MOST];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    EXPECT_REFUSED("the text is too long: at most 4088 bytes", "mark", text);
    EXPECT_REFUSED("ctl steps needs a number", "steps");
    EXPECT_REFUSED("ctl steps 0: must be a number", "steps", "0");
    EXPECT_REFUSED("ctl steps -1: must be a number", "steps", "--", "-1");
    EXPECT_REFUSED("ctl steps five: must be a number", "steps", "five");
    EXPECT_REFUSED("'6' is one word too many", "steps", "5", "6");
    EXPECT_REFUSED("no recording is going on", "steps", "5");
    EXPECT_REFUSED("--session x: must be", "-s", "x", "start");
    EXPECT_REFUSED("no recording has the recorder 1;", "-s", "1", "stop");
    EXPECT_REFUSED("--output is an option of ctl dump", "-o", "x.nvt", "stop");
    EXPECT_REFUSED("no recording is going on", "dump");
    EXPECT_REFUSED("no recording is going on", "dump", "--last", "2s");
    EXPECT_REFUSED("--last 2: must be a time such as", "dump", "--last", "2");
    EXPECT_REFUSED("--last -1s: must be a time such as", "dump", "--last", "-1s");
    EXPECT_REFUSED("--last is an option of ctl dump", "stop", "--last", "2s");
    EXPECT_REFUSED("-o -: a trace cannot go to standard output", "-o", "-", "dump");
    EXPECT_REFUSED("no recording is there", "-s", "/nowhere", "stop");
    EXPECT_REFUSED("--format x", "-f", "x", "ps");
    EXPECT_REFUSED("needs a value", "-s");
    EXPECT_REFUSED("unknown option -x", "-x");
    EXPECT_REFUSED("unknown option -ZY", "-ZY");
    const char *ps[] = {"nvtally", "ctl", "ps", NULL};
    struct cli_result result = cli_run(ps);
    cli_expect_status(&result, 0);
    assert_string_equal(result.err, "nvtally: no recording is going on\n");
    cli_result_free(&result);
}

static void lists_what_goes_on(void **state)
{
    (void)state;
    struct nvt_ctl_session sessions[2];
    const pid_t first = begin(&sessions[0]);
    const char *ps[] = {"nvtally", "ctl", "-f", "csv", "ps", NULL};
    struct cli_result result = cli_run(ps);
    cli_expect_status(&result, 0);
    char row[40];
    snprintf(row, sizeof(row), "\n%d,dormant,", (int)first);
    assert_non_null(strstr(result.out, row));
    assert_non_null(strstr(result.out, ",sleep 600,"));
    cli_result_free(&result);
    /* Of several, one is to be named, or all. */
    const char *script =
        "\"$0\" record -f -o second.nvt --trace nvtx sh -c '\"$0\" ctl status; unset "
        "NVTALLY_SESSION; \"$0\" ctl stop; \"$0\" ctl -s all stop' \"$0\"";
    const char *argv[] = {"sh", "-c", script, cli_built("nvtally"), NULL};
    const struct cli_options options = {.directory = recorded_in("")};
    result = cli_run_with(&options, argv);
    assert_non_null(strstr(result.out, "state\trecording\n"));
    assert_non_null(strstr(result.err, "2 recordings are going on: --session says which one"));
    assert_non_null(strstr(result.err, "start and stop need record --dormant"));
    assert_non_null(strstr(result.out, "not recording, for "));
    cli_expect_status(&result, 2);
    cli_result_free(&result);
    ctl_end(first, SIGTERM);
}

/* What a delay leaves out was not recorded. */
static void says_what_was_recorded(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",
                          "record",
                          "-f",
                          "-o",
                          recorded_path(),
                          "--delay",
                          "2",
                          "--trace",
                          "nvtx",
                          "sh",
                          "-c",
                          CLI_UNTIL_STATUS
                          "\"$0\" ctl status; until_status state.recording; \"$0\" ctl status",
                          cli_built("nvtally"),
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_memory_equal(result.out, "state\tdormant\n", 14);
    assert_non_null(strstr(result.out, "\nrecorded\t0\nparts\t0\n"));
    const char *second = strstr(result.out, "state\trecording\n");
    assert_non_null(second);
    const char *began = strstr(second, "\nbegan\t"), *recorded = strstr(second, "\nrecorded\t");
    assert_true(began && recorded && strstr(second, "\nparts\t1\n"));
    assert_true(strtoll(began + 7, NULL, 10) - strtoll(recorded + 10, NULL, 10) >= 1990 * MS);
    cli_result_free(&result);
}

static void wrong_options(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"--delay", "1"},
                                           {"--duration", "1"},
                                           {"--capture", "X"},
                                           {"--trace", "cpu"},
                                           {"--iteration", ""}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *argv[] = {"nvtally",       "record",    "-o",
                              recorded_path(), "--dormant", wrong[i][0],
                              wrong[i][1],     "true",      NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i][0]);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_in_parts),    cmocka_unit_test(records_devices_in_parts),
        cmocka_unit_test(nobody_asks),         cmocka_unit_test(others_are_in_nobodys_way),
        cmocka_unit_test(many_requests),       cmocka_unit_test(sessions_that_are_none),
        cmocka_unit_test(marks_every_process), cmocka_unit_test(dumps_what_there_is),
        cmocka_unit_test(dumps_the_last_part), cmocka_unit_test(steps_need_iterations),
        cmocka_unit_test(lists_what_goes_on),  cmocka_unit_test(wrong_requests),
        cmocka_unit_test(wrong_options),       cmocka_unit_test(says_what_was_recorded),
    };
    return cmocka_run_group_tests(tests, ctl_set_up, recorded_tear_down);
}
