#include "counts.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "session.h"

int nvt_counts_are_asked;

/* Past the libraries that a program may have in front of libc's functions. */
static void read_time(uint64_t *values, uint64_t *mask)
{
    struct timespec now;
    if (syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now))
        return;
    values[NVT_COUNT_CPU_TIME] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    *mask |= 1u << NVT_COUNT_CPU_TIME;
}

static void read_usage(uint64_t *values, uint64_t *mask)
{
    struct rusage usage;
    if (syscall(SYS_getrusage, RUSAGE_THREAD, &usage))
        return;
    values[NVT_COUNT_MINOR_FAULTS] = (uint64_t)usage.ru_minflt;
    values[NVT_COUNT_MAJOR_FAULTS] = (uint64_t)usage.ru_majflt;
    values[NVT_COUNT_VOLUNTARY] = (uint64_t)usage.ru_nvcsw;
    values[NVT_COUNT_INVOLUNTARY] = (uint64_t)usage.ru_nivcsw;
    *mask |= 1u << NVT_COUNT_MINOR_FAULTS | 1u << NVT_COUNT_MAJOR_FAULTS |
             1u << NVT_COUNT_VOLUNTARY | 1u << NVT_COUNT_INVOLUNTARY;
}

size_t nvt_counts_read(char *out, struct nvt_hardware *hardware)
{
    uint64_t values[NVT_COUNT_COUNT] = {0}, head[3] = {NVT_COUNTS_SCHEMA, 0, 0};
    size_t size = sizeof(head);
    const int saved = errno;
    if (!hardware->is_tried)
        nvt_hardware_open(hardware);
    errno = 0;
    read_usage(values, &head[2]);
    read_time(values, &head[2]);
    if (head[2] != NVT_COUNTS_SOFTWARE)
        atomic_store_explicit(&nvt_session.control->uncounted, (uint32_t)errno,
                              memory_order_relaxed);
    nvt_hardware_read(hardware, values, &head[2]);
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++) {
        if (!(head[2] >> i & 1))
            continue;
        memcpy(out + size, &values[i], sizeof(values[i]));
        size += sizeof(values[i]);
    }
    head[1] = size - 2 * sizeof(head[0]);
    memcpy(out, head, sizeof(head));
    errno = saved;
    return size;
}

#define READINGS 33

unsigned nvt_counts_cost(void)
{
    char out[NVT_COUNTS_BYTES];
    int64_t took[READINGS] = {0};
    struct nvt_hardware hardware = {.is_tried = 0};
    for (int i = 0; i < READINGS; i++) {
        int64_t start = nvt_monotonic_ns();
        nvt_counts_read(out, &hardware);
        int64_t now = nvt_monotonic_ns() - start;
        int at = i;
        for (; at && took[at - 1] > now; at--)
            took[at] = took[at - 1];
        took[at] = now;
    }
    nvt_hardware_close(&hardware);
    return (unsigned)(took[READINGS / 2] * 1000);
}
