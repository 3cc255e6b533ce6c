#include "quantize.h"

#include <math.h>

#include "quantize_one.h"

/* A device has forms of its own for most shapes; what they leave is done as on the host. */
#ifdef __CUDACC__
#include "../cuda/int8_linear.h"
#include "../cuda/quantize.h"
#define DONE_BY_DEVICE(call) (!(call))
#else
#define DONE_BY_DEVICE(call) 0
#endif

/* One argument set for all of this file's quantisers: x is [rows][n]. */
struct quantize_args {
    int8_t *q;
    float *s;
    uint16_t *top; /* magnitudes of halves, as bits */
    const nvt_half *x;
    int64_t rows, n;
    int shared; /* one scale for all */
};

NVT_DEVICE int8_t quantize_one(nvt_half x, float scale, int divides)
{
    float quotient = 127.0f * nvt_half_value(x) / (divides ? scale : 1.0f);
    return divides ? (int8_t)rintf(quotient) : (int8_t)0;
}

/* --- a scale for each row --------------------------------------------------------------------- */

NVT_KERNEL(quantize_rows, quantize_args)
{
    const nvt_half *x = a.x + row * a.n;
    int8_t *q = a.q + row * a.n;
    uint16_t top = 0;
    FOR_THREADS(i, a.n)
    {
        top = nvt_larger(top, x[i]);
    }
    top = (uint16_t)block_max((real)top);
    float scale = nvt_half_value(top);
    int divides = nvt_is_divisor(scale);
    FOR_THREADS(i, a.n)
    {
        q[i] = quantize_one(x[i], scale, divides);
    }
    FOR_THREADS(i, 1)
    {
        a.s[row + i] = scale;
    }
}

void nvt_quantize_rows(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n)
{
    struct quantize_args args = {q, s, NULL, x, rows, n, 0};
    if (!DONE_BY_DEVICE(nvt_cuda_quantize_rows(q, s, x, rows, n)))
        NVT_LAUNCH(quantize_rows, rows, args);
}

/* --- the largest of columns, and of all ------------------------------------------------------- */

/* Rows of x that one launch row looks at, and columns; the same tile is transposed further below.
 */
#define STRIPE_ROWS    256
#define STRIPE_COLUMNS 256
#define STRIPES(n)     (((n) + STRIPE_ROWS - 1) / STRIPE_ROWS)

/* top[stripe][n]: a launch row is a stripe of rows by a stripe of columns. */
NVT_KERNEL(top_of_columns, quantize_args)
{
    int64_t across = (a.n + STRIPE_COLUMNS - 1) / STRIPE_COLUMNS;
    int64_t first = row / across * STRIPE_ROWS, column = row % across * STRIPE_COLUMNS;
    int64_t end = first + STRIPE_ROWS < a.rows ? first + STRIPE_ROWS : a.rows;
    int64_t width = a.n - column < STRIPE_COLUMNS ? a.n - column : STRIPE_COLUMNS;
    uint16_t *top = a.top + row / across * a.n + column;
    FOR_THREADS(i, width)
    {
        top[i] = 0;
    }
    for (int64_t r = first; r < end; r++) {
        const nvt_half *x = a.x + r * a.n + column;
        FOR_THREADS(i, width)
        {
            top[i] = nvt_larger(top[i], x[i]);
        }
    }
}

/* s[n] from top[stripes][n]; a launch row is a chunk of columns. */
NVT_KERNEL(scale_of_columns, quantize_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = row * NVT_CHUNK_ELEMENTS + j;
        uint16_t top = 0;
        for (int64_t stripe = 0; i < a.n && stripe < STRIPES(a.rows); stripe++)
            top = nvt_larger(top, a.top[stripe * a.n + i]);
        if (i < a.n)
            a.s[i] = nvt_half_value(top);
    }
}

/* Elements of x that one launch row looks at, where one scale is for all. */
#define SHARE         65536
#define SHARES(count) (((count) + SHARE - 1) / SHARE)

NVT_KERNEL(top_of_share, quantize_args)
{
    int64_t count = a.rows * a.n - row * SHARE;
    const nvt_half *x = a.x + row * SHARE;
    uint16_t top = 0;
    FOR_THREADS(i, count < SHARE ? count : SHARE)
    {
        top = nvt_larger(top, x[i]);
    }
    top = (uint16_t)block_max((real)top);
    FOR_THREADS(i, 1)
    {
        a.top[row + i] = top;
    }
}

