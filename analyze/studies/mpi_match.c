#include "mpi_match.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/mpi_payload.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"

/* A source, or a tag, that a receive does not name; tags and ranks are none below zero. */
#define ANY (-1)
/* So many times streams are compared with what receives ask for; where that is not enough, none is known. */
#define MOST_COMPARED (UINT64_C(1) << 24)

/* One side of a message. */
struct half {
    uint32_t call;
    uint32_t next; /* of its stream, NVT_NONE: none */
};

/* Sends, or receives, in the order of their calls. */
struct side {
    uint32_t first, last, count; /* halves; how many move a message */
    uint32_t thread;
};

struct stream {
    uint32_t source, target;
    int32_t tag;
    uint8_t communicator;
    uint32_t next; /* to the same target */
    struct side sends, receives;
    uint8_t is_any, is_threaded;
};

/* What receives ask for that do not say all of it. */
struct pattern {
    uint32_t target;
    int32_t source, tag; /* or ANY */
    uint8_t communicator;
    uint32_t stream;    /* the only one that it may be of, or NVT_NONE */
    uint8_t is_unknown; /* it may as well be of none */
};

struct match {
    const struct nvt_mpi_job *job;
    struct nvt_map pairs; /* communicator << 56 | source + 1 << 28 | target -> its number */
    uint32_t pair_count;
    struct nvt_map by_tag; /* number of the pair << 32 | tag -> stream */
    struct nvt_map by_pattern;
    struct stream *streams;
    struct pattern *patterns;
    struct half *halves;
    uint32_t stream_count, pattern_count, half_count;
    uint32_t *to; /* of each rank: the last stream to it, NVT_NONE: none */
    struct nvt_mpi_messages *messages;
};

/* --- streams ------------------------------------------------------------------------------------ */

/* Where what is of a source, a target and a tag is kept in a map of pairs' numbers and tags; NULL when out of memory. */
static uint32_t *place_of(struct match *match, struct nvt_map *map, uint8_t communicator,
                          uint32_t source, uint32_t target, int32_t tag)
{
    const uint32_t pair = nvt_map_number(
        &match->pairs, (uint64_t)communicator << 56 | (uint64_t)(source + 1) << 28 | target,
        &match->pair_count);
    return pair == NVT_MAP_NONE ? NULL : nvt_map_at(map, (uint64_t)pair << 32 | (uint32_t)tag);
}

static struct stream *new_stream(struct match *match, uint8_t communicator, uint32_t source,
                                 uint32_t target, int32_t tag)
{
    static const struct side empty = {.first = NVT_NONE, .last = NVT_NONE};
    if (nvt_grow(&match->streams, match->stream_count, sizeof(*match->streams)))
        return NULL;
    match->streams[match->stream_count] = (struct stream){.source = source,
                                                          .target = target,
                                                          .tag = tag,
                                                          .communicator = communicator,
                                                          .next = match->to[target],
                                                          .sends = empty,
                                                          .receives = empty};
    match->to[target] = match->stream_count;
    return &match->streams[match->stream_count++];
}

/* Append a call to a side of a stream. 0, or -1 when out of memory. */
static int append(struct match *match, struct stream *stream, struct side *side, uint32_t call,
                  uint32_t thread, int looks)
{
    if (match->half_count >= NVT_NONE - 1 ||
        nvt_grow(&match->halves, match->half_count, sizeof(*match->halves)))
        return -1;
    uint32_t at = match->half_count++;
    match->halves[at] = (struct half){call, NVT_NONE};
    if (side->last == NVT_NONE) {
        side->first = at;
        side->thread = thread;
    } else {
        match->halves[side->last].next = at;
    }
    side->last = at;
    side->count += !looks;
    stream->is_threaded |= side->thread != thread;
    return 0;
}

