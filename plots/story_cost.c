/*
 * What recording cost the programs that were recorded, trace by trace, as far as a trace says it:
 * NVTX events at the cost that the collector measured of itself (analyze/readers/compensate.h), time that
 * threads waited for the recorder, and the overhead that CUPTI reported.
 */
#include "../analyze/readers/compensate.h"
#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/reports/report.h"
#include "story_sections.h"

static enum nvt_cost cost_of_range(const struct nvt_trace *trace, uint32_t range)
{
    if (trace->ranges.style[range] == NVT_START_END)
        return NVT_COST_START_END;
    int is_plain = !trace->ranges.domain[range] && !trace->ranges.category[range] &&
                   !(trace->ranges.flags[range] & (NVT_RANGE_HAS_COLOR | NVT_RANGE_HAS_PAYLOAD));
    return is_plain ? NVT_COST_PUSH_POP : NVT_COST_ATTRIBUTES;
}

/* ns that recording took all threads. */
static double recording_of(const struct nvt_trace *trace)
{
    double ps = 0;
    for (uint32_t p = 0; p < trace->processes.count; p++) {
        double each[NVT_COSTS];
        for (int what = 0; what < NVT_COSTS; what++)
            each[what] = nvt_event_cost_of(trace, p, (enum nvt_cost)what);
        for (uint32_t i = 0; i < trace->ranges.count; i++)
            if (trace->threads.process[trace->ranges.thread[i]] == p)
                ps += each[cost_of_range(trace, i)];
        for (uint32_t i = 0; i < trace->marks.count; i++)
            if (trace->threads.process[trace->marks.thread[i]] == p)
                ps += each[NVT_COST_MARK];
    }
    return ps / 1000;
}

static void put_row(struct nvt_table *table, const struct nvt_input_trace *from)
{
    const struct nvt_trace *trace = from->trace;
    char name[600];
    double waited = 0, cupti = 0, time = 0, recording = recording_of(trace);
    for (uint32_t t = 0; t < trace->threads.count; t++) {
        waited += (double)trace->threads.waited_ns[t];
        time += trace->threads.events[t] ? (double)(trace->last_ns - trace->first_ns) : 0;
    }
    for (uint32_t i = 0; i < trace->overheads.count; i++)
        cupti += (double)(trace->overheads.end[i] - trace->overheads.start[i]);
    nvt_case_name(from, name, sizeof(name));
    const int has_costs = trace->event_costs.count > 0;
    nvt_table_put(table, name, trace->ranges.count, trace->marks.count,
                  NVT_IF(has_costs, recording / 1e6), NVT_IF(has_costs, 100 * recording / time),
                  waited / 1e6, NVT_IF(trace->overheads.count, cupti / 1e6));
}

struct nvt_table *nvt_story_cost(const struct nvt_input *input)
{
    static const struct nvt_report cost = {
        .name = "cost",
        .columns = {{"configuration", NVT_NAMES},
                    {"ranges", NVT_COUNTS},
                    {"marks", NVT_COUNTS},
                    {"recording NVTX", NVT_REALS("ms", 3)},
                    {"of the threads' time", NVT_REALS("%", 3)},
                    {"waiting for the recorder", NVT_REALS("ms", 3)},
                    {"CUPTI's own", NVT_REALS("ms", 3)}}};
    struct nvt_table *table = nvt_report_table(&cost, input, "Cost of recording", NULL);
    for (size_t i = 0; table && i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (trace->event_costs.count || trace->overheads.count)
            put_row(table, &input->traces[i]);
    }
    return table;
}
