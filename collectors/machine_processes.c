#include "machine_processes.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/clock.h"

#define FIRST_WALK_NS INT64_C(1000000000)
#define WALK_NS       INT64_C(10000000000)
#define WALK_REST     500 /* times its length, at least, that a walk is followed by */

int nvt_followed_open(struct nvt_followed *followed, uint32_t process, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%lld", (long long)pid);
    *followed = (struct nvt_followed){.folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC),
                                      .walk_due = nvt_monotonic_ns() + FIRST_WALK_NS,
                                      .process = process,
                                      .pid = pid};
    return followed->folder < 0 ? -1 : 0;
}

void nvt_followed_close(struct nvt_followed *followed)
{
    if (followed->folder >= 0)
        close(followed->folder);
    followed->folder = -1;
}

/* The beginning of a file of the process as text; -1 where it cannot be read. */
static int read_text(const struct nvt_followed *followed, const char *name, char *text, size_t size)
{
    int file = openat(followed->folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0 ? 0 : -1;
}

/* "size resident shared …" in pages. Nothing is resident of a process that has ended and is not waited for. */
static int read_pages(const struct nvt_followed *followed, double *values)
{
    char text[256], *end;
    const double page = (double)sysconf(_SC_PAGESIZE);
    if (read_text(followed, "statm", text, sizeof(text)))
        return -1;
    (void)strtoull(text, &end, 10);
    const uint64_t resident = strtoull(end, &end, 10), shared = strtoull(end, &end, 10);
    values[NVT_MACHINE_RESIDENT] = page * (double)resident;
    values[NVT_MACHINE_FILE_BACKED] = page * (double)(shared < resident ? shared : resident);
    return resident ? 0 : -1;
}

/* The number behind "Name:" at the beginning of a line, in KiB, as bytes; NaN where there is no such line. */
static double bytes_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    char *end = NULL;
    if (!at || (at > text && at[-1] != '\n'))
        return NAN;
    at += strlen(name);
    const unsigned long long kib = strtoull(at, &end, 10);
    return end == at ? NAN : 1024 * (double)kib;
}

static void walk(const struct nvt_followed *followed, double *values)
{
    char text[4096];
    if (!read_text(followed, "smaps_rollup", text, sizeof(text)))
        values[NVT_MACHINE_PROPORTIONAL] = bytes_of(text, "Pss:");
    if (read_text(followed, "status", text, sizeof(text)))
        return;
    /* VmPin came with Linux 3.2; what is locked may be pinned as well, but is hardly ever both. */
    const double locked = bytes_of(text, "VmLck:"), pinned = bytes_of(text, "VmPin:");
    values[NVT_MACHINE_PINNED] = locked + (isnan(pinned) ? 0 : pinned);
    values[NVT_MACHINE_SWAPPED] = bytes_of(text, "VmSwap:");
}

int nvt_followed_read(struct nvt_followed *followed, double *values, int64_t *walk_ns)
{
    const int64_t start = nvt_monotonic_ns();
    *walk_ns = 0;
    for (int i = 0; i < NVT_MACHINE_PROCESS_COUNT; i++)
        values[i] = NAN;
    if (read_pages(followed, values)) {
        nvt_followed_close(followed);
        return 0;
    }
    if (start < followed->walk_due)
        return 1;
    walk(followed, values);
    *walk_ns = nvt_monotonic_ns() - start;
    followed->walk_due =
        start + *walk_ns + (*walk_ns * WALK_REST > WALK_NS ? *walk_ns * WALK_REST : WALK_NS);
    return 1;
}
