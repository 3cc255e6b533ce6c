/* Names of kernels as people read them: of a dozen libraries, and where two of them stand together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/kernel_names.h"
#include "random_kit.h"

#define AT "at::native::"

static const char *const known[][2] = {
    /* CUTLASS 2, whose template's entry has one name for all */
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>"
     "(cutlass_80_simt_sgemm_128x256_8x4_nt_align1::Params)",
     "cutlass sgemm 128x256 nt"},
    {"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_128x256_8x4_nt_align1EEvNT_6ParamsE",
     "cutlass sgemm 128x256 nt"},
    {"cutlass_80_tensorop_s1688gemm_256x128_16x3_tn_align4", "cutlass s1688gemm 256x128 tn"},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_32x3_nhwc>"
     "(cutlass_tensorop_s1688fprop_optimized_tf32_128x128_32x3_nhwc::Params)",
     "cutlass s1688fprop optimized tf32 128x128 nhwc"},
    /* CUTLASS 3 */
    {"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::"
     "kernel::GemmUniversal<cute::tuple<int, int, int, int>, float>>>(T1::Params)",
     "GemmUniversal"},
    /* cuBLAS: Hopper, Ampere, xmma, GEMV, split k */
    {"nvjet_sm90_tss_192x96_64x5_1x2_h_bz_NTT", "nvjet tss 192x96 NTT"},
    {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", "nvjet tst 128x256 coopA NNT"},
    {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
     "ampere bf16 s16816gemm 128x64 ldg8 f2f tn"},
    {"ampere_sgemm_128x64_tn", "ampere sgemm 128x64 tn"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_"
     "alignc4_execute_kernel__5x_cublas",
     "xmma gemm f32 tn 64x64x8"},
    {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize64x64x64_execute_split_k_kernel__5x",
     "xmma gemm bf16 nn 64x64x64 split k"},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, "
     "float, false, true>(cublasGemvParamsEx<int>)",
     "internal::gemvx::kernel"},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)",
     "splitKreduce_kernel"},
    /* cuDNN */
    {"volta_scudnn_128x128_stridedB_splitK_small_nn_v1",
     "volta scudnn 128x128 stridedB splitK small nn"},
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512>(cudnnTensorStruct)",
     "bn_fw_tr_1C11_kernel_NCHW"},
    /* rocBLAS */
    {"Cijk_Ailk_Bljk_SB_MT64x64x8_SN_1LDSB0_APM1_ABV0_ACED0", "Tensile SB 64x64x8 NN"},
    {"Cijk_Alik_Bjlk_BBS_BH_MT128x128x32_MI32x32x8x1_SN", "Tensile BBS BH 128x128x32 TT"},
    /* attention */
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)",
     "fmha forward f32 64x64"},
    {"fmha_cutlassB_bf16_aligned_128x64_k64_dropout_sm80(P)", "fmha backward bf16 128x64"},
    {"void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
     "false, cutlass::half_t>, false>(pytorch_flash::Flash_fwd_params)",
     "flash_fwd_splitkv_kernel"},
    {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::"
     "CollectiveMainloopFwdSm90<2, cutlass::bfloat16_t>>>>(T1::Params)",
     "FlashAttnFwdSm90"},
    /* PyTorch: what is done is an argument, a functor or a lambda within a function */
    {"void " AT "vectorized_elementwise_kernel<4, " AT "CUDAFunctor_add<float>, std::array<char*, "
     "3ul> >(int, " AT "CUDAFunctor_add<float>, std::array<char*, 3ul>)",
     "elementwise add"},
    {"void " AT "elementwise_kernel<128, 2, " AT "gpu_kernel_impl_nocast<" AT
     "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const>(int)",
     "elementwise direct_copy"},
    {"void " AT "unrolled_elementwise_kernel<" AT "gpu_kernel_impl<" AT "BinaryFunctor<float, "
     "float, float, " AT "binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)>(int)",
     "elementwise mul"},
    {"void " AT "vectorized_elementwise_kernel<4, " AT
     "GeluCUDAKernelImpl(at::TensorIteratorBase&, " AT
     "GeluType)::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> "
     ">(int)",
     "elementwise gelu"},
    {"void " AT "reduce_kernel<512, 1, " AT "ReduceOp<float, " AT "func_wrapper_t<float, " AT
     "sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float)#1}>>>(int)",
     "reduce sum"},
    {"void " AT "(anonymous namespace)::multi_tensor_apply_kernel<" AT "(anonymous namespace)::"
     "TensorListMetadata<2>, " AT "(anonymous namespace)::UnaryOpFunctor<float, 2, 1, 1>, " AT
     "Sqrt<float> >(int)",
     "multi_tensor_apply sqrt"},
    {"void " AT "(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, " AT
     "templates::cuda::normal_and_transform<float, float, at::CUDAGeneratorImpl*, " AT
     "templates::cuda::normal_kernel<at::CUDAGeneratorImpl*>(double)::{lambda()#1}>>(long)",
     "distribution normal"},
    {"void " AT "vectorized_elementwise_kernel<4, mine>(int)", "vectorized_elementwise_kernel"},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 4, true, "
     "false>(float*)",
     "softmax_warp_forward"},
    /* Triton and Inductor, NCCL */
    {"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0"},
    {"triton_tem_fused_mm_64x64_0", "triton_tem_fused_mm_64x64_0"},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
    /* Thrust, Kokkos */
    {"void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__reduce::ReduceAgent<int*>, "
     "int*>(int*)",
     "ReduceAgent"},
    {"void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<Lattice::"
     "collide()::{lambda(int)#1}, Kokkos::RangePolicy<Kokkos::Cuda>, Kokkos::Cuda>>(int)",
     "collide"},
    /* mangled */
    {"_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEEfEEEEvNT_"
     "6ParamsE",
     "GemmUniversal"},
    {"_ZN5aiter11rmsnorm_fwdIDF16bEEvPT_", "rmsnorm_fwd"},
    {"_Z7add_onePim", "add_one"},
    /* one's own */
    {"my_gemm_kernel", "my_gemm_kernel"},
    {"void mine::kernel<float>(float const*)", "mine::kernel"},
    {"adam_step(adam_args)", "adam_step"},
    /* of short ones, what they are */
    {"vectorized_elementwise_kernel add", "elementwise add"},
    /* no kernels */
    {"[CUDA memcpy Host-to-Device]", "[CUDA memcpy Host-to-Device]"},
    {"[CUDA graph 7]", "[CUDA graph 7]"},
    {"step/forward/softmax", "step/forward/softmax"},
    {"", ""},
};