NVT_KERNEL(scale_of_all, quantize_args)
{
    uint16_t top = 0;
    FOR_THREADS(i, SHARES(a.rows * a.n))
    {
        top = nvt_larger(top, a.top[i]);
    }
    top = (uint16_t)block_max((real)top);
    FOR_THREADS(i, 1)
    {
        a.s[row + i] = nvt_half_value(top);
    }
}

int64_t nvt_quantize_scratch(int64_t rows, int64_t n)
{
    int64_t shares = SHARES(rows * n), stripes = STRIPES(rows) * n;
    return shares > stripes ? shares : stripes;
}

static void find_scale_of_all(const struct quantize_args *args)
{
    int64_t count = args->rows * args->n;
    if (!DONE_BY_DEVICE(nvt_cuda_top_of_shares(args->top, args->x, count, SHARE)))
        NVT_LAUNCH(top_of_share, SHARES(count), *args);
    NVT_LAUNCH(scale_of_all, 1, *args);
}

/* --- quantising with scales that are known ---------------------------------------------------- */

NVT_KERNEL(quantize_all, quantize_args)
{
    int64_t count = a.rows * a.n - row * SHARE;
    const nvt_half *x = a.x + row * SHARE;
    int8_t *q = a.q + row * SHARE;
    float scale = a.s[0];
    int divides = nvt_is_divisor(scale);
    FOR_THREADS(i, count < SHARE ? count : SHARE)
    {
        q[i] = quantize_one(x[i], scale, divides);
    }
}

void nvt_quantize_all(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n,
                      uint16_t *scratch)
{
    struct quantize_args args = {q, s, scratch, x, rows, n, 1};
    find_scale_of_all(&args);
    if (!DONE_BY_DEVICE(nvt_cuda_quantize_all(q, s, x, rows * n)))
        NVT_LAUNCH(quantize_all, SHARES(rows * n), args);
}

/* Side of the square that is turned at a time: a line of the result fills a line of the cache. */
#define TILE 64

struct tile {
    int8_t at[TILE][TILE + 4]; /* the odd width keeps a device's banks apart */
};

/* x's square of height by width into the tile, and the tile into q's lines, which are `rows` long:
 * along lines of memory both times. */
#ifdef __CUDACC__
NVT_DEVICE void read_tile(struct tile *tile, const struct quantize_args *a, const nvt_half *x,
                          const float *scales, int64_t height, int64_t width)
{
    FOR_THREADS(i, height * TILE)
    {
        int64_t r = i / TILE, c = i % TILE;
        float scale = scales[a->shared || c >= width ? 0 : c];
        if (c < width)
            tile->at[r][c] = quantize_one(x[r * a->n + c], scale, nvt_is_divisor(scale));
    }
}

NVT_DEVICE void write_tile(int8_t *q, const struct tile *tile, int64_t rows, int64_t height,
                           int64_t width)
{
    FOR_THREADS(i, width * TILE)
    {
        int64_t c = i / TILE, r = i % TILE;
        if (r < height)
            q[c * rows + r] = tile->at[r][c];
    }
}
#else
#define AHEAD 12 /* rows */

static void read_tile(struct tile *tile, const struct quantize_args *a, const nvt_half *x,
                      const float *scales, int64_t height, int64_t width)
{
    /* A scale that does not divide is infinity here: quotients are 0, or NaN and then made 0. */
    float divisor[TILE];
    for (int64_t c = 0; c < width; c++) {
        float scale = scales[a->shared ? 0 : c];
        divisor[c] = nvt_is_divisor(scale) ? scale : INFINITY;
    }
    for (int64_t r = 0; r < height; r++) {
        /* Two lines of the cache a row, far from the next row's: no processor guesses that. */
        int64_t ahead = r + AHEAD < height ? r + AHEAD : r;
        __builtin_prefetch(x + ahead * a->n);
        __builtin_prefetch(x + ahead * a->n + width - 1);
        for (int64_t c = 0; c < width; c++) {
            float quotient = 127.0f * nvt_half_value(x[r * a->n + c]) / divisor[c];
            tile->at[r][c] = (int8_t)rintf(quotient == quotient ? quotient : 0);
        }
    }
}

/* Swap what the mask covers of b with what lies `shift` bits above it in a. */
static void swap_parts(uint64_t *a, uint64_t *b, int shift, uint64_t mask)
{
    uint64_t part = (*a >> shift ^ *b) & mask;
    *b ^= part;
    *a ^= part << shift;
}

