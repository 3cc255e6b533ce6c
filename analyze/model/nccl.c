#include "nccl.h"

#include <stdlib.h>
#include <string.h>

uint64_t nvt_nccl_communicator(const struct nvt_trace *trace, uint32_t range)
{
    static const char key[] = "\"NCCL communicator ID\":";
    const char *payload = trace->ranges.flags[range] & NVT_RANGE_HAS_PAYLOAD
                              ? nvt_name(trace, trace->ranges.payload[range])
                              : "";
    const char *found = strstr(payload, key);
    return found ? strtoull(found + sizeof(key) - 1, NULL, 10) : 0;
}
