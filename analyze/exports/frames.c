#include "frames.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/program.h"

/* What Python runs: the module lies where the program's installation has it, or where Python looks by itself. */
static const char script[] = "import sys\n"
                             "sys.path[1:1] = sys.argv[1:3]\n"
                             "from nvtally._files import main\n"
                             "main(sys.argv[3:])\n";

/* Paths of the folder that the program lies in. */
struct places {
    char python[PATH_MAX], checkout[PATH_MAX], installed[PATH_MAX], libraries[PATH_MAX];
};

const char *nvt_frames_form(const char *name)
{
    return !strcmp(name, "arrow") ? "arrow" : !strcmp(name, "parquet") ? "parquet" : NULL;
}

static int in(char out[PATH_MAX], const char *folder, const char *name)
{
    return snprintf(out, PATH_MAX, "%s/%s", folder, name) < PATH_MAX ? 0 : -1;
}

/* That of a virtual environment next to the program comes before the one in PATH. */
static int find_places(struct places *places, struct nvt_error *err)
{
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0)
        return nvt_fail(err, "/proc/self/exe cannot be read: %s", strerror(errno));
    program[length] = 0;
    const char *folder = dirname(program);
    if (in(places->python, folder, "python3") || in(places->checkout, folder, "../python") ||
        in(places->installed, folder, "../lib/python3/dist-packages"))
        return nvt_fail(err, "the program's path is too long");
    if (!nvt_is_program(places->python) &&
        nvt_find_program("python3", places->python, sizeof(places->python)))
        return nvt_fail(err, "export to parquet needs python3 with pyarrow: there is no "
                             "python3 in PATH");
    return 0;
}

/* Its line on stderr that is ours becomes the message, or else its last one. */
static int run(char **argv, struct nvt_error *err)
{
    static const char own[] = "nvtally: ";
    char line[480], last[480] = "";
    int is_own = 0;
    pid_t child;
    FILE *said = nvt_program_start(argv[0], argv, 0, &child);
    if (!said)
        return nvt_fail(err, "python3 cannot be started: %s", strerror(errno));
    while (fgets(line, sizeof(line), said)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!is_own && *line)
            snprintf(last, sizeof(last), "%s", line);
        is_own |= !strncmp(line, own, sizeof(own) - 1);
    }
    fclose(said);
    if (!nvt_program_wait(child))
        return 0;
    return nvt_fail(err, "%s", is_own ? last + sizeof(own) - 1 : *last ? last : "python3 failed");
}

int nvt_frames_write(char *const *paths, const char *folder, struct nvt_error *err)
{
    struct places places;
    size_t count = 0;
    if (find_places(&places, err))
        return -1;
    while (paths[count])
        count++;
    char **argv = calloc(count + 8, sizeof(*argv));
    if (!argv)
        return nvt_fail(err, "out of memory");
    const char *const first[] = {places.python,    "-c",      script, places.checkout,
                                 places.installed, "parquet", folder};
    memcpy(argv, first, sizeof(first));
    memcpy(argv + 7, paths, count * sizeof(*paths));
    const int status = run(argv, err);
    free(argv);
    return status;
}
