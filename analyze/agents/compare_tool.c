#include "compare_tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../../lib/program.h"

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

int nvt_compare_opened(const struct nvt_opened *before, const struct nvt_opened *after, char **text,
                       struct nvt_error *err)
{
    char *const argv[] = {"nvtally", "compare", "-f",         "tsv",       "--top",
                          "15",      "--",      before->path, after->path, NULL};
    pid_t child;
    *text = NULL;
    if (before->range || before->time || after->range || after->time)
        return nvt_fail(err, "compare takes whole traces, no windows: open their files");
    FILE *said = nvt_program_start("/proc/self/exe", argv, 1, &child);
    if (!said)
        return nvt_fail(err, "compare cannot be started: %s", strerror(errno));
    *text = read_all(said);
    fclose(said);
    const int status = nvt_program_wait(child);
    if (!*text)
        return nvt_fail(err, "out of memory");
    if (WIFEXITED(status) && WEXITSTATUS(status) < 2)
        return 0;
    nvt_fail(err, "%.*s", (int)strcspn(*text, "\n"), *text);
    free(*text);
    *text = NULL;
    return -1;
}
