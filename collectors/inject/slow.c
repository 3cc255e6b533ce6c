#include "slow.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../wake.h"
#include "session.h"

#define OF_THREAD __thread __attribute__((tls_model("initial-exec")))

/* What the last iterations of this process took, in ticks. */
enum { RECENT = 32, LEAST = 8 };
static uint64_t recent[RECENT];
static uint32_t known;
static atomic_flag is_judging = ATOMIC_FLAG_INIT;
/* Of the next one, by those before it, ticks: what is too long, and their median; 0: not known. */
static _Atomic uint64_t limit, usual;
static int has_places; /* for those that go on */

/* The iteration that the thread is in. */
static OF_THREAD struct {
    uint64_t began; /* ticks; 0: none */
    uint64_t range; /* of a start/end range; 0: a push */
    uint32_t domain;
    int level;      /* of a push; -1: not known yet */
    uint32_t place; /* on the page, from 1 on; 0: none */
} current;

static int32_t own_pid(void)
{
    return (int32_t)syscall(SYS_getpid);
}

void nvt_slow_join(int is_visible)
{
    struct nvt_control *control = nvt_session.control;
    has_places = is_visible && (control->slow_percent || control->slow_ticks);
    atomic_store(&limit, control->slow_ticks);
    /* Those of before exec have no end any more. */
    for (int i = 0; has_places && i < NVT_RUNNING; i++)
        if (atomic_load(&control->running[i].process) == own_pid())
            atomic_store(&control->running[i].due, NVT_RUNNING_FREE);
}

/* --- a place for one that goes on --- */

static void take_place(void)
{
    struct nvt_control *control = nvt_session.control;
    const uint64_t most = atomic_load(&limit);
    for (uint32_t i = 0; has_places && most && i < NVT_RUNNING; i++) {
        uint64_t free = NVT_RUNNING_FREE;
        if (!atomic_compare_exchange_strong(&control->running[i].due, &free, NVT_RUNNING_TAKEN))
            continue;
        atomic_store(&control->running[i].process, own_pid());
        atomic_store(&control->running[i].began, current.began);
        atomic_store(&control->running[i].usual, atomic_load(&usual));
        atomic_store(&control->running[i].due, current.began + most);
        current.place = i + 1;
        return;
    }
}

/* Whether the recorder has found it. The place of a forked child's parent is not the child's. */
static int leave_place(void)
{
    struct nvt_control *control = nvt_session.control;
    const uint32_t place = current.place;
    current.place = 0;
    return place && atomic_load(&control->running[place - 1].process) == own_pid() &&
           atomic_exchange(&control->running[place - 1].due, NVT_RUNNING_FREE) == NVT_RUNNING_FOUND;
}

/* --- its end --- */

static uint64_t median(void)
{
    uint64_t sorted[RECENT] = {0};
    const uint32_t size = known < RECENT ? known : RECENT;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t at = i;
        for (; at && sorted[at - 1] > recent[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = recent[i];
    }
    return size % 2 ? sorted[size / 2] : (sorted[size / 2 - 1] + sorted[size / 2]) / 2;
}

static void judge(uint64_t took, int was_found)
{
    struct nvt_control *control = nvt_session.control;
    const uint64_t most = atomic_load(&limit), before = atomic_load(&usual);
    recent[known++ % RECENT] = took;
    known = known == 2 * RECENT ? RECENT : known;
    if (control->slow_percent && known >= LEAST) {
        atomic_store(&usual, median());
        atomic_store(&limit, atomic_load(&usual) / 100 * control->slow_percent);
    }
    if (!most || took <= most || was_found)
        return;
    atomic_store(&control->slow_took, took);
    atomic_store(&control->slow_usual, before);
    atomic_fetch_add(&control->slow, 1);
    nvt_control_wake(control);
}

static void end(void)
{
    const uint64_t took = nvt_ticks(nvt_session.control->clock) - current.began;
    const int was_found = leave_place();
    current.began = 0;
    /* Of two at once, or in a signal handler, one is left out. */
    if (atomic_flag_test_and_set(&is_judging))
        return;
    judge(took, was_found);
    atomic_flag_clear(&is_judging);
}

/* --- events --- */

void nvt_slow_begin(void)
{
    const struct nvt_control *control = nvt_session.control;
    if (!control->slow_percent && !control->slow_ticks)
        return;
    if (current.place) /* one that has another within, or that was not recorded to its end */
        leave_place();
    current.began = nvt_ticks(control->clock);
    current.range = 0;
    current.level = -1;
}

void nvt_slow_pushed(uint32_t domain, int level)
{
    if (!current.began || current.range || current.level >= 0)
        return;
    current.domain = domain;
    current.level = level;
    take_place();
}

void nvt_slow_popped(uint32_t domain, int level)
{
    if (current.began && !current.range && current.domain == domain && current.level == level)
        end();
}

void nvt_slow_started(uint64_t range)
{
    if (!current.began || current.range || current.level >= 0)
        return;
    current.range = range;
    take_place();
}

void nvt_slow_ended(uint64_t range)
{
    if (current.began && current.range == range)
        end();
}
