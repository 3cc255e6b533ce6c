#include "input.h"

#include "../model/call_stacks.h"

int nvt_input_has_part(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->is_part)
            return 1;
    return nvt_window_is_set(input->window);
}

int nvt_input_has_mpi(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->mpi_calls.count)
            return 1;
    return 0;
}

int nvt_input_has_os_calls(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->os_calls.count)
            return 1;
    return 0;
}

int nvt_input_has_cpu_samples(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->cpu_samples.count)
            return 1;
    return 0;
}

int nvt_input_has_range_counts(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->range_counts.count)
            return 1;
    return 0;
}

int nvt_input_has_os_stacks(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_has_os_stacks(input->traces[i].trace))
            return 1;
    return 0;
}

int nvt_input_has_cuda_stacks(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_has_cuda_stacks(input->traces[i].trace))
            return 1;
    return 0;
}

const struct nvt_record *nvt_input_record_of(const struct nvt_input *input, const char *workload,
                                             size_t *i)
{
    for (size_t run = 0, before = 0; run < input->run_count; before += input->runs[run++]->count)
        for (; *i - before < input->runs[run]->count; ++*i) {
            const struct nvt_record *record = &input->runs[run]->records[*i - before];
            if (!workload || nvt_record_is_of(record, workload)) {
                ++*i;
                return record;
            }
        }
    return NULL;
}

int nvt_input_refuse(const struct nvt_input *input, const char *workload, struct nvt_error *err)
{
    return nvt_fail_at(err, input->run_count ? input->runs[0]->path : "input", -1,
                       "holds no run of %s", workload);
}
