/*
 * Turns: processes that are alive at the same time and work one after the other, in a fixed order that
 * starts again from the front. `nvtally run --interleave iterations` compares levels of collection so: what
 * is measured at one level and at another lies milliseconds apart.
 *
 * They share one small file, which the process that starts them makes. In it is one word, whose turn it is
 * and who is gone for good, that is changed as a whole (compare and swap) and waited for by futex. Who is
 * gone is left out of the order. Somebody is gone who said so, of whom the one that made the file said so,
 * or who has died: each of them holds a lock (fcntl) on a byte of the file, which the kernel takes back from
 * the dead, whatever they died of, and who waits looks after it every second.
 *
 * Not for threads: of one process only one may take part, and it may open the file only once, as closing
 * any descriptor of a file gives up the process's locks on it.
 */
#ifndef NVT_TURNS_H
#define NVT_TURNS_H

#include <stdint.h>

#include "../../lib/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NVT_TURNS_MOST 16 /* who may take part */

struct nvt_turns;

/* Make the file for `count` processes, of which number 0 has the first turn. It must not be there. 0, or -1
 * with err: it cannot be made or locked. */
int nvt_turns_create(const char *path, int64_t count, struct nvt_turns **turns,
                     struct nvt_error *err);

/* By the one that made it: `who` is gone. If it was its turn, it is the next one's. */
void nvt_turns_leave(struct nvt_turns *turns, int64_t who);

/* Take part as number `who`, from 0. 0, or -1 with err: no such file, none of ours, no such place, the place
 * is taken, or who has it was told to be gone. */
int nvt_turns_join(const char *path, int64_t who, struct nvt_turns **turns, struct nvt_error *err);

/* Wait until it is our turn; at once if it is. 0, or -1 with err: it will never be, as we were told to be
 * gone. */
int nvt_turns_take(struct nvt_turns *turns, struct nvt_error *err);

/* Our turn is over; without effect when it was not ours. */
void nvt_turns_pass(struct nvt_turns *turns);

/* Of one that takes part: it is gone. Of the one that made the file: it is removed. NULL is let be. */
void nvt_turns_close(struct nvt_turns *turns);

#ifdef __cplusplus
}
#endif
#endif
