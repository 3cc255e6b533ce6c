#include "batches.h"

#include <string.h>

int nvt_is_of_pytorch(const struct nvt_trace *trace, uint32_t range, const char *name)
{
    return !strcmp(nvt_name(trace, trace->ranges.name[range]), name) &&
           !strcmp(nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]), "PyTorch");
}

int nvt_is_batch_wait(const struct nvt_trace *trace, uint32_t range)
{
    static const char annotation[] = "enumerate(DataLoader)#";
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    return !strncmp(name, annotation, sizeof(annotation) - 1) ||
           nvt_is_of_pytorch(trace, range, "data");
}
