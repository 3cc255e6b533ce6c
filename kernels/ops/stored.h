/*
 * Kernels over stored numbers (nvt_backend_stored_bytes): one source for every format that a backend keeps them in. Within a
 * kernel the type is nvt_stored; the arithmetic is in real.
 *
 *   struct scale_args { void *y; const void *x; real factor; int64_t n; };
 *   NVT_STORED_KERNEL(scale, scale_args)
 *   {
 *       const nvt_stored *x = (const nvt_stored *)a.x + row * a.n;
 *       nvt_stored *y = (nvt_stored *)a.y + row * a.n;
 *       FOR_THREADS(i, a.n)
 *           NVT_KEEP(y[i], NVT_VALUE(NVT_READ(x[i])) * a.factor);
 *   }
 *   …
 *   NVT_LAUNCH_STORED(precision, scale, rows, a);
 *
 * NVT_VALUE is a stored number as real, NVT_KEEP stores a real: rounded to nearest, ties to even. NVT_STORED_MAP is NVT_MAP
 * with out, x and y stored. On the host stored numbers are real, and this is NVT_KERNEL to the bit.
 */
#ifndef NVT_STORED_H
#define NVT_STORED_H

#include "../backend.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>

NVT_DEVICE real nvt_value_of(real stored)
{
    return stored;
}

NVT_DEVICE real nvt_value_of(__half stored)
{
    return __half2float(stored);
}

NVT_DEVICE real nvt_value_of(__nv_bfloat16 stored)
{
    return __bfloat162float(stored);
}

NVT_DEVICE void nvt_keep(real *place, real value)
{
    *place = value;
}

NVT_DEVICE void nvt_keep(__half *place, real value)
{
    *place = __float2half_rn(value);
}

NVT_DEVICE void nvt_keep(__nv_bfloat16 *place, real value)
{
    *place = __float2bfloat16_rn(value);
}

#define NVT_VALUE(stored)      nvt_value_of(stored)
#define NVT_KEEP(place, value) nvt_keep(&(place), value)

#define NVT_STORED_KERNEL(name, args)                                                              \
    template <typename nvt_stored> static __device__ void name##_row(int64_t row, struct args a);  \
    template <typename nvt_stored> static __global__ void name(struct args a)                      \
    {                                                                                              \
        name##_row<nvt_stored>(blockIdx.x, a);                                                     \
    }                                                                                              \
    template <typename nvt_stored> static __device__ void name##_row(int64_t row, struct args a)
/* name<type> is launched: a kernel, or a function of the host that does more. */
#define NVT_LAUNCH_STORED(precision, name, rows, args)                                             \
    do {                                                                                           \
        if ((precision) == NVT_BF16)                                                               \
            NVT_LAUNCH(name<__nv_bfloat16>, rows, args);                                           \
        else if ((precision) == NVT_FP16)                                                          \
            NVT_LAUNCH(name<__half>, rows, args);                                                  \
        else                                                                                       \
            NVT_LAUNCH(name<real>, rows, args);                                                    \
    } while (0)

#define NVT_STORED_MAP(name, args, out, x, y, value)                                               \
    NVT_STORED_KERNEL(name, args)                                                                  \
    {                                                                                              \
        nvt_map_chunk(row, a.n, (nvt_stored *)a.out, (const nvt_stored *)a.x,                      \
                      (const nvt_stored *)a.y, [&](nvt_stored x_, nvt_stored y_) {                 \
                          nvt_stored kept_;                                                        \
                          NVT_KEEP(kept_, value(NVT_VALUE(x_), NVT_VALUE(y_), &a));                \
                          return kept_;                                                            \
                      });                                                                          \
    }
#else
typedef real nvt_stored;
#define NVT_VALUE(stored)             (stored)
#define NVT_KEEP(place, value)        ((place) = (value))
#define NVT_STORED_KERNEL(name, args) NVT_KERNEL(name, args)
#define NVT_LAUNCH_STORED(precision, name, rows, args)                                             \
    do {                                                                                           \
        (void)(precision);                                                                         \
        NVT_LAUNCH(name, rows, args);                                                              \
    } while (0)
#define NVT_STORED_MAP(name, args, out, x, y, value)                                               \
    NVT_KERNEL(name, args)                                                                         \
    {                                                                                              \
        const int64_t first_ = row * NVT_CHUNK_ELEMENTS, rest_ = a.n - first_;                     \
        nvt_stored *out_ = (nvt_stored *)a.out;                                                    \
        const nvt_stored *xs_ = (const nvt_stored *)a.x, *ys_ = (const nvt_stored *)a.y;           \
        for (int64_t i_ = first_;                                                                  \
             i_ < first_ + (rest_ < NVT_CHUNK_ELEMENTS ? rest_ : NVT_CHUNK_ELEMENTS); i_++)        \
            out_[i_] = value(xs_[i_], ys_[i_], &a);                                                \
    }
#endif

#endif
