#include "cut_state_pace.h"

#include <stdlib.h>

#include "../lib/buffer.h"
#include "../lib/ctl_mark.h"
#include "../lib/cursor.h"

void nvt_cut_pace_free(struct nvt_cut_pace *pace)
{
    nvt_map_free(&pace->names);
    free(pace->ranges);
    *pace = (struct nvt_cut_pace){0};
}

/* Events of two threads may be in any order: what is between the latest one and an earlier one is no pause. */
static void begin(struct nvt_cut_pace *pace, uint64_t ticks)
{
    if (!pace->events++)
        pace->first = pace->begun = ticks;
    if (ticks > pace->begun && ticks - pace->begun > pace->pause)
        pace->pause = ticks - pace->begun;
    pace->first = ticks < pace->first ? ticks : pace->first;
    pace->begun = ticks > pace->begun ? ticks : pace->begun;
}

void nvt_cut_pace_moved(struct nvt_cut_pace *pace, uint64_t ticks)
{
    pace->last = ticks > pace->last ? ticks : pace->last;
}

void nvt_cut_pace_take(struct nvt_cut_pace *pace, const struct nvt_kept *event)
{
    const unsigned kind = event->token & 7;
    if (event->domain == NVT_CTL_MARK_DOMAIN)
        return;
    if (kind != NVT_TOKEN_POP && kind != NVT_TOKEN_END)
        begin(pace, event->ticks);
    nvt_cut_pace_moved(pace, event->ticks);
}

/* Those of a name; NULL: there are too many names, or no memory, which *failed says. */
static struct nvt_cut_pace_ranges *ranges_of(struct nvt_cut_pace *pace, uint64_t domain,
                                             uint64_t name, int *failed)
{
    const uint64_t key = domain << 32 | name;
    *failed = 0;
    if (pace->range_count >= NVT_CUT_PACE_NAMES && nvt_map_get(&pace->names, key) == NVT_MAP_NONE)
        return NULL;
    struct nvt_cut_pace_ranges *ranges =
        nvt_map_item(&pace->names, key, &pace->ranges, &pace->range_count, sizeof(*ranges));
    *failed = !ranges;
    if (ranges) {
        ranges->domain = domain;
        ranges->name = name;
    }
    return ranges;
}

int nvt_cut_pace_range(struct nvt_cut_pace *pace, uint64_t domain, uint64_t name, uint64_t length)
{
    int failed;
    struct nvt_cut_pace_ranges *ranges = ranges_of(pace, domain, name, &failed);
    if (ranges) {
        ranges->count++;
        ranges->longest = length > ranges->longest ? length : ranges->longest;
    }
    return failed ? -1 : 0;
}

int nvt_cut_pace_add(struct nvt_cut_pace *pace, const struct nvt_chunk *chunk,
                     const uint8_t *payload)
{
    struct nvt_cursor cursor = {payload, payload + chunk->raw_size};
    const uint64_t events = nvt_cursor_varint(&cursor), pause = nvt_cursor_varint(&cursor);
    int failed = !cursor.at;
    if (pace->events && chunk->first < pace->first && pace->first - chunk->first > pace->pause)
        pace->pause = pace->first - chunk->first;
    if (!pace->events || chunk->first < pace->first)
        pace->first = chunk->first;
    pace->begun = chunk->first > pace->begun ? chunk->first : pace->begun;
    pace->pause = pause > pace->pause ? pause : pace->pause;
    pace->events += events;
    nvt_cut_pace_moved(pace, chunk->last);
    for (uint32_t i = 0; i < chunk->count && !failed; i++) {
        const uint64_t name = nvt_cursor_varint(&cursor), domain = nvt_cursor_varint(&cursor);
        const uint64_t count = nvt_cursor_varint(&cursor), longest = nvt_cursor_varint(&cursor);
        struct nvt_cut_pace_ranges *ranges =
            cursor.at ? ranges_of(pace, domain, name, &failed) : NULL;
        failed |= !cursor.at;
        if (ranges) {
            ranges->count += count;
            ranges->longest = longest > ranges->longest ? longest : ranges->longest;
        }
    }
    return failed ? -1 : 0;
}

int nvt_cut_pace_give(const struct nvt_cut_pace *pace, uint32_t process, nvt_cut_state_put *put,
                      void *context)
{
    struct nvt_buffer out = {0};
    const struct nvt_chunk chunk = {.kind = NVT_CHUNK_PACE,
                                    .flags = NVT_CHUNK_CARRIED,
                                    .process = process,
                                    .thread = NVT_NO_INDEX,
                                    .count = pace->range_count,
                                    .first = pace->begun,
                                    .last = pace->last};
    if (!pace->events)
        return 0;
    int failed = nvt_buffer_varint(&out, pace->events) || nvt_buffer_varint(&out, pace->pause);
    for (uint32_t i = 0; i < pace->range_count && !failed; i++)
        failed = nvt_buffer_varint(&out, pace->ranges[i].name) ||
                 nvt_buffer_varint(&out, pace->ranges[i].domain) ||
                 nvt_buffer_varint(&out, pace->ranges[i].count) ||
                 nvt_buffer_varint(&out, pace->ranges[i].longest);
    failed = failed || put(context, &chunk, out.data, out.size);
    nvt_buffer_free(&out);
    return failed ? -1 : 0;
}
