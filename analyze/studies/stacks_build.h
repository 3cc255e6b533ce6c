/*
 * Stacks in the making: what those of the host, of the devices, of memory and of samples have in common. Of stacks*.c only.
 */
#ifndef NVT_STACKS_BUILD_H
#define NVT_STACKS_BUILD_H

#include "../../lib/map.h"
#include "../model/named_iterations.h"
#include "../model/nesting.h"
#include "stacks.h"

/* The ranges directly around an operation, NVT_NONE for none: of the thread that launched it, and of
 * another one, which then lies around that. */
struct nvt_stacks_place {
    uint32_t own, lent;
};

struct nvt_stacks_build {
    struct nvt_stacks *stacks;
    const struct nvt_trace *trace;
    struct nvt_map by_path; /* (parent + 1) << 32 | name -> row */
    uint32_t *translated;   /* strings of the trace -> names, plain; NVT_NONE: not yet */
    uint32_t *kernels;      /* of whole names of kernels, which get their telling parts */
    uint32_t functions;     /* name of the domain that is left out, or NVT_NONE */
    struct nvt_nesting nesting;
    uint32_t *row_of; /* ranges -> rows, of what is left out those around it; NVT_NONE: none */
    struct nvt_stacks_place *places; /* of operations, or allocations */
    const uint32_t *threads;         /* theirs */
    uint8_t *is_wanted;              /* ranges of which there shall be rows */
    int has_callers;                 /* of memory: the functions that took it were recorded */
    uint32_t *alike; /* names of ranges -> what stands for all that are alike, or NULL */
    struct nvt_named_iterations iterations;
    uint8_t *is_typical; /* of each of them; NULL: nobody asks */
};

/* The row of a name within another row, new or old. NVT_NONE: out of memory. */
uint32_t nvt_stacks_row(struct nvt_stacks_build *build, uint32_t parent, uint32_t name,
                        uint32_t kind);

/* The row of a name that is given as a text within another row, new or old. NVT_NONE: out of memory. */
uint32_t nvt_stacks_row_of(struct nvt_stacks_build *build, uint32_t parent, const char *name,
                           uint32_t kind);

/* The number of a name of the trace, without numbers of its own. */
uint32_t nvt_stacks_name_of(struct nvt_stacks_build *build, uint32_t string);

/* Rows of the ranges that are wanted, and of those around them, which are lower ones. 0, or -1 when
 * out of memory. */
int nvt_stacks_place_ranges(struct nvt_stacks_build *build);

/* The row of a range and of those around it below another row: of those the innermost ones, where they
 * are more than stacks may be deep. NVT_NONE: out of memory. */
uint32_t nvt_stacks_row_below(struct nvt_stacks_build *build, uint32_t row, uint32_t range);

/* To what is a stack's own; and what of it lies in a typical iteration. */
void nvt_stacks_add(struct nvt_stack *stack, uint64_t count, int64_t ns);
void nvt_stacks_add_inside(struct nvt_stack *stack, uint64_t count, int64_t ns);

/* Find the typical iterations. 0, or -1 when out of memory. */
int nvt_stacks_find_typical(struct nvt_stacks_build *build);
/* Whether a moment of a thread, or of a process without one, or a range, lies in one of them; nothing does where nobody asks. */
int nvt_stacks_is_inside(const struct nvt_stacks_build *build, uint32_t thread, uint32_t process,
                         int64_t moment);
int nvt_stacks_is_range_inside(const struct nvt_stacks_build *build, uint32_t range);

/* The range whose row is known: that of another thread has the operation's own below it. */
static inline uint32_t nvt_stacks_outer(const struct nvt_stacks_place *place)
{
    return place->lent != NVT_NONE ? place->lent : place->own;
}

/* The innermost push/pop ranges of an operation or allocation, else the start/end range opened last, as nvt_project
 * finds them. */
int nvt_stacks_find_place(void *context, uint32_t op, const uint32_t *rows, uint32_t count);

/* Memory, and samples. 0, or -1 when out of memory. */
int nvt_stacks_of_memory(struct nvt_stacks_build *build, unsigned flags);
int nvt_stacks_of_samples(struct nvt_stacks_build *build, unsigned flags);

/* What NVT_STACKS_SHORT leaves out when totals are known. Rows get new numbers. 0, or -1 when out of memory. */
int nvt_stacks_shorten(struct nvt_stacks *stacks);

#endif
