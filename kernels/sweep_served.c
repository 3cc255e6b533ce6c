#include "sweep_served.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/buffer.h"
#include "sweep_child.h"

static int start(struct nvt_served *served, const char *self, const char *library,
                 struct nvt_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return nvt_fail(err, "no pair of sockets: %s", strerror(errno));
    pid_t child = nvt_signals_fork(0);
    if (!child) {
        char *argv[] = {(char *)self,    (char *)"run",   (char *)"--worker",
                        (char *)"serve", (char *)library, NULL};
        dup2(ends[1], STDIN_FILENO);
        /* Standard output is for results. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(self, argv);
        _exit(127);
    }
    int cause = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return nvt_fail(err, "no process can be started: %s", strerror(cause));
    }
    *served = (struct nvt_served){child, ends[0]};
    return 0;
}

/* It has ended, or does once it finds that nobody is there. */
static int wait_for(struct nvt_served *served)
{
    int wait_status = 0;
    close(served->socket);
    while (waitpid(served->process, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    nvt_signals_forget(0);
    *served = (struct nvt_served){0};
    return wait_status;
}

void nvt_served_end(struct nvt_served *served)
{
    if (served->process)
        wait_for(served);
}

/* Whether it was asked and has answered; if not, it has ended. */
static int ask(const struct nvt_served *served, const struct nvt_buffer *words, uint8_t *status)
{
    ssize_t got;
    do
        got = send(served->socket, words->data, words->size, MSG_NOSIGNAL);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return 0;
    do
        got = recv(served->socket, status, 1, 0);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

int nvt_served_run(struct nvt_served *served, const char *self, const char *library,
                   char *const words[], int *wait_status, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    uint8_t status;
    for (size_t i = 0; words[i]; i++)
        if (nvt_buffer_append(&text, words[i], strlen(words[i]) + 1)) {
            nvt_buffer_free(&text);
            return nvt_fail(err, "out of memory");
        }
    int failed = text.size > NVT_SERVED_MOST
                     ? nvt_fail(err, "a configuration of more than %zu bytes", NVT_SERVED_MOST)
                     : 0;
    if (!failed && !served->process)
        failed = start(served, self, library, err);
    if (!failed)
        *wait_status =
            ask(served, &text, &status) ? (int)((unsigned)status << 8) : wait_for(served);
    nvt_buffer_free(&text);
    return failed ? -1 : 0;
}
