#include "track.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"

/* The part of a column by which the last one of many spans may be behind it. */
enum { SLACK = 4 };
/* Of more blocks' names in an item those of larger ones are taken. */
enum { MOST_BLOCKS = 128 };

/* Room for so many rows. 0, or -1 when out of memory: then columns are at least as long as before. */
static int resize(struct nvt_track *track, size_t room)
{
    if (nvt_resize(&track->row, room, sizeof(*track->row)) ||
        (!track->of && (nvt_resize(&track->start, room, sizeof(*track->start)) ||
                        nvt_resize(&track->end, room, sizeof(*track->end)) ||
                        nvt_resize(&track->name, room, sizeof(*track->name)))))
        return -1;
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
        if (nvt_resize(&tracks->items, tracks->count + 1, sizeof(*tracks->items)))
            return -1;
        tracks->items[tracks->count++] = (struct nvt_track){.of = tracks->of, .last = INT64_MIN};
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

/* The same as nvt_track_start, without a look into the table where blocks begin. */
static int64_t start_of(const struct nvt_track *track, uint32_t span)
{
    return span % NVT_TRACK_BLOCK ? nvt_track_start(track, span)
                                  : track->first[span / NVT_TRACK_BLOCK];
}

static int64_t length_of(const struct nvt_track *track, uint32_t span)
{
    return nvt_track_end(track, span) - nvt_track_start(track, span);
}

static size_t blocks_of(uint32_t count)
{
    return ((size_t)count + NVT_TRACK_BLOCK - 1) / NVT_TRACK_BLOCK;
}

/* Room for the commonest names of all levels. 0, or -1 when out of memory. */
static int make_levels(struct nvt_track *track)
{
    size_t counts[NVT_TRACK_LEVELS], all = 1;
    for (size_t level = 0; level < NVT_TRACK_LEVELS; level++) {
        counts[level] = blocks_of(level ? (uint32_t)counts[level - 1] : track->count);
        all += counts[level];
    }
    track->common[0] = malloc(all * sizeof(**track->common));
    for (size_t level = 1; level < NVT_TRACK_LEVELS && track->common[0]; level++)
        track->common[level] = track->common[level - 1] + counts[level - 1];
    return track->common[0] ? 0 : -1;
}

/* The commonest names of larger blocks, of those of the blocks in them. */
static void finish_levels(struct nvt_track *track, struct nvt_tally *tally)
{
    size_t count = blocks_of(track->count);
    for (size_t level = 1; level < NVT_TRACK_LEVELS; level++) {
        const struct nvt_track_common *below = track->common[level - 1];
        for (size_t i = 0; i < count; i++) {
            nvt_tally_add(tally, below[i].name, below[i].count);
            if (i % NVT_TRACK_BLOCK == NVT_TRACK_BLOCK - 1 || i == count - 1) {
                struct nvt_track_common *common = &track->common[level][i / NVT_TRACK_BLOCK];
                common->name = nvt_tally_take(tally, &common->count);
            }
        }
        count = blocks_of((uint32_t)count);
    }
}

static int finish(struct nvt_track *track, struct nvt_tally *tally)
{
    const size_t blocks = blocks_of(track->count);
    track->before = malloc((blocks + 1) * sizeof(*track->before));
    track->first = malloc((blocks ? blocks : 1) * sizeof(*track->first));
    track->latest = malloc((blocks ? blocks : 1) * sizeof(*track->latest));
    /* What is not used is given back. */
    if (!track->before || !track->first || !track->latest || make_levels(track) ||
        resize(track, track->count ? track->count : 1))
        return -1;
    uint64_t sum = 0; /* wraps around where the trace is nonsense */
    for (uint32_t i = 0; i < track->count; i++) {
        const uint32_t block = i / NVT_TRACK_BLOCK;
        const int64_t end = nvt_track_end(track, i);
        if (i % NVT_TRACK_BLOCK == 0) {
            track->before[block] = (int64_t)sum;
            track->first[block] = nvt_track_start(track, i);
        }
        if (i % NVT_TRACK_BLOCK == 0 || end > track->latest[block])
            track->latest[block] = end;
        sum += (uint64_t)length_of(track, i);
        nvt_tally_add(tally, nvt_track_name(track, i), 1);
        if (i % NVT_TRACK_BLOCK == NVT_TRACK_BLOCK - 1 || i == track->count - 1) {
            struct nvt_track_common *common = &track->common[0][block];
            common->name = nvt_tally_take(tally, &common->count);
        }
    }
    track->before[blocks] = (int64_t)sum;
    finish_levels(track, tally);
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
        free(tracks->items[i].latest);
        free(tracks->items[i].common[0]);
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
                     (sizeof(**track->common) * NVT_TRACK_BLOCK / (NVT_TRACK_BLOCK - 1) +
                      sizeof(*track->before) + sizeof(*track->first) + sizeof(*track->latest));
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

/* The last block, not before `least`, whose first span begins before a moment; that of `least` does. It is looked for around `guess`,
 * which is not before `least` and may be too large. */
static uint32_t block_before(const struct nvt_track *track, uint32_t least, size_t guess,
                             int64_t moment)
{
    const uint32_t blocks = (uint32_t)blocks_of(track->count);
    uint32_t low = guess < blocks ? (uint32_t)guess : blocks - 1, high = low, step = 1;
    if (track->first[low] < moment) {
        for (high = low + 1; high < blocks && track->first[high] < moment; step *= 2) {
            low = high;
            high = step < blocks - high ? high + step : blocks;
        }
    } else {
        for (low = least; high - least > step && track->first[high - step] >= moment; step *= 2)
            high -= step;
        if (high - least > step)
            low = high - step;
    }
    NVT_BISECT(low, high, track->first[low] < moment);
    return low - 1;
}

/* The first span of a block that begins at or behind a moment, from `least` on; that of the next one where there is none. */
static uint32_t from_in_block(const struct nvt_track *track, uint32_t block, uint32_t least,
                              int64_t moment)
{
    uint32_t low = block * NVT_TRACK_BLOCK;
    const uint32_t high =
        track->count - low < NVT_TRACK_BLOCK ? track->count : low + NVT_TRACK_BLOCK;
    low = low > least ? low : least;
    NVT_BISECT(low, high, nvt_track_start(track, low) < moment);
    return low;
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
            const uint32_t at = (low - 1) / NVT_TRACK_BLOCK;
            return from_in_block(track, block_before(track, at, at, moment), low, moment);
        }
    }
    NVT_BISECT(low, high, nvt_track_start(track, low) < moment);
    return low;
}

