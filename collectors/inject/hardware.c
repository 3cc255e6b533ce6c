#include "hardware.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/hardware_counters.h"

#if defined(__x86_64__)

/* In the order of enum nvt_count, from NVT_COUNT_CYCLES on. */
static const uint64_t events[NVT_HARDWARE] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                              PERF_COUNT_HW_CACHE_MISSES,
                                              PERF_COUNT_HW_BRANCH_MISSES};

static uint64_t read_pmc(uint32_t number)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    return (uint64_t)high << 32 | low;
}

void nvt_hardware_open(struct nvt_hardware *hardware)
{
    int leader = -1, descriptors[NVT_HARDWARE];
    hardware->is_tried = 1;
    for (unsigned i = 0; i < NVT_HARDWARE; i++) {
        descriptors[i] = i && leader < 0 ? -1 : nvt_hardware_counter_open(events[i], leader);
        if (!i)
            leader = descriptors[i];
        void *page = descriptors[i] < 0 ? MAP_FAILED
                                        : mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ,
                                               MAP_SHARED, descriptors[i], 0);
        hardware->pages[i] = page == MAP_FAILED ? NULL : page;
    }
    for (unsigned i = 0; i < NVT_HARDWARE; i++)
        if (descriptors[i] >= 0)
            syscall(SYS_close, descriptors[i]);
}

void nvt_hardware_close(struct nvt_hardware *hardware)
{
    for (unsigned i = 0; i < NVT_HARDWARE; i++)
        if (hardware->pages[i])
            munmap((void *)hardware->pages[i], (size_t)sysconf(_SC_PAGESIZE));
    memset(hardware, 0, sizeof(*hardware));
}

void nvt_hardware_read(const struct nvt_hardware *hardware, uint64_t *values, uint64_t *mask)
{
    for (unsigned i = 0; i < NVT_HARDWARE; i++)
        if (hardware->pages[i] &&
            !nvt_hardware_page(hardware->pages[i], read_pmc, &values[NVT_COUNT_CYCLES + i]))
            *mask |= 1u << (NVT_COUNT_CYCLES + i);
}

#else

void nvt_hardware_open(struct nvt_hardware *hardware)
{
    hardware->is_tried = 1;
}

void nvt_hardware_close(struct nvt_hardware *hardware)
{
    memset(hardware, 0, sizeof(*hardware));
}

void nvt_hardware_read(const struct nvt_hardware *hardware, uint64_t *values, uint64_t *mask)
{
    (void)hardware;
    (void)values;
    (void)mask;
}

#endif
