/*
 * `view` on another machine: its page through `ssh -L`, with a real sshd on this one, of an ordinary user with keys of its own.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "view_kit.h"

#define SSHD "/usr/sbin/sshd"

/* Whose sshd it is: the user of this test, or daemon, of root. (Some sshd take nobody for locked.) */
static struct passwd user_of_sshd(void)
{
    /* cppcheck-suppress getpwuidCalled ; one thread */
    const struct passwd *user = getpwuid(getuid());
    if (!getuid())
        /* cppcheck-suppress getpwnamCalled ; one thread */
        user = getpwnam("daemon");
    if (!user) {
        print_message("not run: no ordinary user\n");
        skip();
    }
    return *user;
}

static uint16_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(sock, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(sock, (struct sockaddr *)&at, &size), 0);
    close(sock);
    return ntohs(at.sin_port);
}

static int is_open(uint16_t port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int failed = connect(sock, (const struct sockaddr *)&at, sizeof(at));
    close(sock);
    return !failed;
}

/* Until a port is listened at, or the program that should has ended. */
static void wait_for(uint16_t port, pid_t pid, const char *log)
{
    for (int i = 0; !is_open(port); i++) {
        if (i == 600 || waitpid(pid, NULL, WNOHANG)) {
            char *said = cli_read_file(log, NULL);
            fail_msg("nothing listens at %u: %.2000s", port, said);
        }
        usleep(100000);
    }
}

static void make_key(const char *path)
{
    const char *const argv[] = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* A program as a user; what it says goes into a file. */
static pid_t start(const struct passwd *user, const char *log, const char *const argv[])
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    const int is_root = !getuid();
    if (!freopen(log, "w", stderr) || !freopen("/dev/null", "r", stdin) ||
        (is_root && (setgid(user->pw_gid) || setuid(user->pw_uid))) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL)) /* a test that fails leaves none behind */
        _exit(126);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

struct paths {
    char host[300], key[300], public[310], settings[300], said[300], said_too[300];
};

static void make_files(struct paths *paths, const struct passwd *user, uint16_t port)
{
    char text[2048];
    snprintf(paths->host, sizeof(paths->host), "%s", cli_in(cli_folder, "host"));
    snprintf(paths->key, sizeof(paths->key), "%s", cli_in(cli_folder, "key"));
    snprintf(paths->public, sizeof(paths->public), "%s.pub", paths->key);
    snprintf(paths->settings, sizeof(paths->settings), "%s", cli_in(cli_folder, "sshd_config"));
    snprintf(paths->said, sizeof(paths->said), "%s", cli_in(cli_folder, "sshd.log"));
    snprintf(paths->said_too, sizeof(paths->said_too), "%s", cli_in(cli_folder, "ssh.log"));
    make_key(paths->host);
    make_key(paths->key);
    const int length = snprintf(
        text, sizeof(text),
        "Port %u\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\n"
        "UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "AllowTcpForwarding yes\n",
        port, paths->host, paths->public);
    cli_write_file(paths->settings, text, (size_t)length);
    const char *const own[] = {cli_folder, paths->host, paths->key, paths->public};
    for (size_t i = 0; i < NVT_COUNT_OF(own) && !getuid(); i++)
        assert_int_equal(chown(own[i], user->pw_uid, user->pw_gid), 0);
}

static void end(pid_t pid)
{
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

static void test_forwarded(void **state)
{
    (void)state;
    if (access(SSHD, X_OK) || access("/usr/bin/ssh", X_OK)) {
        print_message("not run: it needs " SSHD " and ssh\n");
        skip();
    }
    const struct passwd user = user_of_sshd();
    const uint16_t port = free_port(), here = free_port();
    struct paths paths = {0};
    make_files(&paths, &user, port);
    struct view_running view = view_run_of("docs/results/h100/traces/train.nvt");
    const char *const daemon[] = {SSHD, "-D", "-e", "-f", paths.settings, NULL};
    const pid_t sshd = start(&user, paths.said, daemon);
    wait_for(port, sshd, paths.said);
    char forward[64], at[16], who[300], address[300];
    snprintf(forward, sizeof(forward), "%u:127.0.0.1:%d", here,
             atoi(strrchr(view.address, ':') + 1));
    snprintf(at, sizeof(at), "%u", port);
    snprintf(who, sizeof(who), "%.200s@127.0.0.1", user.pw_name);
    const char *const client[] = {"/usr/bin/ssh",
                                  "-F",
                                  "/dev/null",
                                  "-N",
                                  "-L",
                                  forward,
                                  "-p",
                                  at,
                                  "-i",
                                  paths.key,
                                  "-o",
                                  "StrictHostKeyChecking=no",
                                  "-o",
                                  "UserKnownHostsFile=/dev/null",
                                  "-o",
                                  "ExitOnForwardFailure=yes",
                                  "-o",
                                  "BatchMode=yes",
                                  who,
                                  NULL};
    const pid_t ssh = start(&user, paths.said_too, client);
    wait_for(here, ssh, paths.said_too);
    snprintf(address, sizeof(address), "http://127.0.0.1:%u%s", here,
             strchr(view.address + strlen("http://"), '/'));
    const char *const path = strchr(address + strlen("http://"), '/');
    char host[64];
    snprintf(host, sizeof(host), "localhost:%u", here);
    view_expect(view_ask_at(address, host, "GET", path), 200, "<title>nvtally view</title>");
    view_expect(view_ask(address, "lanes"), 200, "\"id\":0");
    view_expect(view_ask_at(address, "evil.com", "GET", path), 403, NULL);
    view_expect(view_ask_with(address, "GET", "/lanes"), 403, NULL);
    end(ssh);
    end(sshd);
    view_end(&view, SIGINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forwarded, cli_folder_set_up, cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
