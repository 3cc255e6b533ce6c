/*
 * cuda_api_callers: CUDA calls by the function of the program that makes them, as stacks tell (nsys profile --cudabacktrace, profiles
 * of PyTorch with stacks). Calls of libraries (cuBLAS, cuDNN) are no CUDA calls.
 */
#include "../studies/callers.h"
#include "report.h"

static void add_cuda_api_callers_calls(struct nvt_callers *callers, const struct nvt_trace *trace)
{
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++)
        if (nvt_is_cuda_call(apis, i))
            nvt_callers_add(callers, apis->name[i], apis->frame[i], apis->end[i] - apis->start[i]);
}

static int group_cuda_api_callers(struct nvt_groups *groups, const struct nvt_trace *trace,
                                  const struct nvt_making *making)
{
    (void)making;
    return nvt_callers_group(groups, trace, add_cuda_api_callers_calls);
}

const struct nvt_report nvt_report_cuda_api_callers = {
    .name = "cuda_api_callers",
    .about =
        "CUDA calls by the function of the program that makes them, where stacks were recorded",
    .title = "CUDA calls by caller",
    .order = NVT_CALLERS_ORDER,
    .columns = {NVT_CALLERS_COLUMNS},
    .is_in = nvt_input_has_cuda_stacks,
    .missing = "no stacks of CUDA calls in the input (nsys profile --cudabacktrace=all "
               "--sample=process-tree; torch.profiler with with_stack=True)",
    .group = group_cuda_api_callers,
    .put_group = nvt_callers_put,
};
