/*
 * record --budget: which iterations are recorded so that recording slows a program down by no more than a given share. Iterations are
 * recorded in blocks, each followed by some that are not; what those of a block take longer than the mean of the ones that are not is
 * what they cost, with what the first one behind them takes longer. A further iteration is recorded only where all that was spent so
 * far, at the upper end of its 95 % interval, and what one more is expected to cost, lie within the budget of the time so far.
 *
 * Nothing here reads a clock or the page, so that a test can simulate programs.
 */
#ifndef NVT_BUDGET_H
#define NVT_BUDGET_H

#include <stdint.h>

#define NVT_BUDGET_BARE                                                                            \
    7 /* of so many iterations that were not recorded, the latest, the mean is taken */

/* Zero-initialise but for the first three. Times are in ticks. */
struct nvt_budget {
    double share;       /* that recording may cost: 0.01 is 1 % */
    double least_cycle; /* blocks begin no sooner after one another: each is a part of the trace */
    double watch;       /* what each push costs where nothing is recorded, to know iterations */
    uint64_t began, last;          /* the beginning of the first iteration, and of the latest */
    int is_recorded;               /* the latest is */
    uint64_t iterations, recorded; /* that have ended */
    double watched;                /* spent on all pushes so far */
    double bare[NVT_BUDGET_BARE];
    uint64_t bares;    /* that there were */
    double base;       /* their mean; 0: not known yet */
    uint64_t run, gap; /* iterations of this block; behind it */
    uint64_t planned;  /* that it may have */
    uint64_t block_began;
    double block;         /* what the block has cost so far */
    double allowed;       /* and may cost */
    uint64_t blocks;      /* that are over, */
    double spent;         /* what they cost in all, */
    double mean, squares; /* and by block: its mean, and the sum of squared differences from that */
    double variance;      /* of what they cost, as their lengths have it */
    double each;          /* what an iteration is expected to cost */
};

/* An iteration begins at `now`, after `pushes` pushes of the one before. Whether it is to be recorded. */
int nvt_budget_next(struct nvt_budget *budget, uint64_t now, uint64_t pushes);

/* What was spent so far, in ticks, and by how much that may be wrong (95 %). */
double nvt_budget_spent(const struct nvt_budget *budget);
double nvt_budget_error(const struct nvt_budget *budget);

#endif
