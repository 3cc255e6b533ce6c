/*
 * What is known of OS calls (lib/os_calls.h) by the names that a trace has for them: looked up once for each name.
 */
#ifndef NVT_OS_NAMES_H
#define NVT_OS_NAMES_H

#include "../../lib/map.h"
#include "../../lib/os_calls.h"
#include "trace.h"

/* Zero-initialise; of one trace. Release with nvt_os_names_free. */
struct nvt_os_names {
    /* string of the trace -> row of nvt_os_calls, NVT_OS_CALLS: it has none */
    struct nvt_map calls;
};

void nvt_os_names_free(struct nvt_os_names *names);

/* The call of this name, a string of the trace; NULL: it is none of these. */
const struct nvt_os_call_info *nvt_os_names_find(struct nvt_os_names *names,
                                                 const struct nvt_trace *trace, uint32_t name);

/* The kind of a call by its name; a name that is not known is of the kind "others". */
static inline enum nvt_os_kind nvt_os_names_kind(struct nvt_os_names *names,
                                                 const struct nvt_trace *trace, uint32_t name)
{
    const struct nvt_os_call_info *call = nvt_os_names_find(names, trace, name);
    return call ? call->kind : NVT_OS_OTHER;
}

/* Bytes that a row of os_calls read, or wrote; whether it is a call that does, also where there were none. What has
 * bytes and does not write has read them. */
int nvt_os_has_read(struct nvt_os_names *names, const struct nvt_trace *trace, uint32_t row,
                    uint64_t *bytes);
int nvt_os_has_written(struct nvt_os_names *names, const struct nvt_trace *trace, uint32_t row,
                       uint64_t *bytes);

#endif
