#include "cupti_second.h"

#ifdef HAVE_CUPTI

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cupti_keep.h"
#include "../ring.h"
#include "cupti_selected.h"

/* Of the process. It is set once, before CUPTI calls anything of ours. */
static struct {
    struct nvt_cupti_second call;
    CUpti_SubscriberHandle subscriber;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    int is_selected;
} second;

int nvt_cupti_is_second(void)
{
    return second.subscriber != NULL;
}

int nvt_cupti_is_selected(void)
{
    return second.is_selected;
}

/* --- the first interface's functions --- */

typedef CUptiResult(CUPTIAPI *enabler)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);

static CUptiResult enable_by(enabler function, CUpti_ActivityKind kind)
{
    int numbers[NVT_CUPTI_FIELDS_MOST];
    struct nvt_cupti_config config;
    if (!second.is_selected)
        return function(second.subscriber, kind, NULL);
    return nvt_cupti_select(kind, numbers, &config) ? CUPTI_ERROR_NOT_SUPPORTED
                                                    : function(second.subscriber, kind, &config);
}

static CUptiResult enable(CUpti_ActivityKind kind)
{
    return enable_by(second.call.cuptiActivityEnable_v2, kind);
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
    return second.call.cuptiActivityDisable_v2(second.subscriber, kind, NULL);
}

static CUptiResult enable_and_dump(CUpti_ActivityKind kind)
{
    return enable_by(second.call.cuptiActivityEnableAndDump_v2, kind);
}

static CUptiResult enable_runtime(CUpti_CallbackId id, uint8_t on)
{
    return second.call.cuptiActivityEnableRuntimeApi_v2(second.subscriber, id, on);
}

static CUptiResult enable_driver(CUpti_CallbackId id, uint8_t on)
{
    return second.call.cuptiActivityEnableDriverApi_v2(second.subscriber, id, on);
}

static CUptiResult next_record(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    return second.call.cuptiActivityGetNextRecord_v2(second.subscriber, buffer, size, record);
}

static CUptiResult dropped_records(CUcontext context, uint32_t stream, size_t *dropped)
{
    return second.call.cuptiActivityGetNumDroppedRecords_v2(second.subscriber, context, stream,
                                                            dropped);
}

static CUptiResult set_attribute(CUpti_ActivityAttribute which, size_t *size, void *value)
{
    return second.call.cuptiActivitySetAttribute_v2(second.subscriber, which, size, value);
}

static CUptiResult set_byte(enum nvt_cupti_attribute which, uint8_t value)
{
    size_t size = sizeof(value);
    return set_attribute((CUpti_ActivityAttribute)which, &size, &value);
}

static CUptiResult enable_all_sync(uint8_t on)
{
    return set_byte(NVT_CUPTI_ALL_SYNC_RECORDS, on);
}

static CUptiResult set_thread_ids(CUpti_ActivityThreadIdType type)
{
    size_t size = sizeof(type);
    return set_attribute((CUpti_ActivityAttribute)NVT_CUPTI_THREAD_ID_TYPE, &size, &type);
}

static CUptiResult get_timestamp(uint64_t *timestamp)
{
    return second.call.cuptiGetTimestamp_v2(second.subscriber, timestamp);
}

/*
 * It may be taken and have no effect where there are several subscribers: whether CUPTI's time is now ours is looked at. A
 * clock of its own is that of the day, decades away.
 */
static CUptiResult set_timestamp(CUpti_TimestampCallbackFunc timestamp)
{
    enum { APART_NS = 1000000000 };
    size_t size = sizeof(timestamp);
    uint64_t now = 0;
    CUptiResult result =
        set_attribute((CUpti_ActivityAttribute)NVT_CUPTI_TIMESTAMP, &size, (void *)&timestamp);
    if (result != CUPTI_SUCCESS)
        return result;
    if (get_timestamp(&now) == CUPTI_SUCCESS && timestamp() - now < APART_NS)
        return CUPTI_SUCCESS;
    CUpti_TimestampCallbackFunc none = NULL;
    set_attribute((CUpti_ActivityAttribute)NVT_CUPTI_TIMESTAMP, &size, (void *)&none);
    return CUPTI_ERROR_NOT_SUPPORTED;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most, void *info)
{
    (void)info;
    second.requested(buffer, size, most);
}

static void CUPTIAPI completed(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    if (second.is_selected)
        nvt_cupti_learn_layouts(info);
    second.completed(NULL, 0, buffer, size, valid);
}

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                      CUpti_BuffersCallbackCompleteFunc complete)
{
    second.requested = request;
    second.completed = complete;
    return second.call.cuptiActivityRegisterCallbacks_v2(second.subscriber, requested, completed);
}

/* --- the beginning --- */