/* The rank that a call is of, where it is a message's on a communicator that is known; NVT_NONE: it is none. */
static uint32_t rank_of(const struct nvt_mpi_file *file, uint32_t call)
{
    const struct nvt_trace *trace = file->from->trace;
    uint32_t rank = file->rank_of[trace->threads.process[trace->mpi_calls.thread[call]]];
    enum nvt_mpi_role role = file->does[call].role;
    if (rank == NVT_NONE || role < NVT_MPI_DOES_SENDS || role > NVT_MPI_DOES_BOTH)
        return NVT_NONE;
    return file->does[call].communicator == NVT_MPI_OTHER_ONE ? NVT_NONE : rank;
}

/* 0, or -1 when out of memory. */
static int add_send(struct match *match, const struct nvt_mpi_file *file, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &file->from->trace->mpi_calls;
    uint32_t rank = rank_of(file, call);
    int32_t to = calls->peer[call];
    if (rank == NVT_NONE || file->does[call].role == NVT_MPI_DOES_RECEIVES ||
        (to < 0 && to != NVT_MPI_NONE))
        return 0;
    if (to < 0 || (uint32_t)to >= match->job->count) {
        match->messages->unmatched.alone++;
        return 0;
    }
    const uint8_t communicator = file->does[call].communicator;
    uint32_t *at =
        place_of(match, &match->by_tag, communicator, rank, (uint32_t)to, calls->tag[call]);
    if (!at)
        return -1;
    struct stream *stream = *at != NVT_MAP_NONE ? &match->streams[*at] : NULL;
    if (!stream) {
        *at = match->stream_count;
        stream = new_stream(match, communicator, rank, (uint32_t)to, calls->tag[call]);
    }
    return stream ? append(match, stream, &stream->sends, call, calls->thread[call], 0) : -1;
}

/* --- receives of any rank or tag ---------------------------------------------------------------- */

/* What a receive asks for; 0: there is nothing that it would get. */
static int asks_for(const struct nvt_mpi_file *file, uint32_t call, struct pattern *pattern)
{
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    pattern->communicator = file->does[call].communicator;
    if (file->does[call].role == NVT_MPI_DOES_BOTH) {
        pattern->source = pattern->tag = ANY;
        /* It receives nothing, or from nobody. */
        pattern->is_unknown = calls->received[call] == 0;
        return 1;
    }
    pattern->source = calls->peer[call] >= 0 ? calls->peer[call] : ANY;
    pattern->tag = calls->tag[call] >= 0 ? calls->tag[call] : ANY;
    if (trace->tells_mpi_peers && calls->peer[call] == NVT_MPI_NOBODY)
        return 0;
    pattern->is_unknown =
        calls->peer[call] < 0 && !(trace->tells_mpi_peers && calls->peer[call] == NVT_MPI_ANYBODY);
    return 1;
}

/* Whether it asks for what a rank sends that is not there. */
static int is_of_nobody(const struct match *match, const struct pattern *pattern)
{
    return pattern->source != ANY && (uint32_t)pattern->source >= match->job->count;
}

static int says_all(const struct pattern *pattern)
{
    return pattern->source != ANY && pattern->tag != ANY;
}

/* Where the row of a pattern is kept; NULL when out of memory. */
static uint32_t *row_of(struct match *match, const struct pattern *pattern)
{
    return place_of(match, &match->by_pattern, pattern->communicator, (uint32_t)pattern->source,
                    pattern->target, pattern->tag);
}

/* 0, or -1 when out of memory. */
static int add_pattern(struct match *match, const struct nvt_mpi_file *file, uint32_t call)
{
    struct pattern pattern = {.target = rank_of(file, call), .stream = NVT_NONE};
    if (pattern.target == NVT_NONE || file->does[call].role == NVT_MPI_DOES_SENDS ||
        !asks_for(file, call, &pattern) || says_all(&pattern) || is_of_nobody(match, &pattern))
        return 0;
    uint32_t *at = row_of(match, &pattern);
    if (!at)
        return -1;
    if (*at != NVT_MAP_NONE) {
        match->patterns[*at].is_unknown |= pattern.is_unknown;
        return 0;
    }
    if (nvt_grow(&match->patterns, match->pattern_count, sizeof(*match->patterns)))
        return -1;
    *at = match->pattern_count;
    match->patterns[match->pattern_count++] = pattern;
    return 0;
}

