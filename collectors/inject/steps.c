#include "steps.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../steppers.h"
#include "capture.h"
#include "other_ranges.h"
#include "session.h"
#include "slow.h"
#include "spending.h"

#define NO_STEP   UINT64_MAX
#define OF_THREAD __thread __attribute__((tls_model("initial-exec")))

int nvt_steps_watch;
static int is_visible;         /* the recorder numbers processes as we do */
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
    struct stat status;
    nvt_steps_watch = *name != 0;
    is_visible =
        *name && !stat(NVT_PID_SPACE, &status) && status.st_ino == nvt_session.control->pid_space;
    nvt_steps_letters[0] = *name;
    nvt_steps_letters[1] = at ? at[1] : *name;
    nvt_slow_join(is_visible);
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

/* The most that all processes have had. */
static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
    uint64_t there = atomic_load(most);
    while (there < value && !atomic_compare_exchange_weak(most, &there, value)) {
    }
}

static _Atomic int place = -1; /* of those on the page, -1: none */

/* The place of that process, 0: a free one; or -1. */
static int find_place(const struct nvt_control *control, int32_t pid)
{
    for (int i = 0; i < NVT_STEPPERS; i++)
        if (atomic_load(&control->stepper[i]) == pid)
            return i;
    return -1;
}

/* Those that were killed, or have called _exit, keep their place until somebody looks: the recorder does while it waits for iterations. */
static void clear_dead(struct nvt_control *control)
{
    const int cause = errno;
    for (int i = 0; i < NVT_STEPPERS; i++) {
        const int32_t pid = atomic_load(&control->stepper[i]);
        if (pid && kill(pid, 0) && errno == ESRCH)
            nvt_steppers_leave(control, i, pid);
    }
    errno = cause;
}

static int take_place(struct nvt_control *control, int32_t pid)
{
    for (int i = 0; i < NVT_STEPPERS; i++) {
        int32_t none = 0;
        if (atomic_compare_exchange_strong(&control->stepper[i], &none, pid))
            return i;
    }
    return -1;
}

/* What is wanted, of one request. */
struct wanted {
    uint32_t request;
    uint64_t from, last;
};

/* The recorder may be about to ask for something else. */
static struct wanted read_wanted(const struct nvt_control *control)
{
    struct wanted wanted;
    do {
        wanted.request = atomic_load(&control->stepping);
        wanted.from = atomic_load(&control->steps_from);
        wanted.last = atomic_load(&control->steps_last);
    } while (wanted.request != atomic_load(&control->stepping));
    return wanted;
}

/* The request that waits for numbers so far ahead of the process's first iteration that it takes longer to come to them than all that is
 * wanted takes; 0: none. A service that forks children all the time would have it wait for ever. */
static uint32_t late_for(const struct nvt_control *control)
{
    const struct wanted wanted = read_wanted(control);
    return wanted.from != UINT64_MAX && wanted.from > wanted.last - wanted.from + 1 ? wanted.request
                                                                                    : 0;
}

/* The process has its first iteration: it is one of those that have. What it was before exec is it, too. */
static void enter(void)
{
    struct nvt_control *control = nvt_session.control;
    const int32_t pid = atomic_load(&owner);
    int at = is_visible ? find_place(control, pid) : -1;
    const int is_there = at >= 0;
    if (is_visible && !is_there)
        at = take_place(control, pid);
    if (is_visible && at < 0) {
        clear_dead(control);
        at = take_place(control, pid);
    }
    atomic_store(&place, at);
    if (at >= 0)
        atomic_store(&control->stepper_done[at], 0);
    if (is_there)
        return;
    if (at >= 0)
        atomic_store(&control->stepper_late[at], late_for(control));
    atomic_fetch_add(&control->steppers, 1);
    atomic_fetch_add(&control->entered, 1);
}

/* A forked child has had none, and has a part in no request. */
static void own(void)
{
    const int pid = (int)syscall(SYS_getpid);
    if (atomic_exchange(&owner, pid) == pid)
        return;
    atomic_store(&count, 0);
    atomic_store(&begun, 0);
    atomic_store(&done, 0);
}

void nvt_steps_note(const struct nvt_event *event)
{
    noted = NO_STEP;
    pushes++;
    if (is_other(event->attributes) ||
        !nvt_capture_matches(event, nvt_session.control->iteration)) {
        nvt_other_ranges_note(event);
        return;
    }
    const uint64_t began = nvt_spending_watches ? nvt_ticks(nvt_session.control->clock) : 0;
    own();
    noted = atomic_fetch_add(&count, 1);
    if (!noted)
        enter();
    raise_to(&nvt_session.control->steps_seen, noted + 1);
    nvt_slow_begin();
    if (nvt_spending_watches)
        nvt_spending_note(pushes, nvt_steps_others, began);
    pushes = nvt_steps_others = 0;
}

int nvt_steps_noted(void)
{
    struct nvt_control *control = nvt_session.control;
    const uint64_t number = noted;
    noted = NO_STEP;
    if (number == NO_STEP || !atomic_load(&control->stepping))
        return 0;
    const struct wanted wanted = read_wanted(control);
    const int is_first = wanted.request && number == wanted.from;
    if (is_first) {
        uint64_t none = 0;
        atomic_store(&begun, wanted.request);
        atomic_compare_exchange_strong(&control->steps_began, &none, nvt_ticks(control->clock));
    }
    const int is_last = nvt_steps_have_begun() && number == wanted.last;
    return (is_first ? NVT_STEPS_FIRST : 0) | (is_last ? NVT_STEPS_LAST : 0);
}

int nvt_steps_have_begun(void)
{
    return atomic_load(&begun) == atomic_load(&nvt_session.control->stepping);
}

void nvt_steps_done(void)
{
    struct nvt_control *control = nvt_session.control;
    const uint32_t request = atomic_load(&begun);
    if (!nvt_steps_have_begun() || atomic_exchange(&done, request) == request)
        return;
    raise_to(&control->steps_ended, nvt_ticks(control->clock));
    if (atomic_load(&place) >= 0)
        atomic_store(&control->stepper_done[atomic_load(&place)], request);
    nvt_steppers_add(&control->steps_done, request);
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
    if (atomic_load(&place) >= 0) {
        nvt_steppers_leave(control, atomic_load(&place), atomic_load(&owner));
        return;
    }
    if (atomic_load(&done))
        nvt_steppers_add(&control->steps_left, atomic_load(&done));
    atomic_fetch_sub(&control->steppers, 1);
}
