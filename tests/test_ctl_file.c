/*
 * nvtally ctl --watch: sessions that watch a file do what is written into it, each once and in order, and answer; whoever else writes, dies in
 * the middle or is somebody else. "Hosts" are recorders on this machine that see nothing of one another but the file, with host names of
 * their own where that is allowed.
 */
#include <errno.h>
#include <fcntl.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ctl_line.h"
#include "../lib/clock.h"
#include "../lib/count_of.h"
#include "record_kit.h"

#define A_MINUTE INT64_C(60000000000)

/* --- lines ------------------------------------------------------------------------------------------ */

static int make(char *out, size_t size, const char *whom, const char *text)
{
    const struct nvt_ctl_line line = {"0123456789abcdef", whom, text};
    return nvt_ctl_line_make(&line, out, size);
}

/* Whatever is cut off or changed, the line is none. */
static void lines_are_whole_or_none(void **state)
{
    (void)state;
    char line[NVT_CTL_LINE_MOST + 3], copy[sizeof(line)];
    struct nvt_ctl_line found;
    const int size = make(line, sizeof(line), "node1.12", "mark disk is full");
    if (size <= 0 || line[0] != '\n' || line[size - 1] != '\n') {
        fail_msg("%d", size);
        return;
    }
    line[size - 1] = 0;
    snprintf(copy, sizeof(copy), "%s", line + 1);
    assert_int_equal(nvt_ctl_line_parse(copy, &found), 0);
    assert_string_equal(found.whom, "node1.12");
    assert_string_equal(found.text, "mark disk is full");
    for (int i = 0; i < size - 2; i++) {
        snprintf(copy, sizeof(copy), "%.*s", i, line + 1);
        assert_int_equal(nvt_ctl_line_parse(copy, &found), -1);
        snprintf(copy, sizeof(copy), "%s", line + 1);
        copy[i] = copy[i] == 'x' ? 'y' : 'x';
        assert_int_equal(nvt_ctl_line_parse(copy, &found), -1);
        snprintf(copy, sizeof(copy), "%.*s%s", i, line + 1, line + 1);
        assert_true(!i || nvt_ctl_line_parse(copy, &found));
    }
    char much[NVT_CTL_LINE_MOST + 100];
    memset(much, 'x', sizeof(much));
    much[sizeof(much) - 1] = 0;
    assert_int_equal(make(line, sizeof(line), "*", much), -1);
    assert_int_equal(make(line, sizeof(line), "*", "mark two\nlines"), -1);
}

/* Who has ended is known, who lives is not taken for it; nor is one of another boot, or of another pid namespace. */
static void knows_the_dead(void **state)
{
    (void)state;
    char who[NVT_CTL_LINE_WHO], other[NVT_CTL_LINE_WHO];
    nvt_ctl_line_who(getpid(), who);
    assert_false(nvt_ctl_line_is_dead(who));
    const pid_t pid = fork();
    if (!pid)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    nvt_ctl_line_who(pid, other);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(nvt_ctl_line_is_dead(other));
    other[3] = other[3] == '0' ? '1' : '0';
    assert_false(nvt_ctl_line_is_dead(other));
    /* Another process of our number. */
    snprintf(other, sizeof(other), "%s", who);
    char *start = strrchr(other, ' ') + 1;
    *start = *start == '1' ? '2' : '1';
    assert_true(nvt_ctl_line_is_dead(other));
    assert_false(nvt_ctl_line_is_dead("@\n"));
    assert_false(nvt_ctl_line_is_dead(""));
    *strrchr(who, '\n') = 0;
    assert_false(nvt_ctl_line_is_dead(who));
}

/* --- a session that notes what it is asked ---------------------------------------------------------- */

struct noted {
    struct nvt_ctl_file file;
    size_t count;
    char last[NVT_CTL_REQUEST_MOST];
    unsigned next[8]; /* of each controller, the number that is due */
    int is_wrong;
};

/* "C N": number N of controller C. */
static int note(void *context, const char *request, char *text, size_t size)
{
    struct noted *noted = context;
    unsigned controller, number;
    noted->count++;
    snprintf(noted->last, sizeof(noted->last), "%s", request);
    if (sscanf(request, "%u %u", &controller, &number) == 2 && controller < 8)
        noted->is_wrong |= noted->next[controller]++ != number;
    snprintf(text, size, "heard %.100s", request);
    return !strcmp(request, "fail") ? -1 : 0;
}

