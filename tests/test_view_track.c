/*
 * Tracks and tiles (analyze/view/track.h): at any window and zoom, the items add up to a straight count of the spans.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/view/track.h"
#include "random_kit.h"
#include "../lib/count_of.h"

enum { NAMES = 7 };

/* xorshift64* */
static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717) >> 16;
}

struct sums {
    uint64_t count, earlier;
    int64_t ns, earlier_ns, last;
    int64_t from;
    uint32_t items, named[NAMES];
    int is_unordered, is_wrong;
};

static void add_item(void *context, const struct nvt_tile_item *item)
{
    struct sums *sums = context;
    sums->items++;
    sums->is_wrong |= !item->count || item->end < item->start || item->name >= NAMES;
    if (item->start < sums->from) {
        sums->earlier += item->count;
        sums->earlier_ns += item->ns;
        return;
    }
    sums->is_unordered |= item->start < sums->last;
    sums->last = item->start;
    sums->count += item->count;
    sums->ns += item->ns;
    sums->named[item->name] += item->count;
}

/* The same by looking at every span. */
static struct sums straight(const struct nvt_track *track, int64_t from, int64_t to)
{
    struct sums sums = {0};
    for (uint32_t i = 0; i < track->count; i++) {
        const int64_t ns = nvt_track_end(track, i) - nvt_track_start(track, i);
        if (nvt_track_start(track, i) >= from && nvt_track_start(track, i) < to) {
            sums.count++;
            sums.ns += ns;
        } else if (nvt_track_start(track, i) < from && nvt_track_end(track, i) > from) {
            sums.earlier++;
            sums.earlier_ns += ns;
        }
    }
    return sums;
}

static void expect_tile(const struct nvt_track *track, int64_t from, int64_t to, uint32_t columns,
                        struct nvt_tally *tally)
{
    struct sums sums = {.from = from, .last = INT64_MIN}, wanted = straight(track, from, to);
    nvt_track_tile(track, from, to, columns, tally, add_item, &sums);
    assert_int_equal(sums.count, wanted.count);
    assert_int_equal(sums.ns, wanted.ns);
    assert_int_equal(sums.earlier, wanted.earlier);
    assert_int_equal(sums.earlier_ns, wanted.earlier_ns);
    assert_false(sums.is_unordered || sums.is_wrong);
    assert_true(sums.items <= 2 * columns + 1);
}

/* Spans of nested calls, with bursts, pauses and moments; or all of them open until the end. */
static struct nvt_tracks random_tracks(uint64_t *seed, uint32_t count, int is_open)
{
    struct nvt_tracks tracks = {0};
    int64_t now = -1000000, inner = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t length = random_next(seed) % 16 ? (int64_t)(random_next(seed) % 100)
                                                      : (int64_t)(random_next(seed) % 100000);
        const uint32_t name = (uint32_t)(random_next(seed) % NAMES);
        assert_int_equal(nvt_tracks_put(&tracks, now, is_open ? 100000000 : now + length, name, i),
                         0);
        if (inner-- <= 0) {
            inner = (int64_t)(random_next(seed) % 4);
            now += (int64_t)(random_next(seed) % (random_next(seed) % 50 ? 200 : 500000));
        } else
            now += (int64_t)(random_next(seed) % (uint64_t)(length + 1));
    }
    assert_int_equal(nvt_tracks_finish(&tracks, NAMES), 0);
    return tracks;
}

static void expect_windows(struct nvt_tracks *tracks, uint64_t *seed)
{
    struct nvt_tally tally = {.names = NAMES};
    assert_int_equal(nvt_tally_begin(&tally), 0);
    for (uint32_t t = 0; t < tracks->count; t++) {
        const struct nvt_track *track = &tracks->items[t];
        const int64_t first = nvt_track_start(track, 0) - 10, last = track->last + 10;
        const uint32_t columns[] = {1, 2, 3, 7, 100, 1280, 100000};
        for (int turn = 0; turn < 40; turn++) {
            int64_t from = first + (int64_t)(random_next(seed) % (uint64_t)(last - first));
            int64_t to = from + 1 +
                         (int64_t)(random_next(seed) % (turn % 2 ? 1000 : (uint64_t)(last - from)));
            expect_tile(track, from, to, columns[turn % 7], &tally);
        }
        for (size_t i = 0; i < 7; i++)
            expect_tile(track, first, last, columns[i], &tally);
    }
    nvt_tally_free(&tally);
}

static void test_sums(void **state)
{
    (void)state;
    uint64_t seed = kit_seed(48) + 1;
    for (int turn = 0; turn < 8; turn++) {
        struct nvt_tracks tracks = random_tracks(&seed, turn ? 3000 : 1, 0);
        expect_windows(&tracks, &seed);
        nvt_tracks_free(&tracks);
    }
}

