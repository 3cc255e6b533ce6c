/*
 * Slices of Perfetto's tracks: which end is of which beginning. Its importer sorts events by time, stable in the order of the file,
 * before it pairs them. Here they are paired as they come, and those of a track that has one before its last one anew at the end. That
 * needs them all: they are kept when such a file is read once more.
 */
#include "perfetto.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../model/layout.h"

/* A slice ends; one that never did ends where what is known of it does. */
static void set_end(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *begin,
                    uint32_t kept, int64_t time)
{
    struct nvt_trace *trace = reader->kineto.trace;
    const uint32_t row = begin->row;
    uint32_t thread = NVT_NONE;
    if (kept)
        reader->slices[kept - 1].is_ended = 1;
    if (begin->table == NVT_NONE)
        return;
    nvt_layout_ends(trace, &nvt_layout()[begin->table])[row] = time;
    if (begin->table == NVT_TABLE_ranges) {
        trace->ranges.flags[row] &= (uint8_t) ~(begin->is_unclosed ? 0 : NVT_RANGE_UNCLOSED);
        thread = trace->ranges.thread[row];
        trace->threads.events[thread]++;
    } else if (begin->table == NVT_TABLE_apis)
        thread = trace->apis.thread[row];
    else if (begin->table == NVT_TABLE_os_calls)
        trace->os_calls.flags[row] &= (uint8_t) ~(begin->is_unclosed ? 0 : NVT_RANGE_UNCLOSED);
    if (thread != NVT_NONE && time > trace->threads.last_ns[thread])
        trace->threads.last_ns[thread] = time;
}

/* A slice is as when it began. */
static void reopen(struct nvt_perfetto *reader, struct nvt_perfetto_slice *begin)
{
    struct nvt_trace *trace = reader->kineto.trace;
    if (!begin->is_ended || begin->table == NVT_NONE)
        return;
    begin->is_ended = 0;
    nvt_layout_ends(trace, &nvt_layout()[begin->table])[begin->row] = begin->time;
    if (begin->table == NVT_TABLE_ranges) {
        trace->ranges.flags[begin->row] |= NVT_RANGE_UNCLOSED;
        trace->threads.events[trace->ranges.thread[begin->row]]--;
    } else if (begin->table == NVT_TABLE_os_calls)
        trace->os_calls.flags[begin->row] |= NVT_RANGE_UNCLOSED;
}

static int push(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *slice, uint32_t kept)
{
    struct nvt_perfetto_track *track = &reader->tracks[slice->track];
    uint32_t entry = reader->open_free;
    if (entry)
        reader->open_free = reader->open[--entry].outer;
    else {
        entry = reader->open_count;
        if (nvt_grow(&reader->open, entry, sizeof(*reader->open)))
            return -1;
        reader->open_count++;
    }
    reader->open[entry] = (struct nvt_perfetto_open){*slice, kept, track->open};
    track->open = entry;
    return 0;
}

static int begin_slice(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *begin,
                       uint32_t kept)
{
    struct nvt_perfetto_track *track = &reader->tracks[begin->track];
    if (track->early && track->early != begin->sequence + 1 && track->early_ns >= begin->time) {
        track->early = 0;
        reader->early_count--;
        set_end(reader, begin, kept, track->early_ns);
        return 0;
    }
    return push(reader, begin, kept);
}

/* An end that nothing began may be of a slice that another sequence, which comes later in the file, has the beginning of. */
static void end_slice(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *end)
{
    struct nvt_perfetto_track *track = &reader->tracks[end->track];
    const uint32_t entry = track->open;
    if (entry == NVT_NONE) {
        reader->early_count += !track->early;
        reader->without_begin += track->early != 0;
        track->lost += track->early != 0;
        track->early = end->sequence + 1;
        track->early_ns = end->time;
        return;
    }
    struct nvt_perfetto_open *open = &reader->open[entry];
    track->open = open->outer;
    open->outer = reader->open_free;
    reader->open_free = entry + 1;
    set_end(reader, &open->slice, open->kept, end->time);
}

static int pair(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *slice, uint32_t kept)
{
    if (slice->begins)
        return begin_slice(reader, slice, kept);
    end_slice(reader, slice);
    return 0;
}

int nvt_perfetto_slice(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *slice)
{
    struct nvt_perfetto_track *track = &reader->tracks[slice->track];
    track->is_unordered |= track->has_slices && slice->time < track->last_ns;
    reader->has_unordered |= track->is_unordered;
    track->has_slices = 1;
    track->last_ns = slice->time;
    if (!reader->keeps_slices)
        return reader->has_unordered ? -1 : pair(reader, slice, 0);
    if (nvt_grow(&reader->slices, reader->slice_count, sizeof(*reader->slices)))
        return -1;
    reader->slices[reader->slice_count++] = *slice;
    return pair(reader, slice, reader->slice_count);
}

/* --- anew --- */

static int by_track_and_time(const void *left, const void *right)
{
    const struct nvt_perfetto_slice *a = *(const struct nvt_perfetto_slice *const *)left;
    const struct nvt_perfetto_slice *b = *(const struct nvt_perfetto_slice *const *)right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a > b) - (a < b);
}

/* Ends that were without a beginning are counted anew, with all that tracks have by then. */
static void recount(struct nvt_perfetto *reader)
{
    for (uint32_t i = 0; i < reader->track_count; i++) {
        struct nvt_perfetto_track *track = &reader->tracks[i];
        if (!track->is_unordered)
            continue;
        reader->early_count -= track->early != 0;
        reader->without_begin -= track->lost;
        track->early = 0;
        track->lost = 0;
        track->open = NVT_NONE;
    }
}

int nvt_perfetto_pair_anew(struct nvt_perfetto *reader)
{
    const struct nvt_perfetto_slice **sorted = NULL;
    size_t count = 0;
    int status = 0;
    if (!reader->has_unordered)
        return 0;
    sorted = malloc(reader->slice_count * sizeof(*sorted));
    if (!sorted)
        return nvt_kineto_no_memory(&reader->kineto);
    recount(reader);
    for (uint32_t i = 0; i < reader->slice_count; i++) {
        struct nvt_perfetto_slice *slice = &reader->slices[i];
        if (!reader->tracks[slice->track].is_unordered)
            continue;
        if (slice->begins)
            reopen(reader, slice);
        sorted[count++] = slice;
    }
    qsort(sorted, count, sizeof(const struct nvt_perfetto_slice *), by_track_and_time);
    for (size_t i = 0; i < count && !status; i++)
        status = pair(reader, sorted[i], (uint32_t)(sorted[i] - reader->slices) + 1);
    free((void *)sorted);
    return status ? nvt_kineto_no_memory(&reader->kineto) : 0;
}