static void serve(struct noted *noted)
{
    noted->file.next_look = 0;
    nvt_ctl_file_serve(&noted->file, note, noted);
}

/* One that nobody has watched. */
static const char *fresh_file(void)
{
    static int number;
    char name[40];
    snprintf(name, sizeof(name), "commands%d", number++);
    return recorded_in(name);
}

static struct noted *begin_noting(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct noted *noted = calloc(1, sizeof(*noted));
    assert_non_null(noted);
    if (nvt_ctl_file_watch(&noted->file, path, &err))
        fail_msg("%s", err.message);
    return noted;
}

static void end_noting(struct noted *noted)
{
    nvt_ctl_file_close(&noted->file);
    free(noted);
}

static void send_to(const char *path, const char *whom, const char *request)
{
    char serial[NVT_CTL_SERIAL];
    struct nvt_error err = NVT_ERROR_INIT;
    nvt_ctl_file_serial(serial);
    if (nvt_ctl_file_send(path, serial, whom, request, &err))
        fail_msg("%s", err.message);
}

static void append(const char *path, const char *text)
{
    const int descriptor = open(path, O_WRONLY | O_APPEND);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
}

/* Two controllers at once, and a third that dies in the middle of a line now and then: 10,000 requests, each done once, in order. */
static void many_requests(void **state)
{
    (void)state;
    enum { EACH = 5000 };
    const char *path = fresh_file();
    struct noted *noted = begin_noting(path);
    pid_t children[2];
    for (unsigned c = 0; c < 2; c++) {
        children[c] = fork();
        if (children[c])
            continue;
        for (unsigned i = 0; i < EACH; i++) {
            char request[40], half[60];
            snprintf(request, sizeof(request), "%u %u", c, i);
            send_to(path, i % 2 ? "*" : noted->file.name, request);
            snprintf(half, sizeof(half), "\n1 0123456789abcdef * %u", i);
            if (i % 10 == 0)
                append(path, half);
        }
        _exit(0);
    }
    for (int left = 2; left; serve(noted))
        while (left && waitpid(-1, NULL, WNOHANG) > 0)
            left--;
    serve(noted);
    assert_int_equal(noted->count, 2 * EACH);
    assert_false(noted->is_wrong);
    end_noting(noted);
}

/* What stood there before is not for it, nor what is for others, nor what it has done; nor what is no request. */
static void does_each_once(void **state)
{
    (void)state;
    const char *path = fresh_file();
    close(open(path, O_WRONLY | O_CREAT, 0600));
    send_to(path, "*", "of yesterday");
    struct noted *noted = begin_noting(path);
    serve(noted);
    assert_int_equal(noted->count, 0);
    send_to(path, "another.1", "for another");
    append(path, "garbage\n\n1 2 3\n\n1 0123456789abcdef * 4 0 mark\n");
    serve(noted);
    assert_int_equal(noted->count, 0);
    char line[NVT_CTL_LINE_MOST + 3];
    make(line, sizeof(line), "*", "twice");
    append(path, line);
    append(path, line);
    serve(noted);
    append(path, line);
    serve(noted);
    assert_int_equal(noted->count, 1);
    assert_string_equal(noted->last, "twice");
    /* A line that is still being written is done when it is there. */
    struct nvt_ctl_line slow = {"f123456789abcdef", noted->file.name, "slowly"};
    const int size = nvt_ctl_line_make(&slow, line, sizeof(line));
    for (int i = 0; i < size; i++) {
        const char one[2] = {line[i], 0};
        append(path, one);
        serve(noted);
        assert_int_equal(noted->count, i + 1 < size ? 1 : 2);
    }
    /* So much of no line is passed over. */
    char much[8001];
    memset(much, 'x', sizeof(much) - 1);
    much[sizeof(much) - 1] = 0;
    append(path, much);
    serve(noted);
    send_to(path, "*", "after much");
    serve(noted);
    assert_string_equal(noted->last, "after much");
    end_noting(noted);
}

