/*
 * Sessions whose recorder was killed: their folders hold memory (/dev/shm) until somebody removes
 * them.
 */
#ifndef NVT_STALE_H
#define NVT_STALE_H

#include <stdint.h>

/*
 * Remove the session folders in `place` whose recorder is dead. A folder goes only when all of this holds: it is a real
 * folder named nvtally-XXXXXX, ours, and closed to everybody else; its control page has this version and no process
 * holds the lock on it; no process with the recorder's number and start lives; and of a standing session, no process has joined it and
 * nobody keeps it, for a minute. Only what a session makes is removed
 * from it, so a folder with anything else stays. Processes that are still attached keep what they have mapped. Errors
 * mean that it stays.
 */
void nvt_stale_remove(const char *place);

/* Whether nobody can come to use a standing session without a recorder, with that page: nobody keeps it, and no process has joined it. Of
 * one of another pid namespace it is not known: 0. */
struct nvt_control;
int nvt_stale_is_left(const struct nvt_control *page, const char *folder);

/* When a process started, in clock ticks since boot (/proc/PID/stat, field 22). 0 when it cannot be
 * read: no such process, or no /proc. */
uint64_t nvt_process_start(int pid);

/* Whether a process of that number lives that started then; where the start cannot be read, whether one of that number does. */
int nvt_process_is(int pid, uint64_t start);

/* Whether a process of that number lives, whenever it started. */
int nvt_process_lives(int pid);

#endif
