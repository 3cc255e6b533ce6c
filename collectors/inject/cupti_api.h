/*
 * libcupti, loaded by hand: the collector must load where there is none.
 */
#ifndef NVT_CUPTI_API_H
#define NVT_CUPTI_API_H

#ifdef HAVE_CUPTI

#include <cupti.h>

/* X(function): those without which nothing works. X(function, arguments): those that older versions lack (NULL then), and
 * older headers may. */
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
    X(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc timestamp))             \
    X(cuptiActivityEnableRuntimeApi, (CUpti_CallbackId id, uint8_t enable))                        \
    X(cuptiActivityEnableDriverApi, (CUpti_CallbackId id, uint8_t enable))                         \
    X(cuptiActivityEnableAllSyncRecords, (uint8_t enable))                                         \
    X(cuptiActivityEnableAndDump, (CUpti_ActivityKind kind))                                       \
    X(cuptiActivityConfigureUnifiedMemoryCounter,                                                  \
      (CUpti_ActivityUnifiedMemoryCounterConfig * config, uint32_t count))                         \
    X(cuptiActivitySetAttribute, (CUpti_ActivityAttribute which, size_t * size, void *value))      \
    X(cuptiGetDeviceId, (CUcontext context, uint32_t * device))                                    \
    X(cuptiSetThreadIdType, (CUpti_ActivityThreadIdType type))

/* X(function, arguments): those of the second interface (cupti_second.h), which older versions lack. */
struct nvt_cupti_subscriber;
#define NVT_CUPTI_SECOND(X)                                                                        \
    X(cuptiSubscribe_v2, (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback,        \
                          void *data, struct nvt_cupti_subscriber *wish))                          \
    X(cuptiActivityEnable_v2,                                                                      \
      (CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind, void *how))                     \
    X(cuptiActivityDisable_v2,                                                                     \
      (CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind, void *how))                     \
    X(cuptiActivityEnableAndDump_v2,                                                               \
      (CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind, void *how))                     \
    X(cuptiActivityEnableRuntimeApi_v2,                                                            \
      (CUpti_SubscriberHandle subscriber, CUpti_CallbackId id, uint8_t enable))                    \
    X(cuptiActivityEnableDriverApi_v2,                                                             \
      (CUpti_SubscriberHandle subscriber, CUpti_CallbackId id, uint8_t enable))                    \
    X(cuptiActivityGetNextRecord_v2, (CUpti_SubscriberHandle subscriber, uint8_t * buffer,         \
                                      size_t size, CUpti_Activity * *record))                      \
    X(cuptiActivityGetNumDroppedRecords_v2,                                                        \
      (CUpti_SubscriberHandle subscriber, CUcontext context, uint32_t stream, size_t * dropped))   \
    X(cuptiActivityRegisterCallbacks_v2,                                                           \
      (CUpti_SubscriberHandle subscriber,                                                          \
       void(CUPTIAPI * requested)(uint8_t **, size_t *, size_t *, void *),                         \
       void(CUPTIAPI * completed)(uint8_t *, size_t, size_t, void *)))                             \
    X(cuptiActivitySetAttribute_v2, (CUpti_SubscriberHandle subscriber,                            \
                                     CUpti_ActivityAttribute which, size_t * size, void *value))   \
    X(cuptiGetTimestamp_v2, (CUpti_SubscriberHandle subscriber, uint64_t * timestamp))

struct nvt_cupti_second {
#define NVT_CUPTI_POINTER(function, arguments) CUptiResult(CUPTIAPI *function) arguments;
    NVT_CUPTI_SECOND(NVT_CUPTI_POINTER)
#undef NVT_CUPTI_POINTER
};

/* CUPTI's API version of CUDA 12.9: older ones may crash where they ask for a buffer and get none. */
#define NVT_CUPTI_REFUSABLE 27u

struct nvt_cupti_api {
#define NVT_CUPTI_MEMBER(function)             __typeof__(&function) function;
#define NVT_CUPTI_POINTER(function, arguments) CUptiResult(CUPTIAPI *function) arguments;
    NVT_CUPTI_FUNCTIONS(NVT_CUPTI_MEMBER)
    NVT_CUPTI_OPTIONAL(NVT_CUPTI_POINTER)
#undef NVT_CUPTI_MEMBER
#undef NVT_CUPTI_POINTER
    struct nvt_cupti_second second;
    void *library; /* libcupti, which stays loaded: for functions that few need */
    uint32_t version;
};

/*
 * Load the libcupti that nvt_cupti_find() finds. 0, or -1 with one line in `why`. With 0, `why` is "", or one line to
 * report.
 */
int nvt_cupti_load(struct nvt_cupti_api *api, char *why, size_t size);

/* Let it get its buffers with nothing but zeros in them: CUPTI would clear each when it gets it, on the thread that launches.
 * Whether it does. */
int nvt_cupti_take_zeros(const struct nvt_cupti_api *api);

#endif
#endif
