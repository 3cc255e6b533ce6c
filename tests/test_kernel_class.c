/* What kind of work a kernel is, by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/kernel_class.h"
#include "../analyze/model/cuda_names.h"
#include "../lib/count_of.h"

static void expect_class(const char *whole, enum nvt_kernel_class expected)
{
    size_t length;
    char name[200];
    const char *own = nvt_short_name(whole, strlen(whole), &length);
    snprintf(name, sizeof(name), "%.*s", (int)length, own);
    const enum nvt_kernel_class class = nvt_kernel_class_of_name(name, whole);
    if (class != expected)
        fail_msg("%s is %s, not %s", whole, nvt_kernel_class_name(class),
                 nvt_kernel_class_name(expected));
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        enum nvt_kernel_class class;
        const char *name;
    } known[] = {
        {NVT_CLASS_GEMM, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_cublas"},
        {NVT_CLASS_GEMM, "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(int)"},
        {NVT_CLASS_GEMM, "nvjet_sm90_tss_192x96_64x5_1x2_h_bz_NTT"},
        {NVT_CLASS_GEMM, "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::P)"},
        {NVT_CLASS_GEMM, "void gemmSN_TN_kernel<float, 128, 16>(cublasGemv)"},
        {NVT_CLASS_GEMM, "void implicit_convolve_sgemm<float, float, 1024, 5>(int, int)"},
        {NVT_CLASS_GEMM, "triton_tem_fused_mm_0"},
        {NVT_CLASS_GEMM, "my_matmul(float*)"},
        {NVT_CLASS_GEMM, "volta_scudnn_128x128_stridedB_splitK_small_nn_v1"},
        {NVT_CLASS_GEMM, "void cudnn::cnn::dgrad_engine<float, 512, 6, 5>(int, int)"},
        {NVT_CLASS_ATTENTION, "fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80(P)"},
        {NVT_CLASS_ATTENTION, "void pytorch_flash::flash_fwd_kernel<Flash_fwd<64>>(P)"},
        {NVT_CLASS_ATTENTION, "paged_attention_v2_kernel"},
        {NVT_CLASS_ELEMENTWISE, "void at::native::vectorized_elementwise_kernel<4, "
                                "at::native::CUDAFunctor_add<float>>(int)"},
        {NVT_CLASS_ELEMENTWISE, "void (anonymous namespace)::softmax_warp_forward<float>(float*)"},
        {NVT_CLASS_ELEMENTWISE, "void at::native::(anonymous "
                                "namespace)::GammaBetaBackwardCUDAKernelTemplate<float>(long)"},
        {NVT_CLASS_ELEMENTWISE, "triton_poi_fused_mm_add_0"},
        {NVT_CLASS_ELEMENTWISE, "triton_per_fused__scaled_dot_product_flash_attention_3"},
        {NVT_CLASS_ELEMENTWISE, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512>(P)"},
        {NVT_CLASS_ELEMENTWISE, "add_one(int*, unsigned long)"},
        {NVT_CLASS_ELEMENTWISE, "adamw_step(adamw_args)"},
        {NVT_CLASS_ELEMENTWISE, "void adamw_step<__nv_bfloat16>(adamw_args)"},
        {NVT_CLASS_ATTENTION, "void attention_softmax_device<warp_rows<__half, 4> >(rows_args)"},
        {NVT_CLASS_COMMUNICATION, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(P)"},
        {NVT_CLASS_COPY, "[CUDA memcpy Host-to-Device]"},
        {NVT_CLASS_COPY, NVT_MEMSET_NAME},
        {NVT_CLASS_OTHER, "[CUDA graph 7]"},
        {NVT_CLASS_OTHER, "find_rows(find_args)"},
        {NVT_CLASS_OTHER, "lattice_boltzmann_step(float*)"},
        {NVT_CLASS_OTHER, "summary(int)"}, /* "sum" is no word in it, nor "mma" below */
        {NVT_CLASS_OTHER, "gamma_ray_transport(int)"},
        {NVT_CLASS_OTHER, ""},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        expect_class(known[i].name, known[i].class);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
