/*
 * What CUPTI says of itself. Where something goes wrong in the background it is only the next call that says so, and with a
 * number alone; behind a fatal error CUPTI has ended itself (CUPTI_CBID_STATE_FATAL_ERROR in its headers).
 */
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <stdatomic.h>
#include <stdio.h>

/* So many are told of a process: warnings may come again and again. */
#define TOLD_MOST 4

void nvt_cupti_listen_to_state(const struct nvt_cupti_api *api, CUpti_SubscriberHandle subscriber)
{
    for (CUpti_CallbackId id = CUPTI_CBID_STATE_FATAL_ERROR; id < CUPTI_CBID_STATE_SIZE; id++)
        api->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_STATE, id);
}

int nvt_cupti_state(const struct nvt_cupti_api *api, CUpti_CallbackDomain domain,
                    CUpti_CallbackId id, const void *data, char *text, size_t size)
{
    static _Atomic int told;
    const CUpti_StateData *state = data;
    const char *name = NULL;
    if (domain != CUPTI_CB_DOMAIN_STATE || !state || atomic_fetch_add(&told, 1) >= TOLD_MOST)
        return -1;
    if (api->cuptiGetResultString(state->notification.result, &name) != CUPTI_SUCCESS || !name)
        name = "unknown error";
    snprintf(text, size, "%s: %.300s (%s)",
             id == CUPTI_CBID_STATE_FATAL_ERROR
                 ? "CUPTI stopped, and later device operations are not recorded"
                 : "CUPTI warns",
             state->notification.message ? state->notification.message : "no reason is given",
             name);
    return 0;
}

#endif
