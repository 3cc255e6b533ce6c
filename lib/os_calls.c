#include "os_calls.h"

#include <stddef.h>
#include <string.h>

#define OS_CALL NVT_OS_CALL_INFO
const struct nvt_os_call_info nvt_os_calls[NVT_OS_CALLS] = {
#include "os_calls.def"
};

const struct nvt_os_call_info *nvt_os_call_find(const char *name)
{
    for (size_t i = 0; i < NVT_OS_CALLS; i++)
        if (!strcmp(nvt_os_calls[i].name, name))
            return &nvt_os_calls[i];
    return NULL;
}

const char *nvt_os_kind_name(enum nvt_os_kind kind)
{
    static const char *const names[NVT_OS_KINDS] = {
        [NVT_OS_OTHER] = "other",     [NVT_OS_FILES] = "files",
        [NVT_OS_NETWORK] = "network", [NVT_OS_LOCKS] = "locks",
        [NVT_OS_THREADS] = "threads", [NVT_OS_POLL] = "poll",
        [NVT_OS_SLEEPS] = "sleep",    [NVT_OS_PROCESSES] = "processes",
        [NVT_OS_MEMORY] = "memory",   [NVT_OS_DEVICES] = "devices",
    };
    return names[kind < NVT_OS_KINDS ? kind : NVT_OS_OTHER];
}
