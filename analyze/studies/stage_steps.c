#include "stage_steps.h"

#include <stdlib.h>

#include "../../lib/map.h"
#include "../device/communication.h"
#include "../device/project.h"

struct finding {
    const struct nvt_trace *trace;
    struct nvt_map named; /* strings that name a step */
    struct nvt_map of;    /* range << 32 | device -> of steps */
    struct nvt_stage_step *steps;
    uint32_t count;
};

/* 0, or -1 when out of memory. */
static int find_names(struct finding *finding)
{
    const uint32_t count = nvt_strings_count(finding->trace->strings);
    int failed = 0;
    for (uint32_t i = 0; i < count && !failed; i++) {
        const struct nvt_stage_name says = nvt_stage_name(nvt_name(finding->trace, i));
        if (says.kind != NVT_STEP_NONE)
            failed = nvt_map_set(&finding->named, i, 0);
    }
    return failed;
}

/* The innermost range that is a step, NVT_NONE: none is. */
static uint32_t step_around(const struct finding *finding, const uint32_t *ranges, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;)
        if (nvt_map_get(&finding->named, finding->trace->ranges.name[ranges[i]]) != NVT_MAP_NONE)
            return ranges[i];
    return NVT_NONE;
}

static int add_op(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct finding *finding = context;
    const struct nvt_trace *trace = finding->trace;
    const uint32_t range =
        trace->ops.kind[op] == NVT_OP_KERNEL ? step_around(finding, ranges, count) : NVT_NONE;
    if (range == NVT_NONE)
        return 0;
    const struct nvt_stage_name says = nvt_stage_name(nvt_name(trace, trace->ranges.name[range]));
    if (nvt_step_computes(says.kind) == nvt_is_communication(trace, op))
        return 0;
    const uint32_t device = trace->ops.device[op];
    struct nvt_stage_step *step = nvt_map_item(&finding->of, (uint64_t)range << 32 | device,
                                               &finding->steps, &finding->count, sizeof(*step));
    if (!step)
        return -1;
    if (step->name.kind == NVT_STEP_NONE)
        *step = (struct nvt_stage_step){
            says, range, trace->ops.process[op], device, trace->ops.start[op], trace->ops.end[op]};
    if (trace->ops.start[op] < step->start)
        step->start = trace->ops.start[op];
    if (trace->ops.end[op] > step->end)
        step->end = trace->ops.end[op];
    return 0;
}

static int earlier_first(const void *a, const void *b)
{
    const struct nvt_stage_step *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->range > y->range) - (x->range < y->range);
}

int nvt_stage_steps_find(struct nvt_stage_step **steps, uint32_t *count,
                         const struct nvt_trace *trace)
{
    struct finding finding = {.trace = trace};
    int failed = find_names(&finding);
    if (!failed && finding.named.used)
        failed = nvt_project(trace, NVT_ACROSS_WAITS, add_op, &finding, NULL);
    if (finding.count)
        qsort(finding.steps, finding.count, sizeof(*finding.steps), earlier_first);
    nvt_map_free(&finding.named);
    nvt_map_free(&finding.of);
    *steps = finding.steps;
    *count = finding.count;
    return failed ? -1 : 0;
}
