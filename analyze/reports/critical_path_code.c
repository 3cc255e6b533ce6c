#include "critical_path_code.h"

#include <stdlib.h>

#include "../../lib/clock.h"
#include "../model/buckets.h"

/* The samples of a trace, with their functions. */
struct sampled {
    const struct nvt_trace *trace;
    struct nvt_sampled_functions functions;
    struct nvt_buckets threads; /* samples of each */
    uint32_t *groups;           /* of each function */
};

/* The samples of a step of the path. 0, or -1 when out of memory. */
static int add_segment(struct nvt_path_code *code, const struct sampled *sampled,
                       const struct nvt_path_segment *segment, int64_t from, int64_t to)
{
    const struct nvt_cpu_samples *rows = &sampled->trace->cpu_samples;
    const uint32_t thread = segment->thread;
    from = from > segment->start ? from : segment->start;
    to = to < segment->end ? to : segment->end;
    if (segment->kind != NVT_PATH_HOST || thread == NVT_NONE)
        return 0;
    uint32_t at = nvt_buckets_behind(&sampled->threads, thread, rows->time, from);
    for (; at < sampled->threads.first[thread + 1]; at++) {
        const uint32_t sample = sampled->threads.rows[at];
        const int64_t weight = nvt_sample_weight(&sampled->functions, sample);
        if (rows->time[sample] > to)
            break;
        if (nvt_pairs_add(&code->pairs, 0,
                          sampled->groups[nvt_function_of(&sampled->functions, sample)], weight))
            return -1;
        code->weight = nvt_clock_sum(code->weight, weight);
        code->samples++;
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_all(struct nvt_path_code *code, struct sampled *sampled,
                   const struct nvt_path_part *parts, uint32_t count)
{
    const struct nvt_trace *trace = sampled->trace;
    sampled->groups = nvt_cpu_groups(&code->functions, &sampled->functions);
    if (!sampled->groups || nvt_buckets_make(&sampled->threads, trace->cpu_samples.thread,
                                             trace->threads.count, NULL, trace->cpu_samples.count))
        return -1;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < parts[i].path->count; k++)
            if (add_segment(code, sampled, &parts[i].path->segments[k], parts[i].from, parts[i].to))
                return -1;
    return 0;
}

int nvt_path_code_add(struct nvt_path_code *code, const struct nvt_trace *trace,
                      const struct nvt_path_part *parts, uint32_t count, struct nvt_error *err)
{
    struct sampled sampled = {.trace = trace};
    if (!trace->cpu_samples.count)
        return 0;
    int status = nvt_cpu_functions(&sampled.functions, trace, NVT_BY_FUNCTION, &code->input, err);
    if (!status && add_all(code, &sampled, parts, count))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_sampled_functions_free(&sampled.functions);
    nvt_buckets_free(&sampled.threads);
    free(sampled.groups);
    return status;
}

int nvt_path_code_put(struct nvt_table *table, struct nvt_path_code *code)
{
    if (nvt_pairs_sort(&code->pairs, 1))
        return -1;
    for (uint32_t i = 0; i < code->pairs.count; i++) {
        const struct nvt_pair *pair = &code->pairs.items[i];
        nvt_table_put(table, nvt_percent(pair->weight, code->weight),
                      nvt_cpu_time(&code->input, pair->weight), pair->count,
                      nvt_text_if_any(nvt_groups_part(&code->functions, pair->part, 0)),
                      nvt_text_if_any(nvt_groups_part(&code->functions, pair->part, 1)));
    }
    return 0;
}

void nvt_path_code_free(struct nvt_path_code *code)
{
    nvt_groups_free(&code->functions);
    nvt_pairs_free(&code->pairs);
}
