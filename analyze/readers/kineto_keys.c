#include "kineto_keys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/interchange.h"

static const struct {
    const char *text;
    int key;
} keys[] = {
    {"ph", KEY_PHASE},
    {"cat", KEY_CATEGORY},
    {"name", KEY_NAME},
    {"labels", KEY_LABELS},
    {"pid", KEY_PID},
    {"tid", KEY_TID},
    {"ts", KEY_TIME},
    {"dur", KEY_DURATION},
    {"id", KEY_ID},
    {"id2", KEY_ID2},
    {"local", KEY_LOCAL},
    {"global", KEY_GLOBAL},
    {"scope", KEY_SCOPE},
    {"args", KEY_ARGS},
    {"correlation", KEY_NUMBER + NVT_KN_CORRELATION},
    {"correlation_id", KEY_NUMBER + NVT_KN_CORRELATION},
    {"connection_id", KEY_NUMBER + NVT_KN_CORRELATION},
    {"step_num", KEY_NUMBER + NVT_KN_STEP},
    {"kernel_details", KEY_DETAILS},
    {"memcpy_details", KEY_DETAILS},
    {"device", KEY_NUMBER + NVT_KN_DEVICE},
    {"dev-id", KEY_NUMBER + NVT_KN_DEVICE},
    {"BeginNs", KEY_NUMBER + NVT_KN_BEGIN_NS},
    {"EndNs", KEY_NUMBER + NVT_KN_END_NS},
    {"context", KEY_NUMBER + NVT_KN_CONTEXT},
    {"stream", KEY_NUMBER + NVT_KN_STREAM},
    {"grid", KEY_GRID},
    {"block", KEY_BLOCK},
    {"registers per thread", KEY_NUMBER + NVT_KN_REGISTERS},
    {"shared memory", KEY_NUMBER + NVT_KN_SHARED},
    {"bytes", KEY_NUMBER + NVT_KN_BYTES},
    {"Bytes", KEY_NUMBER + NVT_KN_BYTES},
    {"Addr", KEY_NUMBER + NVT_KN_ADDRESS},
    {"Total Allocated", KEY_NUMBER + NVT_KN_ALLOCATED},
    {"Total Reserved", KEY_NUMBER + NVT_KN_RESERVED},
    {"Device Type", KEY_NUMBER + NVT_KN_DEVICE_TYPE},
    {"Device Id", KEY_NUMBER + NVT_KN_DEVICE_ID},
    {"graph id", KEY_NUMBER + NVT_KN_GRAPH},
    {"graph node id", KEY_NUMBER + NVT_KN_GRAPH_NODE},
    {"wait_on_cuda_event_record_corr_id", KEY_NUMBER + NVT_KN_RECORDED},
    {"wait_on_stream", KEY_NUMBER + NVT_KN_RECORDED_STREAM},
    {"unclosed", KEY_NUMBER + NVT_KN_UNCLOSED},
    {"process", KEY_NUMBER + NVT_KN_PROCESS},
    {"push/pop", KEY_NUMBER + NVT_KN_PUSH_POP},
    {"result", KEY_NUMBER + NVT_KN_RESULT},
    {"file", KEY_FILE},
    {"caller", KEY_CALLER},
    {"address", KEY_ADDRESS},
    {"Collective name", KEY_COLLECTIVE},
    {"dtype", KEY_TYPE},
    {"Input Dims", KEY_SHAPES},
    {"Input type", KEY_TYPES},
    {"Concrete Inputs", KEY_VALUES},
    {"Process Group Name", KEY_GROUP},
    {"Process Group Ranks", KEY_MEMBERS},
    {"Process Group Description", KEY_PURPOSE},
    {"Seq", KEY_NUMBER + NVT_KN_SEQUENCE},
    {"Src Rank", KEY_NUMBER + NVT_KN_SOURCE},
    {"Dst Rank", KEY_NUMBER + NVT_KN_TARGET},
    {"Group size", KEY_NUMBER + NVT_KN_RANKS},
    {"In msg nelems", KEY_NUMBER + NVT_KN_GIVEN},
    {"Out msg nelems", KEY_NUMBER + NVT_KN_TAKEN},
    {"traceEvents", KEY_EVENTS},
    {"distributedInfo", KEY_DISTRIBUTED},
    {"deviceProperties", KEY_DEVICES},
    {"baseTimeNanoseconds", KEY_BASE},
    {"schemaVersion", KEY_SCHEMA},
    {NVT_EXPORT_OWN, KEY_OWN},
    {"pg_config", KEY_PG_LIST},
    {"pg_name", KEY_PG_NAME},
    {"pg_desc", KEY_PG_PURPOSE},
    {"pg_size", KEY_PG_SIZE},
    {"ranks", KEY_PG_RANKS},
    {"rank", KEY_RANK},
    {"world_size", KEY_WORLD},
    {"totalGlobalMem", KEY_MEMORY},
    {"numSms", KEY_SMS},
    {"computeMajor", KEY_MAJOR},
    {"computeMinor", KEY_MINOR},
};

/*
 * What is compared of a text at once: two words of eight bytes, which of 4 to 16 bytes have all, the first and the last (they overlap),
 * and of one to three bytes the first, the middle and the last.
 */
struct words {
    uint64_t first, last;
};

/* Row of `keys` and 1 by its words, the next slot where that is taken; 0: none. */
static uint8_t slots[256];
static struct words words[NVT_COUNT_OF(keys)];
static size_t sizes[NVT_COUNT_OF(keys)];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int is_filled; /* quicker to see than `once` */

/* By the low six bits of a size, whether any key of it begins with a character (bit: its low six bits): most keys of a file do not. */
static uint64_t firsts[64];

static uint64_t word_at(const char *text, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, text, size);
    return word;
}

static struct words words_of(const char *text, size_t size)
{
    if (size >= 8)
        return (struct words){word_at(text, 8), word_at(text + size - 8, 8)};
    if (size >= 4)
        return (struct words){word_at(text, 4), word_at(text + size - 4, 4)};
    const unsigned char *at = (const unsigned char *)text;
    return (struct words){(uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1], 0};
}

static uint8_t slot_of(struct words of, size_t size)
{
    return (uint8_t)(((of.first + of.last * 31 + size) * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static void fill_slots(void)
{
    _Static_assert(NVT_COUNT_OF(keys) < sizeof(slots) / 2, "half of the slots are free at least");
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++) {
        sizes[i] = strlen(keys[i].text);
        words[i] = words_of(keys[i].text, sizes[i]);
        firsts[sizes[i] & 63] |= UINT64_C(1) << (keys[i].text[0] & 63);
        uint8_t slot = slot_of(words[i], sizes[i]);
        while (slots[slot])
            slot++;
        slots[slot] = (uint8_t)(i + 1);
    }
    atomic_store_explicit(&is_filled, 1, memory_order_release);
}

int nvt_kineto_key(const char *text, size_t size)
{
    if (!atomic_load_explicit(&is_filled, memory_order_acquire))
        pthread_once(&once, fill_slots);
    if (!size || !(firsts[size & 63] >> (*text & 63) & 1))
        return OTHER_KEY;
    const struct words of = words_of(text, size);
    for (uint8_t slot = slot_of(of, size); slots[slot]; slot++) {
        const size_t row = slots[slot] - 1u;
        if (sizes[row] == size && words[row].first == of.first && words[row].last == of.last &&
            (size <= 16 || !memcmp(keys[row].text, text, size)))
            return keys[row].key;
    }
    return OTHER_KEY;
}
