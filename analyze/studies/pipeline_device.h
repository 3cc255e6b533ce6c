/*
 * What the ranges of a pipeline did on the devices: work apart from messages. A kernel that sends ends only when the
 * receiver takes the message, and one that receives when it has come: their time is the neighbour's, whichever range
 * launched them (communication.h says which they are).
 */
#ifndef NVT_ANALYZE_PIPELINE_DEVICE_H
#define NVT_ANALYZE_PIPELINE_DEVICE_H

#include "../device/project.h"

/* An operation that communicates, once for each range that it belongs to. Times are the trace's. */
struct nvt_pipeline_message {
    uint32_t range;
    int64_t start, end;
};

struct nvt_pipeline_device {
    struct nvt_projected *work; /* as nvt_project_ranges has them, of what does not communicate */
    uint32_t *where;            /* by range: the device of its work, NVT_NONE without any */
    struct nvt_pipeline_message *messages;
    size_t message_count;
};

/* Of a finished trace. 0, or -1 with err filled (out of memory); free it in both cases. */
int nvt_pipeline_device_make(struct nvt_pipeline_device *device, const struct nvt_trace *trace,
                             struct nvt_error *err);
void nvt_pipeline_device_free(struct nvt_pipeline_device *device);

#endif
