/*
 * The name of a trace, made from what `record -o` says, so that many recordings that start from one
 * command line (the ranks of mpirun or srun) write a file each. The marks are those of nsys:
 *
 *     %q{NAME}  the environment variable NAME; it is an error when there is none
 *     %h        the host's name
 *     %p        the number of the recording process
 *     %%        a %
 *
 * Any other % stands for itself. A variable's value goes into the name unchanged, except that '/' becomes '_': it names
 * a file and no folder.
 */
#ifndef NVT_OUTPUT_NAME_H
#define NVT_OUTPUT_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "../lib/error.h"

/*
 * The name that a trace has where none was given: "trace.nvt", or, where a launcher (Open MPI, MPICH, MVAPICH, torchrun, Slurm)
 * has put a rank into the environment, "trace-rank%q{RANK}.nvt" with its variable; not for the only rank of a job, nor in a batch
 * script of Slurm's, which is rank 0 by its environment and starts the ranks. Static.
 */
const char *nvt_output_default(void);

/* The name of a trace for a rank of its own, "x-rank3.nvt" of "x.nvt", where a launcher has said which rank we are; NULL: none has, or
 * we are the only one. malloc'ed. */
char *nvt_output_of_rank(const char *output);

/* Our rank, and in *ranks (may be NULL) how many the job has, where a launcher has said so; else -1, and 0. */
int64_t nvt_output_rank(int64_t *ranks);

/* "x-rank3.nvt" of "x.nvt": malloc'ed, NULL when out of memory. */
char *nvt_output_with_rank(const char *output, int64_t rank);

/* Bytes of a name before its suffix, ".nvt". */
int nvt_output_stem(const char *output);

/* The way out where another rank writes the trace: appended to the message, if a launcher's variable says which rank we
 * are. */
void nvt_output_add_hint(struct nvt_error *err);

/* Write the name into out[size]. 0, or -1 with err: no such variable, or too long. */
int nvt_output_name(const char *pattern, char *out, size_t size, struct nvt_error *err);

#endif
