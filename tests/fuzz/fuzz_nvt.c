#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../lib/trace_file.h"
#include "fuzz_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static size_t get(const uint8_t *at)
{
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/*
 * Make checksums, magic numbers and sizes of all chunks right (docs/trace-format.md), so that what
 * is in them reaches the reader. Whether wrong ones are refused is for tests/test_trace_file.c.
 */
static void repair(uint8_t *data, size_t size)
{
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): eight bytes, no text */
    memcpy(data, NVT_FILE_MAGIC, 8);
    put(data + 8, NVT_FILE_VERSION, 4);
    for (size_t at = NVT_FILE_HEADER; at + NVT_CHUNK_HEADER <= size;) {
        uint8_t *header = data + at;
        size_t room = size - at - NVT_CHUNK_HEADER, stored = get(header + 20);
        if (stored > room)
            stored = room;
        put(header, NVT_CHUNK_MAGIC, 4);
        put(header + 20, stored, 4);
        if (!(header[6] & NVT_CHUNK_ZSTD))
            put(header + 24, stored, 4);
        XXH3_state_t state;
        XXH3_64bits_reset(&state);
        XXH3_64bits_update(&state, header, NVT_CHUNK_HEADER - 8);
        XXH3_64bits_update(&state, header + NVT_CHUNK_HEADER, stored);
        put(header + 56, XXH3_64bits_digest(&state), 8);
        at += NVT_CHUNK_HEADER + stored;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < NVT_FILE_HEADER)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    repair(copy, size);
    int status = fuzz_reader(&nvt_reader_nvt, copy, size);
    free(copy);
    return status;
}
