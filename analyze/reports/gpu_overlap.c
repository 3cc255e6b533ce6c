/*
 * overlap: how much of the communication and copying of each device ran beside computation
 * (overlap.h). A row a device and process. "Hidden" is the share of communication (of copies) during
 * which computation ran.
 */
#include "../device/overlap.h"
#include "report.h"

/* The share of it during which computation ran. */
static double hidden(const struct nvt_overlap *overlap, enum nvt_op_class class)
{
    return nvt_percent(nvt_overlap_with(overlap, 1u << class | 1u << NVT_CLASS_COMPUTE),
                       nvt_overlap_with(overlap, 1u << class));
}

static int put_overlap(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, const struct nvt_making *making)
{
    struct nvt_overlap overlap;
    (void)making;
    if (nvt_overlap_make(&overlap, trace, device))
        return -1;
    nvt_table_put(table, NVT_DEVICE(trace, device->process, device->device),
                  trace->processes.pid[device->process], nvt_overlap_with(&overlap, 0),
                  overlap.time[0]);
    for (unsigned i = 0; i < NVT_CLASSES; i++)
        nvt_table_more(table, nvt_overlap_with(&overlap, 1u << i));
    for (unsigned i = 0; i < NVT_CLASSES; i++)
        nvt_table_more(table, overlap.time[1u << i]);
    nvt_table_more(table, hidden(&overlap, NVT_CLASS_COMMUNICATION),
                   hidden(&overlap, NVT_CLASS_COPY));
    return 0;
}

const struct nvt_report nvt_report_overlap = {
    .name = "overlap",
    .about = "overlap of computation, communication and copies on each device",
    .title = "Overlap of computation, communication and copies",
    .columns = {{"Device", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Span (ns)", NVT_NS},
                {"Idle (ns)", NVT_NS},
                {"Compute (ns)", NVT_NS},
                {"Communication (ns)", NVT_NS},
                {"Copy (ns)", NVT_NS},
                {"Only Compute (ns)", NVT_NS},
                {"Only Communication (ns)", NVT_NS},
                {"Only Copy (ns)", NVT_NS},
                {"Communication Hidden (%)", NVT_PERCENT},
                {"Copy Hidden (%)", NVT_PERCENT}},
    .nothing = "no device operations in the input",
    .each_device = put_overlap,
};