static int may_be_of(const struct pattern *pattern, const struct stream *stream)
{
    return pattern->communicator == stream->communicator &&
           (pattern->source == ANY || (uint32_t)pattern->source == stream->source) &&
           (pattern->tag == ANY || pattern->tag == stream->tag);
}

/* Leave all streams out that a pattern may be of. */
static void leave_out(struct match *match, struct pattern *pattern)
{
    pattern->stream = NVT_NONE;
    for (uint32_t k = match->to[pattern->target]; k != NVT_NONE; k = match->streams[k].next)
        match->streams[k].is_any |= may_be_of(pattern, &match->streams[k]) != 0;
}

/* Find the stream that each pattern is of; of more than one, all are left out. Where there are too many, all streams are. */
static void resolve(struct match *match)
{
    uint64_t compared = 0;
    for (uint32_t i = 0; i < match->pattern_count && compared < MOST_COMPARED; i++) {
        struct pattern *pattern = &match->patterns[i];
        uint32_t found = 0;
        for (uint32_t k = match->to[pattern->target]; k != NVT_NONE; k = match->streams[k].next) {
            compared += 2;
            if (may_be_of(pattern, &match->streams[k])) {
                pattern->stream = k;
                found++;
            }
        }
        if (found > 1 || pattern->is_unknown)
            leave_out(match, pattern);
    }
    for (uint32_t i = 0; i < match->stream_count && compared >= MOST_COMPARED; i++)
        match->streams[i].is_any = 1;
}

