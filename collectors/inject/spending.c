#include "spending.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../budget.h"
#include "cupti_trace.h"
#include "dormant.h"
#include "events.h"
#include "session.h"
#include "steps.h"

int nvt_spending_watches;
static struct nvt_budget budget;
static atomic_flag is_deciding = ATOMIC_FLAG_INIT;

void nvt_spending_begin(void)
{
    nvt_spending_watches = nvt_session.control->budget > 0;
}

/* --- what it costs to watch ----------------------------------------------------------------------- */

enum { ROUNDS = 9, PAIRS = 64 };

/* A push and its pop while nothing is recorded, in ticks: the fastest of some rounds. */
static double cost_of(void (*pair)(void))
{
    uint64_t fastest = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t began = nvt_ticks(nvt_session.control->clock);
        for (int i = 0; i < PAIRS; i++)
            pair();
        const uint64_t took = nvt_ticks(nvt_session.control->clock) - began;
        fastest = took < fastest ? took : fastest;
    }
    return (double)fastest / PAIRS;
}

static void pop(void)
{
    const struct nvt_event event = {.kind = NVT_EVENT_POP};
    nvt_event_pop(&event);
}

static void pair(void)
{
    nvtxEventAttributes_t attributes = {.messageType = NVTX_MESSAGE_TYPE_ASCII};
    const struct nvt_event push = {.kind = NVT_EVENT_PUSH, .attributes = &attributes};
    attributes.message.ascii = "";
    nvt_event_push(&push);
    pop();
}

/* A pair whose name cannot be an iteration's, by its first letter. */
static void other_pair(void)
{
    if (!nvt_dormant_skips_other(""))
        pair();
    pop();
}

/* --- what is known of recording --------------------------------------------------------------------- */

/*
 * What is assumed before anything was compared. A slot of the ring costs what calibrate.c has measured, where everything is in the cache,
 * and more where it is not: twice that, give or take as much. A record of CUPTI costs 0.5 us, give or take as much: a launch, which has
 * two, takes 0.7 to 1.5 us longer on an H100 (docs/limits.md). What CUPTI's own records of overhead say is taken as it is.
 */
#define COLD          2.0
#define SLOT_LEAST_PS 10000
#define RECORD_NS     500.0
#define SURE_BLOCKS   3 /* of a process that uses CUPTI; then it has no records in its iterations */

static struct {
    double watch, other, slot, record; /* ticks each */
    double note;                       /* what it takes to decide, as a rule */
    uint64_t slots, written;           /* recorded; and by `writer` so far */
    const struct nvt_thread *writer;
} costs;
static struct nvt_budget_known known;

static void begin_knowing(void)
{
    const double ticks_per_ns = (double)nvt_session.control->budget_cycle / NVT_BUDGET_CYCLE_NS;
    const uint32_t ps = nvt_session.costs.ps[NVT_COST_PUSH_POP];
    const double slot_ps = ps / 2.0 > SLOT_LEAST_PS ? ps / 2.0 : SLOT_LEAST_PS;
    known = (struct nvt_budget_known){0};
    costs.slots = costs.written = 0;
    costs.note = 0;
    costs.writer = NULL;
    costs.slot = COLD * slot_ps / 1000 * ticks_per_ns;
    costs.record = RECORD_NS * ticks_per_ns;
    costs.watch = cost_of(pair);
    costs.other = cost_of(other_pair);
    nvt_steps_others = 0;
}

/* At the beginning of an iteration, behind that many pushes. */
static void know(uint64_t pushes, uint64_t others)
{
    const uint64_t written = nvt_self->slots ? nvt_thread_written(nvt_self) : 0;
    uint64_t overhead_ns;
    const int64_t records = nvt_cupti_records(&overhead_ns);
    if (budget.is_recorded && costs.writer == nvt_self && written > costs.written)
        costs.slots += written - costs.written;
    costs.writer = nvt_self;
    costs.written = written;
    known.watched += costs.watch * (double)pushes + costs.other * (double)others;
    known.events = costs.slot * (double)costs.slots;
    known.events += records > 0 ? costs.record * (double)records : 0;
    known.doubt = records || budget.blocks >= SURE_BLOCKS ? known.events : NVT_BUDGET_UNKNOWN;
    known.events += costs.record / RECORD_NS * (double)overhead_ns;
}

/* --- the window ----------------------------------------------------------------------------------- */

/* What is recorded of the next blocks. */
static void choose_level(void)
{
    struct nvt_control *control = nvt_session.control;
    if (atomic_load(&control->budget_level) == budget.level)
        return;
    atomic_store(&control->budget_level_part, atomic_load(&control->parts));
    atomic_fetch_add(&control->budget_level_changes, 1);
    atomic_store(&control->left_out, control->budget_leaves_out[budget.level]);
    atomic_store(&control->budget_level, budget.level);
}

