/*
 * A thread's names: a two-way cache from content to string slot. A hit costs a compare of 32 bytes;
 * a miss writes the text into the ring once, as the new meaning of the slot that it takes over.
 */
#ifndef NVT_INJECT_NAMES_H
#define NVT_INJECT_NAMES_H

#include <wchar.h>

#include "thread.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* What nvt_name_* return when the name could not be recorded: the event must be dropped. */
#define NVT_NAME_LOST UINT32_MAX

/* The text behind an nvtxStringHandle_t. */
struct nvtxStringRegistration {
    struct nvtxStringRegistration *_Atomic below[4]; /* registry.c */
    union nvt_key key;
    uint32_t length;
    char text[];
};

/* Make `key` the name in the set it hashes to. String slot, or NVT_NAME_LOST. */
uint32_t nvt_name_define(struct nvt_thread *thread, const union nvt_key *key, uint32_t set,
                         const char *text, size_t length);

/* Key of a text of any length and its string slot: for texts of 32 bytes and more, or texts that
 * end so near to a page's end that 32 bytes must not be read. */
uint32_t nvt_name_slow(struct nvt_thread *thread, const char *text);

/* Name from a wide (UTF-32) string. */
uint32_t nvt_name_wide(struct nvt_thread *thread, const wchar_t *text);

/* UTF-32 to UTF-8, at most `size` - 1 bytes and a NUL; what is no character becomes U+FFFD. */
size_t nvt_utf8(char *out, size_t size, const wchar_t *text);

/* The key of a text of known length. */
void nvt_key_make(union nvt_key *key, const char *text, size_t length);

/* Two products over all 32 bytes; the top bits are mixed best. */
static inline uint64_t nvt_key_hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t hash = (a ^ (c << 29 | c >> 35)) * UINT64_C(0x9E3779B97F4A7C15) +
                    (b ^ (d << 31 | d >> 33)) * UINT64_C(0xC2B2AE3D27D4EB4F);
    hash ^= hash >> 29;
    return hash * UINT64_C(0x165667B19E3779F9);
}

static inline uint32_t nvt_key_set(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (uint32_t)(nvt_key_hash(a, b, c, d) >> 53); /* NVT_STRING_SLOTS / 2 sets */
}
_Static_assert(NVT_STRING_SLOTS == 2u << 11, "a set number has 11 bits");

static inline int nvt_key_equal(const union nvt_key *a, const union nvt_key *b)
{
    return !((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) |
             (a->words[2] ^ b->words[2]) | (a->words[3] ^ b->words[3]));
}

/* The string slot of a key whose text is at hand. */
static inline uint32_t nvt_name_key(struct nvt_thread *thread, const union nvt_key *key,
                                    const char *text, size_t length)
{
    uint32_t set = nvt_key_set(key->words[0], key->words[1], key->words[2], key->words[3]);
    if (NVT_LIKELY(nvt_key_equal(&thread->names[set * 2], key)))
        return set * 2;
    if (nvt_key_equal(&thread->names[set * 2 + 1], key))
        return set * 2 + 1;
    return nvt_name_define(thread, key, set, text, length);
}

/* The string slot of the empty text. */
static inline uint32_t nvt_name_empty(struct nvt_thread *thread)
{
    static const union nvt_key empty;
    return nvt_name_key(thread, &empty, "", 0);
}

#if defined(__SSE2__)
/* 32 bytes of ones, then 32 of zeros: a load at 32 - n masks all but the first n bytes. */
extern const uint8_t nvt_name_mask[64];

static inline int nvt_is_key(const union nvt_key *key, __m128i low, __m128i high)
{
    __m128i a = _mm_cmpeq_epi8(_mm_load_si128((const __m128i *)key->bytes), low);
    __m128i b = _mm_cmpeq_epi8(_mm_load_si128((const __m128i *)key->bytes + 1), high);
    return _mm_movemask_epi8(_mm_and_si128(a, b)) == 0xffff;
}

