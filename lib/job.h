/*
 * Processes that a launcher of MPI started with one command line (mpirun -n 4 nvtally stats FILES…): they share the work, and one of
 * them prints. They talk by the launcher's own MPI (lib/job_mpi.h).
 *
 * Taken for such are processes whose parent is a launcher or its daemon: those of a script that the launcher runs are not, as MPI
 * must not be begun twice there, nor are those whose arguments differ, each of which has its own work.
 */
#ifndef NVT_JOB_H
#define NVT_JOB_H

#include "buffer.h"
#include "error.h"

/*
 * Begin MPI where a launcher started several of us; without a launcher this process is by itself. Once. -1 with err: a launcher started
 * several, and there is no MPI between them; the message is empty in all but the first of them, so that it is printed once.
 */
int nvt_job_begin(int argc, char **argv, struct nvt_error *err);

/* Which one of how many this is; 0 of 1 by itself, and once nvt_job_end was called. */
int nvt_job_rank(void);
int nvt_job_size(void);

/* Send bytes to one of them; receive those of one, behind what the buffer has. 0, or -1 with err. */
int nvt_job_send(int to, const void *data, size_t size, struct nvt_error *err);
int nvt_job_receive(int from, struct nvt_buffer *buffer, struct nvt_error *err);

/* End MPI, which waits for all others to. Whoever has begun calls it before the process ends. */
void nvt_job_end(void);

#endif
