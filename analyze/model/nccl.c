#include "nccl.h"

#include <stdlib.h>
#include <string.h>

#include "payload.h"

uint64_t nvt_nccl_communicator(const struct nvt_trace *trace, uint32_t range)
{
    static const char key[] = "\"NCCL communicator ID\":";
    const char *found = strstr(nvt_range_payload(trace, range), key);
    return found ? strtoull(found + sizeof(key) - 1, NULL, 10) : 0;
}
