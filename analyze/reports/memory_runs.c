#include "memory_runs.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char allocated_end[] = "peak_allocated_bytes";

static struct nvt_cell bytes_of(double bytes)
{
    return NVT_IF(bytes >= 0 && bytes < 9e15, (int64_t)bytes);
}

/* phase: with the '_' behind it, "" of the whole run. */
static void put_peak(struct nvt_table *table, const struct nvt_record *record,
                     const char *configuration, const char *phase, double allocated)
{
    char key[160], name[120];
    int length = (int)strlen(phase);
    snprintf(key, sizeof(key), "%speak_reserved_bytes", phase);
    snprintf(name, sizeof(name), "%.*s", length ? length - 1 : 0, phase);
    nvt_table_put(table, nvt_record_text(record, "workload"), configuration,
                  nvt_record_text(record, "collect"), length ? name : "(all)", bytes_of(allocated),
                  bytes_of(nvt_record_number(record, key)));
}

static int put_record(struct nvt_table *table, const struct nvt_record *record)
{
    char *configuration = nvt_record_configuration(record);
    for (size_t i = 0; configuration && i < record->count; i++) {
        const struct nvt_member *member = &record->members[i];
        size_t length = strlen(member->key), end = sizeof(allocated_end) - 1;
        char phase[100];
        /* A phase that took nothing was not run, or is none that allocates. */
        if (member->type != NVT_VALUE_NUMBER || !(member->number > 0) || length < end ||
            length - end >= sizeof(phase) || strcmp(member->key + length - end, allocated_end) != 0)
            continue;
        snprintf(phase, sizeof(phase), "%.*s", (int)(length - end), member->key);
        put_peak(table, record, configuration, phase, member->number);
    }
    free(configuration);
    return configuration ? 0 : -1;
}

static int put_memory_runs(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    int status = 0;
    for (size_t i = 0; i < input->run_count && !status; i++)
        for (size_t k = 0; k < input->runs[i]->count && !status; k++)
            status = put_record(table, &input->runs[i]->records[k]);
    if (!nvt_table_rows(table))
        nvt_making_leave_out(making, 0);
    return status;
}

int nvt_memory_of_runs(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    static const struct nvt_report runs = {
        .name = NVT_MEMORY_OF_RUNS,
        .title = "Peak memory of the workload's allocator, by phase",
        .columns = {{"workload", NVT_NAMES},
                    {"configuration", NVT_NAMES},
                    {"collect", NVT_NAMES},
                    {"phase", NVT_NAMES},
                    {"peak allocated (bytes)", "bytes", NVT_INT, 0, 0},
                    {"peak reserved (bytes)", "bytes", NVT_INT, 0, 0}},
        .of_input = put_memory_runs,
    };
    return nvt_report_make_tables(&runs, input, tables, err);
}
