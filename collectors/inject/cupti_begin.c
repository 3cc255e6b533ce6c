/*
 * Where the CUDA driver finds us: CUDA_INJECTION64_PATH names this library, and cuInit() calls InitializeInjection.
 */
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <pthread.h>
#include <signal.h>

#include "capture.h"
#include "device.h"
#include "session.h"
#include "thread.h"

/* --dormant: CUPTI is not loaded before the window opens for the first time. */
static void window_changed(void)
{
    static int has_started;
    if (has_started) {
        nvt_cupti_ring_bell();
    } else if (nvt_capture_in_window()) {
        has_started = 1;
        nvt_cupti_start();
    }
}

static void begin(void)
{
    uint64_t fields[NVT_PROBLEM_FIELDS];
    if (!nvt_session.control->is_dormant)
        nvt_cupti_start();
    else if (nvt_cupti_window_watch(window_changed))
        nvt_device_send_row(NVT_DEVICE_PROBLEM, fields, NVT_PROBLEM_FIELDS, NVT_PROBLEM_TEXT,
                            "no thread could be started that waits for the recording to begin");
}

NVT_EXPORT int InitializeInjection(void);

NVT_EXPORT int InitializeInjection(void)
{
    static _Atomic int called;
    sigset_t all, before;
    if (!nvt_session_join() || !(nvt_session.control->trace & NVT_TRACE_DEVICE) ||
        atomic_load(&nvt_session.control->window) == NVT_WINDOW_OVER || atomic_exchange(&called, 1))
        return 1;
    /* The program's signals are for its own threads: not for ours, nor for those that CUPTI starts (its worker). */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    begin();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return 1;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_begin_is_empty;
#endif
