#include "view_kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/view/server.h"
#include "../lib/buffer.h"
#include "cli.h"

int view_connect(const char *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(to >= 0);
    assert_int_equal(connect(to, (struct sockaddr *)&at, sizeof(at)), 0);
    return to;
}

struct view_reply view_ask_at(const char *address, const char *host, const char *method,
                              const char *path)
{
    char *question = NULL;
    const int length = asprintf(
        &question, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method, path, host);
    const int to = view_connect(address);
    struct nvt_buffer all = {0};
    char piece[65536];
    assert_int_equal(write(to, question, (size_t)length), length);
    for (ssize_t got; (got = read(to, piece, sizeof(piece))) > 0;)
        assert_int_equal(nvt_buffer_append(&all, piece, (size_t)got), 0);
    close(to);
    free(question);
    assert_int_equal(nvt_buffer_append(&all, "", 1), 0);
    struct view_reply reply = {.text = (char *)all.data};
    assert_int_equal(sscanf(reply.text, "HTTP/1.1 %d", &reply.status), 1);
    return reply;
}

struct view_reply view_ask_with(const char *address, const char *method, const char *path)
{
    return view_ask_at(address, "localhost", method, path);
}

struct view_reply view_ask(const char *address, const char *path)
{
    char whole[8192];
    snprintf(whole, sizeof(whole), "%s%s", strchr(address + strlen("http://"), '/'), path);
    return view_ask_with(address, "GET", whole);
}

void view_expect(struct view_reply reply, int status, const char *needle)
{
    if (reply.status != status || (needle && !strstr(reply.text, needle)))
        fail_msg("not %d with '%s': %.600s", status, needle ? needle : "", reply.text);
    free(reply.text);
}

static uint64_t number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 10);
}

uint64_t view_number(const char *address, const char *path, const char *key)
{
    struct view_reply reply = view_ask(address, path);
    assert_int_equal(reply.status, 200);
    const uint64_t number = number_behind(reply.text, key);
    free(reply.text);
    return number;
}

struct view_running view_run(const char *file, const char *option)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct view_running view = {0};
    int ends[2];
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    assert_int_equal(pipe(ends), 0);
    view.pid = fork();
    assert_true(view.pid >= 0);
    if (!view.pid) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(cli_built("nvtally"), "nvtally", "view", file, "--no-open", option, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    view.out = fdopen(ends[0], "r");
    assert_non_null(fgets(view.address, sizeof(view.address), view.out));
    view.address[strcspn(view.address, "\n")] = 0;
    return view;
}

struct view_running view_run_of(const char *file)
{
    struct view_running view = view_run(file, NULL);
    while (!view_number(view.address, "edition", "\"edition\":"))
        usleep(10000);
    return view;
}

void view_end(struct view_running *view, int by)
{
    int status = 0;
    kill(view->pid, by);
    int i = 0;
    for (; i < 600 && waitpid(view->pid, &status, WNOHANG) != view->pid; i++)
        usleep(100000);
    if (i == 600)
        kill(view->pid, SIGKILL);
    assert_true(i < 600);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    fclose(view->out);
}
