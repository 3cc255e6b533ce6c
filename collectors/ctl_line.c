#include "ctl_line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring.h"
#include "stale.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TRIES    3
#define PAUSE_US 50000

static int open_again(const char *path, int flags)
{
    for (int i = 1;; i++) {
        const int descriptor = open(path, flags, 0600);
        if (descriptor >= 0 || i == TRIES || (errno != EIO && errno != ESTALE))
            return descriptor;
        usleep(PAUSE_US);
    }
}

void nvt_ctl_line_refresh(int descriptor)
{
    struct stat status;
    if (!fstat(descriptor, &status))
        (void)fchmod(descriptor, status.st_mode & 07777);
}

int nvt_ctl_line_open(const char *path, int flags)
{
    struct stat status;
    const int descriptor = open_again(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    if (!fstat(descriptor, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        !(status.st_mode & 022))
        return descriptor;
    close(descriptor);
    errno = EPERM;
    return -1;
}

const char *nvt_ctl_line_why(int cause)
{
    if (cause == EPERM || cause == EACCES || cause == ENXIO) /* the last: a pipe */
        return "must be a file of yours that nobody else may write to";
    return cause == ELOOP ? "must be a file, not a link" : strerror(cause);
}

/* "@BOOT NAMESPACE ": what two processes have in common that know each other by number. Returns its length; 0: it is unknown. */
static int put_place(char out[NVT_CTL_LINE_WHO])
{
    char boot[64] = "";
    struct stat status;
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
    const int is_known = in && fscanf(in, "%63s", boot) == 1 && !stat(NVT_PID_SPACE, &status);
    if (in)
        fclose(in);
    return is_known ? snprintf(out, NVT_CTL_LINE_WHO, "@%s %llu ", boot,
                               (unsigned long long)status.st_ino)
                    : 0;
}

void nvt_ctl_line_who(pid_t pid, char out[NVT_CTL_LINE_WHO])
{
    const int length = put_place(out);
    if (!length)
        snprintf(out, NVT_CTL_LINE_WHO, "@\n");
    else
        snprintf(out + length, (size_t)(NVT_CTL_LINE_WHO - length), "%d %" PRIu64 "\n", (int)pid,
                 nvt_process_start(pid));
}

int nvt_ctl_line_is_dead(const char *who)
{
    char here[NVT_CTL_LINE_WHO], *end;
    const int length = put_place(here);
    if (!length || strncmp(who, here, (size_t)length) != 0)
        return 0;
    const long pid = strtol(who + length, &end, 10);
    const uint64_t start = strtoull(end, &end, 10);
    return *end == '\n' && pid > 0 && pid <= INT32_MAX && !nvt_process_is((pid_t)pid, start);
}

static uint64_t sum_of(const struct nvt_ctl_line *line)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, line->serial, strlen(line->serial) + 1);
    XXH3_64bits_update(&state, line->whom, strlen(line->whom) + 1);
    XXH3_64bits_update(&state, line->text, strlen(line->text));
    return XXH3_64bits_digest(&state);
}

int nvt_ctl_line_parse(char *line, struct nvt_ctl_line *out)
{
    const char *version = strsep(&line, " ");
    out->serial = strsep(&line, " ");
    out->whom = strsep(&line, " ");
    const char *length = strsep(&line, " "), *sum = strsep(&line, " ");
    out->text = line;
    return !line || strcmp(version, NVT_CTL_VERSION) != 0 ||
                   strlen(out->serial) + 1 != NVT_CTL_SERIAL ||
                   strtoull(length, NULL, 10) != strlen(line) ||
                   strtoull(sum, NULL, 16) != sum_of(out)
               ? -1
               : 0;
}

int nvt_ctl_line_make(const struct nvt_ctl_line *line, char *out, size_t size)
{
    const int length =
        snprintf(out, size, "\n" NVT_CTL_VERSION " %s %s %zu %016" PRIx64 " %s\n", line->serial,
                 line->whom, strlen(line->text), sum_of(line), line->text);
    return strchr(line->text, '\n') || length >= (int)size ? -1 : length;
}
