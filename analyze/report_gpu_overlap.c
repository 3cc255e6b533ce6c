/*
 * overlap: how much of the communication and copying of each device ran beside computation. A row a
 * device and process. Every moment from the first operation to the last is one of: idle, only one
 * of computation, communication and copies, or several of them. Communication is what
 * nvt_is_communication says, copies are all other copies and memsets, computation all other
 * kernels. "Hidden" is the share of communication (of copies) during which computation ran.
 */
#include <stdlib.h>
#include <string.h>

#include "devices.h"
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

enum class { CLASS_COMPUTE, CLASS_COMMUNICATION, CLASS_COPY, CLASSES };

/* Times of a class in which at least one operation ran, apart and ascending. */
struct intervals {
    int64_t *start, *end;
    uint32_t count, at;
};

/* Time by which classes ran in it: index is the sum of 1 << class. */
struct overlap {
    int64_t time[1 << CLASSES];
};

static enum class class_of(const struct nvt_trace *trace, uint32_t op) {
    if (nvt_is_communication(trace, op)) return CLASS_COMMUNICATION;
    return trace->ops.kind[op] == NVT_OP_KERNEL ? CLASS_COMPUTE : CLASS_COPY;
}

static void add_interval(struct intervals *intervals, int64_t start, int64_t end)
{
    uint32_t last = intervals->count - 1;
    if (start == end)
        return;
    if (intervals->count && start <= intervals->end[last]) {
        if (end > intervals->end[last])
            intervals->end[last] = end;
        return;
    }
    intervals->start[intervals->count] = start;
    intervals->end[intervals->count++] = end;
}

/* Cut the time into pieces at whose boundaries a class begins or ends. */
static void sweep(struct intervals *classes, int64_t from, int64_t to, struct overlap *overlap)
{
    while (from < to) {
        int64_t next = to;
        unsigned running = 0;
        for (int i = 0; i < CLASSES; i++) {
            struct intervals *class = &classes[i];
            while (class->at < class->count && class->end[class->at] <= from)
                class->at++;
            if (class->at == class->count)
                continue;
            int runs = class->start[class->at] <= from;
            int64_t change = runs ? class->end[class->at] : class->start[class->at];
            running |= (unsigned)runs << i;
            if (change < next)
                next = change;
        }
        overlap->time[running] += next - from;
        from = next;
    }
}

static int measure(const struct nvt_trace *trace, const struct nvt_used_device *device,
                   struct overlap *overlap)
{
    struct intervals classes[CLASSES];
    int64_t *times = malloc((size_t)device->count * 2 * CLASSES * sizeof(*times));
    if (!times)
        return -1;
    for (uint32_t i = 0; i < CLASSES; i++)
        classes[i] = (struct intervals){times + (size_t)device->count * 2 * i,
                                        times + (size_t)device->count * (2 * i + 1), 0, 0};
    int64_t first = trace->ops.start[device->ops[0]], last = first;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        add_interval(&classes[class_of(trace, op)], trace->ops.start[op], trace->ops.end[op]);
        if (trace->ops.end[op] > last)
            last = trace->ops.end[op];
    }
    sweep(classes, first, last, overlap);
    free(times);
    return 0;
}

/* Time in which all classes of `with` ran. */
static int64_t time_with(const struct overlap *overlap, unsigned with)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < 1u << CLASSES; i++)
        if ((i & with) == with)
            sum += overlap->time[i];
    return sum;
}

static void put_hidden(struct nvt_table *table, size_t row, size_t column,
                       const struct overlap *overlap, enum class class)
{
    int64_t all = time_with(overlap, 1u << class);
    int64_t hidden = time_with(overlap, 1u << class | 1u << CLASS_COMPUTE);
    if (all)
        nvt_table_set_real(table, row, column, 100 * (double)hidden / (double)all);
}

static void put_device(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, const struct overlap *overlap)
{
    size_t row = nvt_table_add_row(table);
    nvt_put_device(table, row, DEVICE, trace, device->process, device->device);
    nvt_table_set_int(table, row, PID, trace->processes.pid[device->process]);
    nvt_table_set_int(table, row, SPAN, time_with(overlap, 0));
    nvt_table_set_int(table, row, IDLE, overlap->time[0]);
    for (unsigned i = 0; i < CLASSES; i++) {
        nvt_table_set_int(table, row, COMPUTE + i, time_with(overlap, 1u << i));
        nvt_table_set_int(table, row, ONLY_COMPUTE + i, overlap->time[1u << i]);
    }
    put_hidden(table, row, COMMUNICATION_HIDDEN, overlap, CLASS_COMMUNICATION);
    put_hidden(table, row, COPY_HIDDEN, overlap, CLASS_COPY);
}

static int add_trace(struct nvt_table *table, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, trace, err);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct overlap overlap = {{0}};
        status = measure(trace, &devices.items[i], &overlap)
                     ? nvt_fail_at(err, trace->path, -1, "out of memory")
                     : 0;
        if (!status)
            put_device(table, trace, &devices.items[i], &overlap);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static int make(struct nvt_report_input *input, struct nvt_tables *tables, struct nvt_error *err)
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
        nvt_note(input, "note: there is no device operation in what was read");
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