/* Ranges that nobody ends: the last track holds what is too much for the others, and its tiles add up like theirs. */
static void test_overlapping(void **state)
{
    (void)state;
    uint64_t seed = kit_seed(48) + 1;
    struct nvt_tracks tracks = random_tracks(&seed, 2000, 1);
    uint64_t count = 0;
    assert_int_equal(tracks.count, NVT_TRACKS_MAX);
    for (uint32_t i = 0; i < tracks.count; i++) {
        assert_int_equal(tracks.items[i].overlaps, i == NVT_TRACKS_MAX - 1);
        count += tracks.items[i].count;
    }
    assert_int_equal(count, 2000);
    expect_windows(&tracks, &seed);
    nvt_tracks_free(&tracks);
}

/* What lies within another is below it, whatever has a length of 0. */
static void test_nesting(void **state)
{
    (void)state;
    static const int64_t spans[][3] = {{0, 100, 0},   {0, 50, 1},   {0, 0, 2},   {10, 20, 2},
                                       {20, 20, 2},   {50, 90, 1},  {60, 70, 2}, {100, 200, 0},
                                       {100, 100, 1}, {200, 150, 0}};
    struct nvt_tracks tracks = {0};
    uint32_t placed[NVT_TRACKS_MAX] = {0};
    for (uint32_t i = 0; i < NVT_COUNT_OF(spans); i++) {
        assert_int_equal(nvt_tracks_put(&tracks, spans[i][0], spans[i][1], 1, i), 0);
        const uint32_t on = (uint32_t)spans[i][2];
        assert_true(on < tracks.count);
        assert_int_equal(tracks.items[on].count, ++placed[on]);
        assert_int_equal(tracks.items[on].row[placed[on] - 1], i);
    }
    assert_int_equal(nvt_tracks_finish(&tracks, 2), 0);
    /* an end too early */
    assert_int_equal(nvt_track_sum(&tracks.items[0], 0, tracks.items[0].count), 200);
    nvt_tracks_free(&tracks);
}

/* Items of a width have the commonest name, exactly up to NVT_TILE_EXACT spans; a wide span is one by itself. */
static void keep_item(void *context, const struct nvt_tile_item *item)
{
    struct nvt_tile_item **at = context;
    *(*at)++ = *item;
}

static void test_names(void **state)
{
    (void)state;
    struct nvt_tracks tracks = {0};
    for (uint32_t i = 0; i < 900; i++)
        assert_int_equal(nvt_tracks_put(&tracks, i, i + 1, i % 3 ? 5 : 4, i), 0);
    assert_int_equal(nvt_tracks_put(&tracks, 900, 2000, 6, 900), 0);
    assert_int_equal(nvt_tracks_finish(&tracks, NAMES), 0);
    struct nvt_tally tally = {.names = NAMES};
    struct nvt_tile_item items[16] = {0}, *at = items;
    assert_int_equal(nvt_tally_begin(&tally), 0);
    nvt_track_tile(&tracks.items[0], 0, 2000, 2, &tally, keep_item, &at);
    assert_int_equal(at - items, 2);
    assert_int_equal(items[0].count, 900);
    assert_int_equal(items[0].name, 5);
    assert_int_equal(items[0].ns, 900);
    assert_int_equal(items[0].end, 900);
    assert_int_equal(items[1].count, 1);
    assert_int_equal(items[1].name, 6);
    assert_int_equal(items[1].row, 900);
    nvt_tally_free(&tally);
    nvt_tracks_free(&tracks);
}

/* Of millions in one column, the name is that of most blocks. 26 bytes a span and a little. */
static void test_many(void **state)
{
    (void)state;
    struct nvt_tracks tracks = {0};
    for (uint32_t i = 0; i < 300000; i++)
        assert_int_equal(nvt_tracks_put(&tracks, 10 * (int64_t)i, 10 * (int64_t)i + 5,
                                        i % 10 < 6 ? 3 : i % NAMES, i),
                         0);
    assert_int_equal(nvt_tracks_finish(&tracks, NAMES), 0);
    assert_true(nvt_tracks_bytes(&tracks) < 27 * 300000);
    struct nvt_tally tally = {.names = NAMES};
    struct nvt_tile_item items[16] = {0}, *at = items;
    assert_int_equal(nvt_tally_begin(&tally), 0);
    nvt_track_tile(&tracks.items[0], 0, 3000000, 1, &tally, keep_item, &at);
    assert_int_equal(at - items, 1);
    assert_int_equal(items[0].name, 3);
    assert_int_equal(items[0].count, 300000);
    assert_int_equal(items[0].ns, 5 * 300000);
    nvt_tally_free(&tally);
    nvt_tracks_free(&tracks);
}

struct columns {
    int64_t from, width, behind; /* columns that start at `from`; where the last item ended */
    uint32_t wide, merged;
};

static void look_at_item(void *context, const struct nvt_tile_item *item)
{
    struct columns *columns = context;
    const int64_t column = (item->start - columns->from) / columns->width;
    assert_true(item->start >= columns->behind);
    columns->behind = item->end;
    columns->wide += item->count == 1 && item->ns >= columns->width;
    columns->merged += item->count > 100;
    if (item->count > 1) /* up to a quarter of a column behind its own */
        assert_true(4 * (item->end - columns->from) <= columns->width * (4 * column + 5));
}

