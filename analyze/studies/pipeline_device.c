#include "pipeline_device.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../device/communication.h"

struct sorting {
    const struct nvt_trace *trace;
    struct nvt_pipeline_device *device;
};

static int add_message(struct sorting *sorting, uint32_t op, uint32_t range)
{
    struct nvt_pipeline_device *device = sorting->device;
    if (nvt_grow(&device->messages, device->message_count, sizeof(*device->messages)))
        return -1;
    device->messages[device->message_count++] = (struct nvt_pipeline_message){
        range, sorting->trace->ops.start[op], sorting->trace->ops.end[op]};
    return 0;
}

static int sort_in(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct sorting *sorting = context;
    const int communicates = count && nvt_is_communication(sorting->trace, op);
    for (uint32_t i = 0; i < count; i++)
        if (!communicates) {
            nvt_projected_add(&sorting->device->work[ranges[i]], &sorting->trace->ops, op);
            sorting->device->where[ranges[i]] = sorting->trace->ops.device[op];
        } else if (add_message(sorting, op, ranges[i])) {
            return -1;
        }
    return 0;
}

int nvt_pipeline_device_make(struct nvt_pipeline_device *device, const struct nvt_trace *trace,
                             struct nvt_error *err)
{
    struct sorting sorting = {trace, device};
    *device = (struct nvt_pipeline_device){0};
    device->work = calloc((size_t)trace->ranges.count + 1, sizeof(*device->work));
    device->where = malloc(((size_t)trace->ranges.count + 1) * sizeof(*device->where));
    for (uint32_t i = 0; device->where && i < trace->ranges.count; i++)
        device->where[i] = NVT_NONE;
    if (device->work && device->where && !nvt_project(trace, 0, sort_in, &sorting, err))
        return 0;
    return nvt_fail_at(err, trace->path, -1, "out of memory");
}

void nvt_pipeline_device_free(struct nvt_pipeline_device *device)
{
    free(device->work);
    free(device->where);
    free(device->messages);
    *device = (struct nvt_pipeline_device){0};
}
