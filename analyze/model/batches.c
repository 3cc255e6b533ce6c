#include "batches.h"

#include <string.h>
#include <strings.h>

#include "../../lib/count_of.h"

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

int nvt_is_pytorch_operator(const struct nvt_trace *trace, uint32_t range)
{
    return !strcmp(nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]), "cpu_op");
}

int nvt_has_pytorch_operators(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->domains.count; i++)
        if (!strcmp(nvt_name(trace, trace->domains.name[i]), "cpu_op"))
            return 1;
    return 0;
}

int nvt_is_optimizer_step(const struct nvt_trace *trace, uint32_t range)
{
    static const char step[] = "Optimizer.step#";
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    return !strcmp(name, "optimizer") || !strncmp(name, step, sizeof(step) - 1);
}

enum nvt_loop_interruption nvt_loop_interruption_of(const struct nvt_trace *trace, uint32_t name,
                                                    uint32_t domain)
{
    static const struct {
        const char *begin;
        enum nvt_loop_interruption part;
    } begins[] = {{"eval", NVT_LOOP_EVALUATION},
                  {"valid", NVT_LOOP_EVALUATION},
                  {"checkpoint", NVT_LOOP_CHECKPOINT},
                  {"ckpt", NVT_LOOP_CHECKPOINT},
                  {"save", NVT_LOOP_CHECKPOINT}};
    const char *text = nvt_name(trace, name);
    const int is_ours = !strcmp(nvt_name(trace, trace->domains.name[domain]), "PyTorch");
    for (size_t i = 0; i < NVT_COUNT_OF(begins); i++)
        if (!strncasecmp(text, begins[i].begin, strlen(begins[i].begin)) &&
            (!is_ours || !strcmp(text, "evaluation") || !strcmp(text, "checkpoint")))
            return begins[i].part;
    return NVT_LOOP_OTHER;
}
