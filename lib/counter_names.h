/*
 * Hardware counters by name, as `record --trace counters=NAME,…` takes them: in nvtally's words, in perf's (perf-list(1): "cache-references",
 * "L1-dcache-load-misses", "r01c2"), or in the processor's own, which libpfm4 knows if it is installed
 * (pfm.h): "RETIRED_INSTRUCTIONS", "skl::MEM_LOAD_RETIRED:L3_MISS".
 */
#ifndef NVT_COUNTER_NAMES_H
#define NVT_COUNTER_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define NVT_COUNTER_NAME_MAX 64

struct nvt_counter_choice {
    char name[NVT_COUNTER_NAME_MAX]; /* as it was given */
    uint32_t type;                   /* of struct perf_event_attr, as is the next */
    uint64_t config;
};

/* 0, or -1 with err: there is no such counter (with the nearest name), or it needs more of a perf_event_attr than these two. */
int nvt_counter_choose(const char *name, struct nvt_counter_choice *choice, struct nvt_error *err);

#endif
