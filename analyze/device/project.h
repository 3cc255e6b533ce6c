/*
 * Projection: which ranges each device operation belongs to.
 *
 * nsys's definition (Nsight Systems Analysis Guide, nvtx_kern_sum): an operation belongs to a range when the API call
 * that launched it lies within the range (boundaries included) on the thread that opened the range. It belongs to every
 * such range. An operation whose call was not recorded, but whose thread and launch time are, counts as launched by a
 * call of no length.
 *
 * Across waits (NVT_ACROSS_WAITS), the default of all but reports with nsys's names: in PyTorch the backward pass launches from a
 * thread of its own, so its ranges look empty. The operations of such a thread belong to the range that waits for them, as
 * below. A thread is waited for if its operations without an open range come in a row, three and more on average: then no other thread
 * of the process launches anything between them in a range of its own. What a thread loads ahead, while others launch, stays in no range.
 *
 * Across threads (NVT_ACROSS_THREADS): so do those of any thread. An operation launched from a thread that has no open range then
 * belongs to the range opened last (the later row of those opened at once) and still open on any
 * other thread of the process, and to the ranges of that thread around it. Ranges of a library's
 * domain (NCCL's, cuBLAS's …), and PyTorch's operators and collectives in any (nvt_is_operator), count
 * neither as open nor as such ranges; operations stay with them as without this flag.
 */
#ifndef NVT_PROJECT_H
#define NVT_PROJECT_H

#include "../../lib/clock.h"
#include "../model/launches.h"
#include "../model/trace.h"

/*
 * Called once for every device operation, in the order of their launches, those whose launch is
 * unknown first. `ranges` are the rows that it belongs to, ascending: of the same thread, outer
 * before inner. Returns 0, or -1 to end.
 */
typedef int (*nvt_project_visit)(void *context, uint32_t op, const uint32_t *ranges,
                                 uint32_t count);

/*
 * Visit all operations of a finished trace. One sweep over ranges and launches in the order of
 * time: linear in them and in what it reports, after the launches are in order. 0, or -1 with
 * err filled (out of memory), or whatever the visitor returned.
 */
int nvt_project(const struct nvt_trace *trace, unsigned flags, nvt_project_visit visit,
                void *context, struct nvt_error *err);

/*
 * Project allocations instead of operations: `rows` of the trace's memory, ascending. One belongs to the ranges that
 * were open on the thread that asked for it when it was made, boundaries included. visit gets the row in place of an
 * operation.
 */
int nvt_project_memory(const struct nvt_trace *trace, unsigned flags, const uint32_t *rows,
                       uint32_t count, nvt_project_visit visit, void *context,
                       struct nvt_error *err);

/* Operations that belong to ranges of other threads, across waits. */
struct nvt_lent {
    uint32_t ops;
    /* the row of a range that the first of them belongs to; NVT_NONE: there are none */
    uint32_t range;
};

/* 0, or -1 with err filled. */
int nvt_project_lent(const struct nvt_trace *trace, struct nvt_lent *lent, struct nvt_error *err);

/* What became of a range on the devices. */
struct nvt_projected {
    int64_t start, end; /* of its first and last operation */
    int64_t busy;       /* time of its operations, added up */
    uint32_t ops;       /* 0: none, and the times mean nothing */
    uint32_t kernels;
};

/* One more operation of a range. */
static inline void nvt_projected_add(struct nvt_projected *range, const struct nvt_ops *ops,
                                     uint32_t op)
{
    const int64_t start = ops->start[op], end = ops->end[op];
    if (!range->ops || start < range->start)
        range->start = start;
    if (!range->ops || end > range->end)
        range->end = end;
    range->busy = nvt_clock_sum(range->busy, end - start);
    range->ops++;
    range->kernels += ops->kind[op] == NVT_OP_KERNEL;
}

/* A projection of every range, one a row; malloc'ed, one more than there are ranges. NULL with err
 * filled when out of memory. */
struct nvt_projected *nvt_project_ranges(const struct nvt_trace *trace, unsigned flags,
                                         struct nvt_error *err);

/*
 * How many of the ranges in it each range has that have operations themselves: what nsys counts as children of a projected
 * range. `parents` as nvt_nest_threads gives them. malloc'ed, one more than there are ranges; NULL with err filled when out of memory.
 */
uint32_t *nvt_projected_children(const struct nvt_trace *trace, const struct nvt_projected *ranges,
                                 const uint32_t *parents, struct nvt_error *err);

/* Whether a domain is known to be a library's: of no interest as a part of the program. */
int nvt_is_library_domain(const char *name);

/* Whether each domain of a trace is known to be a library's; malloc'ed, NULL when out of memory. */
uint8_t *nvt_library_domains(const struct nvt_trace *trace);

/* Whether a range is a library's (nvt_library_domains), or an operator or collective of PyTorch: it is no phase of the
 * program, and its time is no measurement, as work is launched in it and not waited for. */
int nvt_is_operator(const struct nvt_trace *trace, const uint8_t *libraries, uint32_t range);
/* nvt_is_operator for ranges of a domain's row and a name. */
int nvt_is_operator_of(const struct nvt_trace *trace, uint32_t domain, uint32_t name);

#endif
