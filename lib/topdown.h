/*
 * Top-down analysis, level 1 (A. Yasin, "A top-down method for performance analysis and counters architecture", ISPASS 2014): what
 * became of the slots in which a core could have begun an operation. Four counters of the processor, and its cycles:
 *
 * - Intel from Ice Lake on, cores of one kind: TOPDOWN.SLOTS_P are the slots, IDQ_UOPS_NOT_DELIVERED.CORE (since Sapphire
 *   Rapids IDQ_BUBBLES.CORE) those of the front end, TOPDOWN.BACKEND_BOUND_SLOTS those of the back end, UOPS_RETIRED.SLOTS those
 *   that retired; the rest is bad speculation. Events and codes: Intel's tables as Linux has them
 *   (tools/perf/pmu-events/arch/x86/{icelakex,sapphirerapids}). The kernel's events slots and topdown-* are not used: a program reads
 *   them as fractions of 1/255 of all slots since the thread began (tools/perf/Documentation/topdown.txt), of which a short range is less
 *   than one.
 * - AMD Zen 4 and Zen 5: slots are 6 or 8 times the cycles, and of them de_no_dispatch_per_slot.no_ops_from_frontend are the
 *   front end's, .backend_stalls the back end's, ex_ret_ops retired, de_src_op_disp.all less ex_ret_ops bad speculation; what is left
 *   had the other thread of the core. Formulas: Linux, tools/perf/pmu-events/arch/x86/{amdzen4,amdzen5}/pipeline.json.
 */
#ifndef NVT_TOPDOWN_H
#define NVT_TOPDOWN_H

#include <stdint.h>

#include "counts.h"

/* The fact of a trace whose chosen counters (counts.h) are those of a set, in its order: the set's name. */
#define NVT_FACT_TOPDOWN "topdown"

struct nvt_topdown_set {
    const char *name;
    int width; /* slots of a cycle; 0: a counter has them */
    struct {
        const char *name; /* as a trace has it */
        /* as libpfm4 has it; NULL: 4.13 has it not, or with another code than Linux */
        const char *pfm;
        uint64_t config; /* of a raw event */
    } events[NVT_CHOSEN_MOST];
};

/* All of them; NULL behind the last. */
const struct nvt_topdown_set *nvt_topdown_set(unsigned i);

/* The set of a processor, by what CPUID says of it ("GenuineIntel", its family and model with their extensions, whether its cores
 * are of several kinds); NULL: it has none. */
const struct nvt_topdown_set *nvt_topdown_of(const char *vendor, unsigned family, unsigned model,
                                             int is_hybrid);

/* That of this machine; NULL: none. */
const struct nvt_topdown_set *nvt_topdown_here(void);

/* That of a name; NULL: there is none. */
const struct nvt_topdown_set *nvt_topdown_named(const char *name);

/* Parts of all slots, 0 to 1. */
struct nvt_topdown {
    double slots; /* how many */
    double retiring, bad_speculation, frontend, backend;
    double other; /* the other thread of the core; 0 where that is not counted apart */
};

/* From the sums of the cycles and of the set's events. 1, or 0: unknown (-1) or no slots. */
int nvt_topdown(const struct nvt_topdown_set *set, int64_t cycles,
                const int64_t events[NVT_CHOSEN_MOST], struct nvt_topdown *out);

#endif
