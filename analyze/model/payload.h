/*
 * What the workloads' ranges and marks carry: payloads like {"allocated":1,"reserved":2}, as readers write them (trace.h).
 */
#ifndef NVT_PAYLOAD_H
#define NVT_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "trace.h"

/* The largest time that nvt_member_time gives, either way: 18 years. What is beyond it is none of a clock. */
#define NVT_PAYLOAD_TIME_MOST (INT64_MAX / 16)

/* The payload of a range; "" where it has none. */
static inline const char *nvt_range_payload(const struct nvt_trace *trace, uint32_t range)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    return ranges->flags[range] & NVT_RANGE_HAS_PAYLOAD ? nvt_name(trace, ranges->payload[range])
                                                        : "";
}

/* The number behind a key, which is given with its quotation marks; NaN where there is none. */
double nvt_member_number(const char *payload, const char *key);
/* The time behind a key, ns: a whole number, as a double does not hold it exactly; 0 where there is none, or it is
 * none of a clock. */
int64_t nvt_member_time(const char *payload, const char *key);
/* The text behind a key, as JSON has it, without its escapes; cut to `size` with its NUL. out, which is "" where there is none. */
const char *nvt_member_text(const char *payload, const char *key, char *out, size_t size);

#endif
