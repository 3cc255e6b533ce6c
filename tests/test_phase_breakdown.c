/* What phases are made of: reports over traces whose numbers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"
#include "../analyze/readers/reader.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/phase_breakdown.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"

static struct nvt_error err = NVT_ERROR_INIT;

static void push(struct nvt_trace *trace, const char *name, int64_t start, int64_t end,
                 const char *payload)
{
    struct nvt_range row = {.start = start,
                            .end = end,
                            .name = nvt_strings_add_text(trace->strings, name),
                            .domain = nvt_trace_domain(trace, 0, "nvtally"),
                            .style = NVT_PUSH_POP};
    if (payload) {
        row.payload = nvt_strings_add_text(trace->strings, payload);
        row.flags = NVT_RANGE_HAS_PAYLOAD;
    }
    assert_true(nvt_range_add(trace, &row) != NVT_NONE);
}

/* A kernel that the call at that time launched. */
static void kernel(struct nvt_trace *trace, const char *name, int64_t launch, int64_t start,
                   int64_t end)
{
    struct nvt_op row = {.start = start,
                         .end = end,
                         .name = nvt_strings_add_text(trace->strings, name),
                         .launch = launch,
                         .api = NVT_NONE,
                         .detail = NVT_NONE,
                         .kind = NVT_OP_KERNEL};
    row.short_name = row.name;
    assert_true(nvt_op_add(trace, &row) != NVT_NONE);
}

/*
 * Two iterations, behind a warm-up that does not count. Forward, 1000: attention 400 with scores
 * 100 (600 FLOPs), softmax 150 (90), values 50 (400) in it; mlp 300; lm_head 200. Backward, 500,
 * has a norm of 50.
 */
