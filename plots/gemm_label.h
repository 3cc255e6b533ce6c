/*
 * Names of matrix products and convolutions of NVIDIA's libraries as labels: "cutlass sgemm 128x256 nt" of
 * cutlass_80_simt_sgemm_128x256_8x4_nt_align1, "xmma gemm f32 tn 64x64x8" of
 * sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_…: the library, the operation, the precision, the tile and how the
 * matrices lie. Architecture, stages, warps and alignment are left out.
 */
#ifndef NVT_GEMM_LABEL_H
#define NVT_GEMM_LABEL_H

#include <stddef.h>

/* Write the label of a kernel's telling name (cuda_names.h). 0 where it is not such a name: out is unchanged. */
int nvt_gemm_label(const char *name, char *out, size_t size);

#endif
