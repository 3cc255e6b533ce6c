#include "budget.h"

#include <string.h>

#include "../lib/count_of.h"

#define GAP_LEAST                                                                                  \
    5 /* iterations that are not recorded: the first bears what is left of the block */
#define BARE_LEAST  3   /* for a mean */
#define BLOCK_LEAST 36  /* iterations that a block may have, or */
#define BLOCK_OF    0.9 /* so much of the shortest cycle */
#define AGE_OF_CYCLE                                                                               \
    1000 /* of a run that is so many cycles old, cycles get longer: their number is bounded */
#define RARE         (1.0 / 20) /* of iterations: where fewer can be recorded, the level is lowered */
#define LEVEL_BLOCKS 2          /* that a level is judged by, at least */
#define TRY_CYCLES   64         /* one that was too dear is tried again after so many cycles, */
#define TRY_OF       32         /* and so many times the time that pays for one of its iterations */

/* Without libm, which a traced program need not have: a first guess by the exponent, and Newton's steps. */
static double root(double x)
{
    uint64_t bits;
    double guess;
    if (!(x > 0))
        return 0;
    memcpy(&bits, &x, sizeof(bits));
    bits = (bits >> 1) + (UINT64_C(1023) << 51);
    memcpy(&guess, &bits, sizeof(guess));
    for (int i = 0; i < 4; i++)
        guess = (guess + x / guess) / 2;
    return guess;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Who looks at a sum again and again, and spends more while it seems small, needs a wider interval than who looks once: by so much, as the
 * simulations of tests/test_budget.c have it. */
#define WIDER 1.25

/* Student's t for 97.5 %, by the number of values. */
static double student(uint64_t count)
{
    static const double values[] = {0,    0,    12.71, 4.30, 3.18, 2.78, 2.57, 2.45,
                                    2.36, 2.31, 2.26,  2.23, 2.20, 2.18, 2.16, 2.14};
    return count < NVT_COUNT_OF(values) ? values[count] : 2.13;
}

static double mean(const double *values, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* --- what it cost ----------------------------------------------------------------------------------- */

/* A value and its standard deviation. */
struct estimate {
    double value, error;
};

/* What was expected and what was measured, weighed by their errors. Where they differ by more than the measurement's error accounts for,
 * what was expected is the more in doubt the more they differ. */
static struct estimate combine(struct estimate expected, struct estimate measured)
{
    const double differ = measured.value - expected.value;
    const double apart = (differ < 0 ? -differ : differ) - 1.5 * measured.error;
    const double doubt = larger(expected.error, apart);
    const double weight =
        doubt > 0 ? doubt * doubt / (doubt * doubt + measured.error * measured.error) : 0;
    return (struct estimate){expected.value + weight * differ, measured.error * root(weight)};
}

/* Of all blocks, by bare iterations: twice the error of what they cost. */
static double compared_error(const struct nvt_budget *budget)
{
    const uint64_t count = budget->blocks;
    const double by_length = budget->variance;
    const double spent = budget->spent < 0 ? -budget->spent : budget->spent;
    if (count < 2) /* one block says nothing of how blocks differ */
        return larger(spent, 2 * WIDER * root(by_length));
    const double by_blocks = budget->squares / (double)(count - 1) * (double)count;
    return WIDER * student(count) * root(larger(by_blocks, by_length));
}

struct nvt_budget_cost nvt_budget_cost(const struct nvt_budget *budget)
{
    const struct nvt_budget_known *known = &budget->known;
    const double compared = budget->spent + (budget->run ? budget->block : 0);
    const double error = compared_error(budget);
    const struct estimate all =
        combine((struct estimate){known->events + known->turned, known->doubt},
                (struct estimate){compared, error / 2});
    return (struct nvt_budget_cost){.spent = larger(all.value, 0) + known->watched,
                                    .error = 2 * all.error,
                                    .compared = compared + known->watched,
                                    .compared_error = error};
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

/* The variance of what so many iterations of a block cost: each has its own error, and all have that of the mean. */
static double variance_of(const struct nvt_budget *budget, double length)
{
    const double count = budget->bares < NVT_BUDGET_BARE ? (double)budget->bares : NVT_BUDGET_BARE;
    return scatter(budget) * (length + length * length / count);
}

/* --- blocks ----------------------------------------------------------------------------------------- */

/* What an iteration of this level is expected to cost, by what is known since it began and by the block that has ended. */
static void expect(struct nvt_budget *budget, double variance)
{
    const double all = (double)budget->level_recorded, run = (double)budget->run;
    const double turned = budget->known.turned - budget->block_turned;
    const double doubt = budget->known.doubt - budget->level_known.doubt;
    const struct estimate known = {(budget->known.events - budget->level_known.events) / all,
                                   doubt < 0 ? NVT_BUDGET_UNKNOWN : doubt / all};
    const struct estimate block = {(budget->block - turned) / run, root(variance) / run};
    const double latest = larger(combine(known, block).value, 0);
    budget->level_cost += latest * run;
    /* What gets dearer counts at once, what gets cheaper by and by. */
    budget->each = latest > budget->each ? latest : (latest + budget->each) / 2;
}

/* The block is over, as one iteration behind it is. */
static void end_block(struct nvt_budget *budget)
{
    const double before = budget->mean;
    const double variance = variance_of(budget, (double)budget->run + 1);
    budget->blocks++;
    budget->level_blocks++;
    budget->spent += budget->block;
    budget->mean += (budget->block - before) / (double)budget->blocks;
    budget->squares += (budget->block - before) * (budget->block - budget->mean);
    budget->variance += variance;
    expect(budget, variance);
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
        budget->level_recorded++;
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
    const struct nvt_budget_cost cost = nvt_budget_cost(budget);
    const double all = cost.spent + cost.error;
    return budget->share * ((double)(now - budget->began) - all) - all;
}

static double allowance(const struct nvt_budget *budget, uint64_t now)
{
    return smaller(budget->share * (double)(now - budget->block_began), room(budget, now));
}

/* What it costs to begin a block and to end it. */
static double turning(const struct nvt_budget *budget)
{
    return budget->blocks ? budget->known.turned / (double)budget->blocks : 0;
}

static double longest(const struct nvt_budget *budget)
{
    return larger(BLOCK_OF * budget->least_cycle / budget->base, BLOCK_LEAST);
}

/* How many iterations a block may have is settled before it begins: if it went on for as long as it seems to be cheap, errors of
 * measurement would decide, and would not be independent of what is measured. Blocks last long enough for turning not to be most of
 * what they cost. */
static uint64_t plan(const struct nvt_budget *budget, uint64_t now)
{
    const double turned = turning(budget), left = allowance(budget, now) - turned;
    const double twice = larger(2 * (double)budget->planned, 1);
    const double most = smaller(longest(budget), twice);
    if (left <= 0)
        return 0;
    const double affordable = budget->each > 0 ? left / budget->each : longest(budget);
    if (affordable < 1 || (affordable < most && affordable * budget->each < turned))
        return 0;
    return (uint64_t)smaller(affordable, most);
}

/* `each`: what one of its iterations is expected to cost. */
static void begin_level(struct nvt_budget *budget, uint32_t level, double each, uint64_t now)
{
    budget->level = level;
    budget->level_blocks = budget->level_recorded = budget->planned = 0;
    budget->level_known = budget->known;
    budget->level_cost = 0;
    budget->level_began = now;
    budget->each = each;
}

/* Too dear: where that shows soon after it was tried again, it is tried half as often. */
static void leave_level(struct nvt_budget *budget, double cost, uint64_t now)
{
    double *wait = &budget->left[budget->level].wait;
    const double lasted = (double)(now - budget->level_began);
    const double first = larger(TRY_CYCLES * budget->least_cycle, TRY_OF * cost / budget->share);
    *wait = larger(lasted < *wait ? 2 * *wait : 0, first);
    budget->left[budget->level].cost = cost;
    begin_level(budget, budget->level + 1, 0, now);
}

/* Record less of each where only a rare one could be recorded; and after a while more again. */
static void choose_level(struct nvt_budget *budget, uint64_t now)
{
    const uint32_t level = budget->level;
    if (budget->level_blocks < LEVEL_BLOCKS)
        return;
    /* One that was delayed by something else says little. */
    const double usual = budget->level_cost / (double)budget->level_recorded;
    const double cost = smaller(budget->each, usual) + turning(budget) / longest(budget);
    const int is_dear = budget->share * budget->base < RARE * cost;
    if (is_dear && level + 1 < budget->levels)
        leave_level(budget, cost, now);
    else if (level && (double)(now - budget->level_began) >= budget->left[level - 1].wait)
        begin_level(budget, level - 1, budget->left[level - 1].cost, now);
}

/* Whether the block goes on: not if it turns out to be far more expensive than errors of measurement would have it. */
static int goes_on(const struct nvt_budget *budget, uint64_t now)
{
    const double run = (double)budget->run;
    return budget->run < budget->planned && room(budget, now) > 0 &&
           budget->block < budget->allowed + budget->share * run * budget->base +
                               3 * root(variance_of(budget, run));
}

static int is_time(const struct nvt_budget *budget, uint64_t now)
{
    const double age = (double)(now - budget->began) / AGE_OF_CYCLE;
    return budget->base > 0 && budget->gap >= GAP_LEAST &&
           (!budget->blocks ||
            (double)(now - budget->block_began) >= larger(age, budget->least_cycle));
}

static void begin_block(struct nvt_budget *budget, uint64_t now, uint64_t planned)
{
    budget->is_recorded = 1;
    budget->planned = planned;
    budget->allowed = allowance(budget, now);
    budget->block_began = now;
    budget->block_turned = budget->known.turned;
    budget->run = 0;
    budget->block = 0;
}

int nvt_budget_next(struct nvt_budget *budget, uint64_t now, const struct nvt_budget_known *known)
{
    uint64_t planned;
    if (!budget->began) {
        budget->began = budget->last = budget->block_began = now;
        return 0;
    }
    budget->known = *known;
    take(budget, (double)(now - budget->last));
    budget->last = now;
    if (budget->is_recorded) {
        budget->is_recorded = goes_on(budget, now);
        budget->gap = 0;
    } else if (is_time(budget, now)) {
        choose_level(budget, now);
        if ((planned = plan(budget, now)))
            begin_block(budget, now, planned);
    }
    return budget->is_recorded;
}
