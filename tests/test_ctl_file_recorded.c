/*
 * nvtally ctl --watch: recordings do what is written into a file, whoever dies in the middle. "Hosts" are recorders on
 * this machine that see nothing of one another but the file, with host names of their own where that is allowed.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ctl_line.h"
#include "../lib/count_of.h"
#include "ctl_file_kit.h"
#include "record_kit.h"

/* A script in which $0 is nvtally, $1 a client, $F the file, and `on NAME COMMAND …` runs a command as on another host: with a folder of its own for sessions,
 * and, where that is allowed, a host name. `watching N`: until so many recordings watch the file. */
static struct cli_result run(const char *client, const char *script)
{
    static const char kit[] =
        "F=$2/commands; D=$2; pids=; rm -rf \"$D\"/*; : >$F; chmod 600 $F; cd $D; "
        "unshare -u true 2>/dev/null && has_names=1 || has_names=; "
        "on() { name=$1; shift; mkdir -p $D/$name.d; export NVTALLY_TMPDIR=$D/$name.d; "
        "[ -z \"$has_names\" ] || exec unshare -u sh -c 'hostname $0; exec \"$@\"' $name \"$@\"; "
        "exec \"$@\"; }; "
        "bg() { on \"$@\" & pids=\"$pids $!\"; }; finish() { kill -TERM $pids; wait; }; "
        "c() { \"$0\" ctl --watch $F \"$@\"; echo \"status $?\"; }; "
        "watching() { until [ \"$(\"$0\" ctl --watch $F ps -f csv 2>/dev/null | grep -c "
        "\",$2,\")\" = $1 "
        "]; do sleep 0.1; done; }; ";
    char whole[6000];
    snprintf(whole, sizeof(whole), "%s%s", kit, script);
    const char *argv[] = {
        "sh", "-c", whole, cli_built("nvtally"), cli_client(client), recorded_in("hosts"), NULL};
    mkdir(recorded_in("hosts"), 0700);
    return cli_run(argv);
}

static void expect_out(struct cli_result *result, const char *text)
{
    if (!strstr(result->out, text) && !strstr(result->err, text))
        fail_msg("no '%s':\n%s\n%s", text, result->out, result->err);
}

/* The first of the steps, of which there are so many one behind the other. */
static uint64_t first_step(const char *name, uint32_t wanted)
{
    struct nvt_trace *trace = recorded_trace_at(recorded_in(name));
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        if (strcmp(nvt_name(trace, trace->ranges.name[i]), "step") != 0)
            continue;
        const uint64_t number = strtoull(nvt_name(trace, trace->ranges.payload[i]), NULL, 10);
        first = number < first ? number : first;
        last = number > last ? number : last;
    }
    assert_int_equal(recorded_count(trace, "step"), wanted);
    assert_int_equal(last - first + 1, wanted);
    nvt_trace_free(trace);
    return first;
}

static void records_steps_on_all_hosts(void **state)
{
    (void)state;
    struct cli_result result =
        run("flight",
            "for h in one two; do bg $h \"$0\" record -o $h.nvt --dormant --iteration step "
            "--trace nvtx --watch $F \"$1\" 60000; done; watching 2 dormant; c ps; c steps 4; "
            "c status; finish; ls $F.* 2>/dev/null | wc -l");
    const char *said = strstr(result.out, "iterations ");
    if (!said)
        fail_msg("%s\n%s", result.out, result.err);
    const uint64_t first = strtoull(said + strlen("iterations "), NULL, 10);
    expect_out(&result, " (from 0) of 1 process: /");
    expect_out(&result, "/two.nvt\nstatus 0\n");
    expect_out(&result, "state\tdormant\n");
    /* Who has ended leaves nothing behind. */
    assert_string_equal(result.out + strlen(result.out) - 3, "\n0\n");
    cli_result_free(&result);
    assert_int_equal(first_step("hosts/one.nvt", 4), first);
    assert_int_equal(first_step("hosts/two.nvt", 4), first);
}

