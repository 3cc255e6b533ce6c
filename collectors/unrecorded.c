#include "unrecorded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/program.h"
#include "../lib/wrap.h"

/* Where the limit is larger, it is not the reason. */
static const struct {
    int resource, error;
    rlim_t most, unit;
    const char *option, *what;
} limits[] = {
    {RLIMIT_NOFILE, EMFILE, 64, 1, "-n", "open files"},
    {RLIMIT_FSIZE, EFBIG, 64 << 20, 1024, "-f", "KiB a file"},
    {RLIMIT_NPROC, EAGAIN, 65536, 1, "-u", "processes of the user"},
    {RLIMIT_AS, ENOMEM, RLIM_INFINITY - 1, 1024, "-v", "KiB of address space"},
};

void nvt_run_unrecorded(char *const command[], const struct nvt_error *err)
{
    size_t i = 0;
    struct rlimit limit = {0, 0};
    while (i < NVT_COUNT_OF(limits) &&
           (!strstr(err->message, strerror(limits[i].error)) ||
            getrlimit(limits[i].resource, &limit) || limit.rlim_cur > limits[i].most))
        i++;
    if (i == NVT_COUNT_OF(limits) || nvt_command_find(command[0], NULL, 0))
        return;
    nvt_message(stderr,
                "the command runs without being recorded, as ulimit %s allows %" PRIu64
                " %s: %s%s%s",
                limits[i].option, (uint64_t)(limit.rlim_cur / limits[i].unit), limits[i].what,
                err->file, *err->file ? ": " : "", err->message);
    execvp(command[0], command);
}
