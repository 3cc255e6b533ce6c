#include "steps.h"

#include "capture.h"
#include "session.h"

#define NO_STEP UINT64_MAX

int nvt_steps_watch;
static __thread uint64_t noted __attribute__((tls_model("initial-exec"))) = NO_STEP;
static _Atomic uint32_t begun,
    done; /* the request whose first iteration has begun; whose last has ended; 0: none */

/* The most that a process has had. */
static void publish(uint64_t count)
{
    _Atomic uint64_t *most = &nvt_session.control->steps_seen;
    uint64_t there = atomic_load(most);
    while (there < count && !atomic_compare_exchange_weak(most, &there, count)) {
    }
}

void nvt_steps_note(const struct nvt_event *event)
{
    noted = NO_STEP;
    if (!nvt_capture_matches(event))
        return;
    noted = nvt_capture_count();
    if (!noted)
        atomic_fetch_add(&nvt_session.control->steppers, 1);
    publish(noted + 1);
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

/* Nobody waits for a process that has ended. One that is killed says nothing. */
__attribute__((destructor)) static void leave(void)
{
    struct nvt_control *control = nvt_session.control;
    if (!nvt_steps_watch || !control || !nvt_capture_is_counted())
        return;
    atomic_fetch_sub(&control->steppers, 1);
    if (atomic_load(&done) && atomic_load(&done) == atomic_load(&control->stepping))
        atomic_fetch_sub(&control->steps_done, 1);
}
