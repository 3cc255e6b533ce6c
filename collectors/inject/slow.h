/*
 * record --on-slow: an iteration (steps.h) that takes longer than others before it in its process is counted on the control page when it
 * ends, and the recorder woken. One that goes on has a place there with the time from which on it is too long, so that the recorder
 * finds one that hangs (trigger.h); which it has found is not counted again when it ends.
 */
#ifndef NVT_INJECT_SLOW_H
#define NVT_INJECT_SLOW_H

#include <stdint.h>

/* The process has joined the session. `is_visible`: the recorder numbers processes as we do; else none that goes on has a place. */
void nvt_slow_join(int is_visible);

/* The thread begins an iteration. */
void nvt_slow_begin(void);

/* Where ranges are recorded: behind each push and pop with its level, and behind each start and end. */
void nvt_slow_pushed(uint32_t domain, int level);
void nvt_slow_popped(uint32_t domain, int level);
void nvt_slow_started(uint64_t range);
void nvt_slow_ended(uint64_t range);

#endif
