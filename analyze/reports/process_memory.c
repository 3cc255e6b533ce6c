/*
 * process_memory: the memory of each recorded process over time, as the recorder samples it. The first table has a row a
 * process, the second one a row an iteration of the processes that enter iterations: what was resident at its end, by how much
 * more than at its begin, and the most in between, of what samples (10 a second) saw.
 *
 * "Growth" is that of steady growth (steady_growth.h), an iteration or, without any, a second; empty where there is none.
 */
#include <math.h>

#include "../studies/process_memory.h"
#include "report.h"

static int put_process(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_process_memory *memory, const struct nvt_memory_loop *loop)
{
    const struct nvt_counter_course *resident = memory->courses[NVT_MACHINE_RESIDENT];
    struct nvt_process_growth growth;
    if (nvt_process_growth_find(&growth, memory, loop))
        return -1;
    const double seconds = (double)(growth.to - growth.from) / 1e9;
    const int is_steady = growth.level.is_steady;
    nvt_table_put(
        table, trace->processes.pid[memory->process],
        nvt_text_if_any(nvt_name(trace, trace->processes.name[memory->process])), resident->count,
        resident->level[0], nvt_process_memory_last(memory, NVT_MACHINE_RESIDENT),
        nvt_process_memory_highest(memory, NVT_MACHINE_RESIDENT),
        nvt_process_memory_last(memory, NVT_MACHINE_FILE_BACKED),
        nvt_process_memory_last(memory, NVT_MACHINE_PROPORTIONAL),
        nvt_process_memory_last(memory, NVT_MACHINE_PINNED),
        nvt_process_memory_last(memory, NVT_MACHINE_SWAPPED),
        NVT_IF(growth.iterations > 0, (uint64_t)growth.iterations),
        NVT_IF(is_steady && growth.iterations > 0, growth.level.growth / growth.iterations),
        NVT_IF(is_steady, growth.level.growth / seconds));
    return 0;
}

/* Of the process that enters them. */
static void put_iterations(struct nvt_table *table, const struct nvt_trace *trace,
                           const struct nvt_process_memory *memory,
                           const struct nvt_memory_loop *loop)
{
    const struct nvt_counter_course *course = memory->courses[NVT_MACHINE_RESIDENT];
    for (uint32_t i = 0; i < loop->count && loop->process == memory->process; i++) {
        const int64_t start = trace->ranges.start[loop->rows[i]];
        const int64_t end = trace->ranges.end[loop->rows[i]];
        const uint32_t first = nvt_course_until(course, start),
                       last = nvt_course_until(course, end);
        double lowest, highest;
        if (!last)
            continue;
        nvt_course_bounds(course, first ? first - 1 : 0, last, &lowest, &highest);
        nvt_table_put(table, trace->processes.pid[memory->process], i + 1, start, end - start,
                      last - first, course->level[last - 1],
                      NVT_IF(first, course->level[last - 1] - course->level[first - 1]), highest);
    }
}

static int put_trace(struct nvt_table *table, const struct nvt_trace *trace,
                     const struct nvt_making *making)
{
    struct nvt_processes_memory all = {.count = 0};
    int failed = nvt_processes_memory_make(&all, trace);
    for (uint32_t i = 0; i < all.count && !failed; i++) {
        struct nvt_memory_loop loop;
        failed = nvt_memory_loop_make(&loop, trace, all.items[i].process) ||
                 put_process(table, trace, &all.items[i], &loop);
        if (!failed)
            put_iterations(making->tables[1], trace, &all.items[i], &loop);
        nvt_memory_loop_free(&loop);
    }
    nvt_processes_memory_free(&all);
    return failed ? -1 : 0;
}

#define BYTES NVT_REALS("B", 0)

static const struct nvt_table_kind more[] = {
    {.title = "Memory per iteration",
     .columns = {{"PID", NVT_IDS},
                 {"Iteration", NVT_COUNTS},
                 {"Start (ns)", NVT_NS},
                 {"Duration (ns)", NVT_NS},
                 {"Samples", NVT_COUNTS},
                 {"Resident (B)", BYTES},
                 {"Change (B)", BYTES},
                 {"Highest (B)", BYTES}},
     .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_process_memory = {
    .name = "process_memory",
    .about = "memory by process over time, and per iteration (record --trace process)",
    .columns = {{"PID", NVT_IDS},
                {"Process", NVT_NAMES},
                {"Samples", NVT_COUNTS},
                {"First (B)", BYTES},
                {"Last (B)", BYTES},
                {"Highest (B)", BYTES},
                {"File-Backed (B)", BYTES},
                {"Proportional (B)", BYTES},
                {"Pinned (B)", BYTES},
                {"Swapped (B)", BYTES},
                {"Iterations", NVT_COUNTS},
                {"Growth (B/iteration)", NVT_REALS("B", 0)},
                {"Growth (B/s)", NVT_REALS("B/s", 0)}},
    .title = "Memory by process",
    .nothing = "no samples of process memory in the input (record --trace nvtx,kernel,process, or "
               "--pytorch)",
    .over_traces = put_trace,
    .more = more,
};
