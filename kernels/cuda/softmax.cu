/* The attention's softmax, several rows of a warp at a time (softmax.h). */
#include "softmax.h"

#include "../ops/real_math.h"

struct rows_args {
    real *out;
    const real *x, *p;
    int64_t rows, length;
    int causal;
};

/* Numbers that a lane has of all rows of its warp, where rows are short. */
#define UNDER_WAY 8

/* A warp's rows: how many numbers of each a lane has, from its own place on, a warp's width apart. */
template <int each> struct warp_rows {
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

template <int each>
static __device__ void read_rows(warp_rows<each> *to, const rows_args &a, const real *x,
                                 int64_t first, real otherwise)
{
#pragma unroll
    for (int r = 0; r < to->count; r++) {
        int seen = seen_of(a, first + r);
#pragma unroll
        for (int k = 0; k < each; k++) {
            int i = threadIdx.x % 32 + 32 * k;
            to->at[r][k] = i < seen ? x[(first + r) * a.length + i] : otherwise;
        }
    }
}

/* What is masked becomes zero. */
template <int each, typename F>
static __device__ void write_rows(const rows_args &a, int64_t first, F value)
{
#pragma unroll
    for (int r = 0; r < warp_rows<each>::count; r++) {
        int length = length_of(a, first + r), seen = seen_of(a, first + r);
#pragma unroll
        for (int k = 0; k < each; k++) {
            int i = threadIdx.x % 32 + 32 * k;
            if (i < length)
                a.out[(first + r) * a.length + i] = i < seen ? value(r, k) : 0;
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

template <int each> static __global__ void attention_softmax_device(rows_args a)
{
    constexpr int count = warp_rows<each>::count;
    int64_t first = first_row(count);
    warp_rows<each> x;
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
    write_rows<each>(a, first, [&](int r, int k) { return x.at[r][k] * sum[r]; });
}

template <int each> static __global__ void attention_softmax_backward_device(rows_args a)
{
    constexpr int count = warp_rows<each>::count;
    int64_t first = first_row(count);
    warp_rows<each> p, dp;
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
    write_rows<each>(a, first, [&](int r, int k) { return p.at[r][k] * (dp.at[r][k] - sum[r]); });
}

static int64_t blocks_of(int64_t rows, int count)
{
    int64_t each = NVT_BLOCK / 32 * count;
    return (rows + each - 1) / each;
}

template <int each> static void launch(const rows_args &a, int is_backward)
{
    int64_t blocks = blocks_of(a.rows, warp_rows<each>::count);
    if (is_backward)
        NVT_LAUNCH(attention_softmax_backward_device<each>, blocks, a);
    else
        NVT_LAUNCH(attention_softmax_device<each>, blocks, a);
}

/* By the number of warps' widths that a row has. */
static int launch_for(const rows_args &a, int is_backward)
{
    if (a.length < 1 || a.length > 1024 || a.rows > INT32_MAX)
        return -1;
    if (a.length <= 64)
        launch<2>(a, is_backward);
    else if (a.length <= 128)
        launch<4>(a, is_backward);
    else if (a.length <= 256)
        launch<8>(a, is_backward);
    else if (a.length <= 512)
        launch<16>(a, is_backward);
    else
        launch<32>(a, is_backward);
    return 0;
}

int nvt_cuda_attention_softmax(const struct nvt_attention *attention, real *p, const real *s)
{
    return launch_for(
        {p, s, NULL, attention->groups * attention->length, attention->length, attention->causal},
        0);
}

int nvt_cuda_attention_softmax_backward(const struct nvt_attention *attention, real *ds,
                                        const real *p, const real *dp)
{
    return launch_for(
        {ds, dp, p, attention->groups * attention->length, attention->length, attention->causal},
        1);
}
