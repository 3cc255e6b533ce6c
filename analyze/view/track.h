/*
 * Tracks and tiles: what a scene shows of spans at any zoom.
 *
 * A track is a row of spans (ranges, calls, kernels …) in the order of their starts. Where they are rows of a table it has
 * their numbers alone, and looks into the table's columns: 6 bytes a span; else it holds what is drawn, 26 bytes a span.
 * Spans of a lane that overlap lie on further tracks (nvt_tracks_put); only the last of NVT_TRACKS_MAX may hold spans
 * that overlap each other.
 *
 * A tile is a window of a track, cut into columns of equal width. A span that is at least as wide as a column is an item
 * of its own. Those that begin in a column and are narrower are merged into one item, which has their number, the time
 * that they take and the commonest of their names: nothing is dropped. So the counts and times of a tile's items that
 * begin in the window are those of all spans that begin there, at every zoom.
 */
#ifndef NVT_TRACK_H
#define NVT_TRACK_H

#include <stdint.h>

#define NVT_TRACKS_MAX 64

/* So many spans are a block, so many blocks one of the next level. */
#define NVT_TRACK_BLOCK  16u
#define NVT_TRACK_LEVELS 4

struct nvt_track_common {
    uint32_t name;
    uint32_t count; /* spans of that name */
};

/* Columns of a table whose rows are spans. */
struct nvt_track_columns {
    const int64_t *start, *end;
    const uint32_t *name, *or_name; /* the second where the first is 0; NULL: there is none */
};

struct nvt_track {
    uint32_t count, capacity;
    uint32_t *row;                      /* whose they are is the lane's affair (scene.h) */
    const struct nvt_track_columns *of; /* where the spans are; NULL: in the track's own columns */
    int64_t *start, *end;               /* its own, as below */
    uint32_t *name;
    /* After nvt_tracks_finish: ns of all spans in front of each block, and of all; where each block's first span starts; the latest
     * end in each block; */
    int64_t *before, *first, *latest;
    /* and the commonest name of each block of each level; one allocation */
    struct nvt_track_common *common[NVT_TRACK_LEVELS];
    int64_t last; /* the latest end so far */
    int overlaps; /* spans overlap each other */
};

/* A span's start and end: ns, on the trace's axis; of a moment the same. */
static inline int64_t nvt_track_start(const struct nvt_track *track, uint32_t span)
{
    return track->of ? track->of->start[track->row[span]] : track->start[span];
}

static inline int64_t nvt_track_end(const struct nvt_track *track, uint32_t span)
{
    if (!track->of)
        return track->end[span];
    const uint32_t row = track->row[span];
    const int64_t start = track->of->start[row], end = track->of->end[row];
    return end > start ? end : start;
}

static inline uint32_t nvt_track_name(const struct nvt_track *track, uint32_t span)
{
    if (!track->of)
        return track->name[span];
    const uint32_t name = track->of->name[track->row[span]];
    return name || !track->of->or_name ? name : track->of->or_name[track->row[span]];
}

/* Zero-initialise but for `of`; release with nvt_tracks_free, also after a failure. */
struct nvt_tracks {
    const struct nvt_track_columns *of; /* of all its tracks; not owned */
    struct nvt_track *items;
    uint32_t count;
};

/* Put a span on the first track that is free from its start on. Spans come by their starts, of those that start together
 * the longer one first: then one that lies within another is below it. An end before the start is taken for it. 0, or -1
 * when out of memory. What stands in columns of a table must be given as it is there. */
int nvt_tracks_put(struct nvt_tracks *tracks, int64_t start, int64_t end, uint32_t name,
                   uint32_t row);

/* Put a span on a track of the caller's choice, below NVT_TRACKS_MAX; those in front of it come into being, too. Spans of a
 * track come by their starts. 0, or -1 when out of memory. */
int nvt_tracks_put_on(struct nvt_tracks *tracks, uint32_t place, int64_t start, int64_t end,
                      uint32_t name, uint32_t row);

/* ns that spans [from, to) take, added up; after nvt_tracks_finish. */
int64_t nvt_track_sum(const struct nvt_track *track, uint32_t from, uint32_t to);

/* Once all are there: what tiles need. Names are below `names`. 0, or -1 when out of memory. */
int nvt_tracks_finish(struct nvt_tracks *tracks, uint32_t names);
void nvt_tracks_free(struct nvt_tracks *tracks);

/* Bytes of memory that they take. */
uint64_t nvt_tracks_bytes(const struct nvt_tracks *tracks);

/* Counts of names. Zero-initialised but for `names`, above all of them; release with nvt_tally_free. */
struct nvt_tally {
    uint32_t names;
    uint32_t *count; /* of each name */
    uint32_t *seen;  /* those that are not 0 */
    uint32_t seen_count;
};

/* Make room for them. 0, or -1 when out of memory. */
int nvt_tally_begin(struct nvt_tally *tally);
void nvt_tally_free(struct nvt_tally *tally);
void nvt_tally_add(struct nvt_tally *tally, uint32_t name, uint32_t count);
/* The commonest name, of several the one that came first, and its count (NULL: not wanted); all counts are 0 again. */
uint32_t nvt_tally_take(struct nvt_tally *tally, uint32_t *count);

struct nvt_tile_item {
    int64_t start, end; /* ns: of the first span, and the latest end of those that were merged */
    int64_t ns;         /* that the spans take, added up */
    uint32_t count;     /* spans */
    uint32_t name;      /* the commonest, as far as nvt_track_tile knows it */
    uint32_t row;       /* of the first */
};

typedef void (*nvt_tile_visit)(void *context, const struct nvt_tile_item *item);

/*
 * Visit the items of a tile by their starts: of spans that lie at least in part in [from, to), or touch `from`'s moment;
 * those that began earlier come first, merged into one where the track overlaps. `columns` from 1 on. Of more than
 * NVT_TILE_EXACT spans in one item the name is the commonest of most of their blocks. Of many the last ones may begin behind the
 * column, by at most a quarter of it; never behind the window. A search for each item, mostly next to where it is expected.
 */
#define NVT_TILE_EXACT 32u
void nvt_track_tile(const struct nvt_track *track, int64_t from, int64_t to, uint32_t columns,
                    struct nvt_tally *tally, nvt_tile_visit visit, void *context);

/* After nvt_tracks_finish: the first span that begins at or behind a moment, not before `least`; `count` where there is none. */
uint32_t nvt_track_from(const struct nvt_track *track, uint32_t least, int64_t moment);

#endif
