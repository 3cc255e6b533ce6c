/* In place of cupti_trace.c where CUPTI's headers were not there. */
#include "cupti_trace.h"

#ifndef HAVE_CUPTI

#include "device.h"
#include "session.h"
#include "thread.h"

NVT_EXPORT int InitializeInjection(void);

NVT_EXPORT int InitializeInjection(void)
{
    static _Atomic int called;
    uint64_t fields[NVT_PROBLEM_FIELDS];
    if (!nvt_session_join() || !(nvt_session.control->trace & NVT_TRACE_DEVICE) ||
        atomic_exchange(&called, 1))
        return 1;
    nvt_device_send_row(NVT_DEVICE_PROBLEM, fields, NVT_PROBLEM_FIELDS, NVT_PROBLEM_TEXT,
                        "this nvtally was built without CUPTI");
    return 1;
}

void nvt_cupti_capture(void)
{
}

int64_t nvt_cupti_records(uint64_t *overhead_ns)
{
    *overhead_ns = 0;
    return -1;
}

void nvt_cupti_named(uint32_t type, uint64_t handle, const char *name)
{
    (void)type;
    (void)handle;
    (void)name;
}

void nvt_cupti_finish(void)
{
}

void nvtally_inject_hand_over(void)
{
}

#else
/* Nothing where they are. */
typedef int nvt_cupti_none_is_empty;
#endif
