#include "kineto_keys.h"

#include <pthread.h>
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

/* Row of `keys` and 1 by what is quick to see of a text, the next slot where that is taken; 0: none. */
static uint8_t slots[256];
static size_t sizes[NVT_COUNT_OF(keys)];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint8_t slot_of(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    return (uint8_t)(size * 17 + at[0] * 5u + at[size / 2] * 3u + at[size - 1]);
}

static void fill_slots(void)
{
    _Static_assert(NVT_COUNT_OF(keys) < sizeof(slots) / 2, "half of the slots are free at least");
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++) {
        sizes[i] = strlen(keys[i].text);
        uint8_t slot = slot_of(keys[i].text, sizes[i]);
        while (slots[slot])
            slot++;
        slots[slot] = (uint8_t)(i + 1);
    }
}

int nvt_kineto_key(const char *text, size_t size)
{
    pthread_once(&once, fill_slots);
    for (uint8_t slot = size ? slot_of(text, size) : 0; size && slots[slot]; slot++) {
        const size_t row = slots[slot] - 1u;
        if (sizes[row] == size && !memcmp(keys[row].text, text, size))
            return keys[row].key;
    }
    return OTHER_KEY;
}
