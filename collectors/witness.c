#include "witness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/process_stat.h"

/* A stopped witness answers when it goes on, as we do; nobody waits longer for one that is stopped alone. */
#define PATIENCE_MS 1000

/* What it got, which is taken away. */
static uint64_t take(const sigset_t *kept)
{
    uint64_t got = 0;
    const struct timespec now = {0, 0};
    for (int number; (number = sigtimedwait(kept, NULL, &now)) > 0 || errno == EINTR;)
        if (number > 0 && number <= 64)
            got |= UINT64_C(1) << (number - 1);
    return got;
}

/* Have `ps` and `pkill -f` see the command's words here, as far as there is room for them. */
static void show_command(char *const command[])
{
    static char text[4096];
    struct nvt_process_stat self;
    size_t used = 0;
    if (nvt_process_stat(0, &self) || !self.arguments || self.arguments_end <= self.arguments)
        return;
    /* Where others read our words from, as /proc/PID/cmdline. */
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address that the system gives as a number */
    char *line = (char *)(uintptr_t)self.arguments;
    const size_t size = self.arguments_end - self.arguments;
    for (size_t i = 0; command[i] && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", command[i]) + 1;
    used = used < sizeof(text) ? used : sizeof(text) - 1;
    used = used < size ? used : size - 1;
    memcpy(line, text, used);
    memset(line + used, 0, size - used);
}

static void become_witness(int question, int answer, const sigset_t *kept, pid_t parent,
                           char *const command[])
{
    char asked;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "signal-witness");
    if (getppid() != parent)
        _exit(0);
    show_command(command);
    /* Who waits for the end of our output must not wait for us. */
    if (dup2(question, 0) < 0 || dup2(answer, 1) < 0)
        _exit(1);
    if (syscall(SYS_close_range, 2u, ~0u, 0u))
        for (int i = 2; i < 1024; i++)
            close(i);
    for (;;) {
        ssize_t got = read(0, &asked, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != 1)
            _exit(0);
        uint64_t signals = take(kept);
        if (write(1, &signals, sizeof(signals)) != sizeof(signals))
            _exit(0);
    }
}

int nvt_witness_start(struct nvt_witness *witness, const sigset_t *kept, char *const command[])
{
    int question[2], answer[2];
    const pid_t parent = getpid();
    *witness = (struct nvt_witness){.question = -1, .answer = -1};
    if (pipe2(question, O_CLOEXEC))
        return -1;
    pid_t pid = pipe2(answer, O_CLOEXEC) ? -2 : fork();
    if (!pid)
        become_witness(question[0], answer[1], kept, parent, command);
    close(question[0]);
    if (pid != -2)
        close(answer[1]);
    if (pid < 0) {
        close(question[1]);
        if (pid != -2)
            close(answer[0]);
        return -1;
    }
    *witness = (struct nvt_witness){pid, question[1], answer[0]};
    return 0;
}

uint64_t nvt_witness_ask(struct nvt_witness *witness)
{
    uint64_t signals = 0;
    struct pollfd answer = {.fd = witness->answer, .events = POLLIN};
    if (!witness->pid || write(witness->question, "", 1) != 1)
        return 0;
    int ready;
    do
        ready = poll(&answer, 1, PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    if (ready != 1 || read(witness->answer, &signals, sizeof(signals)) != sizeof(signals)) {
        /* it has been killed, or would answer the next question with this one's answer */
        nvt_witness_stop(witness);
        return 0;
    }
    return signals;
}

void nvt_witness_stop(struct nvt_witness *witness)
{
    if (!witness->pid)
        return;
    kill(witness->pid, SIGKILL);
    close(witness->question);
    close(witness->answer);
    while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    witness->pid = 0;
}
