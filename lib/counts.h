/*
 * CPU counts of a thread (record --trace counters): what the collector reads at each push and pop of a range
 * (collectors/inject/counts.c) and the reader of traces takes from there (analyze/readers/nvt_counts.c).
 *
 * They are the first of the event's extended payloads, with an id that no program can register: NVTX has its own types below
 * 128, the program's schemas from 2^24 on. The bytes are integers of 64 bits: a mask, whose bit i says that the count of
 * enum nvt_count i is there, then those counts, the lowest first. Each is a sum since the thread began, and none is there
 * that the system did not give.
 */
#ifndef NVT_COUNTS_H
#define NVT_COUNTS_H

#include <stdint.h>

#define NVT_COUNTS_SCHEMA 0x4e5643u
#define NVT_CHOSEN_MOST   4

/* The hardware counters that are counted unless others are named: those from NVT_COUNT_CYCLES to NVT_COUNT_BRANCH_MISSES, a bit each. */
#define NVT_COUNTS_USUAL 0xfu

/*
 * CPU time: CLOCK_THREAD_CPUTIME_ID, in ns. Faults and switches: getrusage(RUSAGE_THREAD), see its manual page. Cycles and what follows:
 * the processor's counters (perf_event_open(2)), since the thread's first range. Migrations: the kernel's count where perf_event_open(2)
 * gives it (perf_event_paranoid of 1 or less, or privileges), which is behind by the last one until the thread gives up its core again;
 * and at least how often an end of a range ran on another core than the one before it. User and
 * system time are not among them: most kernels divide CPU time by what a thread ran at the ticks of a timer, so that the share may jump from
 * one event to the next by more than the range between them took.
 */
enum nvt_count {
    NVT_COUNT_CPU_TIME,
    NVT_COUNT_MINOR_FAULTS, /* without input or output */
    NVT_COUNT_MAJOR_FAULTS, /* that read from a disk */
    NVT_COUNT_VOLUNTARY,    /* context switches: the thread began to wait */
    NVT_COUNT_INVOLUNTARY,  /* another thread took its core */
    NVT_COUNT_CYCLES,       /* of the core in user code, as are the next */
    NVT_COUNT_INSTRUCTIONS, /* retired */
    NVT_COUNT_CACHE_MISSES, /* of the last cache */
    NVT_COUNT_BRANCH_MISSES,
    NVT_COUNT_MIGRATIONS, /* times that the thread went on on another core */
    NVT_COUNT_CHOSEN, /* the first of NVT_CHOSEN_MOST that --trace counters=NAME,… names as well */
    NVT_COUNT_COUNT = NVT_COUNT_CHOSEN + NVT_CHOSEN_MOST
};

/* The fact of a trace with the names of the chosen ones, "L1-dcache-load-misses,r01c2", in the order of their counts. */
#define NVT_FACT_CHOSEN "counters"

/* Those that every system has, but for migrations. */
#define NVT_COUNTS_SOFTWARE ((1u << NVT_COUNT_CYCLES) - 1)

/* Bytes in an event: id and size of the payload, mask, counts. */
#define NVT_COUNTS_BYTES ((3 + NVT_COUNT_COUNT) * 8)

#endif
