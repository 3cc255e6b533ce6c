/*
 * libcupti, loaded by hand: the collector must load where there is none.
 */
#ifndef NVT_CUPTI_API_H
#define NVT_CUPTI_API_H

#ifdef HAVE_CUPTI

#include <cupti.h>

/* X(function): those without which nothing works; and those that older versions lack (NULL then).
 */
#define NVT_CUPTI_FUNCTIONS(X)                                                                     \
    X(cuptiGetVersion)                                                                             \
    X(cuptiGetResultString)                                                                        \
    X(cuptiGetTimestamp)                                                                           \
    X(cuptiGetCallbackName)                                                                        \
    X(cuptiGetStreamIdEx)                                                                          \
    X(cuptiGetContextId)                                                                           \
    X(cuptiSubscribe)                                                                              \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiActivityRegisterCallbacks)
#define NVT_CUPTI_OPTIONAL(X)                                                                      \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivityEnableRuntimeApi)                                                               \
    X(cuptiActivityEnableDriverApi)                                                                \
    X(cuptiActivityEnableAllSyncRecords)                                                           \
    X(cuptiActivitySetAttribute)                                                                   \
    X(cuptiSetThreadIdType)

/* CUPTI's API version of CUDA 12.9: older ones may crash where they ask for a buffer and get none. */
#define NVT_CUPTI_REFUSABLE 27u

struct nvt_cupti_api {
#define NVT_CUPTI_MEMBER(function) __typeof__(&function) function;
    NVT_CUPTI_FUNCTIONS(NVT_CUPTI_MEMBER)
    NVT_CUPTI_OPTIONAL(NVT_CUPTI_MEMBER)
#undef NVT_CUPTI_MEMBER
    uint32_t version;
};

/*
 * Load libcupti: $NVTALLY_CUPTI, one that the process has loaded already, else one of the CUDA
 * version that its runtime is of, from where the runtime lies, from the usual places or the
 * linker's. 0, or -1 with one line in `why`.
 */
int nvt_cupti_load(struct nvt_cupti_api *api, char *why, size_t size);

#endif
#endif
