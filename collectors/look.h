/*
 * What the threads of the recorded processes are in at one moment, as the system has it: a trace that ends while its program goes on
 * knows nothing of later, and a thread that waits on purpose looks like one that hangs until it goes on.
 */
#ifndef NVT_LOOK_H
#define NVT_LOOK_H

#include "output.h"
#include "owners.h"

/*
 * Write a chunk LOOK (docs/trace-format.md) of each process that lives and is known here: of each of its threads the name of the call of
 * libc that stands for the system call that it is in (lib/os_calls.def), "futex" or "system call 17" where none does, or "running".
 * From /proc/PID/task/TID/syscall, which does not disturb it. Threads of the CUDA driver and of collectors are left out, as they wait
 * all the time. Where the system does not say, nothing is written.
 */
void nvt_look(const struct nvt_owners *owners, struct nvt_output *output, uint64_t ticks);

#endif
