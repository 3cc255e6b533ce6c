/*
 * Many varints behind each other (buffer.h), as columns of trace files have them: checked at once,
 * and then read without looking at each one's end.
 */
#ifndef NVT_VARINTS_H
#define NVT_VARINTS_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes nvt_varint_put takes for it. */
static inline unsigned nvt_varint_length(uint64_t value)
{
    return (70u - (unsigned)__builtin_clzll(value | 1)) / 7;
}

/* Whether exactly `count` whole varints, none of them longer than NVT_VARINT_MAX, fill [at, end). */
int nvt_varints_are(const uint8_t *at, const uint8_t *end, uint64_t count);

/* Read `count` of them. [at, end) has at least as many, which nvt_varints_are has said. Returns the
 * byte behind the last one read. has_pext: what nvt_has_pext says, or 0. */
const uint8_t *nvt_varints_take(const uint8_t *at, const uint8_t *end, uint64_t *values,
                                size_t count, int has_pext);

#endif
