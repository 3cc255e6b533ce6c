#include "hardware.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/hardware_counters.h"

#define PAGES (NVT_HARDWARE + NVT_CHOSEN_MOST)

struct nvt_hardware_wish nvt_hardware_wish;

/* The page of an event, whose descriptor is closed; NULL: there is none. */
static volatile struct perf_event_mmap_page *map_page(int descriptor)
{
    void *page = descriptor < 0 ? MAP_FAILED
                                : mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
                                       descriptor, 0);
    return page == MAP_FAILED ? NULL : page;
}

static void close_page(volatile struct perf_event_mmap_page *page)
{
    if (page)
        munmap((void *)page, (size_t)sysconf(_SC_PAGESIZE));
}

static void open_migrations(struct nvt_hardware *hardware)
{
    const int descriptor = nvt_migrations_open();
    hardware->migrations = map_page(descriptor);
    if (descriptor >= 0)
        syscall(SYS_close, descriptor);
}

/* Both are at least so many, and the greater one never goes back. */
static void read_migrations(struct nvt_hardware *hardware, uint64_t *values, uint64_t *mask)
{
    const int cpu = sched_getcpu();
    const uint64_t known = hardware->migrations ? nvt_software_page(hardware->migrations) : 0;
    if (cpu < 0)
        return;
    hardware->moves += hardware->cpu_and_1 && hardware->cpu_and_1 != (uint32_t)cpu + 1;
    hardware->cpu_and_1 = (uint32_t)cpu + 1;
    values[NVT_COUNT_MIGRATIONS] = known > hardware->moves ? known : hardware->moves;
    *mask |= 1u << NVT_COUNT_MIGRATIONS;
}

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

/* The count of a page. */
static unsigned count_of(unsigned page)
{
    return page < NVT_HARDWARE ? NVT_COUNT_CYCLES + page : NVT_COUNT_CHOSEN + page - NVT_HARDWARE;
}

/* Open what a page is of; -1: it cannot be had, or is not wanted. */
static int open_counter(unsigned page, int leader)
{
    const struct nvt_hardware_wish *wish = &nvt_hardware_wish;
    if (page < NVT_HARDWARE)
        return wish->usual >> page & 1
                   ? nvt_hardware_counter_open(PERF_TYPE_HARDWARE, events[page], leader)
                   : -1;
    page -= NVT_HARDWARE;
    return page < wish->chosen ? nvt_hardware_counter_open(wish->events[page].type,
                                                           wish->events[page].config, leader)
                               : -1;
}

void nvt_hardware_open(struct nvt_hardware *hardware)
{
    int leader = -1, descriptors[PAGES];
    hardware->is_tried = 1;
    for (unsigned i = 0; i < PAGES; i++) {
        descriptors[i] = open_counter(i, leader);
        leader = leader < 0 ? descriptors[i] : leader;
        hardware->pages[i] = map_page(descriptors[i]);
    }
    for (unsigned i = 0; i < PAGES; i++)
        if (descriptors[i] >= 0)
            syscall(SYS_close, descriptors[i]);
    open_migrations(hardware);
}

void nvt_hardware_read(struct nvt_hardware *hardware, uint64_t *values, uint64_t *mask)
{
    read_migrations(hardware, values, mask);
    for (unsigned i = 0; i < PAGES; i++)
        if (hardware->pages[i] &&
            !nvt_hardware_page(hardware->pages[i], read_pmc, &values[count_of(i)]))
            *mask |= 1u << count_of(i);
}

#else

void nvt_hardware_open(struct nvt_hardware *hardware)
{
    hardware->is_tried = 1;
    open_migrations(hardware);
}

void nvt_hardware_read(struct nvt_hardware *hardware, uint64_t *values, uint64_t *mask)
{
    read_migrations(hardware, values, mask);
}

#endif

void nvt_hardware_close(struct nvt_hardware *hardware)
{
    for (unsigned i = 0; i < PAGES; i++)
        close_page(hardware->pages[i]);
    close_page(hardware->migrations);
    memset(hardware, 0, sizeof(*hardware));
}