static void starts_marks_and_dumps(void **state)
{
    (void)state;
    struct cli_result result =
        run("flight",
            "for h in one two; do bg $h \"$0\" record -o $h.nvt --dormant --trace nvtx --watch $F "
            "\"$1\" 60000; done; watching 2 dormant; c mark early; c start; c start; sleep 0.3; "
            "c mark 'disk, \"full\"'; c dump; c stop; c dump --last 1s; c -s nobody stop; "
            "name=$(\"$0\" ctl --watch $F ps -f csv | tail -1 | sed 's/.*,//'); c -s $name start; "
            "\"$0\" ctl --watch $F ps -f csv | grep -c ,recording,; c -s all stop; finish");
    static const char *const said[] = {"not recording: a mark has no place in the trace",
                                       "recording to /",
                                       "recording already, for ",
                                       "marked in 1 process",
                                       "stopped: ",
                                       "/one-dump1.nvt\n",
                                       "/two-dump2.nvt\n",
                                       "no session is called nobody",
                                       "\n1\n"}; /* of the two, one was named */
    for (size_t i = 0; i < NVT_COUNT_OF(said); i++)
        expect_out(&result, said[i]);
    cli_result_free(&result);
    static const char *const names[] = {"hosts/one.nvt", "hosts/two.nvt", "hosts/one-dump1.nvt",
                                        "hosts/two-dump1.nvt"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        struct nvt_trace *trace = recorded_trace_at(recorded_in(names[i]));
        assert_true(recorded_count(trace, "step") > 3);
        (void)recorded_mark(trace, "disk, \"full\"");
        nvt_trace_free(trace);
    }
}

/* A controller that is killed in the middle of steps is in nobody's way; nor are two at once. */
static void controllers_die(void **state)
{
    (void)state;
    struct cli_result result = run(
        "flight",
        "for h in one two; do bg $h \"$0\" record -o $h.nvt --dormant --iteration step --trace "
        "nvtx --watch $F \"$1\" 120000; done; watching 2 dormant; "
        "\"$0\" ctl --watch $F steps 1000000 & client=$!; watching 2 recording; kill -9 $client; "
        "c steps 3; c stop; \"$0\" ctl --watch $F steps 3 & a=$!; \"$0\" ctl --watch $F stop & "
        "wait $!; wait $a; c stop; c steps 3; finish");
    expect_out(&result, " iterations for nvtally ctl steps from elsewhere, ");
    expect_out(&result, "status 2\n");
    const char *last = strstr(result.out, "status 2\n") + 9;
    while (strstr(last, "iterations "))
        last = strstr(last, "iterations ") + 1;
    if (!strstr(last, "/two.nvt\nstatus 0\n") && !strstr(last, "status 0\n"))
        fail_msg("%s\n%s", result.out, result.err);
    assert_string_equal(result.out + strlen(result.out) - 9, "status 0\n");
    cli_result_free(&result);
}

/* Steps of that name in the trace, whether they have ended or not. */
static uint32_t all_steps(const char *name)
{
    uint32_t count = 0;
    struct nvt_trace *trace = recorded_trace_at(recorded_in(name));
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), "step");
    nvt_trace_free(trace);
    return count;
}

/* The one session there is going to be. */
static void wait_for_session(struct nvt_ctl_file_way *way, struct nvt_ctl_session *session)
{
    const char *path = recorded_in("hosts/commands");
    for (int count = 0; count != 1; usleep(20000))
        if (!nvt_ctl_file_reach(way, path, NULL))
            count = nvt_ctl_file_sessions(way, session, 1, NULL, NULL);
}

static uint64_t seen_of(const char *text)
{
    const char *line = strstr(text, "\nseen\t");
    assert_non_null(line);
    return strtoull(line + 6, NULL, 10);
}

