/*
 * cuda_api_callers: CUDA calls by the function of the program that makes them, as stacks tell (nsys profile --cudabacktrace, profiles
 * of PyTorch with stacks). Calls of libraries (cuBLAS, cuDNN) are no CUDA calls.
 */
#include "callers.h"

static const struct nvt_column_spec columns[] = {NVT_CALLERS_COLUMNS};

/* 0, or -1 with err filled. */
static int add_trace(struct nvt_callers *callers, const struct nvt_trace *trace,
                     struct nvt_error *err)
{
    const struct nvt_apis *apis = &trace->apis;
    if (nvt_callers_trace(callers, trace, err))
        return -1;
    for (uint32_t i = 0; i < apis->count; i++)
        if (nvt_is_cuda_call(apis, i))
            nvt_callers_add(callers, apis->name[i], apis->frame[i], apis->end[i] - apis->start[i]);
    return 0;
}

static int make(struct nvt_report_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_callers callers = {0};
    struct nvt_table *table =
        nvt_report_table(&nvt_report_cuda_api_callers, input, "CUDA calls by caller", err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&callers, input->traces[i].trace, err);
    if (!status && !nvt_report_has_cuda_stacks(input))
        nvt_note(input, "note: no stacks of CUDA calls in the input (nsys profile "
                        "--cudabacktrace=all --sample=process-tree; torch.profiler with "
                        "with_stack=True)");
    if (!status)
        status = nvt_callers_put(table, &callers, err);
    nvt_callers_free(&callers);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_cuda_api_callers = {
    .name = "cuda_api_callers",
    .about = "CUDA calls by the function of the program that makes them, where stacks tell",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
