/*
 * The device's own form of a layer in int8; kernels/ops/quantize.c calls it. The same numbers to the bit as cuBLAS's product
 * and nvt_dequantize behind it, but the sums of 32 bits never leave the multiprocessor: written out and read again they
 * are four times the bytes of the halves that become of them.
 */
#ifndef NVT_CUDA_INT8_LINEAR_H
#define NVT_CUDA_INT8_LINEAR_H

#include "../ops/half.h"

/*
 * nvt_int8_linear. 0, or -1, with nothing started, where the device is none of compute capability 9.0, or the shape not one
 * of its own: k a multiple of 16, n one of 8, and arrays at addresses that are multiples of 16.
 */
int nvt_cuda_int8_linear(nvt_half *out, const int8_t *a, const float *sa, const int8_t *b,
                         const float *sb, int shared, int64_t m, int64_t n, int64_t k);

#endif
