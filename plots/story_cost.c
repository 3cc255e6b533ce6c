/*
 * What recording cost the programs that were recorded, trace by trace, as far as a trace says it:
 * NVTX events at the cost that the collector measured of itself (analyze/readers/compensate.h), time that
 * threads waited for the recorder, and the overhead that CUPTI reported.
 */
#include "../analyze/readers/compensate.h"
#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/reports/report.h"
#include "story_sections.h"

enum { TRACE, RANGES, MARKS, RECORDING, SHARE, WAITED, CUPTI, COLUMNS };

static const struct nvt_column_spec columns[COLUMNS] = {
    [TRACE] = {"configuration", "", NVT_TEXT, 0, 0},
    [RANGES] = {"ranges", "", NVT_INT, 0, 0},
    [MARKS] = {"marks", "", NVT_INT, 0, 0},
    [RECORDING] = {"recording NVTX", "ms", NVT_REAL, 3, 0},
    [SHARE] = {"of the threads' time", "%", NVT_REAL, 3, 0},
    [WAITED] = {"waiting for the recorder", "ms", NVT_REAL, 3, 0},
    [CUPTI] = {"CUPTI's own", "ms", NVT_REAL, 3, 0},
};

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
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, TRACE, name);
    nvt_table_set_int(table, row, RANGES, trace->ranges.count);
    nvt_table_set_int(table, row, MARKS, trace->marks.count);
    if (trace->event_costs.count) {
        nvt_table_set_real(table, row, RECORDING, recording / 1e6);
        nvt_table_set_real(table, row, SHARE, 100 * recording / time);
    }
    nvt_table_set_real(table, row, WAITED, waited / 1e6);
    if (trace->overheads.count)
        nvt_table_set_real(table, row, CUPTI, cupti / 1e6);
}

struct nvt_table *nvt_story_cost(const struct nvt_input *input)
{
    static const struct nvt_report cost = {
        .name = "cost", .columns = columns, .column_count = COLUMNS};
    struct nvt_table *table = nvt_report_table(&cost, input, "What recording itself took", NULL);
    for (size_t i = 0; table && i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (trace->event_costs.count || trace->overheads.count)
            put_row(table, &input->traces[i]);
    }
    return table;
}
