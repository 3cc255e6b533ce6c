#include "counter_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count_of.h"
#include "pfm.h"
#include "suggest.h"

#define CACHE(cache, op, result)                                                                   \
    PERF_TYPE_HW_CACHE, (PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |          \
                         PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define HARDWARE(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} known[] = {
    {"cycles", HARDWARE(CPU_CYCLES)},
    {"instructions", HARDWARE(INSTRUCTIONS)},
    {"llc-misses", HARDWARE(CACHE_MISSES)},
    {"cache-misses", HARDWARE(CACHE_MISSES)},
    {"branch-misses", HARDWARE(BRANCH_MISSES)},
    {"cache-references", HARDWARE(CACHE_REFERENCES)},
    {"branches", HARDWARE(BRANCH_INSTRUCTIONS)},
    {"ref-cycles", HARDWARE(REF_CPU_CYCLES)},
    {"stalled-cycles-frontend", HARDWARE(STALLED_CYCLES_FRONTEND)},
    {"stalled-cycles-backend", HARDWARE(STALLED_CYCLES_BACKEND)},
    {"L1-dcache-loads", CACHE(L1D, READ, ACCESS)},
    {"L1-dcache-load-misses", CACHE(L1D, READ, MISS)},
    {"LLC-loads", CACHE(LL, READ, ACCESS)},
    {"LLC-load-misses", CACHE(LL, READ, MISS)},
    {"dTLB-loads", CACHE(DTLB, READ, ACCESS)},
    {"dTLB-load-misses", CACHE(DTLB, READ, MISS)},
    {"iTLB-load-misses", CACHE(ITLB, READ, MISS)},
};

/* A raw event of the processor, "r" and hexadecimal digits. 1, or 0: the name is none. */
static int take_raw(const char *name, struct nvt_counter_choice *choice)
{
    const char *digits = name + 1;
    if (*name != 'r' || !*digits || strspn(digits, "0123456789abcdefABCDEF") != strlen(digits) ||
        strlen(digits) > 16)
        return 0;
    choice->type = PERF_TYPE_RAW;
    choice->config = strtoull(digits, NULL, 16);
    return 1;
}

static int fail_unknown(const char *name, const char *why, struct nvt_error *err)
{
    char hint[160];
    struct nvt_suggestion suggestion = {.name = name};
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        nvt_suggest(&suggestion, known[i].name);
    nvt_pfm_suggest(&suggestion);
    return nvt_fail(err, "there is no counter '%.60s'%s%s", name,
                    nvt_suggestion_text(&suggestion, hint, sizeof(hint)), why);
}

/* One of the processor's own. */
static int take_processors(const char *name, struct nvt_counter_choice *choice,
                           struct nvt_error *err)
{
    struct perf_event_attr attributes;
    char error[120] = "", why[200];
    switch (nvt_pfm_encode(name, &attributes, error, sizeof(error))) {
    case NVT_PFM_MISSING:
        return fail_unknown(name, "; the processor's own names need libpfm4 (Debian: libpfm4)",
                            err);
    case NVT_PFM_UNKNOWN:
        snprintf(why, sizeof(why), "; libpfm4: %s", error);
        return fail_unknown(name, why, err);
    default:
        break;
    }
    if (attributes.type == PERF_TYPE_SOFTWARE || attributes.type == PERF_TYPE_TRACEPOINT ||
        attributes.type == PERF_TYPE_BREAKPOINT)
        return nvt_fail(err, "counter '%.60s' is the kernel's, none of the processor's", name);
    if (attributes.config1 || attributes.config2)
        return nvt_fail(err, "counter '%.60s' needs a further register, which is not set here",
                        name);
    choice->type = attributes.type;
    choice->config = attributes.config;
    return 0;
}

int nvt_counter_choose(const char *name, struct nvt_counter_choice *choice, struct nvt_error *err)
{
    *choice = (struct nvt_counter_choice){.type = 0};
    snprintf(choice->name, sizeof(choice->name), "%s", name);
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        if (!strcmp(name, known[i].name)) {
            choice->type = known[i].type;
            choice->config = known[i].config;
            return 0;
        }
    return take_raw(name, choice) ? 0 : take_processors(name, choice, err);
}
