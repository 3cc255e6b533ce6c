/* What is skipped of JSON. */
#include "json_bytes.h"

#include <stdint.h>

/* The first byte that is a quote or a bracket; `end`: there is none. */
static const char *next_mark(const char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), opens = _mm_set1_epi8('{'),
                  closes = _mm_set1_epi8('}'), lower = _mm_set1_epi8(0x20);
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const __m128i bracket = _mm_or_si128(bytes, lower); /* '[' becomes '{', ']' '}' */
        const __m128i found = _mm_or_si128(
            _mm_cmpeq_epi8(bytes, quote),
            _mm_or_si128(_mm_cmpeq_epi8(bracket, opens), _mm_cmpeq_epi8(bracket, closes)));
        const unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
        at++;
    return at;
}

/* Behind a text of which only the end is looked for; NULL: it is not there. */
static const char *skipped_text_end(const char *at, const char *end)
{
    for (at++; (at = nvt_json_next_special(at, end)) < end && *at != '"';) {
        if (*at != '\\' || end - at < 2)
            return NULL;
        at += 2;
    }
    return at < end ? at + 1 : NULL;
}

const char *nvt_json_skipped_end(const char *at, const char *end, int most)
{
    uint64_t arrays = 0;
    int depth = 0;
    while ((at = next_mark(at, end)) < end) {
        const char c = *at;
        if (c == '"') {
            at = skipped_text_end(at, end);
            if (!at)
                return NULL;
            continue;
        }
        at++;
        if (c == '[' || c == '{') {
            if (depth == most)
                return NULL;
            depth++;
            arrays = arrays << 1 | (c == '[');
            continue;
        }
        if ((arrays & 1) != (c == ']'))
            return NULL;
        arrays >>= 1;
        if (!--depth)
            return at;
    }
    return NULL;
}
