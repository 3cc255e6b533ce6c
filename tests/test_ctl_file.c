/*
 * Files that sessions watch (nvtally ctl --watch): lines, each of which is done once and in order, answers, and files
 * that are somebody else's.
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
#include "ctl_file_kit.h"
#include "record_kit.h"

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
    const char *path = ctl_file_fresh();
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
    const char *path = ctl_file_fresh();
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
    const char *path = ctl_file_fresh();
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
    const char *path = ctl_file_fresh();
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
    /* None at all is no reason to end: who asks makes it again, as long as somebody watches it. */
    assert_int_equal(unlink(path), 0);
    serve(noted);
    assert_int_equal(nvt_ctl_file_reach(&way, path, &err), 0);
    serve(noted);
    send_to(path, "*", "once more");
    serve(noted);
    assert_int_equal(noted->count, 3);
    end_noting(noted);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(nvt_ctl_file_reach(&way, path, &err), -1);
    assert_non_null(strstr(err.message, "No such file"));
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
    const char *path = ctl_file_fresh();
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
    const char *path = ctl_file_fresh();
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
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
