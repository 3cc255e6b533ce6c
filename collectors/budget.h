/*
 * record --budget: which iterations are recorded, and how much of them, so that recording slows a program down by no more than a given
 * share. Iterations are recorded in blocks, each followed by some that are not.
 *
 * What recording has cost is known in two ways. The caller knows what it does: events times what one takes, and the time to begin and end
 * blocks. And iterations of a block, with the first one behind it, take longer than the mean of those that are not recorded. The first
 * is exact about what it covers and knows nothing of the rest; the second covers all, with the noise of iterations. Both are combined as
 * their errors have it: where iterations differ much, what is known decides; where they show that recording costs more (or less), they
 * do. A further iteration is recorded only where all that was spent so far, at the upper end of its 95 % interval, and what one more
 * is expected to cost, lie within the budget of the time so far.
 *
 * Where so few iterations could be recorded that they are rare, less is recorded of each: the next level, as long as there is one. After a
 * while the level before is tried again, as what made it dear may be gone; where it is not, it is tried less and less often.
 *
 * Nothing here reads a clock or the page, so that a test can simulate programs.
 */
#ifndef NVT_BUDGET_H
#define NVT_BUDGET_H

#include <stdint.h>

#define NVT_BUDGET_BARE                                                                            \
    31 /* of so many iterations that were not recorded, the latest, the mean is taken */
#define NVT_BUDGET_UNKNOWN  1e100 /* a doubt: nothing is known */
#define NVT_BUDGET_CYCLE_NS 5e7   /* blocks begin no sooner after one another */
#define NVT_BUDGET_LEVELS   4     /* at most */

/* What the caller knows, in ticks since the first iteration. */
struct nvt_budget_known {
    double watched; /* spent to know what an iteration is, whether it is recorded or not */
    double turned;  /* spent to begin and end blocks, */
    double events;  /* and to record, as far as that is known, */
    double doubt;   /* which may be wrong by so much (a standard deviation) */
};

/* Zero-initialise but for the first three. Times are in ticks. */
struct nvt_budget {
    double share;       /* that recording may cost: 0.01 is 1 % */
    double least_cycle; /* blocks begin no sooner after one another: each is a part of the trace */
    uint32_t levels;    /* that there are to choose from; 0 counts as 1 */
    uint32_t level;     /* of the block, or of the next one: 0 is all that is asked for */
    uint64_t began, last;          /* the beginning of the first iteration, and of the latest */
    int is_recorded;               /* the latest is */
    uint64_t iterations, recorded; /* that have ended */
    struct nvt_budget_known known;
    double bare[NVT_BUDGET_BARE];
    uint64_t bares;    /* that there were */
    double base;       /* their mean; 0: not known yet */
    uint64_t run, gap; /* iterations of this block; behind it */
    uint64_t planned;  /* that it may have */
    uint64_t block_began;
    double block;         /* what the block has cost so far */
    double block_turned;  /* known.turned as it began */
    double allowed;       /* that it may cost */
    uint64_t blocks;      /* that are over, */
    double spent;         /* what they cost in all, */
    double mean, squares; /* and by block: its mean, and the sum of squared differences from that */
    double variance;      /* of what they cost, as their lengths have it */
    double each;          /* what an iteration is expected to cost, without turning */
    double level_cost;    /* what those of this level did, as far as blocks are over */
    uint64_t level_blocks, level_recorded; /* since this level */
    struct nvt_budget_known level_known;   /* as it began, */
    uint64_t level_began;                  /* which is when */
    struct {
        double cost;           /* that an iteration was expected to have, */
        double wait;           /* and how long it is not tried again */
    } left[NVT_BUDGET_LEVELS]; /* levels that were too dear */
};

/* An iteration begins at `now`; `known` is of those before it. Whether it is to be recorded. */
int nvt_budget_next(struct nvt_budget *budget, uint64_t now, const struct nvt_budget_known *known);

/* What was spent so far, in ticks, and by how much that may be wrong (95 %): both ways combined, and by bare iterations alone. */
struct nvt_budget_cost {
    double spent, error;
    double compared, compared_error;
};
struct nvt_budget_cost nvt_budget_cost(const struct nvt_budget *budget);

#endif
