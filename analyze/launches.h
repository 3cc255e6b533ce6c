/*
 * What ranges did on the devices, worked out once for several reports: projection
 * (analyze/project.h) where it is simple. It is simple when operations are not looked for across
 * threads, and whenever something is launched, the ranges that are open on its thread lie one
 * within the other. Then the ranges of an operation are the innermost that holds its launch and
 * those around it, and it is enough to follow a stack a thread.
 *
 * Ranges with operations are put into classes: of the same thread, with the same name, domain and
 * style, within ranges of the same class. A training loop of millions of ranges has some hundred
 * classes. Class 0 is "no range".
 */
#ifndef NVT_LAUNCHES_H
#define NVT_LAUNCHES_H

#include "trace.h"

struct nvt_launch_class {
    uint32_t outer;  /* class of the ranges around these, 0: there are none */
    uint32_t range;  /* one of them */
    uint32_t ranges; /* with operations */
    uint64_t ops, levels,
        children;     /* of these ranges, added up; levels and children as in analyze/nesting.h */
    int64_t original; /* time of these ranges on the host, added up */
    int64_t longest;  /* projection */
};

/* Kernels of a name and ranges of a class. */
struct nvt_launch_cell {
    uint32_t kernels;   /* in these ranges, but in none within them */
    uint32_t instances; /* ranges with such a kernel */
    uint32_t last;      /* of these ranges, as it is worked out */
};

struct nvt_launches {
    /* Of every operation: class of its innermost range * names + number of its name; NVT_NONE when
     * it is no kernel. */
    uint32_t *cell;
    struct nvt_launch_class *classes;
    uint32_t class_count; /* with class 0 */
    /* Of every range that has operations: its class, and the time from the start of its first
     * operation to the end of its last, ns. */
    uint32_t *range_class;
    int64_t *range_ns;
    uint32_t range_count;
    struct nvt_launch_cell *cells; /* [class * names + number of the name] */
    int64_t longest;               /* kernel, ns */
    uint32_t *number;              /* of a kernel's name, by string */
    uint32_t names;
};

/*
 * Work it out for a finished trace: malloc'ed memory of *launches, which nvt_launches_free
 * releases. 0; 1: it is not as simple as that, nvt_project has to do it; -1 with err filled when
 * out of memory. In the latter two cases nothing is left to be released.
 */
int nvt_launches_make(struct nvt_launches *launches, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err);
void nvt_launches_free(struct nvt_launches *launches);

#endif
