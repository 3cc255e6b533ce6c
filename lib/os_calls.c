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

int nvt_os_waits_on(unsigned call)
{
    switch (call) {
    case NVT_OS_CALL_pthread_mutex_lock:
    case NVT_OS_CALL_pthread_rwlock_rdlock:
    case NVT_OS_CALL_pthread_rwlock_wrlock:
    case NVT_OS_CALL_mtx_lock:
    case NVT_OS_CALL_pthread_cond_wait:
    case NVT_OS_CALL_cnd_wait:
    case NVT_OS_CALL_pthread_barrier_wait:
    case NVT_OS_CALL_sem_wait:
    case NVT_OS_CALL_pthread_join:
    case NVT_OS_CALL_thrd_join:
    case NVT_OS_CALL_flock:
    case NVT_OS_CALL_wait:
    case NVT_OS_CALL_wait3:
    case NVT_OS_CALL_wait4:
    case NVT_OS_CALL_waitpid:
    case NVT_OS_CALL_waitid:
        return 1;
    default:
        return 0;
    }
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
