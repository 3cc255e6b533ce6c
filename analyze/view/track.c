#include "track.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"

/* Room for so many rows. 0, or -1 when out of memory: then columns are at least as long as before. */
static int resize(struct nvt_track *track, size_t room)
{
    void *column;
#define RESIZE(member)                                                                             \
    column = realloc(track->member, room * sizeof(*track->member));                                \
    if (!column)                                                                                   \
        return -1;                                                                                 \
    track->member = column
    RESIZE(row);
    if (!track->of) {
        RESIZE(start);
        RESIZE(end);
        RESIZE(name);
    }
#undef RESIZE
    track->capacity = (uint32_t)room;
    return 0;
}

static int grow(struct nvt_track *track)
{
    const uint64_t room = track->capacity ? (uint64_t)track->capacity * 2 : 16;
    return room < UINT32_MAX ? resize(track, room) : -1;
}

int nvt_tracks_put_on(struct nvt_tracks *tracks, uint32_t place, int64_t start, int64_t end,
                      uint32_t name, uint32_t row)
{
    while (tracks->count <= place) {
        struct nvt_track *items = realloc(tracks->items, (tracks->count + 1) * sizeof(*items));
        if (!items)
            return -1;
        tracks->items = items;
        items[tracks->count++] = (struct nvt_track){.of = tracks->of, .last = INT64_MIN};
    }
    struct nvt_track *track = &tracks->items[place];
    if (track->count == track->capacity && grow(track))
        return -1;
    const uint32_t i = track->count++;
    track->overlaps |= track->last > start;
    end = end > start ? end : start;
    track->row[i] = row;
    if (!track->of) {
        track->start[i] = start;
        track->end[i] = end;
        track->name[i] = name;
    }
    if (end > track->last)
        track->last = end;
    return 0;
}

int nvt_tracks_put(struct nvt_tracks *tracks, int64_t start, int64_t end, uint32_t name,
                   uint32_t row)
{
    uint32_t place = 0;
    while (place < tracks->count && tracks->items[place].last > start)
        place++;
    return nvt_tracks_put_on(tracks, place < NVT_TRACKS_MAX ? place : NVT_TRACKS_MAX - 1, start,
                             end, name, row);
}

static int64_t length_of(const struct nvt_track *track, uint32_t span)
{
    return nvt_track_end(track, span) - nvt_track_start(track, span);
}

static int finish(struct nvt_track *track, struct nvt_tally *tally)
{
    const uint32_t blocks = (track->count + NVT_TRACK_BLOCK - 1) / NVT_TRACK_BLOCK;
    track->before = malloc(((size_t)blocks + 1) * sizeof(*track->before));
    track->first = malloc((blocks ? blocks : 1) * sizeof(*track->first));
    track->common = malloc((blocks ? blocks : 1) * sizeof(*track->common));
    /* What is not used is given back. */
    if (!track->before || !track->first || !track->common ||
        resize(track, track->count ? track->count : 1))
        return -1;
    uint64_t sum = 0; /* wraps around where the trace is nonsense */
    for (uint32_t i = 0; i < track->count; i++) {
        if (i % NVT_TRACK_BLOCK == 0) {
            track->before[i / NVT_TRACK_BLOCK] = (int64_t)sum;
            track->first[i / NVT_TRACK_BLOCK] = nvt_track_start(track, i);
        }
        sum += (uint64_t)length_of(track, i);
        nvt_tally_add(tally, nvt_track_name(track, i), 1);
        if (i % NVT_TRACK_BLOCK == NVT_TRACK_BLOCK - 1 || i == track->count - 1) {
            struct nvt_track_common *common = &track->common[i / NVT_TRACK_BLOCK];
            common->name = nvt_tally_take(tally, &common->count);
        }
    }
    track->before[blocks] = (int64_t)sum;
    return 0;
}

/* Those in front of a span. */
static uint64_t sum_before(const struct nvt_track *track, uint32_t span)
{
    uint32_t i = span / NVT_TRACK_BLOCK * NVT_TRACK_BLOCK;
    uint64_t sum = (uint64_t)track->before[span / NVT_TRACK_BLOCK];
    for (; i < span; i++)
        sum += (uint64_t)length_of(track, i);
    return sum;
}

