/*
 * Names that programs give to the iterations of their loops: iter, step, batch, train_step, "epoch 3/step 12", with or without
 * numbers, in whatever letters. A name alone says little: an optimizer has steps too, and what loads a batch is called so. So
 * the ranges of such a name are iterations only where they lie like some (nvt_loop_find).
 */
#ifndef NVT_LOOP_NAMES_H
#define NVT_LOOP_NAMES_H

#include "trace.h"

/* Which of these names it is, the same for "train_step 7" and "Train Step"; 0: none. */
unsigned nvt_loop_of(const char *name);

/* Whether it is `forward`, whose ranges are phases as well. */
int nvt_loop_is_inference(unsigned loop);

/*
 * Which of them names the iterations of a trace; 0: none does. Its ranges follow each other: a thread has two or more, and the
 * usual pause between two is no longer than they usually are. Ranges forward and backward, if there are any, lie mostly
 * in them. Of several such names, that with most time. Where there is none, and no backward and no optimizer, it is `forward` of
 * record --pytorch in a program that infers: three or more, one after the other on a thread. Those within another of the same name and thread do not count. *loop gets it.
 * 0, or -1 when out of memory. Linear in the ranges.
 */
int nvt_loop_find(const struct nvt_trace *trace, unsigned *loop);

#endif
