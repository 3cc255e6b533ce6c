/*
 * Processes that started the program and are not it: timeout, env, a shell, make, mpirun, torchrun, the wrappers of version
 * managers. They are known by what they did, not by their names:
 *
 *   - One that waited for its children while they ran: in OS calls that wait for 80 % of that time, half of it in calls that wait
 *     for an end or a child's output; or 95 %, whatever it waited for, of children that run another program. It took no more
 *     than 10 % (5 %) of that time as CPU time, and its children ran for half of its own time.
 *   - One that became another program (exec), and what it had started and waited for until then.
 *
 * None of them made a range, a mark, a device operation or an MPI call. One that became another program took at most 1 s of CPU
 * time or a tenth of the whole trace's. What is needed to know them is not in every format: an export says which they were
 * (processes.is_launcher).
 */
#ifndef NVT_LAUNCHERS_H
#define NVT_LAUNCHERS_H

#include "trace.h"

/* Which processes are launchers: 1 in a byte for each row of processes. The innermost one of a chain is none. malloc'ed, *count
 * gets how many; NULL when out of memory. */
uint8_t *nvt_launchers_find(const struct nvt_trace *trace, uint32_t *count);

/* Leave the OS calls and CPU samples of launchers out of a finished trace, with a note that names some. 0, or -1 when out of
 * memory. */
int nvt_launchers_leave_out(struct nvt_trace *trace);

#endif