int64_t nvt_track_sum(const struct nvt_track *track, uint32_t from, uint32_t to)
{
    if (to - from < NVT_TRACK_BLOCK) {
        uint64_t sum = 0;
        for (uint32_t i = from; i < to; i++)
            sum += (uint64_t)length_of(track, i);
        return (int64_t)sum;
    }
    return (int64_t)(sum_before(track, to) - sum_before(track, from));
}

int nvt_tracks_finish(struct nvt_tracks *tracks, uint32_t names)
{
    struct nvt_tally tally = {.names = names};
    int status = nvt_tally_begin(&tally);
    for (uint32_t i = 0; i < tracks->count && !status; i++)
        status = finish(&tracks->items[i], &tally);
    nvt_tally_free(&tally);
    return status;
}

void nvt_tracks_free(struct nvt_tracks *tracks)
{
    for (uint32_t i = 0; i < tracks->count; i++) {
        free(tracks->items[i].start);
        free(tracks->items[i].end);
        free(tracks->items[i].name);
        free(tracks->items[i].row);
        free(tracks->items[i].before);
        free(tracks->items[i].first);
        free(tracks->items[i].common);
    }
    free(tracks->items);
    *tracks = (struct nvt_tracks){0};
}

uint64_t nvt_tracks_bytes(const struct nvt_tracks *tracks)
{
    uint64_t bytes = tracks->count * sizeof(struct nvt_track);
    for (uint32_t i = 0; i < tracks->count; i++) {
        const struct nvt_track *track = &tracks->items[i];
        bytes += (uint64_t)track->capacity *
                     (sizeof(uint32_t) + (track->of ? 0 : 2 * sizeof(int64_t) + sizeof(uint32_t))) +
                 (track->count / NVT_TRACK_BLOCK + 1) *
                     (sizeof(*track->common) + sizeof(*track->before) + sizeof(*track->first));
    }
    return bytes;
}

int nvt_tally_begin(struct nvt_tally *tally)
{
    const size_t names = tally->names ? tally->names : 1;
    tally->count = calloc(names, sizeof(*tally->count));
    tally->seen = malloc(names * sizeof(*tally->seen));
    tally->seen_count = 0;
    return tally->count && tally->seen ? 0 : -1;
}

void nvt_tally_free(struct nvt_tally *tally)
{
    free(tally->count);
    free(tally->seen);
    tally->count = tally->seen = NULL;
}

void nvt_tally_add(struct nvt_tally *tally, uint32_t name, uint32_t count)
{
    if (!tally->count[name] && count)
        tally->seen[tally->seen_count++] = name;
    tally->count[name] += count;
}

uint32_t nvt_tally_take(struct nvt_tally *tally, uint32_t *count)
{
    uint32_t best = 0, most = 0;
    for (uint32_t i = 0; i < tally->seen_count; i++) {
        const uint32_t name = tally->seen[i];
        if (tally->count[name] > most) {
            most = tally->count[name];
            best = name;
        }
        tally->count[name] = 0;
    }
    tally->seen_count = 0;
    if (count)
        *count = most;
    return best;
}

/* The last block, not before `least`, whose first span begins before a moment; that of `least` does. */
static uint32_t block_before(const struct nvt_track *track, uint32_t least, int64_t moment)
{
    const uint32_t blocks = (track->count + NVT_TRACK_BLOCK - 1) / NVT_TRACK_BLOCK;
    uint32_t low = least, step = 1, high = least + 1;
    while (high < blocks && track->first[high] < moment) {
        low = high;
        step *= 2;
        high = step < blocks - high ? high + step : blocks;
    }
    NVT_BISECT(low, high, track->first[low] < moment);
    return low - 1;
}

/* Near `least` span by span, for the next one is mostly near; farther away block by block. */
uint32_t nvt_track_from(const struct nvt_track *track, uint32_t least, int64_t moment)
{
    uint32_t low = least, high = least, step = 1;
    while (high < track->count && nvt_track_start(track, high) < moment) {
        low = high + 1;
        high = step < track->count - high ? high + step : track->count;
        step *= 2;
        if (step > NVT_TRACK_BLOCK) {
            const uint32_t block = block_before(track, (low - 1) / NVT_TRACK_BLOCK, moment);
            low = block * NVT_TRACK_BLOCK < low ? low : block * NVT_TRACK_BLOCK;
            high = track->count - block * NVT_TRACK_BLOCK < NVT_TRACK_BLOCK
                       ? track->count
                       : (block + 1) * NVT_TRACK_BLOCK;
            break;
        }
    }
    NVT_BISECT(low, high, nvt_track_start(track, low) < moment);
    return low;
}

