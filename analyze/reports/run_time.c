/*
 * run_time: where the whole run of a process went, from its start to its end (studies/run_time.h). The parts of a process add up to
 * its time.
 */
#include "../studies/run_time.h"
#include "report.h"

static void put_process(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_run_time *time)
{
    for (int part = 0; part < NVT_RUN_PARTS; part++)
        if (time->ns[part])
            nvt_table_put(table, 100 * (double)time->ns[part] / (double)(time->to - time->from),
                          time->ns[part], NVT_IF(time->count[part], time->count[part]),
                          nvt_run_part_name(time, (enum nvt_run_part)part),
                          trace->processes.pid[time->process], trace->threads.tid[time->thread]);
}

static int put_run_time_trace(struct nvt_table *table, const struct nvt_trace *trace,
                              const struct nvt_making *making)
{
    struct nvt_run_times times = {0};
    int status = nvt_run_times_make(&times, trace);
    for (uint32_t k = 0; k < times.count && !status; k++)
        put_process(table, trace, &times.items[k]);
    nvt_run_times_free(&times);
    (void)making;
    return status;
}

const struct nvt_report nvt_report_run_time = {
    .name = "run_time",
    .about =
        "time of the whole run: start and imports, training or inference, evaluation, checkpoints, "
        "waiting, after the loop",
    .title = "Time of the whole run",
    .columns = {{"Time (%)", NVT_PERCENT},
                {"Total Time (ns)", NVT_NS},
                {"Instances", NVT_COUNTS},
                {"Part", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS}},
    .nothing = "no process in the input has ranges",
    .over_traces = put_run_time_trace,
};