static void take_over(struct nvt_cupti_api *api)
{
    api->cuptiActivityEnable = enable;
    api->cuptiActivityDisable = disable;
    api->cuptiActivityEnableAndDump = enable_and_dump;
    api->cuptiActivityEnableRuntimeApi = enable_runtime;
    api->cuptiActivityEnableDriverApi = enable_driver;
    api->cuptiActivityGetNextRecord = next_record;
    api->cuptiActivityGetNumDroppedRecords = dropped_records;
    api->cuptiActivitySetAttribute = set_attribute;
    api->cuptiActivityEnableAllSyncRecords = enable_all_sync;
    api->cuptiSetThreadIdType = set_thread_ids;
    api->cuptiGetTimestamp = get_timestamp;
    api->cuptiActivityRegisterTimestampCallback = set_timestamp;
    api->cuptiActivityRegisterCallbacks = register_callbacks;
}

/* All of it is there, and not refused by the environment: it has not run on many devices. */
static int is_usable(const struct nvt_cupti_api *api)
{
    const char *first = getenv("NVTALLY_CUPTI_V1");
    int missing = 0;
#define COUNT(function, arguments) missing += !api->second.function;
    NVT_CUPTI_SECOND(COUNT)
#undef COUNT
    return !missing && api->version >= NVT_CUPTI_SECOND_OLDEST && !(first && *first);
}

CUptiResult nvt_cupti_subscribe_second(struct nvt_cupti_api *api, uint64_t trace,
                                       CUpti_CallbackFunc callback,
                                       CUpti_SubscriberHandle *subscriber,
                                       char other[NVT_CUPTI_NAME_ROOM])
{
    struct nvt_cupti_subscriber wish = {.size = offsetof(struct nvt_cupti_subscriber, padding) +
                                                sizeof(wish.padding),
                                        .name = "nvtally",
                                        .other = other,
                                        .other_size = NVT_CUPTI_NAME_ROOM,
                                        .allows_others = 1};
    CUpti_SubscriberHandle ours = NULL;
    memset(other, 0, NVT_CUPTI_NAME_ROOM);
    if (!is_usable(api))
        return CUPTI_ERROR_NOT_SUPPORTED;
    CUptiResult result = api->second.cuptiSubscribe_v2(&ours, callback, NULL, &wish);
    other[NVT_CUPTI_NAME_ROOM - 1] = 0;
    if (result != CUPTI_SUCCESS || !ours)
        return result == CUPTI_SUCCESS ? CUPTI_ERROR_UNKNOWN : result;
    second.call = api->second;
    second.subscriber = *subscriber = ours;
    take_over(api);
    /* Whole graphs for one subscriber are whole for all, so only where they were asked for. */
    if (trace & NVT_TRACE_GRAPH)
        set_byte(NVT_CUPTI_WHOLE_GRAPHS, 1);
    return CUPTI_SUCCESS;
}

const char *nvt_cupti_other_text(const char *other, char *text, size_t size)
{
    snprintf(text, size,
             "another tool%s%s%s has subscribed to CUPTI, which serves only one (a profiler, a "
             "debugger): there are no device records",
             other[0] ? " (" : "", other, other[0] ? ")" : "");
    return text;
}

/* By an attribute of the second interface; where it cannot be, records are "%s (the error)%s". Whether it is so. */
static int take(const struct nvt_cupti_api *api, enum nvt_cupti_attribute which,
                const char *const instead[2], void (*problem)(const char *text))
{
    const char *name = NULL;
    char text[256];
    CUptiResult result = nvt_cupti_is_second() ? set_byte(which, 1) : CUPTI_ERROR_NOT_SUPPORTED;
    if (result == CUPTI_SUCCESS)
        return 1;
    if (api->cuptiGetResultString(result, &name) != CUPTI_SUCCESS || !name)
        name = "unknown error";
    snprintf(text, sizeof(text), "%s (%s)%s", instead[0], name, instead[1]);
    problem(text);
    return 0;
}

static int is_asked_for(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

void nvt_cupti_take_wishes(const struct nvt_cupti_api *api, void (*problem)(const char *text))
{
    static const char *const timed[] = {"kernels are not timed by hardware events",
                                        ", but by CUPTI as ever"},
                             *const whole[] = {"records of CUPTI have all of their fields", ""};
    if (is_asked_for("NVTALLY_HARDWARE_EVENTS"))
        take(api, NVT_CUPTI_HARDWARE_EVENTS, timed, problem);
    /* Buffers that are kept for tests have whole ones. */
    if (is_asked_for("NVTALLY_SELECTED_RECORDS") && !is_asked_for(NVT_CUPTI_KEEP_ENV))
        second.is_selected = take(api, NVT_CUPTI_SELECTED_FIELDS, whole, problem);
}

#endif
