#include "ctl_standing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/buffer.h"
#include "../lib/shell.h"
#include "attached.h"
#include "output_name.h"
#include "ring.h"
#include "standing.h"
#include "standing_record.h"

#define TRIES  100 /* for the recorder of somebody else who was faster, */
#define TRY_US 20000

void nvt_ctl_standing_status(const struct nvt_ctl_session *session, char *text, size_t size)
{
    pid_t first = 0;
    struct nvt_buffer line = {0};
    const size_t count = nvt_attached(session->folder, &first, 1);
    char **command = count ? nvt_attached_command(first) : NULL;
    const int has_line = command && !nvt_shell_join(&line, command) &&
                         !nvt_buffer_append(&line, "", 1) && !memchr(line.data, '\n', line.size);
    snprintf(text, size, "state\t%s\nprocesses\t%zu\nfolder\t%s\ncommand\t%.1000s\n",
             session->is_unused ? "unused" : "dormant", count, session->folder,
             has_line ? (const char *)line.data : "");
    nvt_buffer_free(&line);
    free(command);
}

/* --- the recorder's process ------------------------------------------------------------------------ */

/* What it says to who waits for it: one packet, "+", or "-" and why not. */
static void say_ready(void *context)
{
    const int report = *(int *)context;
    (void)!write(report, "+", 1);
    close(report);
    *(int *)context = -1;
}

static void detach(int report)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && nothing >= 0; i++)
        if (i != report)
            dup2(nothing, i);
    setsid();
    (void)!chdir("/");
}

static void be_recorder(const struct nvt_standing_wish *wish, int report)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1200] = "-";
    detach(report);
    if (nvt_standing_record(wish, say_ready, &report, &err) && report >= 0) {
        nvt_error_text(&err, text + 1, sizeof(text) - 1);
        (void)!write(report, text, strlen(text));
    }
    _exit(0);
}

/* Its parent is nobody who would have to wait for it. */
static void fork_recorder(const struct nvt_standing_wish *wish, int report)
{
    const pid_t pid = fork();
    if (!pid)
        be_recorder(wish, report);
    _exit(pid < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* 0 with what it said, or -1 with errno. */
static int run(const struct nvt_standing_wish *wish, char *said, size_t size)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC))
        return -1;
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (!pid)
        fork_recorder(wish, report[1]);
    const int cause = errno;
    close(report[1]);
    ssize_t length = -1;
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        do
            length = read(report[0], said, size - 1);
        while (length < 0 && errno == EINTR);
    }
    close(report[0]);
    said[length > 0 ? length : 0] = 0;
    errno = cause;
    return pid < 0 ? -1 : 0;
}

static int name_output(const char *output, char *out, size_t size, struct nvt_error *err)
{
    char name[PATH_MAX], here[PATH_MAX];
    if (nvt_output_name(output ? output : nvt_output_default(), name, sizeof(name), err))
        return -1;
    if (*name != '/' && !getcwd(here, sizeof(here)))
        return nvt_fail(err, "this folder has no name: %s", strerror(errno));
    const int length =
        *name == '/' ? snprintf(out, size, "%s", name) : snprintf(out, size, "%s/%s", here, name);
    return length < (int)size ? 0 : nvt_fail(err, "-o: the name of the trace is too long");
}

/* The other recorder has its number on the page a moment after it has the lock. */
static int wait_for_other(struct nvt_ctl_session *session, struct nvt_error *err)
{
    for (int i = 0; i < TRIES; i++) {
        if (nvt_ctl_session_of(session->folder, session, err))
            return -1;
        if (session->recorder)
            return 0;
        usleep(TRY_US);
    }
    return nvt_fail_at(err, session->folder, -1, NVT_STANDING_TAKEN ", which does not answer");
}

int nvt_ctl_standing_start(struct nvt_ctl_session *session, const char *output, int overwrite,
                           int opens, char *trace, size_t size, struct nvt_error *err)
{
    char said[1200];
    const struct nvt_standing_wish wish = {
        .folder = session->folder, .output = trace, .overwrite = overwrite, .opens = opens};
    if (name_output(output, trace, size, err))
        return -1;
    if (run(&wish, said, sizeof(said)))
        return nvt_fail(err, "no recorder can be started: %s", strerror(errno));
    if (*said != '+' && !strstr(said, NVT_STANDING_TAKEN))
        return nvt_fail(err, "%.1000s", *said ? said + 1 : "the recorder has ended at once");
    return wait_for_other(session, err);
}

const char *nvt_ctl_standing_own(char *folder, size_t size)
{
    const char *value = getenv(NVT_SESSION_ENV);
    struct nvt_standing standing;
    if (!value || nvt_standing_parse(value, &standing))
        return value;
    if (standing.is_standing)
        (void)nvt_standing_make(&standing, 0, 0); /* what is wrong with it the next step says */
    snprintf(folder, size, "%s", standing.folder);
    return folder;
}
