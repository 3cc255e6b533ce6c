#include "budget.h"

#include <string.h>

#define GAP_LEAST                                                                                  \
    5 /* iterations that are not recorded: the first bears what is left of the block */
#define BARE_LEAST  3   /* for a mean */
#define BLOCK_LEAST 36  /* iterations that a block may have, or */
#define BLOCK_OF    0.9 /* so much of the shortest cycle */
#define AGE_OF_CYCLE                                                                               \
    1000 /* of a run that is so many cycles old, cycles get longer: their number is bounded */

/* Without libm, which a traced program need not have. */
static double root(double x)
{
    double guess = x > 1 ? x : 1;
    for (int i = 0; i < 1100 && guess * guess > x * (1 + 1e-9); i++)
        guess = (guess + x / guess) / 2;
    return x > 0 ? guess : 0;
}

/* Who looks at a sum again and again, and spends more while it seems small, needs a wider interval than who looks once: by so much, as the
 * simulations of tests/test_budget.c have it. */
#define WIDER 1.25

/* Student's t for 97.5 %, by the number of values. */
static double student(uint64_t count)
{
    static const double values[] = {0,    0,    12.71, 4.30, 3.18, 2.78, 2.57, 2.45,
                                    2.36, 2.31, 2.26,  2.23, 2.20, 2.18, 2.16, 2.14};
    return count < sizeof(values) / sizeof(*values) ? values[count] : 2.13;
}

static double mean(const double *values, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

double nvt_budget_spent(const struct nvt_budget *budget)
{
    const double blocks = budget->spent + (budget->run ? budget->block : 0);
    return (blocks > 0 ? blocks : 0) + budget->watched;
}

double nvt_budget_error(const struct nvt_budget *budget)
{
    const uint64_t count = budget->blocks;
    if (count < 2) /* one block says nothing of how blocks differ */
        return budget->spent > 0 ? budget->spent : -budget->spent;
    const double by_blocks = budget->squares / (double)(count - 1) * (double)count;
    const double by_length = budget->variance;
    return WIDER * student(count) * root(by_blocks > by_length ? by_blocks : by_length);
}

/* By how much iterations that were not recorded differ: the variance of one. */
static double scatter(const struct nvt_budget *budget)
{
    const uint64_t count = budget->bares < NVT_BUDGET_BARE ? budget->bares : NVT_BUDGET_BARE;
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += (budget->bare[i] - budget->base) * (budget->bare[i] - budget->base);
    return sum / (double)(count - 1);
}

/* The block is over, as one iteration behind it is. */
static void end_block(struct nvt_budget *budget)
{
    const double each = budget->block / (double)budget->run;
    const double before = budget->mean;
    budget->blocks++;
    budget->spent += budget->block;
    budget->mean += (budget->block - before) / (double)budget->blocks;
    budget->squares += (budget->block - before) * (budget->block - budget->mean);
    /* Blocks differ in length: each has the errors of its iterations, and for each of them that of the mean, which is the same one. */
    const double length = (double)budget->run + 1;
    budget->variance += scatter(budget) * (length + length * length / NVT_BUDGET_BARE);
    const double average = budget->spent / (double)budget->recorded;
    budget->each = each > average ? each : average;
    budget->each = budget->each > 0 ? budget->each : 0;
    budget->run = 0;
}

static void note_bare(struct nvt_budget *budget, double took)
{
    budget->bare[budget->bares++ % NVT_BUDGET_BARE] = took;
    if (budget->bares >= BARE_LEAST)
        budget->base =
            mean(budget->bare, budget->bares < NVT_BUDGET_BARE ? budget->bares : NVT_BUDGET_BARE);
}

/* An iteration has ended. */
static void take(struct nvt_budget *budget, double took)
{
    budget->iterations++;
    if (budget->is_recorded) {
        budget->recorded++;
        budget->run++;
        budget->block += took - budget->base;
        return;
    }
    budget->gap++;
    if (budget->run) {
        budget->block += took - budget->base;
        end_block(budget);
    } else
        note_bare(budget, took);
}

/* What may still be spent: in all, and by the next block, as what was saved is not spent at once. */
static double room(const struct nvt_budget *budget, uint64_t now)
{
    const double all = nvt_budget_spent(budget) + nvt_budget_error(budget);
    return budget->share * ((double)(now - budget->began) - all) - all;
}

static double allowance(const struct nvt_budget *budget, uint64_t now)
{
    const double of_block = budget->share * (double)(now - budget->block_began);
    const double of_all = room(budget, now);
    return of_block < of_all ? of_block : of_all;
}

/* How many iterations a block may have is settled before it begins: if it went on for as long as it seems to be cheap, errors of
 * measurement would decide, and would not be independent of what is measured. */
static uint64_t plan(const struct nvt_budget *budget, uint64_t now)
{
    const double by_time = BLOCK_OF * budget->least_cycle / budget->base;
    const double longest = by_time > BLOCK_LEAST ? by_time : BLOCK_LEAST;
    const double most =
        longest < 2 * (double)budget->planned ? longest : 2 * (double)budget->planned;
    const double affordable = budget->each > 0        ? allowance(budget, now) / budget->each
                              : room(budget, now) < 0 ? 0
                                                      : longest;
    const double planned = most < 1 ? 1 : affordable < most ? affordable : most;
    return affordable < 1 ? 0 : (uint64_t)planned;
}

/* Whether the block goes on: not if it turns out to be far more expensive than errors of measurement would have it. */
static int goes_on(const struct nvt_budget *budget, uint64_t now)
{
    const double run = (double)budget->run;
    const double error = 3 * root(scatter(budget) * (run + run * run / NVT_BUDGET_BARE));
    return budget->run < budget->planned && room(budget, now) > 0 &&
           budget->block < budget->allowed + budget->share * run * budget->base + error;
}

static int begins(const struct nvt_budget *budget, uint64_t now)
{
    const double age = (double)(now - budget->began) / AGE_OF_CYCLE;
    const double least = age > budget->least_cycle ? age : budget->least_cycle;
    return budget->base > 0 && budget->gap >= GAP_LEAST &&
           (!budget->blocks || (double)(now - budget->block_began) >= least);
}

int nvt_budget_next(struct nvt_budget *budget, uint64_t now, uint64_t pushes)
{
    uint64_t planned;
    if (!budget->began) {
        budget->began = budget->last = budget->block_began = now;
        return 0;
    }
    budget->watched += budget->watch * (double)pushes;
    take(budget, (double)(now - budget->last));
    budget->last = now;
    if (budget->is_recorded) {
        budget->is_recorded = goes_on(budget, now);
        budget->gap = 0;
    } else if (begins(budget, now) && (planned = plan(budget, now))) {
        budget->is_recorded = 1;
        budget->planned = planned;
        budget->allowed = allowance(budget, now);
        budget->block_began = now;
        budget->run = 0;
        budget->block = 0;
    }
    return budget->is_recorded;
}
