/*
 * Events that begin and end: which end is of which beginning.
 *
 * Events "do not have to be in timestamp-sorted order" (Trace Event Format), and Perfetto's importer sorts them by time, stable in
 * the order of the file, before it pairs them. Here they are paired as they come, which is the same where the events of a thread or
 * an asynchronous id are in order; those of one that has an event before its last one are paired anew at the end. That needs them all,
 * 24 bytes each, and few files are out of order: they are kept when such a file is read once more.
 */
#include "kineto.h"

#include <stdlib.h>

#include "../../lib/grow.h"

void nvt_kineto_seen(struct nvt_kineto *reader, uint32_t thread, int64_t time)
{
    struct nvt_threads *threads = &reader->trace->threads;
    if (!threads->events[thread]++ || time > threads->last_ns[thread])
        threads->last_ns[thread] = time;
}

/* Note an event for the case that its owner's are not in order. 0, or -1 as of nvt_kineto_begin. */
static int note(struct nvt_kineto *reader, uint32_t owner, const struct nvt_kineto_pair *pair)
{
    struct nvt_kineto_owner *of = &reader->owners[owner];
    of->is_unordered |= pair->time < of->last;
    reader->has_unordered |= of->is_unordered;
    of->last = pair->time;
    if (!reader->keeps_pairs)
        return reader->has_unordered ? -1 : 0;
    if (nvt_grow(&reader->pairs, reader->pair_count, sizeof(*reader->pairs)))
        return -1;
    reader->pairs[reader->pair_count++] = *pair;
    return 0;
}

/* Take the open range that an end is of out of the chain of an owner: the innermost one, or that of its name. NVT_NONE: none is open. */
static uint32_t take_open(struct nvt_kineto *reader, const struct nvt_kineto_pair *end)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    uint32_t *link = &reader->owners[end->owner].open;
    while (end->name && *link != NVT_NONE && ranges->name[*link] != end->name)
        link = &ranges->parent[*link];
    const uint32_t row = *link;
    if (row != NVT_NONE)
        *link = ranges->parent[row];
    return row;
}

/* On the thread that the end is of, or where that has nothing else, the one of the beginning. */
static void end_range(struct nvt_kineto *reader, uint32_t row, uint32_t thread, int64_t time)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    ranges->end[row] = time;
    ranges->end_thread[row] = thread == NVT_NONE ? ranges->thread[row] : thread;
    ranges->flags[row] &= (uint8_t)~NVT_RANGE_UNCLOSED;
    nvt_kineto_seen(reader, ranges->end_thread[row], time);
}

/* Until its end is seen, a range links to the one around it through `parent`. */
static void begin_pair(struct nvt_kineto *reader, const struct nvt_kineto_pair *begin)
{
    struct nvt_kineto_owner *owner = &reader->owners[begin->owner];
    if (owner->ended && owner->ended == begin->name && owner->ended_at == begin->time) {
        owner->ended = 0;
        end_range(reader, begin->row, NVT_NONE, begin->time);
        return;
    }
    reader->trace->ranges.parent[begin->row] = owner->open;
    owner->open = begin->row;
}

/* An end without a beginning belongs to what began before the recording. */
static void forget_end(struct nvt_kineto *reader, const struct nvt_kineto_pair *end)
{
    reader->owners[end->owner].ended = end->name;
    reader->owners[end->owner].ended_at = end->time;
}

int nvt_kineto_begin(struct nvt_kineto *reader, uint32_t owner, uint32_t row)
{
    const struct nvt_kineto_pair begin = {reader->event.time, owner, row, reader->event.name,
                                          NVT_NONE};
    begin_pair(reader, &begin);
    return note(reader, owner, &begin);
}

int nvt_kineto_end(struct nvt_kineto *reader, uint32_t owner)
{
    const struct nvt_kineto_owner *process, *of_thread;
    struct nvt_kineto_owner *thread = NULL;
    struct nvt_kineto_pair end = {reader->event.time, owner, NVT_NONE, reader->event.name, 0};
    const uint32_t row = take_open(reader, &end);
    if (row == NVT_NONE && nvt_kineto_owners(reader, &process, &thread))
        return -1;
    of_thread = row == NVT_NONE ? thread : nvt_kineto_thread(reader);
    if (!of_thread)
        return -1;
    end.thread = (uint32_t)(of_thread - reader->owners);
    if (row == NVT_NONE)
        forget_end(reader, &end);
    else
        end_range(reader, row, of_thread->row, end.time);
    return note(reader, owner, &end);
}

/* --- anew --- */

static int by_owner_and_time(const void *left, const void *right)
{
    const struct nvt_kineto_pair *a = *(const struct nvt_kineto_pair *const *)left;
    const struct nvt_kineto_pair *b = *(const struct nvt_kineto_pair *const *)right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a > b) - (a < b);
}

/* A range is open again, as when it began. */
static void reopen(struct nvt_kineto *reader, uint32_t row)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    if (!(ranges->flags[row] & NVT_RANGE_UNCLOSED))
        reader->trace->threads.events[ranges->end_thread[row]]--;
    ranges->flags[row] |= NVT_RANGE_UNCLOSED;
    ranges->end[row] = ranges->start[row];
    ranges->end_thread[row] = ranges->thread[row];
    ranges->parent[row] = NVT_NONE;
}

int nvt_kineto_pair_anew(struct nvt_kineto *reader)
{
    const struct nvt_kineto_pair **sorted = NULL;
    size_t count = 0;
    if (!reader->has_unordered)
        return 0;
    sorted = malloc(reader->pair_count * sizeof(*sorted));
    if (!sorted)
        return -1;
    for (uint32_t i = 0; i < reader->pair_count; i++) {
        const struct nvt_kineto_pair *pair = &reader->pairs[i];
        struct nvt_kineto_owner *owner = &reader->owners[pair->owner];
        if (!owner->is_unordered)
            continue;
        owner->open = NVT_NONE;
        owner->ended = 0;
        if (pair->row != NVT_NONE)
            reopen(reader, pair->row);
        sorted[count++] = pair;
    }
    qsort(sorted, count, sizeof(const struct nvt_kineto_pair *), by_owner_and_time);
    for (size_t i = 0; i < count; i++) {
        const uint32_t row = sorted[i]->row == NVT_NONE ? take_open(reader, sorted[i]) : NVT_NONE;
        if (sorted[i]->row != NVT_NONE)
            begin_pair(reader, sorted[i]);
        else if (row == NVT_NONE)
            forget_end(reader, sorted[i]);
        else
            end_range(reader, row, reader->owners[sorted[i]->thread].row, sorted[i]->time);
    }
    free((void *)sorted);
    return 0;
}
