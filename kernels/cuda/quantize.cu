#include "quantize.h"

#include "../ops/quantize_one.h"
#include "columns.h"
#include "device.h"

/* Eight halves, and the eight bytes that they become. */
#define WIDE 8
struct alignas(16) wide {
    uint32_t word[WIDE / 2];
};
struct alignas(8) narrow {
    uint32_t word[WIDE / 4];
};

struct wide_args {
    int8_t *q;
    float *s;
    uint16_t *top;
    const nvt_half *x;
    const float *scales;
    int64_t rows, n, group; /* group: rows of a stripe, numbers of a share */
    int shared;
};

struct divisor {
    float scale, reciprocal; /* 1 and 0, where the scale makes zeros */
};

/* Whether lines of x, and what becomes of them, can be had eight at a time, in so many blocks. */
static int takes(const wide_args &a, int64_t blocks)
{
    return !(a.n % WIDE) && nvt_cuda_is_wide(a.x) && nvt_cuda_is_wide(a.q) && blocks >= 1 &&
           blocks <= INT32_MAX;
}

static __device__ divisor divisor_of(float scale)
{
    return nvt_is_divisor(scale) ? divisor{scale, 1.0f / scale} : divisor{1, 0};
}

static __device__ nvt_half half_of(wide x, int i)
{
    return (nvt_half)(x.word[i / 2] >> 16 * (i % 2));
}

static __device__ uint32_t top_of(uint32_t top, wide x)
{
#pragma unroll
    for (int i = 0; i < WIDE; i++)
        top = nvt_larger((uint16_t)top, half_of(x, i));
    return top;
}

/* The byte of round(127·x / scale): adding 1.5·2^23 leaves the whole number, ties to even, in the last bits. A scale
 * that makes zeros has 0 as its reciprocal, but x may be infinite or NaN then. */
static __device__ uint32_t byte_of(nvt_half x, divisor by)
{
    float quotient = nvt_quotient(nvt_half_value(x), by.scale, by.reciprocal) + 12582912.0f;
    uint32_t bits;
    memcpy(&bits, &quotient, sizeof(bits));
    return by.reciprocal > 0 ? bits & 0xff : 0;
}

static __device__ narrow quantized(wide x, divisor by)
{
    narrow q = {{0, 0}};
#pragma unroll
    for (int i = 0; i < WIDE; i++)
        q.word[i / 4] |= byte_of(half_of(x, i), by) << 8 * (i % 4);
    return q;
}

/* --- a scale for each row, which is kept as far as it goes and read once --------------------------- */

#define WARPS (NVT_BLOCK / 32)

/* Row `row` by `threads` of them, of which this is number `self`. */
template <int each, int threads> struct row_of {
    const wide *x;
    narrow *q;
    int64_t wides;
    int self;
    wide kept[each];

    __device__ row_of(const wide_args &a, int64_t row, int number)
        : x((const wide *)(a.x + row * a.n)), q((narrow *)(a.q + row * a.n)), wides(a.n / WIDE),
          self(number)
    {
    }

    /* The largest magnitude of this thread's share. */
    __device__ uint32_t read()
    {
        uint32_t top = 0;
#pragma unroll
        for (int k = 0; k < each; k++)
            if (self + k * threads < wides)
                kept[k] = x[self + k * threads];
#pragma unroll
        for (int k = 0; k < each; k++)
            if (self + k * threads < wides)
                top = top_of(top, kept[k]);
        for (int64_t i = self + each * threads; i < wides; i += threads)
            top = top_of(top, x[i]);
        return top;
    }

    __device__ void write(divisor by)
    {
#pragma unroll
        for (int k = 0; k < each; k++)
            if (self + k * threads < wides)
                q[self + k * threads] = quantized(kept[k], by);
        for (int64_t i = self + each * threads; i < wides; i += threads)
            q[i] = quantized(x[i], by);
    }
};

/* A warp has a row: nobody waits for a block. */
template <int each> static __global__ void quantize_rows_of_warps(wide_args a)
{
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= a.rows)
        return;
    row_of<each, 32> of(a, row, threadIdx.x % 32);
    uint32_t top = of.read();
    for (int step = 16; step; step /= 2) {
        uint32_t other = __shfl_xor_sync(0xffffffffu, top, step);
        top = other > top ? other : top;
    }
    float scale = nvt_half_value((nvt_half)top);
    of.write(divisor_of(scale));
    if (threadIdx.x % 32 == 0)
        a.s[row] = scale;
}

