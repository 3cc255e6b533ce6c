/*
 * overlap: how much of the communication and copying of each device ran beside computation
 * (overlap.h). A row a device and process. "Hidden" is the share of communication (of copies) during
 * which computation ran.
 */
#include "../device/overlap.h"
#include "report.h"

enum {
    DEVICE,
    PID,
    SPAN,
    IDLE,
    COMPUTE,
    COMMUNICATION,
    COPY,
    ONLY_COMPUTE,
    ONLY_COMMUNICATION,
    ONLY_COPY,
    COMMUNICATION_HIDDEN,
    COPY_HIDDEN
};

static const struct nvt_column_spec columns[] = {
    [DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [SPAN] = {"Span (ns)", "ns", NVT_INT, 0, 0},
    [IDLE] = {"Idle (ns)", "ns", NVT_INT, 0, 0},
    [COMPUTE] = {"Compute (ns)", "ns", NVT_INT, 0, 0},
    [COMMUNICATION] = {"Communication (ns)", "ns", NVT_INT, 0, 0},
    [COPY] = {"Copy (ns)", "ns", NVT_INT, 0, 0},
    [ONLY_COMPUTE] = {"Only Compute (ns)", "ns", NVT_INT, 0, 0},
    [ONLY_COMMUNICATION] = {"Only Communication (ns)", "ns", NVT_INT, 0, 0},
    [ONLY_COPY] = {"Only Copy (ns)", "ns", NVT_INT, 0, 0},
    [COMMUNICATION_HIDDEN] = {"Communication Hidden (%)", "%", NVT_REAL, 1, 0},
    [COPY_HIDDEN] = {"Copy Hidden (%)", "%", NVT_REAL, 1, 0},
};

static void put_hidden(struct nvt_table *table, size_t row, size_t column,
                       const struct nvt_overlap *overlap, enum nvt_op_class class)
{
    int64_t all = nvt_overlap_with(overlap, 1u << class);
    int64_t hidden = nvt_overlap_with(overlap, 1u << class | 1u << NVT_CLASS_COMPUTE);
    if (all)
        nvt_table_set_real(table, row, column, 100 * (double)hidden / (double)all);
}

static void put_device(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, const struct nvt_overlap *overlap)
{
    size_t row = nvt_table_add_row(table);
    nvt_put_device(table, row, DEVICE, trace, device->process, device->device);
    nvt_table_set_int(table, row, PID, trace->processes.pid[device->process]);
    nvt_table_set_int(table, row, SPAN, nvt_overlap_with(overlap, 0));
    nvt_table_set_int(table, row, IDLE, overlap->time[0]);
    for (unsigned i = 0; i < NVT_CLASSES; i++) {
        nvt_table_set_int(table, row, COMPUTE + i, nvt_overlap_with(overlap, 1u << i));
        nvt_table_set_int(table, row, ONLY_COMPUTE + i, overlap->time[1u << i]);
    }
    put_hidden(table, row, COMMUNICATION_HIDDEN, overlap, NVT_CLASS_COMMUNICATION);
    put_hidden(table, row, COPY_HIDDEN, overlap, NVT_CLASS_COPY);
}

static int add_trace(struct nvt_table *table, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, trace, err);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct nvt_overlap overlap;
        status = nvt_overlap_make(&overlap, trace, &devices.items[i])
                     ? nvt_fail_at(err, trace->path, -1, "out of memory")
                     : 0;
        if (!status)
            put_device(table, trace, &devices.items[i], &overlap);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table = nvt_report_table(
        &nvt_report_overlap, input, "Computation, communication and copies at the same time", err);
    if (!table)
        return -1;
    for (size_t i = 0; i < input->trace_count; i++)
        if (add_trace(table, input->traces[i].trace, err)) {
            nvt_table_free(table);
            return -1;
        }
    if (!nvt_table_rows(table))
        nvt_note(input, "note: no device operations in the input");
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_overlap = {
    .name = "overlap",
    .about = "computation, communication and copies of each device, alone and at the same time",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
