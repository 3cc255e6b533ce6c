/*
 * gpipe: the pipeline-parallel memory study, a row a configuration (published/gpipe.h). Its
 * published layout is that of the study's log.
 */
#include <math.h>
#include <string.h>

#include "../input/conditions.h"
#include "../published/gpipe.h"
#include "report.h"

/* What is not always there. */
struct extras {
    unsigned conditions; /* in which rows differ */
    int has_remarks;
};

static struct extras extras_of(const struct nvt_input *input)
{
    struct extras extras = {nvt_conditions_of(input->runs, input->run_count, NVT_OF_ALL), 0};
    const struct nvt_record *record;
    for (size_t i = 0; (record = nvt_input_record_of(input, "gpipe", &i));)
        extras.has_remarks |= nvt_gpipe_is_of_launches(record);
    return extras;
}

static struct nvt_cell count_of(const struct nvt_record *record, const char *key)
{
    double value = nvt_record_number(record, key);
    return NVT_IF(value >= 0 && value <= 9e15, (int64_t)value);
}

static double seconds_of(const struct nvt_record *record, const char *key)
{
    return nvt_record_number(record, key) * 1e-9;
}

#define RESERVED_TEXT (NVT_PARTITIONS_MOST * 16)

/* In MiB, of each partition: "12; 13"; NULL where it is not known. */
static const char *reserved_text(const struct nvt_record *record, char text[RESERVED_TEXT])
{
    int64_t bytes[NVT_PARTITIONS_MOST];
    size_t used = 0, count = nvt_partition_bytes(record, "reserved_bytes_per_partition", bytes);
    *text = 0;
    for (size_t i = 0; i < count && used < RESERVED_TEXT; i++)
        used += (size_t)snprintf(text + used, RESERVED_TEXT - used, "%s%.0f", i ? "; " : "",
                                 (double)bytes[i] / NVT_MEBIBYTE);
    return count ? text : NULL;
}

static void put_gpipe_row(struct nvt_table *table, const struct nvt_record *record,
                          const struct extras *extras)
{
    char reserved[RESERVED_TEXT], condition[NVT_CONDITION_SIZE];
    const char *checkpoint = nvt_record_text(record, "checkpoint");
    if (checkpoint && !strcmp(checkpoint, "true"))
        checkpoint = "on";
    else if (checkpoint && !strcmp(checkpoint, "false"))
        checkpoint = "off";
    nvt_table_put(table, nvt_record_text(record, "model"), count_of(record, "partitions"),
                  count_of(record, "microbatches"), checkpoint, nvt_record_text(record, "engine"),
                  nvt_record_text(record, "schedule"), nvt_record_text(record, "transport"),
                  nvt_record_text(record, "attention_axis"), seconds_of(record, "forward_ns_mean"),
                  seconds_of(record, "backward_ns_mean"),
                  seconds_of(record, "forward_launch_ns_mean"),
                  seconds_of(record, "backward_launch_ns_mean"), seconds_of(record, "step_ns_mean"),
                  seconds_of(record, "step_launch_ns_mean"),
                  nvt_record_number(record, "throughput_samples_per_s"),
                  nvt_record_number(record, "peak_activation_bytes") * (1 / NVT_MEBIBYTE),
                  nvt_record_number(record, "total_reserved_bytes") * (1 / NVT_MEBIBYTE),
                  reserved_text(record, reserved), count_of(record, "parameters"),
                  nvt_record_text(record, "status"), nvt_record_source(record));
    if (extras->conditions)
        nvt_table_more(table, nvt_condition_text(record, extras->conditions, condition));
    if (extras->has_remarks)
        nvt_table_more(table,
                       NVT_IF(nvt_gpipe_is_of_launches(record), "samples/s from launch times"));
}

static int put_gpipe(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    const struct extras extras = extras_of(input);
    const struct nvt_record *record;
    if (!extras.conditions)
        nvt_table_drop(table, "measured with", 1);
    if (!extras.has_remarks)
        nvt_table_drop(table, "remark", 1);
    for (size_t i = 0; (record = nvt_input_record_of(input, "gpipe", &i));)
        put_gpipe_row(table, record, &extras);
    return nvt_table_rows(table) ? 0 : nvt_input_refuse(input, "gpipe", making->err);
}

const struct nvt_report nvt_report_gpipe = {
    .name = "gpipe",
    .about = "the pipeline-parallel memory study of a run directory: times, throughput, memory",
    .needs = NVT_NEEDS_RUNS,
    .columns = {{"model", NVT_NAMES},
                {"partitions", NVT_COUNTS},
                {"micro-batches", NVT_COUNTS},
                {"checkpoint", NVT_NAMES},
                {"engine", NVT_NAMES},
                {"schedule", NVT_NAMES},
                {"transport", NVT_NAMES},
                {"attention", NVT_NAMES},
                {"forward (s)", NVT_REALS("s", 4)},
                {"backward (s)", NVT_REALS("s", 4)},
                {"forward launch (s)", NVT_SPARE_REALS("s", 4)},
                {"backward launch (s)", NVT_SPARE_REALS("s", 4)},
                {"step (s)", NVT_REALS("s", 4)},
                {"step launch (s)", NVT_SPARE_REALS("s", 4)},
                {"samples/s", NVT_REALS("", 1)},
                {"peak activation (MiB)", NVT_REALS("MiB", 1)},
                {"total reserved (MiB)", NVT_REALS("MiB", 1)},
                {"reserved by partition (MiB)", "MiB", NVT_TEXT, 0, NVT_SPARE},
                {"parameters", NVT_COUNTS},
                {"status", NVT_NAMES},
                {"source", NVT_NAMES},
                {"measured with", NVT_NAMES},
                {"remark", NVT_NAMES}},
    .title = "Pipeline-parallel memory study",
    .of_input = put_gpipe,
    .published = nvt_published_gpipe,
};