static struct nvt_trace *toy(int with_device)
{
    struct nvt_trace *trace = nvt_trace_new("toy.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    push(trace, "transformer size=toy", 0, 100000, NULL);
    push(trace, "warmup", 10, 5000, NULL);
    push(trace, "forward", 20, 4000, NULL);
    for (int i = 0; i < 2; i++) {
        int64_t at = 10000 + 10000 * i;
        push(trace, "iteration", at, at + 2000, NULL);
        push(trace, "forward", at + 100, at + 1100, NULL);
        push(trace, "attention", at + 100, at + 500, NULL);
        push(trace, "attention.scores", at + 110, at + 210, "{\"flops\":600,\"bytes\":1}");
        push(trace, "attention.softmax", at + 220, at + 370, "{\"flops\":90,\"bytes\":1}");
        push(trace, "attention.values", at + 380, at + 430, "{\"flops\":400,\"bytes\":1}");
        push(trace, "mlp", at + 500, at + 800, NULL);
        push(trace, "lm_head", at + 800, at + 1000, NULL);
        push(trace, "backward", at + 1200, at + 1700, NULL);
        push(trace, "norm", at + 1200, at + 1250, NULL);
        if (!with_device)
            continue;
        kernel(trace, "sm90_xmma_gemm_f32", at + 120, at + 3000, at + 3040);
        kernel(trace, "softmax_forward", at + 230, at + 3040, at + 3060);
        kernel(trace, "ampere_sgemm_128x64", at + 390, at + 3060, at + 3080);
        kernel(trace, "gelu_forward", at + 510, at + 3100, at + 3120);
        kernel(trace, "ampere_sgemm_128x64", at + 1300, at + 4000, at + 4500);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static void expect(const char *report, struct nvt_trace *trace, const char *expected)
{
    struct nvt_input input = {.trace_count = 1};
    struct nvt_tables tables = {0};
    char *text = NULL;
    size_t size = 0;
    input.traces = calloc(1, sizeof(*input.traces));
    input.traces[0].trace = trace;
    assert_int_equal(nvt_report_make(nvt_report_find(report), &input, &tables, &err), 0);
    FILE *out = open_memstream(&text, &size);
    nvt_render_csv(&tables, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

#define SHARE                                                                                      \
    "configuration,phase,n,time (ns),products at least (ns),products at most (ns),share at "       \
    "least (%),share at most (%),from\n"
#define MADE_OF "\nconfiguration,phase,name,products,times a phase,time a phase (ns),share (%)\n"

static void shares_by_range(void **state)
{
    (void)state;
    /* Products alone: 100 + 50 + 200 of 1000; with them attention's own 100 and mlp's 300. All: of
     * 1500. */
    expect("matmul_share", toy(0),
           SHARE "transformer size=toy,forward,2,1000,350,750,35.0,75.0,ranges\n"
                 "transformer size=toy,backward,2,500,,,,,\n"
                 "transformer size=toy,all,2,1500,350,750,23.3,50.0,ranges\n" MADE_OF
                 "transformer size=toy,forward,mlp,in part,1.0,300,30.0\n"
                 "transformer size=toy,forward,lm_head,yes,1.0,200,20.0\n"
                 "transformer size=toy,forward,attention.softmax,no,1.0,150,15.0\n"
                 "transformer size=toy,forward,attention,in part,1.0,100,10.0\n"
                 "transformer size=toy,forward,attention.scores,yes,1.0,100,10.0\n"
                 "transformer size=toy,forward,(in no range of its own),no,1.0,100,10.0\n"
                 "transformer size=toy,forward,attention.values,yes,1.0,50,5.0\n"
                 "transformer size=toy,backward,(in no range of its own),no,1.0,450,90.0\n"
                 "transformer size=toy,backward,norm,no,1.0,50,10.0\n"
                 "transformer size=toy,all,(in no range of its own),no,2.0,550,36.7\n"
                 "transformer size=toy,all,mlp,in part,1.0,300,20.0\n"
                 "transformer size=toy,all,lm_head,yes,1.0,200,13.3\n"
                 "transformer size=toy,all,attention.softmax,no,1.0,150,10.0\n"
                 "transformer size=toy,all,attention,in part,1.0,100,6.7\n"
                 "transformer size=toy,all,attention.scores,yes,1.0,100,6.7\n"
                 "transformer size=toy,all,attention.values,yes,1.0,50,3.3\n"
                 "transformer size=toy,all,norm,no,1.0,50,3.3\n");
}

static void shares_by_kernel(void **state)
{
    (void)state;
    /* Forward: 40 + 20 of 100. Backward: all of 500. Together 560 of 600. */
    expect("matmul_share", toy(1),
           SHARE "transformer size=toy,forward,2,100,60,60,60.0,60.0,kernels\n"
                 "transformer size=toy,backward,2,500,500,500,100.0,100.0,kernels\n"
                 "transformer size=toy,all,2,600,560,560,93.3,93.3,kernels\n" MADE_OF
                 "transformer size=toy,forward,sm90_xmma_gemm_f32,yes,1.0,40,40.0\n"
                 "transformer size=toy,forward,ampere_sgemm_128x64,yes,1.0,20,20.0\n"
                 "transformer size=toy,forward,gelu_forward,no,1.0,20,20.0\n"
                 "transformer size=toy,forward,softmax_forward,no,1.0,20,20.0\n"
                 "transformer size=toy,backward,ampere_sgemm_128x64,yes,1.0,500,100.0\n"
                 /* Another one than in the forward pass has the most time, in both passes. */
                 "transformer size=toy,all,ampere_sgemm_128x64,yes,2.0,520,86.7\n"
                 "transformer size=toy,all,sm90_xmma_gemm_f32,yes,1.0,40,6.7\n"
                 "transformer size=toy,all,gelu_forward,no,1.0,20,3.3\n"
                 "transformer size=toy,all,softmax_forward,no,1.0,20,3.3\n");
}

/* Without an iteration, forward passes count that are in no warm-up and not within another one: the layers' are called as
 * the whole. */
static void phases_are_those_of_the_report_phases(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("nested.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    push(trace, "nested n=1", 0, 10000, NULL);
    push(trace, "warmup", 10, 900, NULL);
    push(trace, "forward", 20, 800, NULL);
    kernel(trace, "gemm", 30, 40, 90);
    for (int i = 0; i < 2; i++) {
        int64_t at = 1000 + 2000 * i;
        push(trace, "forward", at, at + 1000, NULL);
        push(trace, "forward", at + 100, at + 500, NULL);
        push(trace, "norm", at + 200, at + 300, NULL);
        push(trace, "forward", at + 500, at + 900, NULL);
        kernel(trace, "gemm", at + 150, at + 200, at + 260);
        kernel(trace, "norm", at + 250, at + 260, at + 300);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect("matmul_share", trace,
           SHARE "nested n=1,forward,2,100,60,60,60.0,60.0,kernels\n"
                 "nested n=1,all,2,100,60,60,60.0,60.0,kernels\n" MADE_OF
                 "nested n=1,forward,gemm,yes,1.0,60,60.0\n"
                 "nested n=1,forward,norm,no,1.0,40,40.0\n");
}

/* What lies around a workload's iterations is no phase, however it is called. */
static void phases_lie_within_iterations(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("around.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    push(trace, "around n=1", 0, 10000, NULL);
    push(trace, "forward", 10, 9000, NULL);
    for (int i = 0; i < 2; i++) {
        push(trace, "iteration", 100 + 1000 * i, 900 + 1000 * i, NULL);
        push(trace, "forward", 100 + 1000 * i, 300 + 1000 * i, NULL);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect("matmul_share", trace,
           SHARE "around n=1,forward,2,200,,,,,\n"
                 "around n=1,all,2,200,,,,,\n" MADE_OF
                 "around n=1,forward,(all of forward),,1.0,200,100.0\n");
}

/* A layer, whose phases have no ranges or such as nothing is known of: not "no" for what is all products. */
static void unknown_ranges_are_not_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("layer.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    push(trace, "linear size=toy", 0, 100000, NULL);
    push(trace, "iteration", 10, 5000, NULL);
    push(trace, "forward", 100, 200, NULL);
    push(trace, "fragment", 100, 180, NULL);
    push(trace, "backward", 300, 600, NULL);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect("matmul_share", trace,
           SHARE "linear size=toy,forward,1,100,,,,,\n"
                 "linear size=toy,backward,1,300,,,,,\n"
                 "linear size=toy,all,1,400,,,,,\n" MADE_OF
                 "linear size=toy,forward,fragment,,1.0,80,80.0\n"
                 "linear size=toy,forward,(in no range of its own),,1.0,20,20.0\n"
                 "linear size=toy,backward,(all of backward),,1.0,300,100.0\n"
                 "linear size=toy,all,(all of backward),,1.0,300,75.0\n"
                 "linear size=toy,all,fragment,,1.0,80,20.0\n"
                 "linear size=toy,all,(in no range of its own),,1.0,20,5.0\n");
}

/* A phase of so many kernels, the first the longest, each launched once. */
static struct nvt_trace *many(int kernels)
{
    struct nvt_trace *trace = nvt_trace_new("many.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    push(trace, "transformer size=many", 0, 100000, NULL);
    push(trace, "iteration", 10, 50000, NULL);
    push(trace, "forward", 20, 40000, NULL);
    for (int i = 0; i < kernels; i++) {
        char name[40];
        snprintf(name, sizeof(name), "%s%d", i % 2 ? "fill" : "gemm", i + 1);
        kernel(trace, name, 100 + 10 * i, 1000 * (i + 1), 1000 * (i + 1) + 130 - 10 * i);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* Of 130, 120, … ns: what has no row of its own is one row, and shares come to 100. */
static void what_is_not_named_is_counted(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char expected[4096], share[80];
        int count = more ? 13 : 11, named = more ? 10 : 11, size;
        double all = more ? 910 : 880, products = more ? 490 : 480;
        snprintf(share, sizeof(share), "%.0f,%.0f,%.0f,%.1f,%.1f,kernels", all, products, products,
                 100 * products / all, 100 * products / all);
        size = snprintf(expected, sizeof(expected),
                        "%stransformer size=many,forward,1,%s\n"
                        "transformer size=many,all,1,%s\n%s",
                        SHARE, share, share, MADE_OF);
        for (int i = 0; i < named; i++)
            size += snprintf(expected + size, sizeof(expected) - (size_t)size,
                             "transformer size=many,forward,%s%d,%s,1.0,%d,%.1f\n",
                             i % 2 ? "fill" : "gemm", i + 1, i % 2 ? "no" : "yes", 130 - 10 * i,
                             100 * (130 - 10 * i) / all);
        if (count > named)
            snprintf(expected + size, sizeof(expected) - (size_t)size,
                     "transformer size=many,forward,(3 others),in part,3.0,60,6.6\n");
        expect("matmul_share", many(count), expected);
    }
}

#define ATTENTION                                                                                  \
    "configuration,phase,part,times a phase,time a phase (ns),FLOPs a phase,GFLOP/s,of the time "  \
    "(%),of the FLOPs (%),clock\n"

static void attention_on_both_clocks(void **state)
{
    (void)state;
    /* 100, 150 and 50 of 300 ns; 600, 90 and 400 of 1090 FLOPs; a FLOP a ns is a GFLOP/s. */
    expect("attention", toy(0),
           ATTENTION
           "transformer size=toy,forward,attention.scores,1.0,100,600,6.000,33.3,55.0,host\n"
           "transformer size=toy,forward,attention.softmax,1.0,150,90,0.600,50.0,8.3,host\n"
           "transformer size=toy,forward,attention.values,1.0,50,400,8.000,16.7,36.7,host\n"
           "transformer size=toy,forward,products together,2.0,150,1000,6.667,50.0,91.7,host\n");
    /* Kernels of 40, 20 and 20. */
    expect("attention", toy(1),
           ATTENTION
           "transformer size=toy,forward,attention.scores,1.0,40,600,15.000,50.0,55.0,device\n"
           "transformer size=toy,forward,attention.softmax,1.0,20,90,4.500,25.0,8.3,device\n"
           "transformer size=toy,forward,attention.values,1.0,20,400,20.000,25.0,36.7,device\n"
           "transformer size=toy,forward,products together,2.0,60,1000,16.667,75.0,91.7,device\n");
}

/* One kernel in the range of the scores does it all: softmax takes nothing on the device, not its 150 ns on the host. */
static void attention_is_of_one_clock(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("fused.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    push(trace, "transformer size=fused", 0, 10000, NULL);
    push(trace, "iteration", 100, 2000, NULL);
    push(trace, "forward", 100, 1100, NULL);
    push(trace, "attention.scores", 110, 210, "{\"flops\":600}");
    push(trace, "attention.softmax", 220, 370, "{\"flops\":90}");
    kernel(trace, "fused_attention", 120, 3000, 3050);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect("attention", trace,
           ATTENTION
           "transformer size=fused,forward,attention.scores,1.0,50,600,12.000,100.0,87.0,device\n"
           "transformer size=fused,forward,attention.softmax,1.0,0,90,,0.0,13.0,device\n"
           "transformer size=fused,forward,attention.values,0.0,0,0,,0.0,0.0,device\n"
           "transformer size=fused,forward,products "
           "together,1.0,50,600,12.000,100.0,87.0,device\n");
}

/* Names as profiles have them, and what they are told apart by. */
static const struct {
    const char *name, *telling;
    int is_product;
} profiled[] = {
    {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", 1},
    {"nvjet_hsh_128x256_64x4_2x1_v_bz_TNT", "nvjet_hsh_128x256_64x4_2x1_v_bz_TNT", 1},
    {"sm80_xmma_GEMM_bf16", "sm80_xmma_GEMM_bf16", 1},
    {"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16", "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16", 1},
    {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64",
     "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64", 1},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, "
     "cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>>>(T1)",
     "gemv2T_kernel_val", 1},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>"
     "(cutlass_80_simt_sgemm_256x128_8x4_nn_align1::Params)",
     "cutlass_80_simt_sgemm_256x128_8x4_nn_align1", 1},
    {"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE",
     "cutlass_80_simt_sgemm_256x128_8x4_nn_align1", 1},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_32x3_nhwc>"
     "(cutlass_tensorop_s1688fprop_optimized_tf32_128x128_32x3_nhwc::Params)",
     "cutlass_tensorop_s1688fprop_optimized_tf32_128x128_32x3_nhwc", 1},
    {"cutlass::Kernel2", "cutlass::Kernel2", 1},
    {"void cutlass::Kernel<cutlass::reduction::kernel::ReduceSplitK<cutlass::MatrixShape<4, 128>, "
     "cutlass::epilogue::thread::LinearCombination<float, 4, float, float>>>(T1::Params)",
     "ReduceSplitK", 1},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, "
     "int>, cutlass::gemm::collective::CollectiveMma<float>>>(T1::Params)",
     "GemmUniversal", 1},
    {"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::"
     "kernel::GemmUniversal<cute::tuple<int, int, int, int>, float>>>(T1::Params)",
     "GemmUniversal", 1},
    {"_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEEfEEEEvNT_"
     "6ParamsE",
     "GemmUniversal", 1},
    {"_ZN7cutlass13device_kernelI26enable_sm90_or_later_groupINS_4gemm6kernel13GemmUniversalIifEE"
     "EEvNT_6ParamsE",
     "GemmUniversal", 1},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __half, __half, "
     "__half, float, false, true, true, false, 6, false, cublasGemvParamsEx<int, "
     "cublasGemvTensorStridedBatched<__half const>>>(cublasGemvParamsEx<int, float>)",
     "internal::gemvx::kernel", 1},
    {"_ZN8internal5gemvx6kernelIiiffffLb0ELb1ELb1ELb0ELi7ELb0EEENSt9enable_ifIXntT5_EvE4typeET11_",
     "internal::gemvx::kernel", 1},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, "
     "false>(cublasLt::cublasSplitKParams<float>, float const*)",
     "splitKreduce_kernel", 1},
    {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb1ELb1ELb0EEEvNS_18cublasSplitKParamsIT4_"
     "EEPKT2_PKT3_PS7_",
     "splitKreduce_kernel", 1},
    {"void cublasLt::epilogue::impl::globalKernel<8, 32, float, float, float, true, true, 1>"
     "(int, int, long, float*, cublasLtEpilogue_t)",
     "cublasLt::epilogue::impl::globalKernel", 1},
    {"void softmax_forward<float>(float*)", "softmax_forward", 0},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::gemm_like_functor<float>>(int)",
     "vectorized_elementwise_kernel gemm_like", 0},
    /* What a kernel takes is not what it is. */
    {"void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
     "false, cutlass::half_t>, false>(pytorch_flash::Flash_fwd_params)",
     "flash_fwd_splitkv_kernel", 0},
    {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::"
     "CollectiveMainloopFwdSm90<2, cutlass::bfloat16_t>>>>(T1::Params)",
     "FlashAttnFwdSm90", 0},
    {"void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<float>(float const*)",
     "expandInputRowsKernel", 0},
    {"void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__reduce::ReduceAgent<int*>, "
     "int*>(int*)",
     "ReduceAgent", 0},
    {"void mine::kernel<__nv_bfloat16>(__nv_bfloat16 const*)", "mine::kernel", 0},
    {"void mine::kernel<float const*, foo>(T1)", "mine::kernel", 0},
    {"void (anonymous namespace)::kernel<c10::BFloat16>(c10::BFloat16*)",
     "(anonymous namespace)::kernel", 0},
    {"kernel", "kernel", 0},
    {"adamw", "adamw", 0},
    {"", "", 0},
    /* No names, but nothing to stumble over. */
    {"kernel<", "kernel", 0},
    {"kernel<>", "kernel", 0},
    {"kernel<kernel<kernel<", "kernel", 0},
    {"_ZN6kernelI", "kernel", 0},
    {"_ZN6kernelIS", "kernel", 0},
    {"_ZN6kernelIN6kernelINS_", "kernel", 0},
};

static void kernels_by_name(void **state)
{
    (void)state;
    char long_name[3 * NVT_TELLING_NAME_MAX], telling[NVT_TELLING_NAME_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(profiled); i++) {
        const char *name = profiled[i].name;
        assert_string_equal(nvt_telling_name(name, strlen(name), telling), profiled[i].telling);
        assert_int_equal(nvt_is_matmul_kernel(name), profiled[i].is_product);
    }
    memset(long_name, 'a', sizeof(long_name));
    assert_int_equal(strlen(nvt_telling_name(long_name, sizeof(long_name), telling)),
                     NVT_TELLING_NAME_MAX - 1);
}

/* A profile with one phase, in which each of these kernels runs once, all for the same time; read as any other. */
static struct nvt_trace *profile_of_all(const char *path)
{
    const char event[] =
        "{\"ph\": \"X\", \"pid\": 7, \"tid\": 7, \"cat\": \"%s\", \"name\": "
        "\"%s\", \"ts\": %zu, \"dur\": %zu, \"args\": {\"correlation\": %zu%s}}%s\n";
    const size_t count = NVT_COUNT_OF(profiled);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [\n");
    fprintf(out, event, "user_annotation", "forward", (size_t)1, 100 + 10 * count, (size_t)0, "",
            ",");
    for (size_t i = 0; i < count; i++) {
        fprintf(out, event, "cuda_runtime", "cudaLaunchKernel", 10 + 10 * i, (size_t)5, i + 1, "",
                ",");
        fprintf(out, event, "kernel", profiled[i].name, 5000 + 10 * i, (size_t)3, i + 1,
                ", \"device\": 0, \"stream\": 7", i + 1 < count ? "," : "");
    }
    fprintf(out, "]}\n");
    fclose(out);
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_non_null(trace);
    assert_int_equal(trace->ops.count, count);
    return trace;
}

/* Of a trace that a reader made, whose short names are as short as nsys's: those reports keep them. */
static void products_of_a_profile(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *path = cli_in(directory, "profile.json");
    struct nvt_trace *trace = profile_of_all(path);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_breakdown parts = {0};
    size_t products = 0, expected = 0, kernel2 = 0;
    assert_int_equal(nvt_breakdown_make(&parts, &input, &err), 0);
    for (size_t i = 0; i < parts.count; i++) {
        assert_string_not_equal(parts.items[i].name, "Kernel2");
        products += parts.items[i].is_product ? parts.items[i].count : 0;
    }
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        expected += (size_t)profiled[i].is_product;
        kernel2 += !strcmp(nvt_name(trace, trace->ops.short_name[i]), "Kernel2");
    }
    assert_int_equal(products, expected);
    assert_int_equal(kernel2, 3);
    const double kernels = trace->ops.count;
    nvt_breakdown_free(&parts);
    nvt_trace_free(trace);
    const char *stats[] = {"nvtally", "stats", path, "-r", "matmul_share", "-f", "csv", NULL};
    struct cli_result result = cli_run(stats);
    cli_expect_status(&result, 0);
    char share[64];
    snprintf(share, sizeof(share), ",%.1f,%.1f,kernels\n", 100 * (double)expected / kernels,
             100 * (double)expected / kernels);
    if (!strstr(result.out, share) || !strstr(result.out, ",forward,GemmUniversal,yes,4.0,"))
        fail_msg("%s", result.out);
    cli_result_free(&result);
    const char *summary[] = {"nvtally", "stats", path, "-r", "summary", "-f", "csv", NULL};
    result = cli_run(summary);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, ",GemmUniversal\n") || strstr(result.out, ",Kernel2\n"))
        fail_msg("%s", result.out);
    cli_result_free(&result);
    const char *sums[] = {"nvtally", "stats", path, "-r", "cuda_gpu_kern_sum:base",
                          "-f",      "csv",   NULL};
    result = cli_run(sums);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ",Kernel2\n"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* The workload's own ranges: two layers, so two of each part a phase; FLOPs as docs/workloads.md
 * has them: 2·H·T²·w = 2·(4·2)·16²·8 of scores and as many of values, each layer; softmax 5·H·T·(T
 * + 1)/2. */
static void a_transformer_has_them(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *out = cli_in(directory, "out");
    const char *run[] = {"nvtally", "run",          "transformer", "--d-model",
                         "32",      "--d-ff",       "64",          "--layers",
                         "2",       "--heads",      "4",           "--context",
                         "16",      "--batch",      "2",           "--vocabulary",
                         "50",      "--phase",      "train",       "--warmup",
                         "1",       "--iterations", "3",           "--backend",
                         "host",    "-o",           out,           NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *stats[] = {"nvtally", "stats", out, "-r", "attention,matmul_share",
                           "-f",      "csv",   NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    const char *scores = strstr(result.out, ",forward,attention.scores,2.0,");
    const char *softmax = strstr(result.out, ",forward,attention.softmax,2.0,");
    const char *step = strstr(result.out, ",optimizer,3,");
    /* AdamW, in which there are no ranges. Of all phases together it may be among the others: it is short. */
    const char *adamw = strstr(result.out, ",optimizer,(all of optimizer),no,1.0,");
    if (!scores || !softmax || !step || !adamw ||
        !(strstr(adamw, ",all,(all of optimizer),no,1.0,") || strstr(adamw, " others),")))
        fail_msg("%s", result.out);
    long long time, flops;
    assert_int_equal(sscanf(scores, ",forward,attention.scores,2.0,%lld,%lld,", &time, &flops), 2);
    assert_int_equal(flops, 2 * 2 * 8 * 16 * 16 * 8);
    assert_true(time > 0);
    assert_int_equal(sscanf(softmax, ",forward,attention.softmax,2.0,%lld,%lld,", &time, &flops),
                     2);
    assert_int_equal(flops, 2 * 5 * 8 * 16 * 17 / 2);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_by_range),
        cmocka_unit_test(shares_by_kernel),
        cmocka_unit_test(phases_are_those_of_the_report_phases),
        cmocka_unit_test(phases_lie_within_iterations),
        cmocka_unit_test(unknown_ranges_are_not_told),
        cmocka_unit_test(attention_on_both_clocks),
        cmocka_unit_test(attention_is_of_one_clock),
        cmocka_unit_test(kernels_by_name),
        cmocka_unit_test(products_of_a_profile),
        cmocka_unit_test(what_is_not_named_is_counted),
        cmocka_unit_test(a_transformer_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
