/*
 * nsys's own report files. Their format is not documented, so nsys itself turns them into an
 * export, into a temporary folder that is removed again.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/text.h"
#include "reader.h"

/* By name alone: it is asked only about files that no other reader recognizes. */
int nvt_is_nsys_report(const char *path)
{
    return nvt_has_ending(path, ".nsys-rep") || nvt_has_ending(path, ".qdrep");
}

static int recognizes(const uint8_t *head, size_t size)
{
    (void)head;
    (void)size;
    return 0;
}

/* Run nsys and wait; what it has to say goes to that file. Its exit status, 127 when there is no nsys. */
static int run(char *const *argv, const char *said)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return failed == ENOENT ? 127 : -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The first line of the file that says something, such as "Report was created in … newer than your current version". */
static void first_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    *line = 0;
    while (file && fgets(line, (int)size, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[strspn(line, " \t")])
            break;
        *line = 0;
    }
    if (file)
        fclose(file);
}

static int export_and_read(const char *path, const char *export, const char *said,
                           struct nvt_trace *trace, struct nvt_error *err)
{
    char line[300];
    char *absolute = realpath(path, NULL);
    if (!absolute)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    char *argv[] = {"nsys", "export", "--type",       "sqlite", "--force-overwrite",
                    "true", "-o",     (char *)export, absolute, NULL};
    int status = run(argv, said);
    free(absolute);
    if (status == 127)
        return nvt_fail_at(err, path, -1,
                           "is nsys's own format, and there is no nsys here to convert it; on a "
                           "machine that has one: nsys export --type sqlite FILE.nsys-rep");
    if (!status)
        return nvt_reader_nsys.read(export, trace, err);
    first_line(said, line, sizeof(line));
    return nvt_fail_at(err, path, -1, "nsys export failed with status %d%s%s", status,
                       *line ? ": " : "", line);
}

static int read_report(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    const char *parent = getenv("TMPDIR");
    char folder[256], export[300], said[300];
    if ((size_t)snprintf(folder, sizeof(folder), "%s/nvtally-XXXXXX",
                         parent && *parent ? parent : "/tmp") >= sizeof(folder) ||
        !mkdtemp(folder))
        return nvt_fail_at(err, path, -1, "no temporary folder: %s", strerror(errno));
    snprintf(export, sizeof(export), "%s/export.sqlite", folder);
    snprintf(said, sizeof(said), "%s/messages", folder);
    int status = export_and_read(path, export, said, trace, err);
    unlink(export);
    unlink(said);
    rmdir(folder);
    return status;
}

const struct nvt_reader nvt_reader_nsys_report = {
    .name = "nsys", .recorder = NVT_BY_NSYS, .recognizes = recognizes, .read = read_report};
