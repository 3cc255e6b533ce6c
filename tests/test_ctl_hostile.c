/*
 * nvtally ctl and a recorder when something is in their way: half a request, a gigabyte of them, a link in place of a session, times of
 * another clock, a session's folder that is gone, and a disk that is full in the middle of a copy. Each gets a clear answer, nothing is
 * stuck, and the trace is whole.
 */
#include <errno.h>
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ctl_file.h"
#include "../collectors/ctl_socket.h"
#include "../lib/count_of.h"
#include "record_kit.h"

#define A_MINUTE INT64_C(60000000000)

/* A recording of a program that goes on, in the background, and its session. */
static pid_t begin(struct nvt_ctl_session *session)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execl(cli_built("nvtally"), "nvtally", "record", "-f", "-o", recorded_path(), "--trace",
              "nvtx", "--", cli_client("flight"), "600000", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 3000 && nvt_ctl_sessions(session, 1) != 1; i++)
        usleep(10000);
    char text[NVT_CTL_ANSWER_MOST];
    for (int i = 0; i < 3000; i++) {
        /* Its threads have made events, which are in the file. */
        if (!nvt_ctl_ask(session, "status", A_MINUTE, text, sizeof(text), NULL) &&
            strstr(text, "bytes\t") && strtoll(strstr(text, "bytes\t") + 6, NULL, 10) > 20000)
            break;
        usleep(10000);
    }
    assert_int_equal(session->recorder, pid);
    return pid;
}

/* The recorder ends with its command, and its trace is whole. */
static void end(pid_t pid)
{
    int status;
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    assert_true(recorded_count(trace, "step") > 0);
    nvt_trace_free(trace);
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

/* Every beginning of a request, each by a client that then goes, or says nothing more. */
static void half_a_request(void **state)
{
    (void)state;
    static const char whole[] = NVT_CTL_VERSION " dump 2000000000";
    struct nvt_ctl_session session;
    const pid_t pid = begin(&session);
    int silent[NVT_COUNT_OF(whole)];
    for (size_t i = 0; i < sizeof(whole); i++) {
        silent[i] = connect_raw(&session);
        assert_true(send(silent[i], whole, i, MSG_NOSIGNAL) == (ssize_t)i);
        if (i % 2)
            close(silent[i]);
    }
    expect_answer(&session, "status", "state\trecording\n");
    for (size_t i = 0; i < sizeof(whole); i += 2)
        close(silent[i]);
    end(pid);
}

/* Requests of the greatest size that a socket takes, without an end: others are answered meanwhile, and what the program does is recorded. */
static void a_gigabyte_of_requests(void **state)
{
    (void)state;
    enum { PACKET = 100000, PACKETS = 10000 };
    struct nvt_ctl_session session;
    const pid_t pid = begin(&session), other = fork();
    if (!other) {
        char *packet = calloc(1, PACKET);
        const int descriptor = connect_raw(&session);
        memset(packet, 'x', PACKET);
        memcpy(packet, NVT_CTL_VERSION " ", 2);
        for (int i = 0; i < PACKETS && send(descriptor, packet, PACKET, MSG_NOSIGNAL) > 0; i++) {
        }
        pause();
        _exit(0);
    }
    for (int i = 0; i < 20; i++) {
        expect_answer(&session, "status", "state\trecording\n");
        usleep(5000);
    }
    int status;
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, &status, 0), other);
    expect_answer(&session, "no", "does not know 'no'");
    end(pid);
}

static struct cli_result ctl(const char *first, const char *second, const char *third)
{
    const char *argv[] = {"nvtally", "ctl", first, second, third, NULL};
    return cli_run(argv);
}

static void expect_refused(struct cli_result result, const char *why)
{
    cli_expect_failure(&result, why);
    cli_result_free(&result);
}

/* A link is no second session; a folder that others may write to, or that is another user's, is none at all. */
static void links_are_no_sessions(void **state)
{
    (void)state;
    struct nvt_ctl_session session, all[8];
    const pid_t pid = begin(&session);
    char other[600], copy[700];
    snprintf(other, sizeof(other), "%s", recorded_in("nvtally-LiNkEd"));
    assert_int_equal(symlink(session.folder, other), 0);
    assert_int_equal(nvt_ctl_sessions(all, 8), 1);
    assert_string_equal(all[0].folder, session.folder);
    unlink(other);
    assert_int_equal(symlink("/", other), 0);
    assert_int_equal(nvt_ctl_sessions(all, 8), 1);
    unlink(other);
    /* The page of ours, with a socket of theirs beside it. */
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(chmod(other, 0777), 0);
    snprintf(copy, sizeof(copy), "%s/control", other);
    char page[700];
    snprintf(page, sizeof(page), "%s/control", session.folder);
    assert_int_equal(link(page, copy), 0);
    assert_int_equal(nvt_ctl_sessions(all, 8), 1);
    assert_string_equal(all[0].folder, session.folder);
    expect_refused(ctl("-s", other, "status"), "belongs to another user");
    if (!geteuid() && !chmod(other, 0700) && !chown(other, 12345, 12345))
        expect_refused(ctl("-s", other, "status"), "belongs to another user");
    unlink(copy);
    rmdir(other);
    end(pid);
}