/* A block has one. */
template <int each> static __global__ void quantize_rows_of_blocks(wide_args a)
{
    row_of<each, NVT_BLOCK> of(a, blockIdx.x, threadIdx.x);
    float scale = nvt_half_value((nvt_half)block_max((real)of.read()));
    of.write(divisor_of(scale));
    if (!threadIdx.x)
        a.s[blockIdx.x] = scale;
}

/* 4096 numbers are 16 times 8 of each lane of a warp. Of the longest rows a thread keeps what leaves room for three blocks,
 * and reads the rest again from the cache. */
static void launch_rows(const wide_args &args)
{
    int64_t shared_out = (args.rows + WARPS - 1) / WARPS;
    if (args.n <= 1024)
        NVT_LAUNCH(quantize_rows_of_warps<4>, shared_out, args);
    else if (args.n <= 2048)
        NVT_LAUNCH(quantize_rows_of_warps<8>, shared_out, args);
    else if (args.n <= 4096)
        NVT_LAUNCH(quantize_rows_of_warps<16>, shared_out, args);
    else if (args.n <= 8192)
        NVT_LAUNCH(quantize_rows_of_blocks<4>, args.rows, args);
    else if (args.n <= 16384)
        NVT_LAUNCH(quantize_rows_of_blocks<8>, args.rows, args);
    else
        NVT_LAUNCH(quantize_rows_of_blocks<12>, args.rows, args);
}

int nvt_cuda_quantize_rows(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n)
{
    wide_args args = {q, s, NULL, x, NULL, rows, n, 0, 0};
    if (!takes(args, rows))
        return -1;
    launch_rows(args);
    return 0;
}

/* --- the largest of columns, and of all ------------------------------------------------------------ */

#define BLOCK_COLUMNS (32 * WIDE)

