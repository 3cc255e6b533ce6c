#include "rank_steps.h"

#include <string.h>

#include "../../lib/grow.h"
#include "../device/communication.h"
#include "spent.h"

/* What a device ran until a moment. */
struct spent {
    struct nvt_spent work;     /* kernels that compute */
    struct nvt_spent occupied; /* all but messages */
};

/* 0, or -1 when out of memory. */
static int find_spent(struct spent *spent, const struct nvt_trace *trace,
                      const struct nvt_used_device *device)
{
    int failed = 0;
    for (uint32_t i = 0; i < device->count && !failed; i++) {
        const uint32_t op = device->ops[i];
        const int64_t start = trace->ops.start[op], end = trace->ops.end[op];
        const int communicates = nvt_is_communication(trace, op);
        if (trace->ops.kind[op] == NVT_OP_KERNEL && !communicates)
            failed = nvt_spent_add(&spent->work, start, end);
        if (!failed &&
            !(communicates && strcasestr(nvt_name(trace, nvt_op_name(trace, op)), "sendrecv")))
            failed = nvt_spent_add(&spent->occupied, start, end);
    }
    return failed;
}

static int64_t not_occupied(const struct spent *spent, int64_t from, int64_t to)
{
    return to <= from ? 0
                      : to - from -
                            (nvt_spent_until(&spent->occupied, to) -
                             nvt_spent_until(&spent->occupied, from));
}

static int is_of(const struct nvt_stage_step *step, const struct nvt_used_device *device)
{
    return step->process == device->process && step->device == device->device;
}

/* 0, or -1 when out of memory. */
static int add_all(struct nvt_rank *rank, const struct spent *spent,
                   const struct nvt_used_device *device, const struct nvt_stage_step *steps,
                   uint32_t count, int computes)
{
    int64_t before = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct nvt_stage_step *step = &steps[i];
        if (!is_of(step, device) || nvt_step_computes(step->name.kind) != computes)
            continue;
        if (nvt_grow(&rank->steps, rank->step_count, sizeof(*rank->steps)))
            return -1;
        rank->steps[rank->step_count++] = (struct nvt_rank_step){
            .name = step->name,
            .start = step->start,
            .end = step->end,
            .compute = nvt_spent_until(&spent->work, step->end) -
                       nvt_spent_until(&spent->work, step->start),
            .waited = computes ? not_occupied(spent, before, step->start)
                               : not_occupied(spent, step->start, step->end)};
        if (before == INT64_MAX || step->end > before)
            before = step->end;
    }
    return 0;
}

int nvt_rank_add_steps(struct nvt_rank *rank, const struct nvt_used_device *device,
                       const struct nvt_stage_step *steps, uint32_t count)
{
    struct spent spent = {0};
    int any = 0, computes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_of(&steps[i], device)) {
            any = 1;
            computes |= nvt_step_computes(steps[i].name.kind);
        }
    if (!any)
        return 0;
    const int failed = find_spent(&spent, rank->from->trace, device) ||
                       add_all(rank, &spent, device, steps, count, computes);
    nvt_spent_free(&spent.work);
    nvt_spent_free(&spent.occupied);
    return failed ? -1 : 0;
}