/* Of many spans in a column the last ones may be behind it by a little; what is as wide as a column is never merged. */
static void test_columns(void **state)
{
    (void)state;
    enum { COLUMNS = 500, WIDE = 40 };
    struct nvt_tracks tracks = {0};
    uint64_t seed = kit_seed(48) + 1;
    int64_t now = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        const int64_t length =
            i % (200000 / WIDE) == 777 ? 20000 : (int64_t)(random_next(&seed) % 30);
        assert_int_equal(nvt_tracks_put(&tracks, now, now + length, i % NAMES, i), 0);
        now += length + (int64_t)(random_next(&seed) % 10);
    }
    assert_int_equal(tracks.count, 1);
    assert_int_equal(nvt_tracks_finish(&tracks, NAMES), 0);
    const int64_t width = now / COLUMNS + 1;
    struct columns columns = {.width = width};
    struct nvt_tally tally = {.names = NAMES};
    assert_int_equal(nvt_tally_begin(&tally), 0);
    nvt_track_tile(&tracks.items[0], 0, width * COLUMNS, COLUMNS, &tally, look_at_item, &columns);
    assert_int_equal(columns.wide, WIDE);
    assert_true(columns.merged > COLUMNS / 2);
    expect_tile(&tracks.items[0], 0, width * COLUMNS, COLUMNS, &tally);
    nvt_tally_free(&tally);
    nvt_tracks_free(&tracks);
}

/* Rows of a table are spans like others, and take a fifth of the memory; of a row without a name there may be another one. */
static void test_rows(void **state)
{
    (void)state;
    enum { ROWS = 40000 };
    static int64_t start[ROWS], end[ROWS];
    static uint32_t name[ROWS], other[ROWS];
    uint64_t seed = kit_seed(48) + 1;
    const struct nvt_track_columns columns = {start, end, name, other};
    struct nvt_tracks own = {0}, rows = {.of = &columns};
    for (uint32_t i = 0; i < ROWS; i++) {
        start[i] = (i ? start[i - 1] : 0) + (int64_t)(random_next(&seed) % 100);
        end[i] = start[i] + (int64_t)(random_next(&seed) % 300) - 10;
        name[i] = (uint32_t)(random_next(&seed) % NAMES);
        other[i] = 3;
        const uint32_t shown = name[i] ? name[i] : 3;
        assert_int_equal(nvt_tracks_put(&own, start[i], end[i], shown, i), 0);
        assert_int_equal(nvt_tracks_put(&rows, start[i], end[i], shown, i), 0);
    }
    assert_int_equal(nvt_tracks_finish(&own, NAMES) | nvt_tracks_finish(&rows, NAMES), 0);
    assert_true(nvt_tracks_bytes(&rows) < 7 * ROWS);
    assert_int_equal(rows.count, own.count);
    for (uint32_t t = 0; t < own.count; t++) {
        const struct nvt_track *a = &own.items[t], *b = &rows.items[t];
        assert_int_equal(a->count, b->count);
        for (uint32_t i = 0; i < a->count; i++) {
            assert_int_equal(nvt_track_start(a, i), nvt_track_start(b, i));
            assert_int_equal(nvt_track_end(a, i), nvt_track_end(b, i));
            assert_int_equal(nvt_track_name(a, i), nvt_track_name(b, i));
        }
    }
    expect_windows(&rows, &seed);
    nvt_tracks_free(&own);
    nvt_tracks_free(&rows);
}

/* At the ends of what times may be (62 bits), and windows of nothing. */
static void test_extremes(void **state)
{
    (void)state;
    const int64_t far = INT64_C(1) << 61;
    struct nvt_tracks tracks = {0};
    assert_int_equal(nvt_tracks_put(&tracks, -far, -far + 1, 0, 0), 0);
    assert_int_equal(nvt_tracks_put(&tracks, 0, 0, 0, 1), 0);
    assert_int_equal(nvt_tracks_put(&tracks, far - 1, far, 0, 2), 0);
    assert_int_equal(nvt_tracks_finish(&tracks, NAMES), 0);
    struct nvt_tally tally = {.names = NAMES};
    assert_int_equal(nvt_tally_begin(&tally), 0);
    expect_tile(&tracks.items[0], -far, far, 1280, &tally);
    expect_tile(&tracks.items[0], -far, far, 1, &tally);
    expect_tile(&tracks.items[0], -far + 1, far - 1, UINT32_MAX / 4, &tally);
    struct sums none = {0};
    nvt_track_tile(&tracks.items[0], 5, 5, 10, &tally, add_item, &none);
    nvt_track_tile(&tracks.items[0], 5, 4, 10, &tally, add_item, &none);
    nvt_track_tile(&tracks.items[0], -far, far, 0, &tally, add_item, &none);
    assert_int_equal(none.items, 0);
    nvt_tally_free(&tally);
    nvt_tracks_free(&tracks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_overlapping),
        cmocka_unit_test(test_nesting), cmocka_unit_test(test_names),
        cmocka_unit_test(test_many),    cmocka_unit_test(test_columns),
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
