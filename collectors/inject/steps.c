#include "steps.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../wake.h"
#include "capture.h"
#include "session.h"
#include "spending.h"

#define NO_STEP   UINT64_MAX
#define OF_THREAD __thread __attribute__((tls_model("initial-exec")))

int nvt_steps_watch;
static _Atomic int owner;      /* the process that has had */
static _Atomic uint64_t count; /* so many iterations */
static OF_THREAD uint64_t noted = NO_STEP;
static OF_THREAD uint32_t pushes; /* since its last iteration began */
/* The request whose first iteration has begun; whose last has ended; 0: none. */
static _Atomic uint32_t begun, done;

/* --- counting --- */

char nvt_steps_letters[2];
__thread uint32_t nvt_steps_others __attribute__((tls_model("initial-exec")));

void nvt_steps_begin(void)
{
    const char *name = nvt_session.control->iteration, *at = strrchr(name, '@');
    nvt_steps_watch = *name != 0;
    nvt_steps_letters[0] = *name;
    nvt_steps_letters[1] = at ? at[1] : *name;
}

/* Most ranges are none, as their first letter says. */
static int is_other(const nvtxEventAttributes_t *attributes)
{
    if (!attributes || attributes->messageType != NVTX_MESSAGE_TYPE_ASCII ||
        !attributes->message.ascii)
        return 0;
    const char first = *attributes->message.ascii;
    return first != nvt_steps_letters[0] && first != nvt_steps_letters[1];
}

/* The most that a process has had. */
static void publish(uint64_t had)
{
    _Atomic uint64_t *most = &nvt_session.control->steps_seen;
    uint64_t there = atomic_load(most);
    while (there < had && !atomic_compare_exchange_weak(most, &there, had)) {
    }
}

static void begin_slow(void);

void nvt_steps_note(const struct nvt_event *event)
{
    noted = NO_STEP;
    pushes++;
    if (is_other(event->attributes) || !nvt_capture_matches(event, nvt_session.control->iteration))
        return;
    const uint64_t began = nvt_spending_watches ? nvt_ticks(nvt_session.control->clock) : 0;
    const int pid = (int)syscall(SYS_getpid);
    if (atomic_exchange(&owner, pid) != pid)
        atomic_store(&count, 0); /* a forked child begins with none */
    noted = atomic_fetch_add(&count, 1);
    if (!noted)
        atomic_fetch_add(&nvt_session.control->steppers, 1);
    publish(noted + 1);
    begin_slow();
    if (nvt_spending_watches)
        nvt_spending_note(pushes, nvt_steps_others, began);
    pushes = nvt_steps_others = 0;
}

int nvt_steps_noted(void)
{
    const struct nvt_control *control = nvt_session.control;
    const uint32_t request = atomic_load(&control->stepping);
    const uint64_t number = noted;
    noted = NO_STEP;
    if (number == NO_STEP || !request)
        return 0;
    const int is_first = number == atomic_load(&control->steps_from);
    if (is_first)
        atomic_store(&begun, request);
    return (is_first ? NVT_STEPS_FIRST : 0) |
           (nvt_steps_have_begun() && number == atomic_load(&control->steps_last) ? NVT_STEPS_LAST
                                                                                  : 0);
}

int nvt_steps_have_begun(void)
{
    return atomic_load(&begun) == atomic_load(&nvt_session.control->stepping);
}

void nvt_steps_done(void)
{
    if (!nvt_steps_have_begun() || atomic_exchange(&done, atomic_load(&begun)) == begun)
        return;
    atomic_fetch_add(&nvt_session.control->steps_done, 1);
}

int nvt_steps_are_over(void)
{
    const uint32_t request =
        atomic_load_explicit(&nvt_session.control->stepping, memory_order_relaxed);
    return request && atomic_load_explicit(&done, memory_order_relaxed) == request;
}

/* Nobody waits for a process that has ended. One that is killed says nothing. */
__attribute__((destructor)) static void leave(void)
{
    struct nvt_control *control = nvt_session.control;
    if (!nvt_steps_watch || !control || !atomic_load(&count) ||
        atomic_load(&owner) != (int)syscall(SYS_getpid))
        return;
    atomic_fetch_sub(&control->steppers, 1);
    if (atomic_load(&done) && atomic_load(&done) == atomic_load(&control->stepping))
        atomic_fetch_sub(&control->steps_done, 1);
}

/* --- those that are slow --- */

/* What the last iterations of this process took, in ticks. */
enum { RECENT = 32, LEAST = 8 };
static uint64_t recent[RECENT];
static uint32_t known;
static atomic_flag is_judging = ATOMIC_FLAG_INIT;

/* The iteration that the thread is in. */
static OF_THREAD struct {
    uint64_t began; /* ticks; 0: none */
    uint64_t range; /* of a start/end range; 0: a push */
    uint32_t domain;
    int level; /* of a push; -1: not known yet */
} current;

static void begin_slow(void)
{
    const struct nvt_control *control = nvt_session.control;
    if (!control->slow_percent && !control->slow_ticks)
        return;
    current.began = nvt_ticks(control->clock);
    current.range = 0;
    current.level = -1;
}

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

static void judge(uint64_t took)
{
    struct nvt_control *control = nvt_session.control;
    const uint64_t usual = control->slow_percent && known >= LEAST ? median() : 0;
    const uint64_t limit = usual ? usual / 100 * control->slow_percent : control->slow_ticks;
    recent[known++ % RECENT] = took;
    known = known == 2 * RECENT ? RECENT : known;
    if (!limit || took <= limit)
        return;
    atomic_store(&control->slow_took, took);
    atomic_store(&control->slow_usual, usual);
    atomic_fetch_add(&control->slow, 1);
    nvt_control_wake(control);
}

static void end_slow(void)
{
    const uint64_t took = nvt_ticks(nvt_session.control->clock) - current.began;
    current.began = 0;
    /* Of two at once, or in a signal handler, one is left out. */
    if (atomic_flag_test_and_set(&is_judging))
        return;
    judge(took);
    atomic_flag_clear(&is_judging);
}

void nvt_steps_pushed(uint32_t domain, int level)
{
    if (!current.began || current.range || current.level >= 0)
        return;
    current.domain = domain;
    current.level = level;
}

void nvt_steps_popped(uint32_t domain, int level)
{
    if (current.began && !current.range && current.domain == domain && current.level == level)
        end_slow();
}

void nvt_steps_started(uint64_t range)
{
    if (current.began && !current.range && current.level < 0)
        current.range = range;
}

void nvt_steps_ended(uint64_t range)
{
    if (current.began && current.range == range)
        end_slow();
}
