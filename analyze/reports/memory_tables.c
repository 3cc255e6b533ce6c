#include "memory_tables.h"

int nvt_has_memory(const struct nvt_trace *trace)
{
    return trace->memory.count > 0;
}

void nvt_memory_note_missing(struct nvt_input *input)
{
    size_t without = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        without += !nvt_has_memory(input->traces[i].trace);
    if (without == 1 && input->trace_count == 1)
        nvt_note(input, "note: no memory events in %s", input->traces[0].trace->path);
    else if (without)
        nvt_note(input, "note: no memory events in %zu of %zu traces", without, input->trace_count);
}

int nvt_memory_make(const struct nvt_report *report, struct nvt_input *input,
                    struct nvt_tables *tables, struct nvt_error *err)
{
    if (nvt_report_make_each(report, input, tables, err))
        return -1;
    nvt_memory_note_missing(input);
    return 0;
}
