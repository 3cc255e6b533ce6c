#include "record_window.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* So long a process may take to hand over what CUPTI has; one that is killed never does. */
#define PATIENCE_NS INT64_C(2000000000)
#define LOOK_NS     INT64_C(2000000)

static int is_open(const struct nvt_control *control)
{
    return atomic_load(&control->window) == NVT_WINDOW_OPEN;
}

static int is_over(const struct nvt_control *control)
{
    return atomic_load(&control->window) == NVT_WINDOW_OVER;
}

void nvt_record_window_prepare(struct nvt_control *control, int64_t delay_ns, int64_t duration_ns)
{
    control->has_window = delay_ns > 0 || duration_ns > 0;
    atomic_store(&control->window, delay_ns > 0 ? NVT_WINDOW_BEFORE : NVT_WINDOW_OPEN);
}

void nvt_record_window_prepare_dormant(struct nvt_control *control)
{
    control->is_dormant = 1;
    atomic_store(&control->window, NVT_WINDOW_BEFORE);
}

void nvt_record_window_begin(struct nvt_record_window *window, const struct nvt_control *control,
                             int64_t delay_ns, int64_t duration_ns)
{
    const int64_t now = nvt_monotonic_ns();
    *window = (struct nvt_record_window){.opens = now + delay_ns,
                                         .closes = INT64_MAX,
                                         .turned = now,
                                         .parts = is_open(control) ? 1 : 0};
    if (duration_ns > 0)
        window->closes = window->opens + duration_ns;
}

int64_t nvt_record_window_recorded(const struct nvt_record_window *window,
                                   const struct nvt_control *control)
{
    return window->recorded_ns + (is_open(control) ? nvt_monotonic_ns() - window->turned : 0);
}

static void turn(struct nvt_record_window *window, struct nvt_control *control,
                 enum nvt_clock clock, enum nvt_window_state state)
{
    window->recorded_ns = nvt_record_window_recorded(window, control);
    window->turned = nvt_monotonic_ns();
    if (state == NVT_WINDOW_OPEN) {
        window->parts++;
        atomic_store(&control->opened, nvt_ticks(clock));
    }
    atomic_store(&control->window, state);
}

int nvt_record_window_look(struct nvt_record_window *window, struct nvt_control *control,
                           enum nvt_clock clock)
{
    if (!control->has_window)
        return 0;
    const int64_t now = nvt_monotonic_ns();
    if (atomic_load(&control->window) == NVT_WINDOW_BEFORE && now >= window->opens)
        turn(window, control, clock, NVT_WINDOW_OPEN);
    if (is_open(control) && now >= window->closes)
        turn(window, control, clock, NVT_WINDOW_OVER);
    return is_over(control) &&
           (!atomic_load(&control->owing) || now - window->turned > PATIENCE_NS);
}

int nvt_record_window_turn(struct nvt_record_window *window, struct nvt_control *control,
                           enum nvt_clock clock, int opens)
{
    if (opens == is_open(control))
        return 0;
    turn(window, control, clock, opens ? NVT_WINDOW_OPEN : NVT_WINDOW_BEFORE);
    /* Processes that use a device have a thread that waits for it. */
    syscall(SYS_futex, &control->window, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return 1;
}

int64_t nvt_record_window_next(const struct nvt_record_window *window,
                               const struct nvt_control *control)
{
    if (is_over(control))
        return nvt_monotonic_ns() + LOOK_NS;
    return control->has_window && atomic_load(&control->window) == NVT_WINDOW_BEFORE
               ? window->opens
               : window->closes;
}
