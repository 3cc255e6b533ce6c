#include "memory_runs.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKLOAD, CONFIGURATION, COLLECT, PHASE, ALLOCATED, RESERVED };

static const struct nvt_column_spec columns[] = {
    [WORKLOAD] = {"workload", "", NVT_TEXT, 0, 0},
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [COLLECT] = {"collect", "", NVT_TEXT, 0, 0},
    [PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [ALLOCATED] = {"peak allocated (bytes)", "bytes", NVT_INT, 0, 0},
    [RESERVED] = {"peak reserved (bytes)", "bytes", NVT_INT, 0, 0},
};

static const char allocated_end[] = "peak_allocated_bytes";

static void put_bytes(struct nvt_table *table, size_t row, size_t column, double bytes)
{
    if (bytes >= 0 && bytes < 9e15)
        nvt_table_set_int(table, row, column, (int64_t)bytes);
}

/* phase: with the '_' behind it, "" of the whole run. */
static void put_peak(struct nvt_table *table, const struct nvt_record *record,
                     const char *configuration, const char *phase, double allocated)
{
    char key[160], name[120];
    int length = (int)strlen(phase);
    size_t row = nvt_table_add_row(table);
    snprintf(key, sizeof(key), "%speak_reserved_bytes", phase);
    snprintf(name, sizeof(name), "%.*s", length ? length - 1 : 0, phase);
    nvt_table_set_text(table, row, WORKLOAD, nvt_record_text(record, "workload"));
    nvt_table_set_text(table, row, CONFIGURATION, configuration);
    nvt_table_set_text(table, row, COLLECT, nvt_record_text(record, "collect"));
    nvt_table_set_text(table, row, PHASE, length ? name : "(all)");
    put_bytes(table, row, ALLOCATED, allocated);
    put_bytes(table, row, RESERVED, nvt_record_number(record, key));
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

int nvt_memory_of_runs(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    static const struct nvt_report runs = {.name = NVT_MEMORY_OF_RUNS,
                                           .columns = columns,
                                           .column_count = sizeof(columns) / sizeof(columns[0])};
    struct nvt_table *table =
        nvt_report_table(&runs, input, "Peak memory of the workload's allocator, by phase", err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->run_count && !status; i++)
        for (size_t k = 0; k < input->runs[i]->count && !status; k++)
            status =
                put_record(table, &input->runs[i]->records[k]) ? nvt_fail(err, "out of memory") : 0;
    if (status || !nvt_table_rows(table)) {
        nvt_table_free(table);
        return status;
    }
    return nvt_report_add(tables, table, err);
}
