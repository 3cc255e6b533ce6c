/* What `nvtally run --help` prints. */
#ifndef NVT_RUN_HELP_H
#define NVT_RUN_HELP_H

/* The help of one workload, or (NULL, and a name that is none) of all: axes, options, and in one line what this build lacks. */
void nvt_run_help(const char *workload);

#endif
