/*
 * Ranks of a distributed job: which one a trace, or a process of it, is of, and which traces are those of one run.
 */
#ifndef NVT_RANKS_H
#define NVT_RANKS_H

#include "input.h"

/* The number behind "rank" in the name of a file: t.rank3.nvt, rank-0.json, rank_7. NVT_NONE where there is none. */
uint32_t nvt_rank_of_path(const char *path);

/* The rank of a process of a trace: its own, or the trace's, that of its row, or that in the name of its file; NVT_NONE: none
 * is known. */
uint32_t nvt_input_rank(const struct nvt_input_trace *from, uint32_t process);

/* The rank of the first of a trace's processes that has one, else that of its row, or that in the name of its file; NVT_NONE. */
uint32_t nvt_input_trace_rank(const struct nvt_input_trace *from);

/* Whether two traces were recorded at the same time, but for some seconds that clocks may be apart; 0 also where that is unknown. */
int nvt_input_at_once(const struct nvt_trace *a, const struct nvt_trace *b);

/*
 * Which run each trace is of, from 0 on in the order of the input: malloc'ed, NULL when out of memory. Traces of one row of a
 * directory are of one run. Of others those that say that they were run with the same are, a trace of each rank: the second
 * one of a rank is of the second run. One without a rank is a run by itself.
 */
size_t *nvt_input_run_numbers(const struct nvt_input *input, size_t *count);

/*
 * For reports that take all traces for one job: leave out those of another, and note each. That is one which says that its job has another
 * number of ranks than most say, and of several that state the same rank all but the first. 0, or -1 with err (out of memory).
 */
int nvt_input_keep_job(struct nvt_input *input, struct nvt_error *err);

/* For those that may get several jobs: note each trace that states the same rank as one before it, whose run has more ranks or which was recorded at the same
 * time. 0, or -1
 * with err (out of memory). */
int nvt_input_note_twice(struct nvt_input *input, struct nvt_error *err);

#endif
