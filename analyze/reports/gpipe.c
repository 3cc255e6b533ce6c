/*
 * gpipe: the pipeline-parallel memory study, a row a configuration (published/gpipe.h). Its
 * published layout is that of the study's log.
 */
#include <math.h>
#include <string.h>

#include "../input/conditions.h"
#include "../published/gpipe.h"
#include "report.h"

#define MIB (1024.0 * 1024.0)

enum {
    MODEL,
    PARTITIONS,
    MICROBATCHES,
    CHECKPOINT,
    ENGINE,
    SCHEDULE,
    TRANSPORT,
    ATTENTION,
    FORWARD,
    BACKWARD,
    FORWARD_LAUNCH,
    BACKWARD_LAUNCH,
    STEP,
    STEP_LAUNCH,
    THROUGHPUT,
    ACTIVATION,
    TOTAL,
    RESERVED,
    PARAMETERS,
    STATUS,
    SOURCE,
    CONDITION, /* where some differ in it */
    REMARK     /* where one has a remark */
};

static const struct nvt_column_spec columns[] = {
    [MODEL] = {"model", "", NVT_TEXT, 0, 0},
    [PARTITIONS] = {"partitions", "", NVT_INT, 0, 0},
    [MICROBATCHES] = {"micro-batches", "", NVT_INT, 0, 0},
    [CHECKPOINT] = {"checkpoint", "", NVT_TEXT, 0, 0},
    [ENGINE] = {"engine", "", NVT_TEXT, 0, 0},
    [SCHEDULE] = {"schedule", "", NVT_TEXT, 0, 0},
    [TRANSPORT] = {"transport", "", NVT_TEXT, 0, 0},
    [ATTENTION] = {"attention", "", NVT_TEXT, 0, 0},
    [FORWARD] = {"forward (s)", "s", NVT_REAL, 4, 0},
    [BACKWARD] = {"backward (s)", "s", NVT_REAL, 4, 0},
    [FORWARD_LAUNCH] = {"forward launch (s)", "s", NVT_REAL, 4, 0},
    [BACKWARD_LAUNCH] = {"backward launch (s)", "s", NVT_REAL, 4, 0},
    [STEP] = {"step (s)", "s", NVT_REAL, 4, 0},
    [STEP_LAUNCH] = {"step launch (s)", "s", NVT_REAL, 4, 0},
    [THROUGHPUT] = {"samples/s", "", NVT_REAL, 1, 0},
    [ACTIVATION] = {"peak activation (MiB)", "MiB", NVT_REAL, 1, 0},
    [TOTAL] = {"total reserved (MiB)", "MiB", NVT_REAL, 1, 0},
    [RESERVED] = {"reserved by partition (MiB)", "MiB", NVT_TEXT, 0, 0},
    [PARAMETERS] = {"parameters", "", NVT_INT, 0, 0},
    [STATUS] = {"status", "", NVT_TEXT, 0, 0},
    [SOURCE] = {"source", "", NVT_TEXT, 0, 0},
    [CONDITION] = {"measured with", "", NVT_TEXT, 0, 0},
    [REMARK] = {"remark", "", NVT_TEXT, 0, 0},
};

/* What is not always there. */
struct extras {
    unsigned conditions; /* in which rows differ */
    int has_remarks;
};

static struct extras extras_of(const struct nvt_input *input)
{
    struct extras extras = {nvt_conditions_of(input->runs, input->run_count, NVT_OF_ALL), 0};
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            extras.has_remarks |=
                nvt_record_is_of(record, "gpipe") && nvt_gpipe_is_of_launches(record);
        }
    return extras;
}

static void put_count(struct nvt_table *table, size_t row, size_t column,
                      const struct nvt_record *record, const char *key)
{
    double value = nvt_record_number(record, key);
    if (value >= 0 && value <= 9e15)
        nvt_table_set_int(table, row, column, (int64_t)value);
}

static void put_reserved(struct nvt_table *table, size_t row, const struct nvt_record *record)
{
    int64_t bytes[NVT_PARTITIONS_MOST];
    char text[NVT_PARTITIONS_MOST * 16] = "";
    size_t used = 0, count = nvt_partition_bytes(record, "reserved_bytes_per_partition", bytes);
    for (size_t i = 0; i < count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.0f", i ? "; " : "",
                                 (double)bytes[i] / MIB);
    nvt_table_set_text(table, row, RESERVED, count ? text : NULL);
}

