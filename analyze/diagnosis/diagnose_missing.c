/* What is not on record, and how many rules therefore had nothing to look at. */
#include <stdlib.h>

#include "../../lib/count_of.h"
#include "../model/counters.h"
#include "diagnose.h"

/* In this order: a rule is counted for the first that it needs and that no trace has. */
static const struct {
    unsigned need;
    const char *what, *remedies[NVT_RECORDERS];
} records[] = {
    {NVT_RULE_OPS,
     "device operations",
     {"nvtally record --trace kernel, on a machine with a GPU",
      "nsys profile --trace=cuda, on a machine with a GPU",
      "activities with ProfilerActivity.CUDA in torch.profiler, on a machine with a GPU"}},
    {NVT_RULE_CALLS,
     "API calls",
     {"nvtally record --trace api", "nsys profile --trace=cuda",
      "activities with ProfilerActivity.CUDA in torch.profiler"}},
    {NVT_RULE_MEMORY,
     "memory events",
     {"nvtally record --trace memory", "nsys profile --cuda-memory-usage=true",
      "profile_memory=True in torch.profiler"}},
    {NVT_RULE_RANGES,
     "NVTX ranges",
     {"annotate the program with NVTX, or nvtally record --pytorch",
      "annotate the program with NVTX; nsys profile --trace=nvtx",
      "annotate the program with torch.profiler.record_function"}},
    {NVT_RULE_ITERATIONS,
     "iterations",
     {"a range 'iteration' around each, or --iteration NAME; for training, nvtally record "
      "--pytorch",
      "a range 'iteration' around each, PyTorch's ProfilerStep, or --iteration NAME",
      "a range 'iteration' around each, ProfilerStep (step() of torch.profiler), or --iteration "
      "NAME"}},
};

#define RECORDS NVT_COUNT_OF(records)

/* The recorder of all traces; ours where several differ. */
static enum nvt_recorder recorder_of_all(const struct nvt_input *input)
{
    enum nvt_recorder first =
        input->trace_count ? input->traces[0].trace->recorder : NVT_BY_NVTALLY;
    for (size_t i = 1; i < input->trace_count; i++)
        if (input->traces[i].trace->recorder != first)
            return NVT_BY_NVTALLY;
    return first;
}

/* What a trace has. 0 or -1. */
static int add_trace(const struct nvt_trace *trace, unsigned *has)
{
    uint32_t iterations = 0;
    uint32_t *rows = nvt_iterations(trace, &iterations);
    *has |= (trace->ops.count ? NVT_RULE_OPS : 0u) | (trace->apis.count ? NVT_RULE_CALLS : 0u) |
            (trace->memory.count ? NVT_RULE_MEMORY : 0u) |
            (trace->memory.count || nvt_counts_memory(trace) ? NVT_RULE_LEVELS : 0u) |
            (trace->ranges.count ? NVT_RULE_RANGES : 0u) | (iterations ? NVT_RULE_ITERATIONS : 0u);
    free(rows);
    return rows ? 0 : -1;
}

static size_t first_missing(unsigned needs, unsigned has)
{
    /* Without a counter it is memory events that are missing. */
    if (needs & ~has & NVT_RULE_LEVELS)
        needs |= NVT_RULE_MEMORY;
    size_t i = 0;
    while (i < RECORDS && !(needs & ~has & records[i].need))
        i++;
    return i;
}

int nvt_diagnose_missing(const struct nvt_input *input, struct nvt_buffer *lines,
                         struct nvt_error *err)
{
    size_t blind[RECORDS + 1] = {0}, count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    const enum nvt_recorder recorder = recorder_of_all(input);
    unsigned has = 0;
    int failed = 0;
    for (size_t i = 0; i < input->trace_count && !failed; i++)
        failed = add_trace(input->traces[i].trace, &has);
    for (size_t i = 0; i < count && input->trace_count; i++)
        blind[first_missing(rules[i]->needs, has)]++;
    for (size_t i = 0; i < RECORDS && !failed; i++)
        if (blind[i])
            failed = nvt_buffer_printf(
                lines, "no %s on record: %zu of %zu rules had nothing to look at (%s)\n",
                records[i].what, blind[i], count, records[i].remedies[recorder]);
    return failed ? nvt_fail(err, "out of memory") : 0;
}
