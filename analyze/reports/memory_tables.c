#include "memory_tables.h"

#include "report.h"

int nvt_memory_tables(const struct nvt_report *report, const char *title, nvt_memory_fill *fill,
                      int is_of_runs, struct nvt_input *input, struct nvt_tables *tables,
                      struct nvt_error *err)
{
    size_t without = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        without += !trace->memory.count;
        if (!trace->memory.count && (input->trace_count > 1 || input->run_count))
            continue;
        struct nvt_table *table = nvt_report_trace_table(report, input, trace, title, err);
        if (!table)
            return -1;
        if (fill(table, input, trace, err)) {
            nvt_table_free(table);
            return -1;
        }
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    if (input->run_count && is_of_runs)
        return 0;
    if (without == 1 && input->trace_count == 1)
        nvt_note(input, "note: no memory events in %s", input->traces[0].trace->path);
    else if (without)
        nvt_note(input, "note: no memory events in %zu of %zu traces", without, input->trace_count);
    return 0;
}