/* A block has 256 columns of a stripe: a lane eight neighbouring ones, warps take turns in the rows. */
static __global__ void top_of_columns_device(wide_args a)
{
    __shared__ uint16_t tops[WARPS][BLOCK_COLUMNS];
    unsigned across = (unsigned)((a.n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS);
    int64_t stripe = blockIdx.x / across, first = stripe * a.group;
    int64_t end = first + a.group < a.rows ? first + a.group : a.rows;
    int64_t column = (int64_t)(blockIdx.x % across) * BLOCK_COLUMNS;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint16_t top[WIDE] = {0};
    if (column + lane * WIDE < a.n) {
#pragma unroll 4
        for (int64_t r = first + warp; r < end; r += WARPS) {
            wide x = *(const wide *)(a.x + r * a.n + column + lane * WIDE);
#pragma unroll
            for (int i = 0; i < WIDE; i++)
                top[i] = nvt_larger(top[i], half_of(x, i));
        }
    }
#pragma unroll
    for (int i = 0; i < WIDE; i++)
        tops[warp][lane * WIDE + i] = top[i];
    __syncthreads();
    int64_t own = column + threadIdx.x;
    uint16_t most = 0;
    for (int other = 0; other < WARPS; other++)
        most = nvt_larger(most, tops[other][threadIdx.x]);
    if (own < a.n)
        a.top[stripe * a.n + own] = most;
}

int nvt_cuda_top_of_columns(uint16_t *top, const nvt_half *x, int64_t rows, int64_t n,
                            int64_t stripe)
{
    wide_args args = {NULL, NULL, top, x, NULL, rows, n, stripe, 0};
    int64_t blocks = (rows + stripe - 1) / stripe * ((n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS);
    if (!takes(args, blocks))
        return -1;
    NVT_LAUNCH(top_of_columns_device, blocks, args);
    return 0;
}

static __global__ void scale_of_columns_device(wide_args a)
{
    __shared__ uint16_t tops[WARPS][32];
    int64_t column = nvt_column_of<32>();
    uint16_t top = nvt_join_column<32>(
        tops, a.rows, column < a.n, [&](int64_t stripe) { return a.top[stripe * a.n + column]; },
        nvt_larger);
    if (threadIdx.x < 32 && column < a.n)
        a.s[column] = nvt_half_value(top);
}

int nvt_cuda_scale_of_columns(float *s, const uint16_t *top, int64_t stripes, int64_t n)
{
    wide_args args = {NULL, s, (uint16_t *)top, NULL, NULL, stripes, n, 0, 0};
    int64_t blocks = (n + 31) / 32;
    if (blocks < 1 || blocks > INT32_MAX)
        return -1;
    NVT_LAUNCH(scale_of_columns_device, blocks, args);
    return 0;
}

static __global__ void top_of_shares_device(wide_args a)
{
    int64_t first = blockIdx.x * a.group, rest = a.n - first;
    int64_t wides = (rest < a.group ? rest : a.group) / WIDE;
    const wide *x = (const wide *)(a.x + first);
    uint32_t top = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < wides; i += NVT_BLOCK)
        top = top_of(top, x[i]);
    top = (uint32_t)block_max((real)top);
    if (!threadIdx.x)
        a.top[blockIdx.x] = (uint16_t)top;
}

int nvt_cuda_top_of_shares(uint16_t *top, const nvt_half *x, int64_t count, int64_t share)
{
    wide_args args = {NULL, NULL, top, x, NULL, 1, count, share, 0};
    int64_t blocks = (count + share - 1) / share;
    if (!takes(args, blocks))
        return -1;
    NVT_LAUNCH(top_of_shares_device, blocks, args);
    return 0;
}

/* --- with scales that are known -------------------------------------------------------------------- */

#define KEPT 4

/* Four eights a thread, all under way before anything else; then `ready` gives what makes each of them. */
template <typename R> static __device__ void for_wides(const wide_args &a, R ready)
{
    int64_t wides = a.n / WIDE, first = (int64_t)blockIdx.x * KEPT * NVT_BLOCK + threadIdx.x;
    wide x[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (first + k * NVT_BLOCK < wides)
            x[k] = ((const wide *)a.x)[first + k * NVT_BLOCK];
    auto become = ready();
#pragma unroll
    for (int k = 0; k < KEPT; k++)
        if (first + k * NVT_BLOCK < wides)
            ((narrow *)a.q)[first + k * NVT_BLOCK] = become(x[k]);
}

static int64_t blocks_of_wides(int64_t n)
{
    const int64_t each = KEPT * NVT_BLOCK * WIDE;
    return (n + each - 1) / each;
}

static __global__ void quantize_all_device(wide_args a)
{
    for_wides(a, [&] {
        divisor by = divisor_of(a.scales[0]);
        return [by](wide x) { return quantized(x, by); };
    });
}

int nvt_cuda_quantize_all(int8_t *q, const float *s, const nvt_half *x, int64_t count)
{
    wide_args args = {q, NULL, NULL, x, s, 1, count, 0, 1};
    int64_t blocks = blocks_of_wides(args.n);
    if (!takes(args, blocks))
        return -1;
    NVT_LAUNCH(quantize_all_device, blocks, args);
    return 0;
}

/* A tile of the result: lines of 128 bytes, four more apart, which keeps the banks of shared memory apart. */
#define TILE_COLUMNS 64
#define TILE_ROWS    128

struct tile {
    alignas(4) uint8_t at[TILE_COLUMNS][TILE_ROWS + 4];
};

/* A thread has four rows of the tile, all read at once, and eight columns of each: four bytes of a column are a word of
 * the result. */
static __device__ void read_tile(tile *tile, const wide_args &a, int64_t first, int64_t column)
{
    const int across = TILE_COLUMNS / WIDE;
    int group = threadIdx.x % across * WIDE, row = threadIdx.x / across * 4;
    static_assert(NVT_BLOCK / across * 4 == TILE_ROWS, "the threads of a block have a tile");
    if (column + group >= a.n || first + row >= a.rows)
        return;
    wide x[4];
#pragma unroll
    for (int r = 0; r < 4; r++)
        x[r] = *(const wide *)(a.x + (first + row + r) * a.n + column + group);
    divisor whole = divisor_of(a.scales[0]);
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
        divisor by = a.shared ? whole : divisor_of(a.scales[column + group + i]);
        uint32_t word = 0;
#pragma unroll
        for (int r = 0; r < 4; r++)
            word |= byte_of(half_of(x[r], i), by) << 8 * r;
        *(uint32_t *)&tile->at[group + i][row] = word;
    }
}

/* A warp has a line of the result, a lane four bytes of it. */
static __global__ void quantize_transposed_device(wide_args a)
{
    __shared__ tile tile;
    unsigned across = (unsigned)((a.n + TILE_COLUMNS - 1) / TILE_COLUMNS);
    int64_t first = (int64_t)(blockIdx.x / across) * TILE_ROWS;
    int64_t column = (int64_t)(blockIdx.x % across) * TILE_COLUMNS;
    read_tile(&tile, a, first, column);
    __syncthreads();
    int64_t row = threadIdx.x % 32 * 4;
    if (first + row >= a.rows)
        return;
#pragma unroll
    for (int c = threadIdx.x / 32; c < TILE_COLUMNS; c += WARPS) {
        if (column + c < a.n)
            *(uint32_t *)(a.q + (column + c) * a.rows + first + row) =
                *(const uint32_t *)&tile.at[c][row];
    }
}

int nvt_cuda_quantize_transposed(int8_t *q, const float *s, const nvt_half *x, int64_t rows,
                                 int64_t n, int shared)
{
    wide_args args = {q, NULL, NULL, x, s, rows, n, 0, shared};
    int64_t blocks = (n + TILE_COLUMNS - 1) / TILE_COLUMNS * ((rows + TILE_ROWS - 1) / TILE_ROWS);
    if (rows % 4 || !takes(args, blocks))
        return -1;
    NVT_LAUNCH(quantize_transposed_device, blocks, args);
    return 0;
}

/* --- conversions ------------------------------------------------------------------------------------ */

static __device__ uint32_t cut(nvt_half x)
{
    float value = nvt_half_value(x);
    value = value > 127 ? 127.0f : value < -127 ? -127.0f : value;
    return value == value ? (uint32_t)(int)value & 0xff : 0;
}

static __device__ narrow cut_all(wide x)
{
    narrow q = {{0, 0}};
#pragma unroll
    for (int i = 0; i < WIDE; i++)
        q.word[i / 4] |= cut(half_of(x, i)) << 8 * (i % 4);
    return q;
}

static __global__ void quantize_cast_device(wide_args a)
{
    for_wides(a, [] { return cut_all; });
}

int nvt_cuda_quantize_cast(int8_t *q, const nvt_half *x, int64_t n)
{
    wide_args args = {q, NULL, NULL, x, NULL, 1, n, 0, 0};
    int64_t blocks = blocks_of_wides(args.n);
    if (!takes(args, blocks))
        return -1;
    NVT_LAUNCH(quantize_cast_device, blocks, args);
    return 0;
}

/* Eight sums, and the scales of their columns. */
struct alignas(16) sums {
    int32_t at[4];
};
struct alignas(16) scales {
    float at[4];
};

/* A block has a row, the first block the last one: what a product has written last is still in the cache. */
static __global__ void dequantize_device(dequantize_args a)
{
    int64_t row = a.rows - 1 - blockIdx.x, wides = a.n / WIDE;
    const sums *acc = (const sums *)(a.acc + row * a.n);
    wide *out = (wide *)(a.out + row * a.n);
    float scale = a.sa[row] * (1.0f / (127 * 127)) * (a.shared ? a.sb[0] : 1.0f);
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < wides; i += NVT_BLOCK) {
        sums sum[2] = {acc[2 * i], acc[2 * i + 1]};
        scales by[2] = {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}};
        wide halves = {{0, 0, 0, 0}};
        if (!a.shared) {
            by[0] = ((const scales *)a.sb)[2 * i];
            by[1] = ((const scales *)a.sb)[2 * i + 1];
        }
#pragma unroll
        for (int j = 0; j < WIDE; j++) {
            float value = (float)sum[j / 4].at[j % 4] * (scale * by[j / 4].at[j % 4]);
            halves.word[j / 2] |= (uint32_t)nvt_half_of(value) << 16 * (j % 2);
        }
        out[i] = halves;
    }
}

int nvt_cuda_dequantize(nvt_half *out, const int32_t *acc, const float *sa, const float *sb,
                        int shared, int64_t rows, int64_t n)
{
    dequantize_args args = {out, acc, sa, sb, rows, n, shared};
    if (n % WIDE || !nvt_cuda_is_wide(out) || !nvt_cuda_is_wide(acc) ||
        (!shared && !nvt_cuda_is_wide(sb)) || rows < 1 || rows > INT32_MAX)
        return -1;
    NVT_LAUNCH(dequantize_device, rows, args);
    return 0;
}