/* 0, or -1 when out of memory. */
static int add_receive(struct match *match, const struct nvt_mpi_file *file, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &file->from->trace->mpi_calls;
    struct pattern pattern = {.target = rank_of(file, call)};
    uint32_t stream = NVT_NONE;
    if (pattern.target == NVT_NONE || file->does[call].role == NVT_MPI_DOES_SENDS ||
        !asks_for(file, call, &pattern))
        return 0;
    if (is_of_nobody(match, &pattern)) {
        match->messages->unmatched.alone++;
        return 0;
    }
    const int all = says_all(&pattern);
    uint32_t *at = !all ? row_of(match, &pattern)
                        : place_of(match, &match->by_tag, pattern.communicator,
                                   (uint32_t)pattern.source, pattern.target, pattern.tag);
    if (!at)
        return -1;
    if (*at != NVT_MAP_NONE)
        stream = all ? *at : match->patterns[*at].stream;
    if (stream == NVT_NONE) {
        match->messages->unmatched.alone += all != 0;
        match->messages->unmatched.any += !all;
        return 0;
    }
    return append(match, &match->streams[stream], &match->streams[stream].receives, call,
                  calls->thread[call], file->does[call].flags & NVT_MPI_LOOKS);
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Whether a receive that says when it is done is done before its send begins. */
static int is_impossible(const struct match *match, const struct nvt_mpi_message *message)
{
    const struct nvt_mpi_file *file = nvt_mpi_file_of(match->job, message->target);
    const struct nvt_mpi_calls *receives = &file->from->trace->mpi_calls;
    int64_t sent =
        nvt_mpi_time(match->job, message->source, message->target,
                     nvt_mpi_trace(match->job, message->source)->mpi_calls.start[message->send]);
    return !(file->does[message->receive].flags & NVT_MPI_LATER) &&
           !(receives->flags[message->receive] & NVT_RANGE_PARTIAL) &&
           receives->end[message->receive] < sent - NVT_MPI_APART_NS;
}

/* Why a stream is left out: where to count it; NULL: it is not. */
static uint64_t *reason_of(struct match *match, const struct stream *stream)
{
    struct nvt_mpi_unmatched *unmatched = &match->messages->unmatched;
    const struct nvt_mpi_rank *ranks = match->job->ranks;
    if (stream->is_any)
        return &unmatched->any;
    if (stream->is_threaded)
        return &unmatched->threads;
    if (stream->sends.count != stream->receives.count &&
        !(!stream->communicator && ranks[stream->source].is_whole &&
          ranks[stream->target].is_whole))
        return &unmatched->uneven;
    return NULL;
}

/* 0, or -1 when out of memory. */
static int pair_up(struct match *match, const struct stream *stream)
{
    struct nvt_mpi_messages *messages = match->messages;
    const struct nvt_mpi_file *file = nvt_mpi_file_of(match->job, stream->target);
    uint64_t both = (uint64_t)stream->sends.count + stream->receives.count, matched = 0;
    uint64_t *reason = reason_of(match, stream);
    size_t before = messages->count;
    uint32_t send = stream->sends.first;
    if (reason) {
        *reason += both;
        return 0;
    }
    for (uint32_t i = stream->receives.first; i != NVT_NONE && send != NVT_NONE;
         i = match->halves[i].next) {
        struct nvt_mpi_message message = {stream->source, stream->target, match->halves[send].call,
                                          match->halves[i].call};
        if (is_impossible(match, &message)) {
            messages->count = before;
            messages->unmatched.impossible += both;
            return 0;
        }
        if (nvt_grow(&messages->items, messages->count, sizeof(*messages->items)))
            return -1;
        messages->items[messages->count++] = message;
        if (file->does[message.receive].flags & NVT_MPI_LOOKS)
            continue;
        send = match->halves[send].next;
        matched += 2;
    }
    messages->unmatched.alone += both - matched;
    return 0;
}

static int by_receive(const void *left, const void *right)
{
    const struct nvt_mpi_message *a = left, *b = right;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return (a->receive > b->receive) - (a->receive < b->receive);
}

/* Call `add` for each call of all files. */
static int for_each(struct match *match,
                    int (*add)(struct match *match, const struct nvt_mpi_file *file, uint32_t call))
{
    for (size_t i = 0; i < match->job->file_count; i++)
        for (uint32_t k = 0; k < match->job->files[i].from->trace->mpi_calls.count; k++)
            if (add(match, &match->job->files[i], k))
                return -1;
    return 0;
}

static int count_others(struct match *match, const struct nvt_mpi_file *file, uint32_t call)
{
    const struct nvt_trace *trace = file->from->trace;
    uint32_t rank = file->rank_of[trace->threads.process[trace->mpi_calls.thread[call]]];
    enum nvt_mpi_role role = file->does[call].role;
    match->messages->unmatched.others += rank != NVT_NONE && role >= NVT_MPI_DOES_SENDS &&
                                         role <= NVT_MPI_DOES_BOTH &&
                                         file->does[call].communicator == NVT_MPI_OTHER_ONE;
    return 0;
}

int nvt_mpi_match(struct nvt_mpi_messages *messages, const struct nvt_mpi_job *job,
                  struct nvt_error *err)
{
    struct match match = {.job = job, .messages = messages};
    match.to = malloc(((size_t)job->count + 1) * sizeof(*match.to));
    int failed = 1;
    if (!match.to)
        goto out;
    for (uint32_t i = 0; i < job->count; i++)
        match.to[i] = NVT_NONE;
    if (for_each(&match, count_others) || for_each(&match, add_send) ||
        for_each(&match, add_pattern))
        goto out;
    resolve(&match);
    if (for_each(&match, add_receive))
        goto out;
    for (uint32_t i = 0; i < match.stream_count; i++)
        if (pair_up(&match, &match.streams[i]))
            goto out;
    if (messages->count)
        qsort(messages->items, messages->count, sizeof(*messages->items), by_receive);
    failed = 0;
out:
    nvt_map_free(&match.pairs);
    nvt_map_free(&match.by_tag);
    nvt_map_free(&match.by_pattern);
    free(match.streams);
    free(match.patterns);
    free(match.halves);
    free(match.to);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

void nvt_mpi_messages_free(struct nvt_mpi_messages *messages)
{
    free(messages->items);
    *messages = (struct nvt_mpi_messages){0};
}
