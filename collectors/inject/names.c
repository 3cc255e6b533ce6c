#include "names.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define LONG_KEY   0xff /* last byte of the key of a text of 32 bytes and more */
#define BROKEN_KEY 0xfe /* last byte of a string slot that means nothing just now */

#if defined(__SSE2__)
const uint8_t nvt_name_mask[64] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};
#endif

/* The slot means something else now: no pointer may lead to it. */
static void forget(struct nvt_thread *thread, uint32_t slot)
{
    uint64_t word = NVT_WORD(NVT_EVENT_PUSH, 0, 0, 0, slot);
    for (unsigned i = 0; i < NVT_POINTERS; i++)
        if (thread->pointers[i].word == word)
            thread->pointers[i].text = NVT_NO_TEXT;
}

uint32_t nvt_name_define(struct nvt_thread *thread, const union nvt_key *key, uint32_t set,
                         const char *text, size_t length)
{
    static const union nvt_key nothing;
    uint32_t slot = set * 2;
    /* The first way of an untouched set is free, and so is the second. */
    if (!nvt_key_equal(&thread->names[slot], &nothing))
        slot += nvt_key_equal(&thread->names[slot + 1], &nothing) ? 1 : thread->victim++ & 1;
    uint64_t header[2] = {slot, length};
    struct nvt_piece pieces[2] = {{header, sizeof(header)}, {text, length}};
    /* It means nothing while it changes: who jumps out in between finds no name that has lost its place. */
    thread->names[slot].bytes[31] = BROKEN_KEY;
    forget(thread, slot);
    atomic_signal_fence(memory_order_seq_cst);
    if (nvt_thread_record(thread, NVT_WORD(NVT_DEFINE_STRING, 0, 0, 0, slot), pieces, 2))
        return NVT_NAME_LOST;
    for (int i = 0; i < 3; i++)
        thread->names[slot].words[i] = key->words[i];
    atomic_signal_fence(memory_order_seq_cst);
    thread->names[slot].words[3] = key->words[3];
    return slot;
}

void nvt_key_make(union nvt_key *key, const char *text, size_t length)
{
    memset(key, 0, sizeof(*key));
    if (length < sizeof(key->bytes)) {
        memcpy(key->bytes, text, length);
        return;
    }
    XXH128_hash_t hash = XXH3_128bits(text, length);
    key->words[0] = hash.low64;
    key->words[1] = hash.high64;
    key->words[2] = length;
    key->bytes[31] = LONG_KEY;
}

uint32_t nvt_name_slow(struct nvt_thread *thread, const char *text)
{
    union nvt_key key;
    size_t length = strnlen(text, NVT_STRING_MAX);
    nvt_key_make(&key, text, length);
    return nvt_name_key(thread, &key, text, length);
}

static size_t put_character(char *out, uint32_t character)
{
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        character = 0xfffd;
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(lead[length] | character);
    return length;
}

size_t nvt_utf8(char *out, size_t size, const wchar_t *text)
{
    size_t length = 0;
    while (*text && length + 5 <= size)
        length += put_character(out + length, (uint32_t)*text++);
    out[length] = 0;
    return length;
}

uint32_t nvt_name_wide(struct nvt_thread *thread, const wchar_t *text)
{
    union nvt_key key;
    size_t length = nvt_utf8(thread->scratch, NVT_STRING_MAX, text);
    nvt_key_make(&key, thread->scratch, length);
    return nvt_name_key(thread, &key, thread->scratch, length);
}
