/*
 * record --budget: the first process that has iterations decides by them what is recorded (../budget.h), and turns the window on the
 * control page for all. It is open from the beginning of an iteration to the beginning of another.
 */
#ifndef NVT_INJECT_SPENDING_H
#define NVT_INJECT_SPENDING_H

#include <stdint.h>

extern int nvt_spending_watches; /* the session is such a one */

/* The process has joined it. */
void nvt_spending_begin(void);

/* An iteration begins, which this thread is about to push, since `began` (ticks); it has pushed so many ranges in the one before, and others
 * that were left out by their first letter. */
void nvt_spending_note(uint64_t pushes, uint64_t others, uint64_t began);

#endif