/* What is in the folder goes while all go on: who asks is told, and the trace is whole all the same. */
static void the_folder_goes(void **state)
{
    (void)state;
    struct nvt_ctl_session session;
    struct nvt_error err = NVT_ERROR_INIT;
    char text[NVT_CTL_ANSWER_MOST];
    const pid_t pid = begin(&session);
    const char *argv[] = {"rm", "-r", session.folder, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(nvt_ctl_ask(&session, "status", A_MINUTE, text, sizeof(text), &err), -1);
    assert_non_null(strstr(err.message, "was removed"));
    expect_refused(ctl("-s", session.folder, "stop"), "no recording is there");
    expect_refused(ctl("dump", NULL, NULL), "no recording is going on");
    usleep(100000);
    end(pid);
}

/* No room for the copy: a line, no half of a copy, and the recording goes on. */
static void the_disk_is_full(void **state)
{
    (void)state;
    struct nvt_ctl_session session;
    const pid_t pid = begin(&session);
    const char *script =
        "sleep 0.3; mkdir -p full; mount -t tmpfs -o size=8k none full || exit 77; "
        "\"$0\" ctl dump -o full/all.nvt; echo status $?; \"$0\" ctl dump --last 1h -o "
        "full/last.nvt; echo status $?; ls full | wc -l; ulimit -f 4; \"$0\" ctl dump -o "
        "limited.nvt; echo status $?; ls limited.nvt 2>/dev/null | wc -l";
    const char *argv[] = {"unshare", "-rm", "sh", "-c", script, cli_built("nvtally"), NULL};
    const struct cli_options options = {.directory = recorded_in("")};
    struct cli_result result = cli_run_with(&options, argv);
    if (WEXITSTATUS(result.status) == 77 || strstr(result.err, "unshare")) {
        print_message("no mount here: not run\n");
        cli_result_free(&result);
        end(pid);
        skip();
    }
    if (strcmp(result.out, "status 2\nstatus 2\n0\nstatus 2\n0\n") != 0 ||
        !strstr(result.err, "all.nvt: ") || !strstr(result.err, "No space left on device") ||
        !strstr(result.err, "File too large"))
        fail_msg("%s%s", result.out, result.err);
    cli_result_free(&result);
    expect_answer(&session, "status", "state\trecording\n");
    end(pid);
}

static int never(void *context, const char *request, char *text, size_t size)
{
    (void)context;
    (void)request;
    snprintf(text, size, "done");
    return 0;
}

/* The clock was set back by an hour: what a session has written is of the future, and the session is there all the same. */
static void the_clock_is_set_back(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_ctl_file *file = calloc(1, sizeof(*file));
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[2];
    struct timespec times[2];
    char path[600];
    snprintf(path, sizeof(path), "%s", recorded_in("commands"));
    assert_non_null(file);
    assert_int_equal(nvt_ctl_file_watch(file, path, &err), 0);
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec += 3600;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, file->own, times, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(nvt_ctl_file_reach(&way, path, &err), 0);
    assert_int_equal(nvt_ctl_file_sessions(&way, sessions, 2, NULL, &err), 1);
    assert_int_equal(nvt_ctl_file_send(path, "0123456789abcdef", "*", "status", &err), 0);
    file->next_look = 0;
    nvt_ctl_file_serve(file, never, NULL);
    assert_int_equal(file->done, 1);
    nvt_ctl_file_close(file);
    free(file);
}

/* Sessions of others on this machine are none of ours. */
static int set_up(void **state)
{
    const int status = recorded_set_up(state);
    char *folder = realpath(recorded_in("."), NULL);
    setenv("NVTALLY_TMPDIR", folder, 1);
    free(folder);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_request),        cmocka_unit_test(a_gigabyte_of_requests),
        cmocka_unit_test(links_are_no_sessions), cmocka_unit_test(the_folder_goes),
        cmocka_unit_test(the_disk_is_full),      cmocka_unit_test(the_clock_is_set_back),
    };
    return cmocka_run_group_tests(tests, set_up, recorded_tear_down);
}
