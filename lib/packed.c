#include "packed.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Whether runs are of so many rows in all. */
static int are_runs(const uint8_t *at, const uint8_t *end, uint64_t rows)
{
    while (at && at < end) {
        nvt_varint_next(&at, end);
        uint64_t count = nvt_varint_next(&at, end);
        if (!at || !count || count > rows)
            return 0;
        rows -= count;
    }
    return at && !rows;
}

/* So many planes of as many bytes as there are rows. */
static int open_planes(struct nvt_packed *column, uint32_t rows)
{
    size_t size = (size_t)(column->end - column->at);
    if (!rows || size % rows || size / rows > sizeof(uint64_t))
        return rows || size ? -1 : 0;
    column->rows = rows;
    column->planes = (uint8_t)(size / rows);
    return 0;
}

int nvt_packed_open(struct nvt_packed *column, const uint8_t *at, const uint8_t *end,
                    unsigned encoding, uint32_t rows)
{
    *column = (struct nvt_packed){.at = at, .end = end, .encoding = (uint8_t)encoding};
    switch (encoding) {
    case NVT_PACKED_ZERO:
        return column->at == column->end ? 0 : -1;
    case NVT_PACKED_CONSTANT:
        column->value = nvt_varint_next(&column->at, column->end);
        return column->at == column->end ? 0 : -1;
    case NVT_PACKED_PLAIN:
        return open_planes(column, rows);
    case NVT_PACKED_DELTA:
        column->value = nvt_varint_next(&column->at, column->end);
        return column->at ? open_planes(column, rows) : -1;
    case NVT_PACKED_RUNS:
        return are_runs(column->at, column->end, rows) ? 0 : -1;
    default:
        return -1;
    }
}

/* --- planes --- */

/* Rows put together at once. */
#define TOGETHER 16

#ifdef __SSE2__
static inline __m128i plane(const struct nvt_packed *column, unsigned i)
{
    return i < column->planes
               ? _mm_loadu_si128((const __m128i *)(column->at + (size_t)i * column->rows))
               : _mm_setzero_si128();
}

/* Four numbers of 32 bits as ones of 64. */
static inline void store_four(uint64_t *values, __m128i low, __m128i high)
{
    _mm_storeu_si128((__m128i *)values, _mm_unpacklo_epi32(low, high));
    _mm_storeu_si128((__m128i *)(values + 2), _mm_unpackhi_epi32(low, high));
}

/* The next rows' lowest four bytes, and their highest. */
static inline void weave(const struct nvt_packed *column, unsigned from, __m128i *out)
{
    __m128i a = plane(column, from), b = plane(column, from + 1);
    __m128i c = plane(column, from + 2), d = plane(column, from + 3);
    __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
    out[0] = _mm_unpacklo_epi16(ab, cd);
    out[1] = _mm_unpackhi_epi16(ab, cd);
    ab = _mm_unpackhi_epi8(a, b);
    cd = _mm_unpackhi_epi8(c, d);
    out[2] = _mm_unpacklo_epi16(ab, cd);
    out[3] = _mm_unpackhi_epi16(ab, cd);
}

static inline void take_together(struct nvt_packed *column, uint64_t *values)
{
    __m128i low[4], high[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(),
                               _mm_setzero_si128()};
    weave(column, 0, low);
    if (column->planes > 4)
        weave(column, 4, high);
    for (size_t i = 0; i < 4; i++)
        store_four(values + 4 * i, low[i], high[i]);
    column->at += TOGETHER;
}
#endif

static void take_planes(struct nvt_packed *column, uint64_t *values, size_t count)
{
#ifdef __SSE2__
    for (; count >= TOGETHER; count -= TOGETHER, values += TOGETHER)
        take_together(column, values);
#endif
    for (; count; count--, column->at++) {
        uint64_t value = 0;
        for (unsigned i = 0; i < column->planes; i++)
            value |= (uint64_t)column->at[(size_t)i * column->rows] << 8 * i;
        *values++ = value;
    }
}

static void take_runs(struct nvt_packed *column, uint64_t *values, size_t count)
{
    while (count) {
        if (!column->left) {
            column->value = nvt_varint_next(&column->at, column->end);
            column->left = nvt_varint_next(&column->at, column->end);
        }
        size_t now = column->left < count ? (size_t)column->left : count;
        for (size_t i = 0; i < now; i++)
            values[i] = column->value;
        values += now;
        count -= now;
        column->left -= now;
    }
}