/* The commonest name of spans [from, to). */
static uint32_t common_name(const struct nvt_track *track, uint32_t from, uint32_t to,
                            struct nvt_tally *tally)
{
    if (to - from == 1)
        return nvt_track_name(track, from);
    if (to - from <= NVT_TILE_EXACT)
        for (uint32_t i = from; i < to; i++)
            nvt_tally_add(tally, nvt_track_name(track, i), 1);
    else
        for (uint32_t block = from / NVT_TRACK_BLOCK; block <= (to - 1) / NVT_TRACK_BLOCK; block++)
            nvt_tally_add(tally, track->common[block].name, track->common[block].count);
    return nvt_tally_take(tally, NULL);
}

static struct nvt_tile_item merged(const struct nvt_track *track, uint32_t from, uint32_t to,
                                   struct nvt_tally *tally)
{
    struct nvt_tile_item item = {.start = nvt_track_start(track, from),
                                 .end = nvt_track_end(track, to - 1),
                                 .ns = nvt_track_sum(track, from, to),
                                 .count = to - from,
                                 .name = common_name(track, from, to, tally),
                                 .row = track->row[from]};
    for (uint32_t i = from; i < to && track->overlaps; i++)
        if (nvt_track_end(track, i) > item.end)
            item.end = nvt_track_end(track, i);
    return item;
}

/* What began before the window and reaches into it. */
static void visit_earlier(const struct nvt_track *track, uint32_t until, int64_t from,
                          nvt_tile_visit visit, void *context)
{
    struct nvt_tile_item item = {0};
    for (uint32_t i = until; i-- > 0;) {
        if (nvt_track_end(track, i) > from) {
            if (!item.count || nvt_track_end(track, i) > item.end)
                item.end = nvt_track_end(track, i);
            item.start = nvt_track_start(track, i);
            item.ns += length_of(track, i);
            item.name = nvt_track_name(track, i);
            item.row = track->row[i];
            item.count++;
        }
        if (!track->overlaps)
            break;
    }
    if (item.count)
        visit(context, &item);
}

/* The end of a column; the last one's is that of the window. */
static int64_t column_end(int64_t from, int64_t to, uint32_t columns, int64_t moment)
{
    const uint64_t width = (uint64_t)to - (uint64_t)from, at = (uint64_t)moment - (uint64_t)from;
    const uint64_t column = (uint64_t)((unsigned __int128)at * columns / width);
    const uint64_t end =
        (uint64_t)(((unsigned __int128)width * (column + 1) + columns - 1) / columns);
    return end < width ? (int64_t)((uint64_t)from + end) : to;
}

void nvt_track_tile(const struct nvt_track *track, int64_t from, int64_t to, uint32_t columns,
                    struct nvt_tally *tally, nvt_tile_visit visit, void *context)
{
    if (to <= from || !columns)
        return;
    const int64_t width = (int64_t)(((uint64_t)to - (uint64_t)from) / columns);
    uint32_t i = nvt_track_from(track, 0, from);
    visit_earlier(track, i, from, visit, context);
    while (i < track->count && nvt_track_start(track, i) < to) {
        uint32_t behind =
            nvt_track_from(track, i, column_end(from, to, columns, nvt_track_start(track, i)));
        if (behind == i) /* a column narrower than 1 ns */
            behind = i + 1;
        /* Of spans that do not overlap only the last one of a column can be wide. */
        const uint32_t last = behind - 1;
        const int is_wide = length_of(track, last) >= width && last > i;
        struct nvt_tile_item item = merged(track, i, is_wide ? last : behind, tally);
        visit(context, &item);
        if (is_wide) {
            item = merged(track, last, behind, tally);
            visit(context, &item);
        }
        i = behind;
    }
}