/* The spans of a column. */
struct column {
    uint32_t from, behind;
    int ends_wide; /* the last one may be as long as a column */
};

/*
 * The spans from column->from on that begin before the column's end. As many as before are expected. Where these are many, they go up to the end of
 * a block that is at most `slack` ns long: then no span of it is as long as that, and the table is not looked into.
 */
static void find_column(const struct nvt_track *track, struct column *column, uint32_t expected,
                        int64_t end, int64_t slack)
{
    const uint32_t from = column->from, at = from / NVT_TRACK_BLOCK;
    column->ends_wide = 1;
    if (expected < NVT_TRACK_BLOCK) {
        column->behind = nvt_track_from(track, from, end);
        return;
    }
    const size_t guess = ((size_t)from + expected) / NVT_TRACK_BLOCK;
    const uint32_t block = block_before(track, at, guess, end);
    if (!track->overlaps && block + 1 < blocks_of(track->count) &&
        (uint64_t)track->first[block + 1] - (uint64_t)track->first[block] < (uint64_t)slack) {
        column->behind = (block + 1) * NVT_TRACK_BLOCK;
        column->ends_wide = 0;
    } else
        column->behind = from_in_block(track, block, from, end);
}

/* The commonest name of spans [from, to): of many that of blocks, which are the larger the more they are. */
static uint32_t common_name(const struct nvt_track *track, uint32_t from, uint32_t to,
                            struct nvt_tally *tally)
{
    if (to - from == 1)
        return nvt_track_name(track, from);
    if (to - from <= NVT_TILE_EXACT) {
        for (uint32_t i = from; i < to; i++)
            nvt_tally_add(tally, nvt_track_name(track, i), 1);
        return nvt_tally_take(tally, NULL);
    }
    uint32_t level = 0, size = NVT_TRACK_BLOCK;
    while (level + 1 < NVT_TRACK_LEVELS && (to - from) / size > MOST_BLOCKS) {
        size *= NVT_TRACK_BLOCK;
        level++;
    }
    for (uint32_t block = from / size; block <= (to - 1) / size; block++)
        nvt_tally_add(tally, track->common[level][block].name, track->common[level][block].count);
    return nvt_tally_take(tally, NULL);
}

