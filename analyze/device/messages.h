/*
 * What an operation communicates: the collective, its type, how many ranks and how large.
 *
 * The size is that by which NCCL's tests reckon (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md and src/): of an all-gather, a
 * reduce-scatter, a gather and a scatter what all ranks have together, of an all-to-all what one rank gives, else the message.
 * Bandwidth is that size by time; bus bandwidth that times what of it crosses the slowest link: 2(n-1)/n of an all-reduce over n
 * ranks, (n-1)/n of an all-gather, a reduce-scatter, a gather, a scatter and an all-to-all, else all.
 */
#ifndef NVT_MESSAGES_H
#define NVT_MESSAGES_H

#include "../model/trace.h"

#define NVT_MESSAGE_UNKNOWN UINT64_MAX

struct nvt_message {
    char name[128], type[32];
    uint32_t ranks; /* 0: unknown */
    uint64_t bytes; /* or NVT_MESSAGE_UNKNOWN */
};

/* As PyTorch says, by a row of collectives. */
struct nvt_message nvt_message_told(const struct nvt_trace *trace, uint32_t row);

/* As NCCL's range around the launch says (collectives.cc): of an all-gather, a reduce-scatter, a gather and a scatter one
 * rank's part, of an all-to-all what goes to one rank, as the arguments are. How many there are, it does not say. */
struct nvt_message nvt_message_ranged(const struct nvt_trace *trace, uint32_t range);

/* As a range of torch.distributed says (lib/collective_payload.h), or one of NCCL's profiler plugin that ends when it is done
 * (lib/nccl_payload.h). Whether a range is one. */
int nvt_message_launched(const struct nvt_trace *trace, uint32_t range,
                         struct nvt_message *message);

/* What of a size crosses the slowest link; NaN where the number of ranks is unknown (0) and counts. */
double nvt_bus_factor(const char *name, uint32_t ranks);

#endif
