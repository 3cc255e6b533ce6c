/*
 * Nesting of push/pop ranges of a thread across domains.
 *
 * The model's own parents follow NVTX: a stack for each thread and domain. nsys's reports, and the
 * question which phase a library's range lies in, look at the thread as a whole: the parent is the
 * innermost range of the same thread, of any domain, that encloses it in time.
 */
#ifndef NVT_NESTING_H
#define NVT_NESTING_H

#include "../../lib/buffer.h"
#include "trace.h"

/*
 * Whether push/pop range i lies within `outer`, a lower row of the same thread. One that never ended
 * holds whatever its thread began up to its `end`, the last that is known of the thread or of that part of the recording
 * (analyze/readers/nvt_dormant.h), and lies in none that did end.
 */
static inline int nvt_nests_in(const struct nvt_ranges *ranges, uint32_t i, uint32_t outer)
{
    if (ranges->flags[outer] & NVT_RANGE_UNCLOSED)
        return ranges->start[i] <= ranges->end[outer];
    if (ranges->flags[i] & NVT_RANGE_UNCLOSED || ranges->end[i] > ranges->end[outer])
        return 0;
    return ranges->start[i] < ranges->end[outer] || ranges->start[outer] == ranges->end[outer];
}

/* Time of range i, which lies in `outer`, that the one in `outer` before it, NVT_NONE for the first,
 * does not take already: ranges in the same one may overlap, and each ends no earlier than the one
 * before it. ns. */
static inline int64_t nvt_nested_ns(const struct nvt_ranges *ranges, uint32_t i, uint32_t outer,
                                    uint32_t before)
{
    int64_t start = ranges->start[i], end = ranges->end[i];
    if (before != NVT_NONE && ranges->end[before] > start)
        start = ranges->end[before];
    if (ranges->end[outer] < end)
        end = ranges->end[outer];
    return end > start ? end - start : 0;
}

/*
 * parent[i] of every range: a lower row, or NVT_NONE (outermost, or a start/end range). malloc'ed,
 * one more element than there are ranges; NULL with err filled when out of memory.
 */
uint32_t *nvt_nest_threads(const struct nvt_trace *trace, struct nvt_error *err);

/* How many children each range has by these parents, and the time in at least one of them, ns: one value a range, whatever
 * was there before. 0, or -1 when out of memory. */
int nvt_nest_children(const struct nvt_ranges *ranges, const uint32_t *parents, uint32_t *children,
                      int64_t *children_ns);

/* The nesting of all ranges with what follows from it; one value a range. */
struct nvt_nesting {
    const uint32_t *parent; /* as nvt_nest_threads gives it */
    const uint32_t *level;  /* 0: outermost */
    const uint32_t *children;
    const int64_t *children_ns; /* time in at least one of them */
    void *own[4];               /* the arrays that are not the model's; of nvt_nesting_free */
};

/* Work it out. Zero-initialise, and release with nvt_nesting_free, also after a failure. 0, or -1
 * with err filled (out of memory). */
int nvt_nesting_make(struct nvt_nesting *nesting, const struct nvt_trace *trace,
                     struct nvt_error *err);
void nvt_nesting_free(struct nvt_nesting *nesting);

/* Deeper than this, stacks and trees of ranges are cut: their length is quadratic. */
#define NVT_NESTING_DEPTH 256

/* ":1:5:6", the ids (row + 1) from the outermost range down to this one, into text, which is
 * emptied first and terminated. 0, or -1 when out of memory. */
int nvt_nesting_stack(const struct nvt_nesting *nesting, uint32_t range, struct nvt_buffer *text);

/* A row's name in a tree of names, "----inner" at level 2, terminated, into text, which is emptied first. 0, or -1 when out
 * of memory. */
int nvt_nesting_indent(uint32_t level, const char *name, struct nvt_buffer *text);

#endif