/* --- asking ----------------------------------------------------------------------------------------- */

/* A session in a process of its own, which serves until it is killed. Its name, that of its file, ends with its number. */
static pid_t begin_session(const char *path)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (!pid) {
        struct noted *noted = begin_noting(path);
        (void)!write(ready[1], "+", 1);
        for (;;) {
            noted->file.next_look = 0;
            nvt_ctl_file_serve(&noted->file, note, noted);
            usleep(2000);
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end_session(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Those that watch; `way` lasts as long as they. */
static size_t find(struct nvt_ctl_file_way *way, const char *path, struct nvt_ctl_session *out)
{
    struct nvt_error err = NVT_ERROR_INIT;
    int count = -1;
    if (!nvt_ctl_file_reach(way, path, &err))
        count = nvt_ctl_file_sessions(way, out, 8, NULL, &err);
    if (count < 0)
        fail_msg("%s", err.message);
    return (size_t)count;
}

static void answers_all(void **state)
{
    (void)state;
    const char *path = fresh_file();
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[8];
    static struct nvt_ctl_reply replies[8];
    const pid_t pids[] = {begin_session(path), begin_session(path), begin_session(path)};
    assert_int_equal(find(&way, path, sessions), 3);
    nvt_ctl_ask_all(sessions, 3, "status", A_MINUTE, replies);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(replies[i].status, 0);
        assert_string_equal(replies[i].text, "heard status");
    }
    nvt_ctl_ask_all(sessions + 1, 1, "fail", A_MINUTE, replies);
    assert_int_equal(replies[0].status, 1);
    assert_string_equal(replies[0].text, "heard fail");
    /* More requests than answers are kept, of several at once, each gets its own. */
    for (int c = 0; c < 4; c++)
        if (!fork()) {
            int failed = 0;
            for (int i = 0; i < 25; i++) {
                char request[40], wanted[60];
                snprintf(request, sizeof(request), "ask %d %d", c, i);
                snprintf(wanted, sizeof(wanted), "heard %s", request);
                nvt_ctl_ask_all(sessions, 3, request, A_MINUTE, replies);
                for (int j = 0; j < 3; j++)
                    failed |= replies[j].status || strcmp(replies[j].text, wanted) != 0;
            }
            _exit(failed);
        }
    for (int c = 0, status; c < 4; c++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    /* One that was killed does not answer, which is said; the others do. */
    end_session(pids[0]);
    nvt_ctl_ask_all(sessions, 3, "status", INT64_C(1000000000), replies);
    int silent = 0;
    for (int i = 0; i < 3; i++)
        silent +=
            replies[i].status < 0 && strstr(replies[i].err.message, "has not answered within");
    assert_int_equal(silent, 1);
    /* From then on it is not there. */
    assert_int_equal(find(&way, path, sessions), 2);
    end_session(pids[1]);
    end_session(pids[2]);
    assert_int_equal(find(&way, path, sessions), 0);
}

/* What a controller has written is lost, as on NFS: he writes it again, and it is done once. */
static void lost_lines_are_written_again(void **state)
{
    (void)state;
    const char *path = fresh_file();
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[8];
    static struct nvt_ctl_reply reply;
    struct nvt_error err = NVT_ERROR_INIT;
    struct stat status;
    struct noted *noted = begin_noting(path);
    assert_int_equal(find(&way, path, sessions), 1);
    const pid_t asker = fork();
    if (!asker) {
        nvt_ctl_ask_all(sessions, 1, "once", A_MINUTE, &reply);
        _exit(reply.status || strcmp(reply.text, "heard once") != 0 ? 1 : 0);
    }
    while (stat(path, &status) || !status.st_size)
        usleep(1000);
    assert_int_equal(truncate(path, 0), 0);
    int ended = 0, how = -1;
    while (!ended) {
        serve(noted);
        ended = waitpid(asker, &how, WNOHANG) == asker;
        usleep(1000);
    }
    assert_int_equal(how, 0);
    assert_int_equal(noted->count, 1);
    /* Another file of that name: what stands in it is nobody's; what is asked from then on is done. */
    assert_int_equal(rename(path, recorded_in("commands.old")), 0);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    send_to(path, "*", "in between");
    serve(noted);
    assert_int_equal(noted->count, 1);
    send_to(path, "*", "from then on");
    serve(noted);
    assert_int_equal(noted->count, 2);
    /* None at all is no reason to end. */
    assert_int_equal(unlink(path), 0);
    serve(noted);
    assert_int_equal(nvt_ctl_file_reach(&way, path, &err), -1);
    assert_non_null(strstr(err.message, "No such file"));
    end_noting(noted);
}

static char *silent_name;
static int64_t silent_for;

static void note_silent(const char *name, int64_t ns)
{
    silent_name = strdup(name);
    silent_for = ns;
}

static void silent_sessions_are_left_out(void **state)
{
    (void)state;
    const char *path = fresh_file();
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[8];
    struct noted *noted = begin_noting(path);
    struct timespec times[2];
    assert_int_equal(find(&way, path, sessions), 1);
    assert_string_equal(sessions[0].name, noted->file.name);
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 3600;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, noted->file.own, times, 0), 0);
    assert_int_equal(nvt_ctl_file_sessions(&way, sessions, 8, note_silent, NULL), 0);
    assert_string_equal(silent_name, noted->file.name);
    free(silent_name);
    assert_in_range(silent_for, INT64_C(3500000000000), INT64_C(3700000000000));
    /* A sign of life, and it is there again. */
    noted->file.next_sign = 0;
    serve(noted);
    assert_int_equal(find(&way, path, sessions), 1);
    end_noting(noted);
    assert_int_equal(find(&way, path, sessions), 0);
}

/* --- what is not ours ------------------------------------------------------------------------------- */

static void expect_refused(const char *path, const char *why)
{
    struct nvt_error err = NVT_ERROR_INIT;
    static struct nvt_ctl_file file;
    static struct nvt_ctl_file_way way;
    assert_int_equal(nvt_ctl_file_watch(&file, path, &err), -1);
    if (!strstr(err.message, why))
        fail_msg("%s: %s", path, err.message);
    assert_int_equal(nvt_ctl_file_reach(&way, path, &err), -1);
    if (!strstr(err.message, why))
        fail_msg("%s: %s", path, err.message);
}

static void files_of_others(void **state)
{
    (void)state;
    const char *path = fresh_file();
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[8];
    char other[PATH_MAX];
    struct noted *noted = begin_noting(path);
    snprintf(other, sizeof(other), "%s.elsewhere.77", path);
    /* The file of another session that others may write to is none. */
    close(open(other, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(find(&way, path, sessions), 2);
    assert_int_equal(chmod(other, 0666), 0);
    assert_int_equal(find(&way, path, sessions), 1);
    if (!geteuid() && !chmod(other, 0600) && !chown(other, 12345, 12345))
        assert_int_equal(find(&way, path, sessions), 1);
    unlink(other);
    /* Neither is that with the requests, from the moment on that it is so. */
    send_to(path, "*", "one");
    assert_int_equal(chmod(path, 0620), 0);
    serve(noted);
    assert_int_equal(noted->count, 0);
    expect_refused(path, "must be a file of yours that nobody else may write to");
    assert_int_equal(chmod(path, 0600), 0);
    serve(noted);
    assert_int_equal(noted->count, 1);
    if (!geteuid() && !chown(path, 12345, 12345)) {
        append(path, "\n");
        expect_refused(path, "must be a file of yours that nobody else may write to");
        serve(noted);
        assert_int_equal(noted->count, 1);
    }
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    expect_refused(path, "must be a file, not a link");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(path, "must be a file of yours");
    unlink(path);
    expect_refused(recorded_in("."), "Is a directory");
    expect_refused("/nowhere/commands", "No such file or directory");
    end_noting(noted);
}

/* --- recordings ------------------------------------------------------------------------------------- */

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
    const char *path = fresh_file();
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
        cmocka_unit_test(lines_are_whole_or_none),
        cmocka_unit_test(knows_the_dead),
        cmocka_unit_test(many_requests),
        cmocka_unit_test(does_each_once),
        cmocka_unit_test(answers_all),
        cmocka_unit_test(lost_lines_are_written_again),
        cmocka_unit_test(silent_sessions_are_left_out),
        cmocka_unit_test(files_of_others),
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
