/*
 * A growable byte buffer, and the variable-length integers that the trace format is made of.
 */
#ifndef NVT_BUFFER_H
#define NVT_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Owned bytes. Zero-initialise; release with nvt_buffer_free. */
struct nvt_buffer {
    uint8_t *data;
    size_t size;     /* bytes used */
    size_t capacity; /* bytes allocated */
    int failed; /* there was no memory for something since it was zero: for who appends much and asks once */
};

void nvt_buffer_free(struct nvt_buffer *buffer);

/* Make room for `more` bytes behind size. 0, or -1 when out of memory (the buffer is unchanged, but for `failed`). */
int nvt_buffer_reserve(struct nvt_buffer *buffer, size_t more);

/* Append bytes. 0, or -1 when out of memory. */
int nvt_buffer_append(struct nvt_buffer *buffer, const void *data, size_t size);

/* Append a printf-formatted text without its terminator. 0, or -1 when out of memory. */
int nvt_buffer_printf(struct nvt_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The longest varint of a uint64_t, in bytes. */
#define NVT_VARINT_MAX 10

/*
 * LEB128: seven bits a byte, low first, top bit set on all but the last. `out` must have
 * NVT_VARINT_MAX bytes. Returns the byte behind the last one written.
 */
static inline uint8_t *nvt_varint_put(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

/* The general case of nvt_varint_get; out of line, so that the short one is small. */
__attribute__((noinline, unused)) static const uint8_t *
nvt_varint_get_long(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return at;
        }
    }
    return NULL;
}

/* Whether the processor takes bits out of a word quickly. */
int nvt_has_pext(void);

/* The low seven bits of each byte, behind each other. */
static inline uint64_t nvt_sevens(uint64_t x, int has_pext)
{
#if defined(__x86_64__)
    if (has_pext) {
        uint64_t out;
        __asm__("pext %2, %1, %0" : "=r"(out) : "r"(x), "r"(UINT64_C(0x7f7f7f7f7f7f7f7f)));
        return out;
    }
#else
    (void)has_pext;
#endif
    x &= UINT64_C(0x7f7f7f7f7f7f7f7f);
    x = (x & UINT64_C(0x007f007f007f007f)) | (x & UINT64_C(0x7f007f007f007f00)) >> 1;
    x = (x & UINT64_C(0x00003fff00003fff)) | (x & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (x & UINT64_C(0x0fffffff)) | (x & UINT64_C(0x0fffffff00000000)) >> 4;
}

/*
 * Read one LEB128 from [at, end). Returns the byte behind it, or NULL when it is cut or longer than
 * 64 bits. Most are of one byte; how long the others are cannot be foreseen, so up to eight bytes
 * are read at once, without a branch. has_pext: what nvt_has_pext says, or 0.
 */
static inline const uint8_t *nvt_varint_take(const uint8_t *at, const uint8_t *end, uint64_t *value,
                                             int has_pext)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (end - at >= 8) {
        uint64_t x, last;
        memcpy(&x, at, sizeof(x));
        if (!(x & 0x80)) {
            *value = x & 0x7f;
            return at + 1;
        }
        /* top bits that are not set: the lowest ends it */
        last = ~x & UINT64_C(0x8080808080808080);
        if (last) {
            *value = nvt_sevens(x & (last ^ (last - 1)), has_pext);
            return at + (__builtin_ctzll(last) + 1) / 8;
        }
    }
#endif
    (void)has_pext;
    return nvt_varint_get_long(at, end, value);
}

static inline const uint8_t *nvt_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    return nvt_varint_take(at, end, value, 0);
}

/* Signed numbers near zero as small unsigned ones: 0, -1, 1, -2 … to 0, 1, 2, 3 … */
static inline uint64_t nvt_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t nvt_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Append a varint. 0, or -1 when out of memory. */
int nvt_buffer_varint(struct nvt_buffer *buffer, uint64_t value);

#endif
