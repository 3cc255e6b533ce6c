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

/* Whether it is `forward`, whose ranges are phases as well; of what nvt_loop_find gave. */
int nvt_loop_is_inference(unsigned loop);

/* Whether the iterations of a trace are such forward passes. */
static inline int nvt_infers(const struct nvt_trace *trace)
{
    return !trace->iteration && nvt_loop_is_inference(trace->loop);
}

/* Whether iterations of a loop that nvt_loop_find gave may have this name, and whether a range is one. */
int nvt_is_loop_name(const char *name, unsigned loop);
int nvt_is_of_loop(const struct nvt_trace *trace, unsigned loop, uint32_t range);

/*
 * Which of them names the iterations of a trace; 0: none does. Its ranges follow each other: a thread has two or more, and the
 * usual pause between two is no longer than they usually are. Ranges forward and backward, if there are any, lie mostly
 * in them. Of several such names, that with most time. Those within another of the same name and thread do not count.
 *
 * Where there is none, and no backward and no optimizer, it is `forward` of record --pytorch in a program that infers, on whatever
 * threads. Where several models are called, it is that of one: of those called three times and more,
 * and a fifth as often as any, the one with most time. The
 * number then has that model's name, too. *loop gets it.
 * 0, or -1 when out of memory. Linear in the ranges.
 */
int nvt_loop_find(const struct nvt_trace *trace, unsigned *loop);

#endif
