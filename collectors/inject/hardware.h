/*
 * Hardware counters of the calling thread in user code, where the processor has some and the system allows them (x86-64):
 * cycles, instructions, misses of the last cache and of branch prediction, as one group. And its migrations from core to core.
 *
 * Each is opened with perf_event_open(2), mapped, and its descriptor closed: the mapping alone keeps it, so that the collector holds no
 * descriptor that a program could close or run out of. What it takes is a page of address space for each, which counts towards
 * /proc/sys/kernel/perf_event_mlock_kb and behind that RLIMIT_MEMLOCK. A mapping is not inherited by a forked child. Reading takes no
 * system call: the rdpmc instruction, as the page says (linux/perf_event.h, struct perf_event_mmap_page).
 */
#ifndef NVT_INJECT_HARDWARE_H
#define NVT_INJECT_HARDWARE_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "../../lib/counts.h"

#define NVT_HARDWARE (NVT_COUNT_MIGRATIONS - NVT_COUNT_CYCLES)

/* All zeros: nothing is open, nor was it tried. */
struct nvt_hardware {
    /* NULL: it cannot be had, or is not wanted */
    volatile struct perf_event_mmap_page *pages[NVT_HARDWARE + NVT_CHOSEN_MOST];
    volatile struct perf_event_mmap_page *migrations; /* of the kernel's count, or NULL */
    uint64_t moves;     /* how often the thread was seen on another core than before */
    uint32_t cpu_and_1; /* where it was seen last; 0: nowhere so far */
    uint32_t is_tried;
};

/*
 * The sum of an event that the kernel counts itself, as its page has it: of when the thread was given a core last.
 */
static inline uint64_t nvt_software_page(const volatile struct perf_event_mmap_page *page)
{
    uint32_t sequence;
    uint64_t count;
    do {
        sequence = page->lock;
        __asm__ volatile("" ::: "memory");
        count = (uint64_t)page->offset;
        __asm__ volatile("" ::: "memory");
    } while (page->lock != sequence);
    return count;
}

/* What is to be counted: set before there are events. */
struct nvt_hardware_wish {
    uint32_t usual; /* bit i: NVT_COUNT_CYCLES + i */
    uint32_t chosen;
    struct {
        uint32_t type;
        uint64_t config;
    } events[NVT_CHOSEN_MOST];
};
extern struct nvt_hardware_wish nvt_hardware_wish;

/* For the calling thread, once. Where it does not work nothing is open. errno may change. */
void nvt_hardware_open(struct nvt_hardware *hardware);
void nvt_hardware_close(struct nvt_hardware *hardware);

/* The sums since it was opened, by enum nvt_count into `values`, whose bits in *mask are set; what is not known is left out. */
void nvt_hardware_read(struct nvt_hardware *hardware, uint64_t *values, uint64_t *mask);

/*
 * What a page says, with `pmc` to read a counter of the processor by its number. 0, or -1: it does not count now, or shared its
 * counter with other groups before, so that its sum is an estimate.
 */
static inline int nvt_hardware_page(const volatile struct perf_event_mmap_page *page,
                                    uint64_t (*pmc)(uint32_t), uint64_t *value)
{
    uint32_t sequence, index;
    uint64_t enabled, running, count;
    do {
        sequence = page->lock;
        __asm__ volatile("" ::: "memory");
        enabled = page->time_enabled;
        running = page->time_running;
        index = page->index;
        count = (uint64_t)page->offset;
        if (index && page->cap_user_rdpmc) {
            const unsigned above = 64u - page->pmc_width;
            count += (uint64_t)((int64_t)(pmc(index - 1) << above) >> above);
        } else
            index = 0;
        __asm__ volatile("" ::: "memory");
    } while (page->lock != sequence);
    *value = count;
    return index && enabled == running ? 0 : -1;
}

#endif
