/*
 * --delay and --duration: devices are recorded from the window's beginning on, and what was recorded when it ends is sent
 * then. With --dormant it may begin again; meanwhile the flushing thread sleeps. All but the first and the watch is that thread's.
 */
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os.h"
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
    if (window != NVT_WINDOW_OPEN || nvt_session.control->is_dormant)
        hand_over(window == NVT_WINDOW_OPEN ? 0 : NVT_CUPTI_WINDOW_ENDS);
    if (window == NVT_WINDOW_OVER)
        nvt_cupti_window_handed();
}

int nvt_cupti_window_rests(void)
{
    return nvt_session.control->is_dormant && known != NVT_WINDOW_OPEN;
}

int64_t nvt_cupti_window_wait(int64_t ns)
{
    const int is_open_ended = !nvt_session.control->has_window || known == NVT_WINDOW_OVER;
    if (nvt_cupti_window_rests())
        return INT64_MAX;
    return is_open_ended || ns < NOTICED_NS ? ns : NOTICED_NS;
}

/* --- the watch --- */

static void *watch(void *changed)
{
    struct nvt_control *control = nvt_session.control;
    uint32_t seen = NVT_WINDOW_BEFORE;
    nvt_os_own_thread("nvtally-window");
    while (!atomic_load(&control->ended)) {
        const uint32_t window = atomic_load(&control->window);
        if (window != seen)
            ((void (*)(void))(uintptr_t)changed)();
        seen = window;
        syscall(SYS_futex, &control->window, FUTEX_WAIT, window, NULL, NULL, 0);
    }
    return NULL;
}

int nvt_cupti_window_watch(void (*changed)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, (void *)(uintptr_t)changed))
        return -1;
    pthread_detach(thread);
    return 0;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_window_is_empty;
#endif
