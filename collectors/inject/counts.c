#include "counts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../../lib/costs.h"
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

/* The middle one of an odd number. */
static int64_t median(int64_t *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int at = i; at && values[at - 1] > values[at]; at--) {
            const int64_t other = values[at];
            values[at] = values[at - 1];
            values[at - 1] = other;
        }
    return values[count / 2];
}

unsigned nvt_counts_cost(void)
{
    char out[NVT_COUNTS_BYTES];
    int64_t took[READINGS] = {0};
    struct nvt_hardware hardware = {.is_tried = 0};
    for (int i = 0; i < READINGS; i++) {
        int64_t start = nvt_monotonic_ns();
        nvt_counts_read(out, &hardware);
        took[i] = nvt_monotonic_ns() - start;
    }
    nvt_hardware_close(&hardware);
    return (unsigned)(median(took, READINGS) * 1000);
}

#define FAULT_PAGE   4096u
#define FAULT_PAGES  32u
#define FAULT_ROUNDS 7

unsigned nvt_counts_fault_cost(void)
{
    int64_t took[FAULT_ROUNDS] = {0};
    for (int i = 0; i < FAULT_ROUNDS; i++) {
        volatile char *pages = mmap(NULL, FAULT_PAGES * FAULT_PAGE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            return 0;
        madvise((void *)pages, FAULT_PAGES * FAULT_PAGE, MADV_NOHUGEPAGE);
        const int64_t start = nvt_monotonic_ns();
        for (unsigned page = 0; page < FAULT_PAGES; page++)
            pages[page * FAULT_PAGE] = 1;
        took[i] = (nvt_monotonic_ns() - start) * 1000 / FAULT_PAGES;
        munmap((void *)pages, FAULT_PAGES * FAULT_PAGE);
    }
    const int64_t ps = median(took, FAULT_ROUNDS);
    return ps < NVT_COST_MOST ? (unsigned)ps : 0;
}
