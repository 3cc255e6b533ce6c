/* What an overview says of processes: how they ended, and which have no ranges, so that no row is of them. */
#ifndef NVT_OVERVIEW_PROCESSES_H
#define NVT_OVERVIEW_PROCESSES_H

#include "overview.h"

/*
 * Fills ended, processes, bare, bare_name and bare_ns. A process without ranges is one of a trace of nvtally record in which others
 * have some: one that has a hundredth of all CPU time by samples, or that was forked by one with ranges and runs the same program. Not a
 * shell that only started the program. `processes` are those with ranges and these. 0, or -1 with err (out of memory).
 */
int nvt_overview_take_processes(struct nvt_overview *overview, const struct nvt_input *input,
                                struct nvt_error *err);

/* "2 without ranges, 1.20 s of CPU time: python3 (1234) and 1 more", in out, which is returned. */
const char *nvt_overview_bare_text(const struct nvt_overview *overview,
                                   char out[NVT_OVERVIEW_TEXT]);

#endif
