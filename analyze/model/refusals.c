#include "refusals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvt_refusal_add(struct nvt_trace *trace, uint32_t thread, const struct nvt_refusal *refusal)
{
    char payload[128], *end = payload + sizeof(payload), *at = payload;
    at += snprintf(at, (size_t)(end - at), "{\"bytes\":%" PRIu64 ",\"device\":%" PRIu32,
                   refusal->bytes, refusal->device);
    if (refusal->free != UINT64_MAX)
        at += snprintf(at, (size_t)(end - at), ",\"free\":%" PRIu64, refusal->free);
    snprintf(at, (size_t)(end - at), "}");
    uint32_t process = trace->threads.process[thread];
    struct nvt_mark mark = {.time = refusal->time,
                            .thread = thread,
                            .domain = nvt_trace_domain(trace, process, NVT_REFUSAL_DOMAIN),
                            .name = nvt_strings_add_text(trace->strings, NVT_REFUSAL_NAME),
                            .payload = nvt_strings_add_text(trace->strings, payload),
                            .flags = NVT_RANGE_HAS_PAYLOAD};
    if (mark.domain == NVT_NONE || mark.name == NVT_NO_STRING || mark.payload == NVT_NO_STRING ||
        nvt_mark_add(trace, &mark) == NVT_NONE)
        return -1;
    return 0;
}

/* The number behind a key. 0, or -1: it is not there. */
static int number_behind(const char *payload, const char *key, uint64_t *out)
{
    const char *at = strstr(payload, key);
    char *end = NULL;
    unsigned long long number = at ? strtoull(at + strlen(key), &end, 10) : 0;
    if (!at || end == at + strlen(key))
        return -1;
    *out = number;
    return 0;
}

int nvt_refusal_of(const struct nvt_trace *trace, uint32_t mark, struct nvt_refusal *refusal)
{
    const struct nvt_marks *marks = &trace->marks;
    if (!(marks->flags[mark] & NVT_RANGE_HAS_PAYLOAD) ||
        strcmp(nvt_name(trace, marks->name[mark]), NVT_REFUSAL_NAME) != 0 ||
        strcmp(nvt_name(trace, trace->domains.name[marks->domain[mark]]), NVT_REFUSAL_DOMAIN) != 0)
        return 0;
    *refusal = (struct nvt_refusal){.time = marks->time[mark],
                                    .process = trace->threads.process[marks->thread[mark]],
                                    .free = UINT64_MAX};
    const char *payload = nvt_name(trace, marks->payload[mark]);
    uint64_t device;
    number_behind(payload, "\"free\":", &refusal->free);
    if (number_behind(payload, "\"bytes\":", &refusal->bytes) ||
        number_behind(payload, "\"device\":", &device))
        return 0;
    refusal->device = (uint32_t)device;
    return 1;
}
