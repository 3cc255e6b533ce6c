/* The attention's softmax, several rows of a warp at a time (softmax.h). */
#include "softmax.h"

#include "../ops/real_math.h"
#include "../ops/stored.h"

struct rows_args {
    void *out;
    const void *x, *p;
    int64_t rows, length;
    int causal;
};

/* Numbers that a lane has of all rows of its warp, where rows are short. */
#define UNDER_WAY 8

/* A warp's rows, of stored numbers: how many of each a lane has, from its own place on, a warp's width apart. */
template <typename T, int numbers> struct warp_rows {
    typedef T stored;
    static constexpr int each = numbers;
    static constexpr int count = each < UNDER_WAY ? UNDER_WAY / each : 1;
    real at[count][each];
};

static __device__ int64_t first_row(int count)
{
    return ((int64_t)blockIdx.x * (NVT_BLOCK / 32) + threadIdx.x / 32) * count;
}

/* How many numbers of a row are there, 0 behind the last one; and how many of them are seen. */
static __device__ int length_of(const rows_args &a, int64_t row)
{
    return row < a.rows ? (int)a.length : 0;
}

static __device__ int seen_of(const rows_args &a, int64_t row)
{
    int length = length_of(a, row);
    return a.causal && length ? (int)((uint32_t)row % (uint32_t)a.length) + 1 : length;
}

template <typename rows>
static __device__ void read_rows(rows *to, const rows_args &a, const void *from, int64_t first,
                                 real otherwise)
{
    const typename rows::stored *x = (const typename rows::stored *)from;
#pragma unroll
    for (int r = 0; r < rows::count; r++) {
        int seen = seen_of(a, first + r);
#pragma unroll
        for (int k = 0; k < rows::each; k++) {
            int i = threadIdx.x % 32 + 32 * k;
            to->at[r][k] = i < seen ? NVT_VALUE(x[(first + r) * a.length + i]) : otherwise;
        }
    }
}

/* What is masked becomes zero. */
template <typename rows, typename F>
static __device__ void write_rows(const rows_args &a, int64_t first, F value)
{
    typename rows::stored *out = (typename rows::stored *)a.out;
#pragma unroll
    for (int r = 0; r < rows::count; r++) {
        int length = length_of(a, first + r), seen = seen_of(a, first + r);
#pragma unroll
        for (int k = 0; k < rows::each; k++) {
            int i = threadIdx.x % 32 + 32 * k;
            if (i < length)
                NVT_KEEP(out[(first + r) * a.length + i], i < seen ? value(r, k) : 0);
        }
    }
}

template <int count> static __device__ void warp_sums(real (&sum)[count])
{
#pragma unroll
    for (int step = 16; step; step /= 2)
#pragma unroll
        for (int r = 0; r < count; r++)
            sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], step);
}

template <int count> static __device__ void warp_tops(real (&top)[count])
{
#pragma unroll
    for (int step = 16; step; step /= 2)
#pragma unroll
        for (int r = 0; r < count; r++) {
            real other = __shfl_xor_sync(0xffffffffu, top[r], step);
            top[r] = other > top[r] ? other : top[r];
        }
}

template <typename rows> static __global__ void attention_softmax_device(rows_args a)
{
    constexpr int count = rows::count, each = rows::each;
    int64_t first = first_row(count);
    rows x;
    real top[count], sum[count];
    read_rows(&x, a, a.x, first, (real)-INFINITY);
#pragma unroll
    for (int r = 0; r < count; r++) {
        top[r] = (real)-INFINITY;
#pragma unroll
        for (int k = 0; k < each; k++)
            top[r] = x.at[r][k] > top[r] ? x.at[r][k] : top[r];
    }
    warp_tops(top);
#pragma unroll
    for (int r = 0; r < count; r++) {
        sum[r] = 0;
#pragma unroll
        for (int k = 0; k < each; k++) {
            x.at[r][k] = real_exp(x.at[r][k] - top[r]);
            sum[r] += x.at[r][k];
        }
    }
    warp_sums(sum);
#pragma unroll
    for (int r = 0; r < count; r++)
        sum[r] = 1 / sum[r];
    write_rows<rows>(a, first, [&](int r, int k) { return x.at[r][k] * sum[r]; });
}

