#include "spending.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../budget.h"
#include "cupti_trace.h"
#include "events.h"
#include "session.h"

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
static double cost_of_watching(void)
{
    nvtxEventAttributes_t attributes = {.messageType = NVTX_MESSAGE_TYPE_ASCII};
    attributes.message.ascii = "";
    const struct nvt_event push = {.kind = NVT_EVENT_PUSH, .attributes = &attributes},
                           pop = {.kind = NVT_EVENT_POP};
    uint64_t fastest = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t began = nvt_ticks(nvt_session.control->clock);
        for (int i = 0; i < PAIRS; i++) {
            nvt_event_push(&push);
            nvt_event_pop(&pop);
        }
        const uint64_t took = nvt_ticks(nvt_session.control->clock) - began;
        fastest = took < fastest ? took : fastest;
    }
    return (double)fastest / PAIRS;
}

/* --- the window ----------------------------------------------------------------------------------- */

/* The recorder takes the moments from the page; it looks ten times a second, and blocks begin less often. */
static void turn(int opens, uint64_t now)
{
    struct nvt_control *control = nvt_session.control;
    const uint32_t part = atomic_load(&control->parts) % NVT_PARTS;
    if (opens) {
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

static void publish(void)
{
    struct nvt_control *control = nvt_session.control;
    atomic_store(&control->budget_iterations, budget.iterations);
    atomic_store(&control->budget_recorded, budget.recorded);
    atomic_store(&control->budget_elapsed, budget.last - budget.began);
    atomic_store(&control->budget_spent, (uint64_t)nvt_budget_spent(&budget));
    atomic_store(&control->budget_watched, (uint64_t)budget.watched);
    atomic_store(&control->budget_error, (uint64_t)nvt_budget_error(&budget));
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
                                 .watch = cost_of_watching()};
    return 1;
}

void nvt_spending_note(uint64_t pushes)
{
    /* Of two threads at once, or a signal handler, one is left out. */
    if (atomic_flag_test_and_set(&is_deciding))
        return;
    if (decides()) {
        const uint64_t now = nvt_ticks(nvt_session.control->clock);
        const int was_open = budget.is_recorded;
        if (nvt_budget_next(&budget, now, pushes) != was_open)
            turn(!was_open, now);
        publish();
    }
    atomic_flag_clear(&is_deciding);
}

/* Another process may decide from here on. */
__attribute__((destructor)) static void leave(void)
{
    struct nvt_control *control = nvt_session.control;
    if (!nvt_spending_watches || !control ||
        atomic_load(&control->decider) != (int32_t)syscall(SYS_getpid))
        return;
    if (budget.is_recorded)
        turn(0, nvt_ticks(control->clock));
    atomic_store(&control->decider, 0);
}
