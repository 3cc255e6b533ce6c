/*
 * From when to when a trace has something: what widens that, and what does not.
 */
#ifndef NVT_EXTENT_H
#define NVT_EXTENT_H

#include "layout.h"

/* From the first to the last time of something; ns. */
struct nvt_extent {
    int64_t first, last;
};

static inline void nvt_extent_widen(struct nvt_extent *extent, int64_t first, int64_t last)
{
    extent->first = first < extent->first ? first : extent->first;
    extent->last = last > extent->last ? last : extent->last;
}

/*
 * By the rows of a table, as its `extent` in NVT_TABLES says. Of tables that widen it PARTLY do:
 *
 * counter_samples  those that are not of the machine, which is sampled before a program begins and behind its end; and in a
 *                  window not the last ones before it (`from`: where it opens), which stay to say what the counter was
 * mpi_calls        all but MPI_Init and MPI_Finalize, which take long: a program works between them
 * cpu_samples      all, where nothing else says when the program was busy
 */
void nvt_extent_widen_by(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                         int64_t from, struct nvt_extent *extent);

/* Where nothing has widened it: by what else there is; 0 to 0 where there is nothing. */
void nvt_extent_settle(const struct nvt_trace *trace, struct nvt_extent *extent);

/* From the first to the last thing that is known of the processes of a finished trace: CPU samples and OS calls, too, which do not widen
 * it. That of the trace where it is a part. */
struct nvt_extent nvt_extent_of_processes(const struct nvt_trace *trace);

#endif
