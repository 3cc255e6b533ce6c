#include "compare_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is said on both streams, malloc'ed; NULL when out of memory. */
static char *read_all(FILE *from)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int letter; out && (letter = getc(from)) != EOF;)
        putc(letter, out);
    if (!out || !fclose(out))
        return text;
    free(text);
    return NULL;
}

/* Start the program with its output into a pipe, whose other end it returns; NULL with err. */
static FILE *start(char *const *argv, pid_t *child, struct nvt_error *err)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) || posix_spawn_file_actions_init(&actions)) {
        nvt_fail(err, "compare cannot be started: %s", strerror(errno));
        return NULL;
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int failed = posix_spawn(child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *said = failed ? NULL : fdopen(ends[0], "r");
    if (!said) {
        close(ends[0]);
        nvt_fail(err, "compare cannot be started: %s", strerror(failed ? failed : errno));
    }
    return said;
}

int nvt_compare_opened(const struct nvt_opened *before, const struct nvt_opened *after, char **text,
                       struct nvt_error *err)
{
    char *const argv[] = {"nvtally", "compare", "-f",         "tsv",       "--top",
                          "15",      "--",      before->path, after->path, NULL};
    pid_t child;
    int status = -1;
    *text = NULL;
    if (before->range || before->time || after->range || after->time)
        return nvt_fail(err, "compare takes whole traces, no windows: open their files");
    FILE *said = start(argv, &child, err);
    if (!said)
        return -1;
    *text = read_all(said);
    fclose(said);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!*text)
        return nvt_fail(err, "out of memory");
    if (WIFEXITED(status) && WEXITSTATUS(status) < 2)
        return 0;
    nvt_fail(err, "%.*s", (int)strcspn(*text, "\n"), *text);
    free(*text);
    *text = NULL;
    return -1;
}