/* The recorder takes the moments from the page; it looks ten times a second, and blocks begin less often. */
static void turn(int opens, uint64_t now)
{
    struct nvt_control *control = nvt_session.control;
    const uint32_t part = atomic_load(&control->parts) % NVT_PARTS;
    if (opens) {
        choose_level();
        atomic_store(&control->part_level[part], budget.level);
        atomic_store(&control->part_from[part], now);
        atomic_store(&control->opened, now);
    }
    atomic_store(&control->window, opens ? NVT_WINDOW_OPEN : NVT_WINDOW_BEFORE);
    if (!opens) {
        atomic_store(&control->part_to[part], now);
        atomic_fetch_add(&control->parts, 1);
    }
    nvt_cupti_capture();
    syscall(SYS_futex, &control->window, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#define STORE(field, value)                                                                        \
    atomic_store_explicit(&nvt_session.control->field, value, memory_order_relaxed)

/* What it had come to in the processes that decided before this one. */
static struct {
    uint64_t iterations, recorded, elapsed, watched, spent, error;
    int64_t compared;
    uint64_t compared_error;
} earlier;

#define LOAD(field) earlier.field = atomic_load(&nvt_session.control->budget_##field)

static void take_over(void)
{
    LOAD(iterations);
    LOAD(recorded);
    LOAD(elapsed);
    LOAD(watched);
    LOAD(spent);
    LOAD(error);
    LOAD(compared);
    LOAD(compared_error);
}

/* At most: what two processes do not know may go the same way. */
static uint64_t both_errors(uint64_t one, double other)
{
    const double both = (double)one + other;
    return both < (double)INT64_MAX ? (uint64_t)both : INT64_MAX;
}

/* What it has come to, with the iteration that begins. What has been spent changes with what is recorded. */
static void publish(int has_spent)
{
    STORE(budget_iterations, earlier.iterations + budget.iterations + (budget.began != 0));
    STORE(budget_recorded, earlier.recorded + budget.recorded + (budget.is_recorded != 0));
    STORE(budget_elapsed, earlier.elapsed + budget.last - budget.began);
    STORE(budget_watched, earlier.watched + (uint64_t)known.watched);
    if (!has_spent)
        return;
    const struct nvt_budget_cost cost = nvt_budget_cost(&budget);
    STORE(budget_spent, earlier.spent + (uint64_t)cost.spent);
    STORE(budget_error, both_errors(earlier.error, cost.error));
    STORE(budget_compared, earlier.compared + (int64_t)cost.compared);
    STORE(budget_compared_error, both_errors(earlier.compared_error, cost.compared_error));
}

/* Whether it is this process that decides. A child of fork has another number, and its parent's state. */
static int decides(void)
{
    struct nvt_control *control = nvt_session.control;
    const int32_t pid = (int32_t)syscall(SYS_getpid);
    int32_t none = 0;
    if (atomic_load(&control->decider) == pid)
        return 1;
    if (!atomic_compare_exchange_strong(&control->decider, &none, pid))
        return 0;
    budget = (struct nvt_budget){.share = control->budget,
                                 .least_cycle = (double)control->budget_cycle,
                                 .levels = control->budget_levels,
                                 .level = atomic_load(&control->budget_level)};
    take_over();
    begin_knowing();
    return 1;
}

/* What it has taken to decide. It waits for nothing: what takes much longer was not running. */
static double note_of(double took)
{
    if (costs.note > 0 && took > 4 * costs.note)
        return costs.note;
    costs.note = costs.note > 0 ? costs.note + (took - costs.note) / 16 : took;
    return took;
}

static void decide(uint64_t pushes, uint64_t others, uint64_t began)
{
    const uint32_t clock = nvt_session.control->clock;
    const int was_open = budget.is_recorded;
    const uint64_t blocks = budget.blocks;
    know(pushes, others);
    const int is_open = nvt_budget_next(&budget, began, &known);
    const uint64_t before = nvt_ticks(clock);
    if (is_open != was_open)
        turn(is_open, began);
    const uint64_t turned = nvt_ticks(clock);
    known.turned += is_open != was_open ? (double)(turned - before) : 0;
    publish(is_open || was_open || budget.blocks != blocks || budget.iterations % 64 == 0);
    known.watched += note_of((double)(nvt_ticks(clock) - turned + before - began));
}

void nvt_spending_note(uint64_t pushes, uint64_t others, uint64_t began)
{
    /* Of two threads at once, or a signal handler, one is left out. */
    if (atomic_flag_test_and_set(&is_deciding))
        return;
    if (decides())
        decide(pushes, others, began);
    atomic_flag_clear(&is_deciding);
}

/* Another process may decide from here on. */
__attribute__((destructor)) static void leave(void)
{
    struct nvt_control *control = nvt_session.control;
    if (!nvt_spending_watches || !control ||
        atomic_load(&control->decider) != (int32_t)syscall(SYS_getpid))
        return;
    publish(1);
    if (budget.is_recorded)
        turn(0, nvt_ticks(control->clock));
    atomic_store(&control->decider, 0);
}