/* The latest end of spans [from, to). */
static int64_t latest_end(const struct nvt_track *track, uint32_t from, uint32_t to)
{
    int64_t latest = to % NVT_TRACK_BLOCK || to - from < NVT_TRACK_BLOCK
                         ? nvt_track_end(track, to - 1)
                         : track->latest[to / NVT_TRACK_BLOCK - 1];
    while (track->overlaps && from < to) {
        const int is_block = from % NVT_TRACK_BLOCK == 0 && to - from >= NVT_TRACK_BLOCK;
        const int64_t end =
            is_block ? track->latest[from / NVT_TRACK_BLOCK] : nvt_track_end(track, from);
        latest = end > latest ? end : latest;
        from += is_block ? NVT_TRACK_BLOCK : 1;
    }
    return latest;
}

static struct nvt_tile_item merged(const struct nvt_track *track, uint32_t from, uint32_t to,
                                   struct nvt_tally *tally)
{
    return (struct nvt_tile_item){.start = start_of(track, from),
                                  .end = latest_end(track, from, to),
                                  .ns = nvt_track_sum(track, from, to),
                                  .count = to - from,
                                  .name = common_name(track, from, to, tally),
                                  .row = track->row[from]};
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
    uint64_t end;
    if (width < UINT64_MAX / 2 / columns) /* a division of 64 bits takes a third of the time */
        end = (width * (at * columns / width + 1) + columns - 1) / columns;
    else {
        const uint64_t column = (uint64_t)((unsigned __int128)at * columns / width);
        end = (uint64_t)(((unsigned __int128)width * (column + 1) + columns - 1) / columns);
    }
    return end < width ? (int64_t)((uint64_t)from + end) : to;
}

void nvt_track_tile(const struct nvt_track *track, int64_t from, int64_t to, uint32_t columns,
                    struct nvt_tally *tally, nvt_tile_visit visit, void *context)
{
    if (to <= from || !columns)
        return;
    const int64_t width = (int64_t)(((uint64_t)to - (uint64_t)from) / columns);
    struct column column = {.behind = nvt_track_from(track, 0, from)};
    column.from = column.behind;
    visit_earlier(track, column.behind, from, visit, context);
    while (column.behind < track->count) {
        const uint32_t expected = column.behind - column.from, i = column.behind;
        const int64_t start = start_of(track, i);
        if (start >= to)
            break;
        const int64_t end = column_end(from, to, columns, start);
        column.from = i;
        find_column(track, &column, expected, end, end < to - width ? width / SLACK : 0);
        if (column.behind == i) /* a column narrower than 1 ns */
            column.behind = i + 1;
        /* Of spans that do not overlap only the last one of a column can be wide. */
        const uint32_t last = column.behind - 1;
        const int is_wide = column.ends_wide && last > i && length_of(track, last) >= width;
        struct nvt_tile_item item = merged(track, i, is_wide ? last : column.behind, tally);
        visit(context, &item);
        if (is_wide) {
            item = merged(track, last, column.behind, tally);
            visit(context, &item);
        }
    }
}