void nvt_packed_take(struct nvt_packed *column, uint64_t *values, size_t count)
{
    uint64_t value = column->value;
    switch (column->encoding) {
    case NVT_PACKED_PLAIN:
        take_planes(column, values, count);
        return;
    case NVT_PACKED_DELTA:
        take_planes(column, values, count);
        for (size_t i = 0; i < count; i++)
            values[i] = value += (uint64_t)nvt_unzigzag(values[i]);
        column->value = value;
        return;
    case NVT_PACKED_RUNS:
        take_runs(column, values, count);
        return;
    default:
        for (size_t i = 0; i < count; i++)
            values[i] = value;
    }
}

/* --- writing --- */

/* Bytes that a number with these bits has. */
static unsigned byte_length(uint64_t bits)
{
    return (71u - (unsigned)__builtin_clzll(bits | 1)) / 8;
}

void nvt_packing_choose(struct nvt_packing_choice *column, uint32_t rows)
{
    unsigned plain = byte_length(column->plain), delta = byte_length(column->delta);
    uint64_t runs =
        column->runs == UINT64_MAX ? column->runs : column->runs + nvt_run_bytes(column, rows);
    if (!column->varies) {
        column->encoding = column->first ? NVT_PACKED_CONSTANT : NVT_PACKED_ZERO;
        column->bytes = column->first ? nvt_varint_length(column->first) : 0;
        return;
    }
    column->encoding = delta < plain ? NVT_PACKED_DELTA : NVT_PACKED_PLAIN;
    column->planes = delta < plain ? delta : plain;
    column->bytes = (uint64_t)rows * column->planes;
    if (runs <= column->bytes / 2) {
        column->encoding = NVT_PACKED_RUNS;
        column->bytes = runs;
    } else if (delta < plain) {
        column->bytes += nvt_varint_length(column->first);
    }
}

/* So many planes of numbers, each plane behind the other. */
static void put_planes(uint8_t *out, const uint64_t *values, uint32_t rows, unsigned planes)
{
    for (unsigned plane = 0; plane < planes; plane++)
        for (uint32_t i = 0; i < rows; i++)
            *out++ = (uint8_t)(values[i] >> 8 * plane);
}

static void put_deltas(uint8_t *out, const uint64_t *values, uint32_t rows, unsigned planes)
{
    for (unsigned plane = 0; plane < planes; plane++) {
        uint64_t before = rows ? values[0] : 0;
        for (uint32_t i = 0; i < rows; i++) {
            *out++ = (uint8_t)(nvt_zigzag((int64_t)(values[i] - before)) >> 8 * plane);
            before = values[i];
        }
    }
}

static void put_runs(uint8_t *out, const uint64_t *values, uint32_t rows)
{
    for (uint32_t i = 0, since = 0; i < rows; i++)
        if (i + 1 == rows || values[i + 1] != values[i]) {
            out = nvt_varint_put(nvt_varint_put(out, values[i]), i + 1 - since);
            since = i + 1;
        }
}

int nvt_packed_put(struct nvt_buffer *out, const uint64_t *values, uint32_t rows)
{
    struct nvt_packing_choice column;
    nvt_packing_begin(&column, rows ? values[0] : 0);
    for (uint32_t i = 1; i < rows; i++)
        nvt_packing_weigh(&column, values[i], i);
    nvt_packing_choose(&column, rows);
    if (nvt_buffer_varint(out, column.bytes << 3 | column.encoding) ||
        nvt_buffer_reserve(out, column.bytes + NVT_VARINT_MAX))
        return -1;
    uint8_t *at = out->data + out->size;
    out->size += column.bytes;
    if (column.encoding == NVT_PACKED_CONSTANT || column.encoding == NVT_PACKED_DELTA)
        at = nvt_varint_put(at, column.first);
    if (column.encoding == NVT_PACKED_PLAIN)
        put_planes(at, values, rows, column.planes);
    else if (column.encoding == NVT_PACKED_DELTA)
        put_deltas(at, values, rows, column.planes);
    else if (column.encoding == NVT_PACKED_RUNS)
        put_runs(at, values, rows);
    return 0;
}
