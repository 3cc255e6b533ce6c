/*
 * run_time: where the whole run of a process went, from its start to its end (studies/run_time.h). The parts of a process add up to
 * its time.
 */
#include "../studies/run_time.h"
#include "report.h"

enum { SHARE, TIME, COUNT, PART, PID, TID };

static const struct nvt_column_spec columns[] = {
    [SHARE] = {"Time (%)", "%", NVT_REAL, 1, 0}, [TIME] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [COUNT] = {"Instances", "", NVT_INT, 0, 0},  [PART] = {"Part", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},  [TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
};

static void put_process(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_run_time *time)
{
    for (int part = 0; part < NVT_RUN_PARTS; part++) {
        if (!time->ns[part])
            continue;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_real(table, row, SHARE,
                           100 * (double)time->ns[part] / (double)(time->to - time->from));
        nvt_table_set_int(table, row, TIME, time->ns[part]);
        if (time->count[part])
            nvt_table_set_int(table, row, COUNT, time->count[part]);
        nvt_table_set_text(table, row, PART, nvt_run_part_name((enum nvt_run_part)part));
        nvt_table_set_int(table, row, PID, trace->processes.pid[time->process]);
        nvt_table_set_int(table, row, TID, trace->threads.tid[time->thread]);
    }
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table =
        nvt_report_table(&nvt_report_run_time, input, "Where the whole run went", err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_run_times times = {0};
        if (nvt_run_times_make(&times, trace))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        for (uint32_t k = 0; k < times.count && !status; k++)
            put_process(table, trace, &times.items[k]);
        nvt_run_times_free(&times);
    }
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    if (!nvt_table_rows(table))
        nvt_note(input, "note: no process in the input has ranges");
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_run_time = {
    .name = "run_time",
    .about =
        "where the whole run went: start and imports, training, evaluation, checkpoints, waiting, "
        "the rest",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
