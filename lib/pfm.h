/*
 * libpfm4, which knows the counters of processors by the names that their makers give them (https://perfmon2.sourceforge.net,
 * libpfm(3)), where it is installed: libpfm.so.4 is loaded when it is wanted. What is used of its interface is declared here, so that
 * nothing needs it to be built, and a package works with and without it; tests/test_counter_names.c compares that with its header.
 */
#ifndef NVT_PFM_H
#define NVT_PFM_H

#include <linux/perf_event.h>
#include <stddef.h>

#include "suggest.h"

enum nvt_pfm { NVT_PFM_FOUND, NVT_PFM_MISSING, NVT_PFM_UNKNOWN };

/* The event of a name, of user code, as perf_event_open(2) takes it. Missing: libpfm4 is not installed. Unknown: `why` gets what it says. */
enum nvt_pfm nvt_pfm_encode(const char *name, struct perf_event_attr *attributes, char *why,
                            size_t size);

/* The names of events that this processor has, without their masks: "RETIRED_INSTRUCTIONS" of "zen::RETIRED_INSTRUCTIONS:X". */
void nvt_pfm_suggest(struct nvt_suggestion *suggestion);

/* Of perfmon/pfmlib.h and perfmon/pfmlib_perf_event.h; `size` is that of the struct, by which libpfm4 knows its version. */
struct nvt_pfm_argument {
    struct perf_event_attr *attributes;
    char **name;
    size_t size;
    int index, cpu, flags, padding;
};

struct nvt_pfm_pmu {
    const char *name, *about;
    size_t size;
    int pmu, type, events, first_event, max_encoding, counters, fixed_counters;
    unsigned is_present : 1, is_default : 1, reserved : 30;
};

struct nvt_pfm_event {
    const char *name, *about, *equivalent;
    size_t size;
    unsigned long long code;
    int pmu, data, index, attributes, reserved;
    unsigned flags;
};

#endif
