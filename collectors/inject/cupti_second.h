/*
 * CUPTI's second interface, of CUDA 13.5: each tool in a process is a subscriber, with kinds, buffers and a clock of its own,
 * so that PyTorch's profiler and nvtally record side by side. The two interfaces may not be mixed in a process; NVIDIA announces
 * that the first one will go (cupti_activity.h, "will be deprecated in a future release").
 *
 * The collector is written for the first one. Where the second one is there, the functions of struct nvt_cupti_api become
 * those of the second, with our subscriber. The records are the same, or such with selected fields (cupti_selected.h).
 *
 * Headers of before CUDA 13.5 have none of it, so it is declared here.
 */
#ifndef NVT_CUPTI_SECOND_H
#define NVT_CUPTI_SECOND_H

#ifdef HAVE_CUPTI

#include "cupti_api.h"

/* CUpti_SubscriberParams, and the room for the name of another subscriber (CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN). */
#define NVT_CUPTI_NAME_ROOM 64
struct nvt_cupti_subscriber {
    size_t size;
    const char *name;
    char *other;
    size_t other_size;
    uint8_t allows_others;
    uint8_t padding[7];
};

/* CUpti_ActivityAttribute: those that stand for functions of the first interface. */
enum nvt_cupti_attribute {
    NVT_CUPTI_SELECTED_FIELDS = 11,  /* uint8_t; before any kind is enabled */
    NVT_CUPTI_HARDWARE_EVENTS = 13,  /* uint8_t; of all subscribers, before any kind is enabled */
    NVT_CUPTI_ALL_SYNC_RECORDS = 16, /* uint8_t */
    NVT_CUPTI_WHOLE_GRAPHS = 20,     /* uint8_t; of all subscribers, before any kind is enabled */
    NVT_CUPTI_THREAD_ID_TYPE = 21,   /* CUpti_ActivityThreadIdType */
    NVT_CUPTI_TIMESTAMP = 22,        /* CUpti_TimestampCallbackFunc */
};

/* The oldest CUPTI whose second interface serves several subscribers, by its release notes. */
#define NVT_CUPTI_SECOND_OLDEST 130500u

/*
 * Subscribe by the second interface, and let `api` be it; `trace` are the levels. CUPTI_SUCCESS: *subscriber is ours. Else nothing has changed: this CUPTI has none, or does not want us; `other` is then the name of the tool
 * that it serves, "" if it says none.
 */
CUptiResult nvt_cupti_subscribe_second(struct nvt_cupti_api *api, uint64_t trace,
                                       CUpti_CallbackFunc callback,
                                       CUpti_SubscriberHandle *subscriber,
                                       char other[NVT_CUPTI_NAME_ROOM]);

/* What to say of a tool of that name, "" unknown, that CUPTI serves alone; `text`. */
const char *nvt_cupti_other_text(const char *other, char *text, size_t size);

/* Whether we have subscribed by the second interface. */
int nvt_cupti_is_second(void);

/* What variables ask for, before any kind is enabled; what cannot be is told of by `problem`: kernels timed by hardware events
 * ($NVTALLY_HARDWARE_EVENTS), records of selected fields (cupti_selected.h). Whether records are such. */
void nvt_cupti_take_wishes(const struct nvt_cupti_api *api, void (*problem)(const char *text));
int nvt_cupti_is_selected(void);

#endif
#endif
