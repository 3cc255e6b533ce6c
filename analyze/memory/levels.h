/*
 * Levels: how much memory was in use after each event of the allocators, and what it was in use for at its peak.
 *
 * A series is the memory of one device (or of the host) as one process takes it. Where an allocator says how much is in
 * use and how much it holds (PyTorch's does), these are the numbers; where only single allocations were recorded
 * (cudaMalloc), what is allocated is their running sum, what is reserved the same; what is freed and was
 * not allocated there was in use before. An allocator that says what is in use, and nothing or 0 of what it holds, as
 * PyTorch's of the host, leaves reserved memory unknown. What there was before the first event is known where the
 * allocator says how much is in use after it, or where that was before the window (window.h).
 */
#ifndef NVT_LEVELS_H
#define NVT_LEVELS_H

#include "../model/trace.h"

/* Levels in bytes, and a tree of maxima over them: node i + count is event i, node i the greater of
 * 2 i and 2 i + 1. */
struct nvt_level_series {
    uint32_t process, device; /* NVT_NONE: the host's memory */
    uint32_t count;
    uint32_t *events; /* rows of the trace's memory, ascending */
    int64_t *allocated, *reserved;
    int64_t base;       /* allocated before the first event */
    int lacks_reserved; /* it is not known: the levels of it are those of what is allocated */
    uint64_t sum;       /* wraps around where the record is nonsense */
};

/* In the order of their first events. Zero-initialise; release with nvt_levels_free, also after a failure. */
struct nvt_levels {
    struct nvt_level_series *series;
    uint32_t count;
};

/* The series of a finished trace. 0, or -1 when out of memory. */
int nvt_levels_make(struct nvt_levels *levels, const struct nvt_trace *trace);
void nvt_levels_free(struct nvt_levels *levels);

/* What is allocated, and reserved, after event i of a series. Bytes. */
static inline int64_t nvt_level_allocated(const struct nvt_level_series *series, uint32_t i)
{
    return series->allocated[series->count + (size_t)i];
}

static inline int64_t nvt_level_reserved(const struct nvt_level_series *series, uint32_t i)
{
    return series->reserved[series->count + (size_t)i];
}

/* How many events of a series are not behind `time` (or, strictly, before it). */
uint32_t nvt_level_until(const struct nvt_level_series *series, const struct nvt_trace *trace,
                         int64_t time, int strictly);

/* The greatest of the levels of events [from, to), of series->allocated or ->reserved. INT64_MIN: there are none. */
int64_t nvt_level_maximum(const int64_t *tree, uint32_t count, uint32_t from, uint32_t to);

/* The most that a series has allocated, and, where `event` is not NULL, the first event after which that was so;
 * NVT_NONE: it was so before the first one. Bytes. */
int64_t nvt_level_most(const struct nvt_level_series *series, uint32_t *event);

/* The most that a series has reserved, bytes, which is no less than the most allocated; *event as of nvt_level_most. */
int64_t nvt_level_most_reserved(const struct nvt_level_series *series, uint32_t *event);

/*
 * What was in use when a series was at its peak: the moment of nvt_level_most.
 */
struct nvt_level_peak {
    uint32_t event;    /* in the series */
    int64_t allocated; /* bytes */
    uint32_t *held;    /* rows of the allocations that were not freed until then, ascending */
    uint32_t count;
    int64_t unknown;     /* bytes in use that are none of these, taken before the trace or lost */
    int lacks_addresses; /* none was recorded, as in old profiles of PyTorch: all is unknown */
};

/* 0, or -1 when out of memory. Release peak->held with free. */
int nvt_level_peak(struct nvt_level_peak *peak, const struct nvt_level_series *series,
                   const struct nvt_trace *trace);

#endif
