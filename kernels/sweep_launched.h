/*
 * Runs over several processes that a sweep starts itself (--launcher). MPI starts once in a process, so each run has a
 * launcher of its own: COMMAND, behind which stands `nvtally run --worker rank FILE`. Every process that COMMAND starts
 * is a rank; it measures its part, records it where the level asks for that, and leaves its result in the directory of
 * the sweep, which all ranks see. Only kernels/sweep*.c, run.c and worker.c use this.
 */
#ifndef NVT_SWEEP_LAUNCHED_H
#define NVT_SWEEP_LAUNCHED_H

#include "sweep_child.h"

/*
 * Which of the sweep's configurations go over several processes, and how many: sweep->launched, malloc'ed, from the
 * launcher's own answer, for which it is started once with each text that COMMAND comes to. In it "{partitions}" is the
 * configuration's value of that axis. 0, or -1 with err: it cannot be started, starts no ranks that we know, names
 * no axis, or there is no such configuration.
 */
int nvt_launched_count(struct nvt_sweep *sweep, struct nvt_error *err);

/*
 * Start the run's launcher and wait for its end. What the ranks found is then where the run's own process would have
 * left it: the result of the first one that is out of memory or failed, else, if all ended well, that of rank 0.
 * end->wait_status is the launcher's; 128 and a signal stands for that signal.
 */
void nvt_launched_run(const struct nvt_child *run, struct nvt_child_end *end);

/* Whether a configuration goes over several processes, where a launcher starts them: over MPI or NCCL. */
int nvt_goes_over_ranks(const struct nvt_configuration *configuration);

/* In a rank: how many there are, for nvt_launched_count; its part of the run. The exit status. */
int nvt_launched_tell(void);
int nvt_launched_rank(const char *file);

#endif
