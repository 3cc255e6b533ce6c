/*
 * The chosen experts of a batch: out[b] = x[b][f] · e[f] with f = chosen[b].
 *
 * A block has 64 columns of one expert and goes through its weights once for every SAMPLES samples
 * that chose it, so the weights that move are those of the experts that were chosen, whatever their
 * number. Of few samples each has its blocks, and those end at once whose expert was chosen before; of
 * many, each expert, and those end at once whose expert nobody chose. Lanes have two neighbouring columns each,
 * warps take turns in the rows of the weights, and their sums are added in the order of the warps:
 * the same numbers in every run.
 */
#include "expert.h"

#define COLUMNS 64
#define WARPS   16
#define SAMPLES 8
/* Rows of weights that a lane has under way: enough to hide the latency of memory. */
constexpr int ahead = 8;

struct expert_args {
    real *out;
    const real *x, *e;
    const int32_t *chosen;
    int64_t batch, fragments, width, columns;
    int by_sample;
};

/* The next samples that chose f, from b on, into `samples`. Where to go on. */
static __device__ int64_t find_samples(const expert_args &a, int64_t f, int64_t b, int64_t *samples,
                                       int *count)
{
    *count = 0;
    for (; b < a.batch && *count < SAMPLES; b++)
        if (a.chosen[b] == f)
            samples[(*count)++] = b;
    return b;
}

/* The expert of a block; `b` is the first sample that chose it, or may have. -1: others have it. */
static __device__ int64_t expert_of(const expert_args &a, unsigned slot, int64_t *b)
{
    *b = a.by_sample ? slot : 0;
    int64_t f = a.by_sample ? a.chosen[slot] : slot;
    int earlier = 0;
    for (int64_t other = 0; other < *b; other++)
        earlier |= a.chosen[other] == f;
    return earlier ? -1 : f;
}

/* Sums of this warp's rows of the weights for this lane's two columns. What is beyond the number of
 * samples repeats the last one and is not used. */
static __device__ void multiply(const expert_args &a, int64_t f, int64_t column,
                                const int64_t *samples, int count, float2 *sums)
{
    const real *x[SAMPLES];
    const float2 *e = (const float2 *)(a.e + f * a.width * a.columns + column);
    int64_t stride = a.columns / 2;
    for (int s = 0; s < SAMPLES; s++) {
        x[s] = a.x + (samples[s < count ? s : count - 1] * a.fragments + f) * a.width;
        sums[s] = make_float2(0, 0);
    }
#pragma unroll ahead
    for (int64_t i = threadIdx.x / 32; i < a.width; i += WARPS) {
        float2 weight = __ldg(&e[i * stride]);
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) {
            real factor = s < count ? __ldg(&x[s][i]) : 0;
            sums[s].x += factor * weight.x;
            sums[s].y += factor * weight.y;
        }
    }
}

static __global__ void __launch_bounds__(32 * WARPS) expert_forward_device(expert_args a)
{
    __shared__ float2 parts[WARPS][32];
    unsigned chunks = (unsigned)((a.columns + COLUMNS - 1) / COLUMNS);
    int64_t b, f = expert_of(a, blockIdx.x / chunks, &b);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count;
    int64_t column = blockIdx.x % chunks * COLUMNS + 2 * lane, samples[SAMPLES];
    int inside = column < a.columns;
    while (f >= 0 && b < a.batch) {
        float2 sums[SAMPLES];
        b = find_samples(a, f, b, samples, &count);
        if (!count)
            return;
        /* Lanes beyond the last column compute the first one again, as all must meet at the
         * barriers. */
        multiply(a, f, inside ? column : 0, samples, count, sums);
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) {
            if (s >= count)
                continue;
            parts[warp][lane] = sums[s];
            __syncthreads();
            if (!warp && inside) {
                float2 sum = parts[0][lane];
                for (int other = 1; other < WARPS; other++) {
                    sum.x += parts[other][lane].x;
                    sum.y += parts[other][lane].y;
                }
                *(float2 *)(a.out + samples[s] * a.columns + column) = sum;
            }
            __syncthreads();
        }
    }
}

int nvt_cuda_expert_forward(real *out, const real *x, const real *e, const int32_t *chosen,
                            int64_t batch, int64_t fragments, int64_t width, int64_t columns)
{
    int by_sample = batch < fragments;
    expert_args args = {out, x, e, chosen, batch, fragments, width, columns, by_sample};
    int64_t blocks = (by_sample ? batch : fragments) * ((columns + COLUMNS - 1) / COLUMNS);
    /* Two columns are read at once. */
    int aligned =
        !(columns % 2) && !((uintptr_t)e % sizeof(float2)) && !((uintptr_t)out % sizeof(float2));
    if (!aligned || blocks > INT32_MAX)
        return -1;
    NVT_LAUNCH_THREADS(expert_forward_device, blocks, 32 * WARPS, args);
    return 0;
}
