/*
 * CUPTI's second interface for the stand-in, by the headers of CUDA 13.5, which are not needed to build it: subscribers, each with
 * kinds and buffers of its own. The first is served by all of the stand-in; a second one, of a program that profiles itself, gets
 * records in one buffer of its own. NO part of it is NVIDIA's.
 */
#if defined(HAVE_CUPTI) && defined(STAND_IN_SECOND)

#include <stdlib.h>
#include <string.h>

#include "../../collectors/inject/cupti_second.h"
#include "selected.h"
#include "stand_in_internal.h"

typedef void (*request_function)(uint8_t **, size_t *, size_t *, void *);
typedef void (*complete_function)(uint8_t *, size_t, size_t, void *);

static struct {
    request_function request;
    complete_function complete;
    int allows; /* the first one has allowed others */
    int deaf;   /* to clocks */
} first;

static struct {
    int is_there;
    uint8_t on[64];
    uint64_t records;
} another;

#define FIRST   ((CUpti_SubscriberHandle)&first)
#define ANOTHER ((CUpti_SubscriberHandle)&another)

CUptiResult second_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                             void *data,
                             struct nvt_cupti_subscriber *wish) __asm__("cuptiSubscribe_v2");
CUptiResult second_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                             void *data, struct nvt_cupti_subscriber *wish)
{
    if (!wish || wish->size != 40)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (stand_in_refuses("second"))
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (stand_in_refuses("subscriber")) {
        strcpy(wish->other, "CUPTI for the test");
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    if (stand_in.is_second && (!first.allows || !wish->allows_others || another.is_there))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    if (stand_in.is_second) {
        another.is_there = 1;
        *subscriber = ANOTHER;
        return CUPTI_SUCCESS;
    }
    CUptiResult result = cuptiSubscribe(subscriber, callback, data);
    if (result != CUPTI_SUCCESS)
        return result;
    stand_in.is_second = 1;
    first.allows = wish->allows_others;
    *subscriber = FIRST;
    return CUPTI_SUCCESS;
}

/* A function of the first interface, called for the first subscriber. */
#define FOR_FIRST(subscriber, call)                                                                \
    do {                                                                                           \
        if ((subscriber) != FIRST)                                                                 \
            return CUPTI_ERROR_INVALID_PARAMETER;                                                  \
        stand_in_enter_second();                                                                   \
        CUptiResult result = (call);                                                               \
        stand_in_leave_second();                                                                   \
        return result;                                                                             \
    } while (0)

#define SECOND(name, ...)                                                                          \
    CUptiResult name(__VA_ARGS__);                                                                 \
    CUptiResult name(__VA_ARGS__)

static CUptiResult enable(CUpti_ActivityKind kind, const void *how)
{
    CUptiResult result = stand_in_configure(kind, how);
    return result == CUPTI_SUCCESS ? cuptiActivityEnable(kind) : result;
}

/* Of selected fields, "the activity kind must first be registered". */
static CUptiResult enable_call(int runtime, CUpti_CallbackId id, uint8_t enable)
{
    if (stand_in_selects_fields() &&
        !stand_in.on[runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER])
        abort();
    return runtime ? cuptiActivityEnableRuntimeApi(id, enable)
                   : cuptiActivityEnableDriverApi(id, enable);
}

SECOND(cuptiActivityEnable_v2, CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
       void *how)
{
    if (subscriber == ANOTHER && (unsigned)kind < sizeof(another.on)) {
        another.on[kind] = 1;
        return CUPTI_SUCCESS;
    }
    FOR_FIRST(subscriber, enable(kind, how));
}

SECOND(cuptiActivityDisable_v2, CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
       void *how)
{
    (void)how;
    FOR_FIRST(subscriber, cuptiActivityDisable(kind));
}

SECOND(cuptiActivityEnableAndDump_v2, CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
       void *how)
{
    FOR_FIRST(subscriber, stand_in_configure(kind, how) == CUPTI_SUCCESS
                              ? cuptiActivityEnableAndDump(kind)
                              : CUPTI_ERROR_INVALID_PARAMETER);
}

SECOND(cuptiActivityEnableRuntimeApi_v2, CUpti_SubscriberHandle subscriber, CUpti_CallbackId id,
       uint8_t enable)
{
    FOR_FIRST(subscriber, enable_call(1, id, enable));
}

SECOND(cuptiActivityEnableDriverApi_v2, CUpti_SubscriberHandle subscriber, CUpti_CallbackId id,
       uint8_t enable)
{
    FOR_FIRST(subscriber, enable_call(0, id, enable));
}

SECOND(cuptiActivityGetNextRecord_v2, CUpti_SubscriberHandle subscriber, uint8_t *buffer,
       size_t size, CUpti_Activity **record)
{
    FOR_FIRST(subscriber, cuptiActivityGetNextRecord(buffer, size, record));
}

SECOND(cuptiActivityGetNumDroppedRecords_v2, CUpti_SubscriberHandle subscriber, CUcontext context,
       uint32_t stream, size_t *dropped)
{
    FOR_FIRST(subscriber, cuptiActivityGetNumDroppedRecords(context, stream, dropped));
}

SECOND(cuptiGetTimestamp_v2, CUpti_SubscriberHandle subscriber, uint64_t *timestamp)
{
    FOR_FIRST(subscriber, cuptiGetTimestamp(timestamp));
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    first.request(buffer, size, most, NULL);
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    (void)context;
    (void)stream;
    struct nvt_cupti_completion info = stand_in_completion();
    first.complete(buffer, size, valid, &info);
}

SECOND(cuptiActivityRegisterCallbacks_v2, CUpti_SubscriberHandle subscriber,
       request_function request, complete_function complete)
{
    first.request = request;
    first.complete = complete;
    FOR_FIRST(subscriber, cuptiActivityRegisterCallbacks(requested, completed));
}

/* Some attributes are to be set before anything is enabled. */
static int has_begun(void)
{
    for (size_t i = 0; i < sizeof(stand_in.on); i++)
        if (stand_in.on[i])
            return 1;
    return 0;
}

static CUptiResult set(int attribute, size_t *size, void *value)
{
    CUpti_TimestampCallbackFunc clock;
    CUpti_ActivityThreadIdType type;
    switch (attribute) {
    case NVT_CUPTI_SELECTED_FIELDS:
        if (has_begun())
            abort();
        if (stand_in_refuses("selected"))
            return CUPTI_ERROR_NOT_SUPPORTED;
        if (*(const uint8_t *)value)
            stand_in_select_fields();
        return CUPTI_SUCCESS;
    case NVT_CUPTI_HARDWARE_EVENTS:
        if (has_begun())
            abort();
        return stand_in_refuses("hardware") ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
    case NVT_CUPTI_WHOLE_GRAPHS:
        return *size == 1 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    case NVT_CUPTI_ALL_SYNC_RECORDS:
        return cuptiActivityEnableAllSyncRecords(*(const uint8_t *)value);
    case NVT_CUPTI_THREAD_ID_TYPE:
        memcpy(&type, value, sizeof(type));
        return *size == sizeof(type) ? cuptiSetThreadIdType(type) : CUPTI_ERROR_INVALID_PARAMETER;
    case NVT_CUPTI_TIMESTAMP:
        memcpy(&clock, value, sizeof(clock));
        if (*size != sizeof(clock))
            return CUPTI_ERROR_INVALID_PARAMETER;
        /* "deaf": taken, and without effect. */
        return !clock || stand_in_refuses("deaf") ? CUPTI_SUCCESS
                                                  : cuptiActivityRegisterTimestampCallback(clock);
    default:
        return cuptiActivitySetAttribute((CUpti_ActivityAttribute)attribute, size, value);
    }
}

SECOND(cuptiActivitySetAttribute_v2, CUpti_SubscriberHandle subscriber,
       CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    FOR_FIRST(subscriber, set((int)attribute, size, value));
}

void stand_in_give_others(const void *record, size_t size)
{
    const CUpti_Activity *activity = record;
    (void)size;
    if (another.is_there && activity->kind < sizeof(another.on) && another.on[activity->kind])
        another.records++;
}

/* Subscribe another tool, for kernels: 0, or CUPTI's error; and how many records it has had. */
int stand_in_second_tool(void);
int stand_in_second_tool(void)
{
    CUpti_SubscriberHandle subscriber;
    struct nvt_cupti_subscriber wish = {.size = 40, .allows_others = 1};
    CUptiResult result = second_subscribe(&subscriber, NULL, NULL, &wish);
    return (
        int)(result == CUPTI_SUCCESS
                 ? cuptiActivityEnable_v2(subscriber, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL)
                 : result);
}

uint64_t stand_in_second_records(void);
uint64_t stand_in_second_records(void)
{
    return another.records;
}

#else
/* Nothing without CUPTI's headers, or in the stand-in for the first interface. */
typedef int nvt_stand_in_second_is_empty;
#endif