/* The place in the pointer cache where a text at this address is remembered. */
static inline struct nvt_pointer *nvt_pointer_at(struct nvt_thread *thread, const char *text)
{
    uint32_t hash = (uint32_t)(uintptr_t)text * 2654435769u; /* Knuth's multiplicative hash */
    return (struct nvt_pointer *)((char *)thread->pointers +
                                  (hash >> 18 & (NVT_POINTERS - 1) << 6));
}
_Static_assert(sizeof(struct nvt_pointer) == 1 << 6, "a pointer's place is shifted by six");

/* Whether the same text still stands where it was last seen: every byte of it and its NUL. */
__attribute__((no_sanitize("address", "thread"))) static inline int
nvt_pointer_holds(const struct nvt_pointer *known, const char *text)
{
    if (NVT_UNLIKELY(known->text != text))
        return 0;
    __m128i same =
        _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)text), *(const __m128i *)known->key);
    return _mm_movemask_epi8(_mm_or_si128(same, *(const __m128i *)known->ignore)) == 0xffff;
}

/* Remember where a text of up to 15 bytes stands. */
static inline void nvt_pointer_keep(struct nvt_thread *thread, const char *text, uint32_t slot,
                                    __m128i key, unsigned length)
{
    struct nvt_pointer *known = nvt_pointer_at(thread, text);
    if (length > 15)
        return;
    known->text = text;
    known->word = NVT_WORD(NVT_EVENT_PUSH, 0, 0, 0, slot);
    *(__m128i *)known->key = key;
    *(__m128i *)known->ignore = _mm_xor_si128(
        _mm_loadu_si128((const __m128i *)(nvt_name_mask + 31 - length)), _mm_set1_epi8(-1));
}

/*
 * The string slot of a NUL-terminated text, by content. Reads 32 bytes at once, beyond the text's end
 * but never beyond its page.
 */
__attribute__((no_sanitize("address", "thread"))) static inline uint32_t
nvt_name(struct nvt_thread *thread, const char *text)
{
    if (NVT_UNLIKELY(((uintptr_t)text & 4095) > 4096 - 32))
        return nvt_name_slow(thread, text);
    __m128i low = _mm_loadu_si128((const __m128i *)text);
    __m128i high = _mm_loadu_si128((const __m128i *)text + 1);
    __m128i zero = _mm_setzero_si128();
    unsigned zeros = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(low, zero)) |
                     (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(high, zero)) << 16;
    if (NVT_UNLIKELY(!zeros))
        return nvt_name_slow(thread, text);
    unsigned length = (unsigned)__builtin_ctz(zeros);
    low = _mm_and_si128(low, _mm_loadu_si128((const __m128i *)(nvt_name_mask + 32 - length)));
    high = _mm_and_si128(high, _mm_loadu_si128((const __m128i *)(nvt_name_mask + 48 - length)));
    uint32_t set = nvt_key_set((uint64_t)_mm_cvtsi128_si64(low),
                               (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(low, low)),
                               (uint64_t)_mm_cvtsi128_si64(high),
                               (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(high, high)));
    uint32_t slot = set * 2;
    if (NVT_UNLIKELY(!nvt_is_key(&thread->names[slot], low, high))) {
        union nvt_key key;
        slot++;
        if (!nvt_is_key(&thread->names[slot], low, high)) {
            _mm_storeu_si128((__m128i *)key.bytes, low);
            _mm_storeu_si128((__m128i *)key.bytes + 1, high);
            slot = nvt_name_define(thread, &key, set, text, length);
            if (slot == NVT_NAME_LOST)
                return slot;
        }
    }
    nvt_pointer_keep(thread, text, slot, low, length);
    return slot;
}
#else
static inline struct nvt_pointer *nvt_pointer_at(struct nvt_thread *thread, const char *text)
{
    (void)text;
    return thread->pointers;
}

static inline int nvt_pointer_holds(const struct nvt_pointer *known, const char *text)
{
    (void)known;
    (void)text;
    return 0;
}

static inline uint32_t nvt_name(struct nvt_thread *thread, const char *text)
{
    return nvt_name_slow(thread, text);
}
#endif

#endif