/* Turn 8 by 8 bytes, a word a row: halves, quarters and eighths change places (Warren, Hacker's
 * Delight, 2012, section 7-3, with bytes for bits). */
static void turn_words(uint64_t word[8])
{
    for (int i = 0; i < 4; i++)
        swap_parts(&word[i], &word[i + 4], 32, UINT64_C(0x00000000ffffffff));
    for (int i = 0; i < 8; i += i % 4 ? 3 : 1)
        swap_parts(&word[i], &word[i + 2], 16, UINT64_C(0x0000ffff0000ffff));
    for (int i = 0; i < 8; i += 2)
        swap_parts(&word[i], &word[i + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
}

/* A line of q behind the other: lines may lie a power of two apart, where few fit the cache at
 * once. */
static void write_tile(int8_t *q, const struct tile *tile, int64_t rows, int64_t height,
                       int64_t width)
{
    for (int64_t c = 0; c < width; c += 8) {
        int8_t line[8][TILE];
        for (int64_t r = 0; r < height; r += 8) {
            uint64_t word[8];
            for (int i = 0; i < 8; i++)
                memcpy(&word[i], &tile->at[r + i][c], 8);
            turn_words(word);
            for (int i = 0; i < 8; i++)
                memcpy(&line[i][r], &word[i], 8);
        }
        for (int i = 0; i < 8 && c + i < width; i++)
            memcpy(q + (c + i) * rows, line[i], (size_t)height);
    }
}
#endif

/* A launch row is a square of x. */
NVT_KERNEL(quantize_transposed, quantize_args)
{
    NVT_SHARED struct tile tile;
    int64_t across = (a.n + TILE - 1) / TILE;
    int64_t first = row / across * TILE, column = row % across * TILE;
    int64_t height = a.rows - first < TILE ? a.rows - first : TILE;
    int64_t width = a.n - column < TILE ? a.n - column : TILE;
    read_tile(&tile, &a, a.x + first * a.n + column, a.shared ? a.s : a.s + column, height, width);
    block_sync();
    write_tile(a.q + column * a.rows + first, &tile, a.rows, height, width);
}

static void launch_transposed(const struct quantize_args *args)
{
    int64_t across = (args->n + TILE - 1) / TILE, down = (args->rows + TILE - 1) / TILE;
    if (!DONE_BY_DEVICE(nvt_cuda_quantize_transposed(args->q, args->s, args->x, args->rows, args->n,
                                                     args->shared)))
        NVT_LAUNCH(quantize_transposed, across * down, *args);
}

void nvt_quantize_columns_transposed(int8_t *q, float *s, const nvt_half *x, int64_t rows,
                                     int64_t n, uint16_t *scratch)
{
    struct quantize_args args = {q, s, scratch, x, rows, n, 0};
    int64_t across = (n + STRIPE_COLUMNS - 1) / STRIPE_COLUMNS;
    if (!DONE_BY_DEVICE(nvt_cuda_top_of_columns(scratch, x, rows, n, STRIPE_ROWS)))
        NVT_LAUNCH(top_of_columns, STRIPES(rows) * across, args);
    if (!DONE_BY_DEVICE(nvt_cuda_scale_of_columns(s, scratch, STRIPES(rows), n)))
        NVT_LAUNCH(scale_of_columns, NVT_CHUNKS(n), args);
    launch_transposed(&args);
}

void nvt_quantize_all_transposed(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n,
                                 uint16_t *scratch)
{
    struct quantize_args args = {q, s, scratch, x, rows, n, 1};
    find_scale_of_all(&args);
    launch_transposed(&args);
}

/* --- conversions ------------------------------------------------------------------------------ */

struct convert_args {
    int8_t *q;
    nvt_half *half;
    float *full;
    const nvt_half *x;
    const float *from;
    int64_t n;
};

NVT_KERNEL(quantize_cast, convert_args)
{
    int64_t rest = a.n - row * NVT_CHUNK_ELEMENTS;
    const nvt_half *x = a.x + row * NVT_CHUNK_ELEMENTS;
    int8_t *q = a.q + row * NVT_CHUNK_ELEMENTS;
    FOR_THREADS(i, rest < NVT_CHUNK_ELEMENTS ? rest : NVT_CHUNK_ELEMENTS)
    {
        float value = nvt_half_value(x[i]);
        value = value > 127 ? 127.0f : value;
        value = value < -127 ? -127.0f : value;
        q[i] = value == value ? (int8_t)value : (int8_t)0;
    }
}

NVT_KERNEL(half_from_float, convert_args)
{
    int64_t rest = a.n - row * NVT_CHUNK_ELEMENTS;
    const float *from = a.from + row * NVT_CHUNK_ELEMENTS;
    nvt_half *half = a.half + row * NVT_CHUNK_ELEMENTS;
    FOR_THREADS(i, rest < NVT_CHUNK_ELEMENTS ? rest : NVT_CHUNK_ELEMENTS)
    {
        half[i] = nvt_half_of(from[i]);
    }
}

NVT_KERNEL(half_to_float, convert_args)
{
    int64_t rest = a.n - row * NVT_CHUNK_ELEMENTS;
    const nvt_half *x = a.x + row * NVT_CHUNK_ELEMENTS;
    float *full = a.full + row * NVT_CHUNK_ELEMENTS;
    FOR_THREADS(i, rest < NVT_CHUNK_ELEMENTS ? rest : NVT_CHUNK_ELEMENTS)
    {
        full[i] = nvt_half_value(x[i]);
    }
}

void nvt_quantize_cast(int8_t *q, const nvt_half *x, int64_t n)
{
    struct convert_args args = {q, NULL, NULL, x, NULL, n};
    if (!DONE_BY_DEVICE(nvt_cuda_quantize_cast(q, x, n)))
        NVT_LAUNCH(quantize_cast, NVT_CHUNKS(n), args);
}

void nvt_half_from_float(nvt_half *out, const float *x, int64_t n)
{
    struct convert_args args = {NULL, out, NULL, NULL, x, n};
    NVT_LAUNCH(half_from_float, NVT_CHUNKS(n), args);
}

void nvt_half_to_float(float *out, const nvt_half *x, int64_t n)
{
    struct convert_args args = {NULL, NULL, out, x, NULL, n};
    NVT_LAUNCH(half_to_float, NVT_CHUNKS(n), args);
}

/* --- the layer -------------------------------------------------------------------------------- */

NVT_KERNEL(dequantize, dequantize_args)
{
    const int32_t *acc = a.acc + row * a.n;
    nvt_half *out = a.out + row * a.n;
    float scale = a.sa[row] * (1.0f / (127 * 127)) * (a.shared ? a.sb[0] : 1.0f);
    FOR_THREADS(i, a.n)
    {
        out[i] = nvt_half_of((float)acc[i] * (a.shared ? scale : scale * a.sb[i]));
    }
}

void nvt_dequantize(nvt_half *out, const int32_t *acc, const float *sa, const float *sb, int shared,
                    int64_t rows, int64_t n)
{
    struct dequantize_args args = {out, acc, sa, sb, rows, n, shared};
    if (!DONE_BY_DEVICE(nvt_cuda_dequantize(out, acc, sa, sb, shared, rows, n)))
        NVT_LAUNCH(dequantize, rows, args);
}

/* Rows of a chunk: sums of at most 33 MiB, few enough to stay in a device's cache until they are read, and enough to
 * keep it busy: as many tiles of 256 by 128, lying or standing, as the 132 multiprocessors of an H100 or H200 compute
 * in two turns (a tile more would be a third one). Never fewer than a tile's rows. */
static int64_t chunk_rows(int64_t m, int64_t n)
{
    const int64_t tile = 256, tiles = 2 * 132 / 2; /* of 256 by 256: a pair */
    int64_t high = tiles / ((n + tile - 1) / tile), rows = tile * (high > 1 ? high : 1);
    return rows < m ? rows : m;
}

int64_t nvt_int8_scratch(int64_t m, int64_t n)
{
    return chunk_rows(m, n) * n;
}

void nvt_int8_linear(nvt_half *out, const int8_t *a, const float *sa, const int8_t *b,
                     const float *sb, int shared, int64_t m, int64_t n, int64_t k, int32_t *scratch)
{
    int64_t chunk = chunk_rows(m, n);
    if (DONE_BY_DEVICE(nvt_cuda_int8_linear(out, a, sa, b, sb, shared, m, n, k)))
        return;
    for (int64_t first = 0; first < m; first += chunk) {
        int64_t rows = m - first < chunk ? m - first : chunk;
        nvt_backend_matmul_int8(rows, n, k, a + first * k, b, scratch);
        nvt_dequantize(out + first * n, scratch, sa + first, sb, shared, rows, n);
    }
}
