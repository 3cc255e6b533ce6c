/*
 * Inside the scanner of JSON: bytes of one kind, sixteen at once where the processor can. Each function returns where the first byte
 * is that it looks for, or `end`.
 */
#ifndef NVT_JSON_BYTES_H
#define NVT_JSON_BYTES_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline int nvt_json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline int nvt_json_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Behind white space; `end`: there is nothing else. */
static inline const char *nvt_json_blanks_end(const char *at, const char *end)
{
    if (at < end && *at == ' ')
        at++;
    if (at < end && (unsigned char)*at > ' ')
        return at;
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(' '), first = _mm_set1_epi8('\t'),
                  most = _mm_set1_epi8('\r' - '\t');
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const __m128i from = _mm_sub_epi8(bytes, first);
        const __m128i blank = _mm_or_si128(_mm_cmpeq_epi8(bytes, space),
                                           _mm_cmpeq_epi8(_mm_min_epu8(from, most), from));
        const unsigned mask = (unsigned)_mm_movemask_epi8(blank);
        if (mask != 0xffff)
            return at + __builtin_ctz(~mask);
    }
#endif
    while (at < end && nvt_json_is_blank(*at))
        at++;
    return at;
}

#ifdef __SSE2__
/* Of the sixteen bytes at `at`, a bit for each that is a quote, a backslash or a control character. */
static inline unsigned nvt_json_specials(const char *at)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'),
                  control = _mm_set1_epi8(0x1f);
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    const __m128i found =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)),
                     _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    return (unsigned)_mm_movemask_epi8(found);
}
#endif

/* The first byte of a text that is a quote, a backslash or a control character; `end`: there is none. */
static inline const char *nvt_json_next_special(const char *at, const char *end)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        const unsigned mask = nvt_json_specials(at);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
        at++;
    return at;
}

/* As nvt_json_next_special, for texts of which most are short. */
static inline const char *nvt_json_next_special_near(const char *at, const char *end)
{
#ifdef __SSE2__
    if (end - at >= 16) {
        const unsigned mask = nvt_json_specials(at);
        if (mask)
            return at + __builtin_ctz(mask);
        at += 16;
    }
#endif
    return nvt_json_next_special(at, end);
}

static inline const char *nvt_json_digits_end(const char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    for (; end - at >= 16; at += 16) {
        const __m128i digits =
            _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), zero);
        const unsigned mask =
            (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(digits, nine), digits));
        if (mask != 0xffff)
            return at + __builtin_ctz(~mask);
    }
#endif
    while (at < end && nvt_json_is_digit(*at))
        at++;
    return at;
}

/* Behind a bracket that nobody wants, at `at`, of `most` levels at most; only its texts and brackets are looked at. NULL: its end is
 * not there, or something is wrong with it, which the grammar says. */
const char *nvt_json_skipped_end(const char *at, const char *end, int most);

#endif
