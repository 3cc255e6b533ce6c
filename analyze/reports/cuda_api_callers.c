/*
 * cuda_api_callers: CUDA calls by the function of the program that makes them, as stacks tell (nsys profile --cudabacktrace, profiles
 * of PyTorch with stacks). Calls of libraries (cuBLAS, cuDNN) are no CUDA calls.
 */
#include "callers.h"

#include "report.h"

static const struct nvt_column_spec columns[] = {NVT_CALLERS_COLUMNS};

static void add_calls(struct nvt_callers *callers, const struct nvt_trace *trace)
{
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++)
        if (nvt_is_cuda_call(apis, i))
            nvt_callers_add(callers, apis->name[i], apis->frame[i], apis->end[i] - apis->start[i]);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    if (!nvt_input_has_cuda_stacks(input))
        nvt_note(input, "note: no stacks of CUDA calls in the input (nsys profile "
                        "--cudabacktrace=all --sample=process-tree; torch.profiler with "
                        "with_stack=True)");
    return nvt_callers_make(&nvt_report_cuda_api_callers, "CUDA calls by caller", add_calls, input,
                            tables, err);
}

const struct nvt_report nvt_report_cuda_api_callers = {
    .name = "cuda_api_callers",
    .about = "CUDA calls by the function of the program that makes them, where stacks tell",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
