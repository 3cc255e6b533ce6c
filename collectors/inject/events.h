/*
 * NVTX events as ring records: shared by the core callbacks and the payload extension.
 */
#ifndef NVT_INJECT_EVENTS_H
#define NVT_INJECT_EVENTS_H

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "../../lib/trace_file.h"
#include "names.h"

/* The domain behind an nvtxDomainHandle_t; the default domain is NULL there and number 0 here. */
struct nvtxDomainRegistration_st {
    struct nvtxDomainRegistration_st *next;
    uint32_t number;
    uint32_t length;
    char name[];
};

/* What NVTX's push and pop return when nothing is tracked. */
#define NVT_NO_TRACKING (-2)

/* The number of a domain, defined in this thread's ring on first use. */
uint32_t nvt_domain_number(struct nvt_thread *thread, nvtxDomainHandle_t domain);

/* An event of `kind` with attributes (NULL: none) and, for the payload extension, payloads given
 * apart from them. `range` is the id of a start/end range. A mark with `sample` is one of a counter, whose
 * time, if the program gives it, is by `clock`. 0, or -1 when dropped. */
struct nvt_event {
    enum nvt_record_kind kind;
    nvtxDomainHandle_t domain;
    const nvtxEventAttributes_t *attributes;
    const nvtxPayloadData_t *payloads;
    size_t payload_count;
    uint64_t range;
    const struct nvt_ring_sample *sample;
    enum nvt_sample_clock clock;
};
int nvt_event_record(struct nvt_thread *thread, const struct nvt_event *event);

/* Push, pop, start and end with their bookkeeping of depth; what NVTX's functions return. */
int nvt_event_push(const struct nvt_event *event);

/* A push of a thread that can have no state, which was counted as lost: its pop will be. NVT_NO_TRACKING. */
int nvt_event_push_lost(void);
int nvt_event_pop(const struct nvt_event *event);
uint64_t nvt_event_start(struct nvt_event *event);
void nvt_event_mark(const struct nvt_event *event);

/* nvt_event_mark where it is known that something is recorded now. */
void nvt_event_mark_now(const struct nvt_event *event);
void nvt_event_end(const struct nvt_event *event);

/* Whether --capture waits for its range: what begins now is in no trace. */
int nvt_event_is_quiet(const struct nvt_thread *thread);

/* Bookkeeping of a push that was or was not recorded: its level. */
static inline int nvt_nest_push(struct nvt_thread *thread, uint32_t domain, int recorded)
{
    struct nvt_nest *nest = &thread->nests[domain % NVT_NESTS];
    if (NVT_UNLIKELY(!recorded)) {
        nest->skipped++;
        thread->skips++;
    }
    return (int)nest->depth++;
}

/* Whether a range that is pushed or popped now lies in one that was dropped, so that recording it
 * would pair the wrong ends. */
static inline int nvt_nest_skips(const struct nvt_thread *thread, uint32_t domain)
{
    return NVT_UNLIKELY(thread->skips) && thread->nests[domain % NVT_NESTS].skipped;
}

/* The binary form of extended payloads, into out (at most `size` bytes): for each payload schema id,
 * size and bytes, see docs/trace-format.md. Bytes used. *left_out is set when there
 * was no room for all of them. */
size_t nvt_payload_copy(char *out, size_t size, nvtxDomainHandle_t domain,
                        const nvtxPayloadData_t *payloads, size_t count, int *left_out);

/* Bytes of a payload of this schema or predefined type; 0: unknown. *timestamp gets the offset of its entry
 * that is a time, of 8 bytes, and SIZE_MAX if there is none. */
size_t nvt_schema_size(nvtxDomainHandle_t domain, uint64_t id, size_t *timestamp);

/* Append a definition. Counted as lost when there is no room. */
void nvt_define(enum nvt_record_kind kind, nvtxDomainHandle_t domain, uint32_t value, uint64_t id,
                const void *data, size_t size);

#endif