template <typename rows> static __global__ void attention_softmax_backward_device(rows_args a)
{
    constexpr int count = rows::count, each = rows::each;
    int64_t first = first_row(count);
    rows p, dp;
    real sum[count];
    read_rows(&p, a, a.p, first, 0);
    read_rows(&dp, a, a.x, first, 0);
#pragma unroll
    for (int r = 0; r < count; r++) {
        sum[r] = 0;
#pragma unroll
        for (int k = 0; k < each; k++)
            sum[r] += p.at[r][k] * dp.at[r][k];
    }
    warp_sums(sum);
    write_rows<rows>(a, first, [&](int r, int k) { return p.at[r][k] * (dp.at[r][k] - sum[r]); });
}

/* --- rows that are too long for a warp's registers: a block each --- */

template <typename T> static __global__ void attention_softmax_long(rows_args a)
{
    const int64_t row = blockIdx.x, seen = seen_of(a, row);
    const T *x = (const T *)a.x + row * a.length;
    T *p = (T *)a.out + row * a.length;
    real top = (real)-INFINITY, sum = 0;
    FOR_THREADS(i, seen)
    {
        top = real_max(top, NVT_VALUE(x[i]));
    }
    top = block_max(top);
    FOR_THREADS(i, seen)
    {
        sum += real_exp(NVT_VALUE(x[i]) - top);
    }
    sum = 1 / block_sum(sum);
    FOR_THREADS(i, a.length)
    {
        NVT_KEEP(p[i], i < seen ? real_exp(NVT_VALUE(x[i]) - top) * sum : 0);
    }
}

template <typename T> static __global__ void attention_softmax_backward_long(rows_args a)
{
    const int64_t row = blockIdx.x, seen = seen_of(a, row);
    const T *p = (const T *)a.p + row * a.length, *dp = (const T *)a.x + row * a.length;
    T *ds = (T *)a.out + row * a.length;
    real sum = 0;
    FOR_THREADS(i, seen)
    {
        sum += NVT_VALUE(p[i]) * NVT_VALUE(dp[i]);
    }
    sum = block_sum(sum);
    FOR_THREADS(i, a.length)
    {
        NVT_KEEP(ds[i], i < seen ? NVT_VALUE(p[i]) * (NVT_VALUE(dp[i]) - sum) : 0);
    }
}

/* --- launches --- */

static int64_t blocks_of(int64_t rows, int count)
{
    int64_t each = NVT_BLOCK / 32 * count;
    return (rows + each - 1) / each;
}

template <typename rows> static void launch(const rows_args &a)
{
    int64_t blocks = blocks_of(a.rows, rows::count);
    if (a.p)
        NVT_LAUNCH(attention_softmax_backward_device<rows>, blocks, a);
    else
        NVT_LAUNCH(attention_softmax_device<rows>, blocks, a);
}

template <typename T> static void launch_long(const rows_args &a)
{
    if (a.p)
        NVT_LAUNCH(attention_softmax_backward_long<T>, a.rows, a);
    else
        NVT_LAUNCH(attention_softmax_long<T>, a.rows, a);
}

/* By the number of warps' widths that a row has. */
template <typename T> static void launch_for(const rows_args &a)
{
    if (a.length <= 64)
        launch<warp_rows<T, 2>>(a);
    else if (a.length <= 128)
        launch<warp_rows<T, 4>>(a);
    else if (a.length <= 256)
        launch<warp_rows<T, 8>>(a);
    else if (a.length <= 512)
        launch<warp_rows<T, 16>>(a);
    else if (a.length <= 1024)
        launch<warp_rows<T, 32>>(a);
    else
        launch_long<T>(a);
}

static void launch_of(const struct nvt_attention *attention, void *out, const void *x,
                      const void *p)
{
    const rows_args args = {
        out, x, p, attention->groups * attention->length, attention->length, attention->causal};
    if (attention->precision == NVT_BF16)
        launch_for<__nv_bfloat16>(args);
    else if (attention->precision == NVT_FP16)
        launch_for<__half>(args);
    else
        launch_for<real>(args);
}

void nvt_cuda_attention_softmax(const struct nvt_attention *attention, void *p, const void *s)
{
    launch_of(attention, p, s, NULL);
}

void nvt_cuda_attention_softmax_backward(const struct nvt_attention *attention, void *ds,
                                         const void *p, const void *dp)
{
    launch_of(attention, ds, dp, p);
}