static void kernels_have_short_names(void **state)
{
    (void)state;
    char out[NVT_TELLING_NAME_MAX], again[NVT_TELLING_NAME_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++) {
        assert_string_equal(nvt_kernel_label(known[i][0], out), known[i][1]);
        /* Groups by telling names are called as the kernels are. */
        if (*known[i][0] != '[' && !strchr(known[i][0], '/')) {
            nvt_telling_name(known[i][0], strlen(known[i][0]), again);
            assert_string_equal(nvt_kernel_label(again, out), known[i][1]);
        }
    }
}

/* The short name of the which-th of several. */
static const char *together(const char *const *names, size_t count, size_t which)
{
    static char out[1024];
    struct nvt_kernel_labels labels = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(nvt_kernel_labels_add(&labels, names[i]), 0);
    assert_int_equal(nvt_kernel_labels_finish(&labels), 0);
    snprintf(out, sizeof(out), "%s", nvt_kernel_labels_get(&labels, names[which]));
    nvt_kernel_labels_free(&labels);
    return out;
}

static void kernels_are_told_apart(void **state)
{
    (void)state;
    static const char *const names[] = {
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(P)",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x4_nn_align1>(P)",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x4_tn_align1>(P)",
        "void " AT "vectorized_elementwise_kernel<4, " AT "CUDAFunctor_add<float>>(int)",
        "void " AT "elementwise_kernel<128, 2, " AT "CUDAFunctor_add<float>>(int)",
        "void " AT "vectorized_elementwise_kernel<4, " AT "FillFunctor<float>>(int)",
        "void " AT "vectorized_elementwise_kernel<4, " AT "FillFunctor<bool>>(int)",
        "void softmax<float, 8>(float*)",
        "void softmax<float, 8>(float*)",
        "void scale(float*)",
        "void scale(double*)",
        "void " AT "reduce_kernel<128, 4, " AT "ReduceOp<float, " AT "sum_functor<float>, 4>>(int)",
        "void " AT "reduce_kernel<512, 1, " AT "ReduceOp<float, " AT "sum_functor<float>, 4>>(int)",
        "void split<32, true, false>(int)",
        "void split<32, false, true>(int)",
        "void split<16, false, true>(int)",
        "void norm(float*)",
        "void norm(float**)",
        "[CUDA memset]"};
    static const char *const expected[] = {"cutlass_80_simt_sgemm_64x64_8x5_nn_align1",
                                           "cutlass_80_simt_sgemm_64x64_8x4_nn_align1",
                                           "cutlass sgemm 64x64 tn",
                                           "vectorized_elementwise_kernel add",
                                           "elementwise_kernel add",
                                           "elementwise fill …float",
                                           "elementwise fill …bool",
                                           "softmax",
                                           "softmax",
                                           "scale …float",
                                           "scale …double",
                                           "reduce sum …128",
                                           "reduce sum …512",
                                           "split …32, true",
                                           "split …32, false",
                                           "split …16",
                                           "norm …float*)",
                                           "norm …float**)",
                                           "[CUDA memset]"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        assert_string_equal(together(names, NVT_COUNT_OF(names), i), expected[i]);
}

/* Whatever stands together: different names look different, and each is found again. Rows repeat names, as those of traces do. */
static void any_names_are_told_apart(void **state)
{
    (void)state;
    static const char *const parts[] = {"void ",
                                        "a::",
                                        "kernel",
                                        "<",
                                        ">",
                                        "(int)",
                                        "Kernel2",
                                        "cutlass_80_sgemm_64x64_8x5_nn",
                                        "_Z",
                                        "7softmax",
                                        ", ",
                                        "reduce_kernel",
                                        "add_kernel_cuda",
                                        "float",
                                        " ",
                                        "2"};
    enum { NAMES = 200, ROWS = 5000, PARTS = 6 };
    static char names[NAMES][256];
    struct nvt_kernel_labels labels = {0};
    kit_srand(20261128);
    for (size_t i = 0; i < NAMES; i++)
        for (size_t k = 0, used = 0, count = (size_t)rand() % PARTS + 1; k < count; k++)
            used += (size_t)snprintf(names[i] + used, sizeof(names[i]) - used, "%s",
                                     parts[(size_t)rand() % NVT_COUNT_OF(parts)]);
    for (size_t row = 0; row < ROWS; row++)
        assert_int_equal(nvt_kernel_labels_add(&labels, names[row % NAMES]), 0);
    assert_int_equal(nvt_kernel_labels_finish(&labels), 0);
    assert_true(labels.count <= NAMES);
    for (size_t i = 0; i < NAMES; i++)
        for (size_t k = 0; k < NAMES; k++)
            if (!strcmp(nvt_kernel_labels_get(&labels, names[i]),
                        nvt_kernel_labels_get(&labels, names[k])) != !strcmp(names[i], names[k]))
                fail_msg("\"%s\" and \"%s\" are both \"%s\"", names[i], names[k],
                         nvt_kernel_labels_get(&labels, names[i]));
    nvt_kernel_labels_free(&labels);
    assert_string_equal(nvt_kernel_labels_get(&labels, "void f<int>()"), "void f<int>()");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_have_short_names),
                                       cmocka_unit_test(kernels_are_told_apart),
                                       cmocka_unit_test(any_names_are_told_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
