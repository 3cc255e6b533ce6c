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