static void put_row(struct nvt_table *table, const struct nvt_record *record,
                    const struct extras *extras)
{
    static const struct {
        size_t column;
        const char *key;
        double scale;
    } reals[] = {{FORWARD, "forward_ns_mean", 1e-9},
                 {BACKWARD, "backward_ns_mean", 1e-9},
                 {FORWARD_LAUNCH, "forward_launch_ns_mean", 1e-9},
                 {BACKWARD_LAUNCH, "backward_launch_ns_mean", 1e-9},
                 {STEP, "step_ns_mean", 1e-9},
                 {STEP_LAUNCH, "step_launch_ns_mean", 1e-9},
                 {THROUGHPUT, "throughput_samples_per_s", 1},
                 {ACTIVATION, "peak_activation_bytes", 1 / MIB},
                 {TOTAL, "total_reserved_bytes", 1 / MIB}};
    size_t row = nvt_table_add_row(table);
    const char *checkpoint = nvt_record_text(record, "checkpoint");
    nvt_table_set_text(table, row, MODEL, nvt_record_text(record, "model"));
    put_count(table, row, PARTITIONS, record, "partitions");
    put_count(table, row, MICROBATCHES, record, "microbatches");
    nvt_table_set_text(table, row, CHECKPOINT,
                       checkpoint && !strcmp(checkpoint, "true")    ? "on"
                       : checkpoint && !strcmp(checkpoint, "false") ? "off"
                                                                    : checkpoint);
    nvt_table_set_text(table, row, ENGINE, nvt_record_text(record, "engine"));
    nvt_table_set_text(table, row, SCHEDULE, nvt_record_text(record, "schedule"));
    nvt_table_set_text(table, row, TRANSPORT, nvt_record_text(record, "transport"));
    nvt_table_set_text(table, row, ATTENTION, nvt_record_text(record, "attention_axis"));
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
        nvt_table_set_real(table, row, reals[i].column,
                           nvt_record_number(record, reals[i].key) * reals[i].scale);
    put_reserved(table, row, record);
    put_count(table, row, PARAMETERS, record, "parameters");
    nvt_table_set_text(table, row, STATUS, nvt_record_text(record, "status"));
    nvt_table_set_text(table, row, SOURCE, nvt_record_source(record));
    if (extras->conditions)
        nvt_condition_put(table, row, CONDITION, record, extras->conditions);
    if (extras->has_remarks && nvt_gpipe_is_of_launches(record))
        nvt_table_set_text(table, row, extras->conditions ? REMARK : CONDITION,
                           "samples/s is of launch times");
}

/* A table with the last columns as far as they are needed. NULL with err: out of memory. */
static struct nvt_table *new_table(const struct nvt_input *input, const struct extras *extras,
                                   struct nvt_error *err)
{
    struct nvt_column_spec shown[sizeof(columns) / sizeof(columns[0])];
    struct nvt_report report = nvt_report_gpipe;
    memcpy(shown, columns, sizeof(shown));
    report.columns = shown;
    report.column_count = CONDITION;
    if (extras->conditions)
        report.column_count++;
    if (extras->has_remarks)
        shown[report.column_count++] = columns[REMARK];
    return nvt_report_table(&report, input, "Pipeline-parallel memory study", err);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    const struct extras extras = extras_of(input);
    struct nvt_table *table = new_table(input, &extras, err);
    size_t count = 0;
    for (size_t i = 0; table && i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            if (!nvt_record_is_of(record, "gpipe"))
                continue;
            put_row(table, record, &extras);
            count++;
        }
    if (table && !count) {
        nvt_table_free(table);
        nvt_fail(err, "holds no run of gpipe");
        return nvt_error_in(err, input->run_count ? input->runs[0]->path : "input");
    }
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_gpipe = {
    .name = "gpipe",
    .about = "the pipeline-parallel memory study of a run directory: times, throughput, memory",
    .needs = NVT_NEEDS_RUNS,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .published = nvt_published_gpipe,
};
