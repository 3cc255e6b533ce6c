/*
 * The name of a rank's trace, where the command line of a job has one name for all ranks: "x-rank0.nvt", "x-rank1.nvt" … of "x.nvt".
 * Each rank gets such a name, not only those that come second: else it is chance which one has none, and files of older jobs stay
 * among those of a new one.
 */
#ifndef NVT_RANK_OUTPUT_H
#define NVT_RANK_OUTPUT_H

#include <limits.h>
#include <time.h>

/*
 * Before the recording: `output` is the name that `pattern` (record -o) has made. It stays as it is without a rank in the
 * environment, of a pattern with a mark (output_name.h), where it ends in the number of the rank, as of a script that makes its
 * own ("out3.nvt", "rank3/out.nvt"), and where something else than a regular file has it.
 */
void nvt_rank_output_take(const char *pattern, char output[PATH_MAX]);

/*
 * Behind the recording, which `began` then: whether it was by chance that the name ended in the number ("gpt2.nvt" of rank 2). Where
 * traces of other ranks have come since ("gpt2-rank0.nvt"), ours gets such a name, too, and one that is there is kept
 * (keep_file.h), unless it may be written over.
 */
void nvt_rank_output_settle(char output[PATH_MAX], int overwrites, time_t began);

/* "x-rank[0-3].nvt" of "x-rank0.nvt", where we are rank 0 of four: the traces of the job, without those of older ones. "x-rank*.nvt" of
 * more than ten, or an unknown number. malloc'ed; NULL: another rank, another name, or one that a shell needs quoted. */
char *nvt_rank_output_of_job(const char *output);

#endif