/* A range that begins within the iterations and goes on behind the last ("hundred", of each hundred steps) brings no further ones. */
static void records_no_further_steps(void **state)
{
    (void)state;
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session session;
    char text[NVT_CTL_ANSWER_MOST], request[40];
    const pid_t pid = fork();
    if (!pid) {
        struct cli_result result =
            run("flight", "bg one \"$0\" record -o one.nvt --dormant --iteration step --trace nvtx "
                          "--watch $F \"$1\" 120000; until [ -e go ]; do sleep 0.1; done; finish");
        _exit(result.status);
    }
    wait_for_session(&way, &session);
    assert_int_equal(
        nvt_ctl_ask(&session, "steps 4 60000000000", A_MINUTE, text, sizeof(text), NULL), 0);
    int refused = 1;
    while (refused) {
        assert_int_equal(nvt_ctl_ask(&session, "stepped", A_MINUTE, text, sizeof(text), NULL), 0);
        snprintf(request, sizeof(request), "fix %llu",
                 (unsigned long long)(seen_of(text) / 100 + 10) * 100 - 2);
        refused = nvt_ctl_ask(&session, request, A_MINUTE, text, sizeof(text), NULL);
    }
    do
        assert_int_equal(nvt_ctl_ask(&session, "stepped", A_MINUTE, text, sizeof(text), NULL), 0);
    while (strstr(text, "steps\twaiting\n"));
    assert_non_null(strstr(text, "steps\tdone\n"));
    cli_write_file(recorded_in("hosts/go"), "", 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(first_step("hosts/one.nvt", 4) % 100, 98);
    assert_int_equal(all_steps("hosts/one.nvt"), 4);
}

/* Nobody fixes the numbers: it is given up, and said. */
static void steps_are_given_up(void **state)
{
    (void)state;
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[1];
    char text[NVT_CTL_ANSWER_MOST];
    const pid_t pid = fork();
    if (!pid) {
        struct cli_result result =
            run("flight", "bg one \"$0\" record -o one.nvt --dormant --iteration step --trace nvtx "
                          "--watch $F \"$1\" 120000; until [ -e go ]; do sleep 0.1; done; finish");
        _exit(result.status);
    }
    wait_for_session(&way, sessions);
    assert_int_equal(
        nvt_ctl_ask(sessions, "steps 5 1500000000", A_MINUTE, text, sizeof(text), NULL), 0);
    do {
        usleep(50000);
        assert_int_equal(nvt_ctl_ask(sessions, "stepped", A_MINUTE, text, sizeof(text), NULL), 0);
    } while (strstr(text, "steps\twaiting\n"));
    assert_non_null(strstr(text, "steps\tstopped\n"));
    cli_write_file(recorded_in("hosts/go"), "", 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* A job without a recorder: one comes on each host when it is asked for. */
static void records_jobs_of_env(void **state)
{
    (void)state;
    struct cli_result result = run(
        "standing",
        "for h in one two; do bg $h \"$0\" env -t nvtx --iteration tick@standing --watch $F -- "
        "\"$1\" 120000; done; watching 2 dormant; c stop; c start -o 'late-%p.nvt'; c status; "
        "c stop; c steps 5; finish; until [ -z \"$(ls $F.* 2>/dev/null)\" ]; do sleep 0.1; done; "
        "ls late-*.nvt | wc -l");
    expect_out(&result, ": not recording\nstatus 0");
    expect_out(&result, "state\trecording\n");
    expect_out(&result, ": stopped: ");
    expect_out(&result, " (from 0) of 1 process: /");
    assert_string_equal(result.out + strlen(result.out) - 3, "\n2\n");
    cli_result_free(&result);
}

#define EXPECT_REFUSED(needle, ...)                                                                \
    do {                                                                                           \
        const char *argv_[] = {"nvtally", __VA_ARGS__, NULL};                                      \
        struct cli_result result_ = cli_run(argv_);                                                \
        cli_expect_failure(&result_, needle);                                                      \
        cli_result_free(&result_);                                                                 \
    } while (0)

static void wrong_requests(void **state)
{
    (void)state;
    const char *path = ctl_file_fresh();
    EXPECT_REFUSED("No such file or directory", "ctl", "--watch", path, "ps");
    EXPECT_REFUSED("No such file or directory", "ctl", "--watch", path, "start");
    close(open(path, O_WRONLY | O_CREAT, 0600));
    EXPECT_REFUSED("no recording watches", "ctl", "--watch", path, "start");
    EXPECT_REFUSED("no recording watches", "ctl", "--watch", path, "steps", "3");
    EXPECT_REFUSED("--output is for recordings on this machine", "ctl", "--watch", path, "-o",
                   "x.nvt", "dump");
    EXPECT_REFUSED("--force-overwrite is for recordings on this machine", "ctl", "--watch", path,
                   "--force-overwrite", "start");
    EXPECT_REFUSED("--watch and --to exclude each other", "ctl", "--watch", path, "--to", "x",
                   "ps");
    EXPECT_REFUSED("--watch needs a command", "env", "--watch", path);
    EXPECT_REFUSED("No such file or directory", "env", "--watch", "/nowhere/x", "--", "true");
    EXPECT_REFUSED("No such file or directory", "record", "-o", recorded_path(), "--watch",
                   "/nowhere/x", "true");
    assert_int_equal(chmod(path, 0666), 0);
    EXPECT_REFUSED("nobody else may write to", "record", "-o", recorded_path(), "--watch", path,
                   "true");
    EXPECT_REFUSED("nobody else may write to", "env", "--watch", path, "--", "true");
    EXPECT_REFUSED("nobody else may write to", "ctl", "--watch", path, "start");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_steps_on_all_hosts),
        cmocka_unit_test(starts_marks_and_dumps),
        cmocka_unit_test(controllers_die),
        cmocka_unit_test(records_no_further_steps),
        cmocka_unit_test(steps_are_given_up),
        cmocka_unit_test(records_jobs_of_env),
        cmocka_unit_test(wrong_requests),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
