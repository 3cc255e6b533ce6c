/*
 * Which kernels communicate, by their names, and that what a device only communicates is reckoned
 * with those of other libraries than NCCL too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../analyze/device/communication.h"
#include "../analyze/model/cuda_names.h"
#include "../analyze/device/overlap.h"
#include "../lib/count_of.h"

static void test_names(void **state)
{
    (void)state;
    static const char *const communicate[] = {
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",
        "rcclGenericKernel",
        "nvshmemi_transfer_rma_p",
        "mscclKernel_Sum_half",
        "onecclAllreduce",
        "multimem_all_reduce_kernel",
        "two_shot_all_reduce_kernel_inplace",
        "oneShotAllReduceKernel",
        "AllGatherKernel",
        "cross_device_reduce_1stage",
        "_ZN5aiter26cross_device_reduce_2stageE",
        "allreduce_fusion_kernel_oneshot_lamport",
        "reduce_scatter_cross_device_store",
        "moeAllToAllKernel",
    };
    static const char *const compute[] = {
        "",
        "gemm",
        "reduce_kernel",
        "vectorized_gather_kernel",
        "_scatter_gather_elementwise_kernel",
        "splitKreduce_kernel",
        "dispatch",
        "combine_tokens",
        "triton_poi_fused_all_reduce_add_0",
        "triton_per_fused_all_gather_into_tensor_1",
        "gemm_all_reduce_kernel",
        "all_",
        "cross_device",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(communicate); i++)
        if (!nvt_is_communication_name(communicate[i], communicate[i]))
            fail_msg("%s does not communicate", communicate[i]);
    for (size_t i = 0; i < NVT_COUNT_OF(compute); i++)
        if (nvt_is_communication_name(compute[i], compute[i]))
            fail_msg("%s communicates", compute[i]);
    assert_true(nvt_is_communication_name(
        "dispatch", "void deep_ep::intranode::dispatch<8, 768>(int4*, float*)"));
    assert_true(nvt_is_communication_name(
        "cached_notify_combine", "void deep_ep::intranode::cached_notify_combine<8>(void**)"));
    assert_false(nvt_is_communication_name("gate", "void deep_ep::gate(float*)"));
}

static void add(struct nvt_trace *trace, uint8_t kind, const char *name, int64_t start, int64_t end)
{
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .name = nvt_strings_add_text(trace->strings, name),
                              .short_name = nvt_strings_add_text(trace->strings, name),
                              .thread = NVT_NONE,
                              .detail = NVT_NONE,
                              .kind = kind,
                              .copy_kind = kind == NVT_OP_KERNEL ? 0 : NVT_COPY_PTOP};
    nvt_op_add(trace, &op);
}

static void test_overlap(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_process(trace, 1);
    add(trace, NVT_OP_KERNEL, "rms_norm_kernel", 0, 100);
    add(trace, NVT_OP_KERNEL, "multimem_all_reduce_kernel", 100, 400);
    add(trace, NVT_OP_KERNEL, "cross_device_reduce_1stage", 400, 450);
    add(trace, NVT_OP_MEMCPY, "[CUDA memcpy Peer-to-Peer]", 450, 460);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_op_class(trace, 0), NVT_CLASS_COMPUTE);
    for (uint32_t op = 1; op < 4; op++)
        assert_int_equal(nvt_op_class(trace, op), NVT_CLASS_COMMUNICATION);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
