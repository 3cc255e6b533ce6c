/* What is said of metrics that cannot be had. */
#include "cupti_metrics.h"

#ifdef HAVE_CUPTI

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "device.h"
#include "session.h"

void nvt_metrics_tell(const char *format, ...)
{
    struct nvt_control *control = nvt_session.control;
    uint64_t fields[NVT_PROBLEM_FIELDS];
    char text[400], line[420];
    uint32_t none = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(line, sizeof(line), "GPU metrics: %s", text);
    nvt_device_send_row(NVT_DEVICE_PROBLEM, fields, NVT_PROBLEM_FIELDS, NVT_PROBLEM_TEXT, line);
    if (atomic_compare_exchange_strong(&control->unsampled, &none, 1)) {
        snprintf(control->unsampled_why, sizeof(control->unsampled_why), "%.*s",
                 (int)sizeof(control->unsampled_why) - 1, text);
        atomic_store(&control->unsampled, 2);
    }
}

const char *nvt_metrics_meaning(const struct nvt_cupti_api *api, CUptiResult result, char *text,
                                size_t size)
{
    const char *name = NULL;
    switch ((int)result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case 40: /* …_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES */
        return "permission denied (ERR_NVGPUCTRPERM): load the driver with "
               "NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN";
    case CUPTI_ERROR_INVALID_OPERATION:
    case CUPTI_ERROR_HARDWARE_BUSY:
        return "another tool, or another process, has the counters";
    case 43: /* …_MIG_DEVICE_NOT_SUPPORTED */
        return "the GPU is divided by MIG, which CUPTI does not sample";
    case CUPTI_ERROR_INVALID_METRIC_NAME:
        return "this GPU has none of these metrics";
    default:
        if (api->cuptiGetResultString(result, &name) != CUPTI_SUCCESS || !name)
            name = "unknown error";
        snprintf(text, size, "CUPTI refuses (%s, %d)", name, (int)result);
        return text;
    }
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_metrics_say_is_empty;
#endif
