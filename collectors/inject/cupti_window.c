/*
 * --delay and --duration: devices are recorded from the window's beginning on, and what was recorded when it ends is sent
 * then. All but the first is of the flushing thread.
 */
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include "session.h"

#define NOTICED_NS INT64_C(10000000) /* the window's beginning and its end may be noticed so late */

static uint32_t known; /* enum nvt_window_state that was followed */
static int owes;       /* this process is counted in the control page's `owing` */

void nvt_cupti_window_begin(void)
{
    known = atomic_load(&nvt_session.control->window);
    owes = 1;
    atomic_fetch_add(&nvt_session.control->owing, 1);
}

void nvt_cupti_window_handed(void)
{
    if (owes)
        atomic_fetch_sub(&nvt_session.control->owing, 1);
    owes = 0;
}

void nvt_cupti_window_follow(void (*hand_over)(int final))
{
    const uint32_t window = atomic_load(&nvt_session.control->window);
    if (window == known)
        return;
    known = window;
    nvt_cupti_capture();
    if (window != NVT_WINDOW_OVER)
        return;
    hand_over(NVT_CUPTI_WINDOW_ENDS);
    nvt_cupti_window_handed();
}

int64_t nvt_cupti_window_wait(int64_t ns)
{
    const int is_open_ended = !nvt_session.control->has_window || known == NVT_WINDOW_OVER;
    return is_open_ended || ns < NOTICED_NS ? ns : NOTICED_NS;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_window_is_empty;
#endif
