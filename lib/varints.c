#include "varints.h"

#include "buffer.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Bytes looked at together. */
#define TOGETHER 64

/* A bit for each of TOGETHER bytes that is not the last of a varint. */
static inline uint64_t more_bits(const uint8_t *at)
{
    uint64_t bits = 0;
#ifdef __SSE2__
    for (int i = 0; i < TOGETHER / 16; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(at + (size_t)16 * (size_t)i));
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << 16 * i;
    }
#else
    for (int i = 0; i < TOGETHER; i++)
        bits |= (uint64_t)(at[i] >> 7) << i;
#endif
    return bits;
}

/* One by one. */
static int are_so_many(const uint8_t *at, const uint8_t *end, uint64_t count)
{
    uint64_t value;
    for (; at && at < end && count; count--)
        at = nvt_varint_get_long(at, end, &value);
    return at == end && !count;
}

int nvt_varints_are(const uint8_t *at, const uint8_t *end, uint64_t count)
{
    const uint8_t *from = at;
    uint64_t found = 0;
    for (; end - at >= TOGETHER; at += TOGETHER) {
        uint64_t more = more_bits(at), two = more & more << 1;
        /* With four in a row nowhere, there are no more than six where two of these meet. */
        if (two & two << 2)
            return are_so_many(from, end, count);
        found += TOGETHER - (unsigned)__builtin_popcountll(more);
    }
    while (at > from && at[-1] >= 0x80)
        at--;
    return found <= count && are_so_many(at, end, count - found);
}

/* The bytes that are not looked at together, or hold numbers of more than eight bytes. */
static const uint8_t *take_one(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    const uint8_t *next = nvt_varint_get_long(at, end, value);
    return next ? next : end;
}

const uint8_t *nvt_varints_take(const uint8_t *at, const uint8_t *end, uint64_t *values,
                                size_t count, int has_pext)
{
    const uint64_t *stop = values + count;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (values < stop && end - at >= TOGETHER + 8) {
        uint64_t last = ~more_bits(at);
        unsigned from = 0;
        while (last && values < stop) {
            unsigned to = (unsigned)__builtin_ctzll(last) + 1, length = to - from;
            uint64_t x;
            if (length > sizeof(x))
                break;
            memcpy(&x, at + from, sizeof(x));
            *values++ = nvt_sevens(x & UINT64_MAX >> (64 - 8 * length), has_pext);
            last &= last - 1;
            from = to;
        }
        at += from;
        if (!from)
            at = take_one(at, end, values++);
    }
#else
    (void)has_pext;
#endif
    while (values < stop)
        at = take_one(at, end, values++);
    return at;
}
