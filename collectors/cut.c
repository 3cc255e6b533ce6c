#include "cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/keep_file.h"
#include "cut_state.h"

/* Moments with which the time axis begins: these stay. */
#define FIRST_MOMENTS 2
/* And the last ones before the cut. Chunks that stay may begin before it by the 100 ms after which each is written; there is
 * a moment every second, so one of the two is before all that stays. */
#define LAST_MOMENTS 2

struct moment {
    struct nvt_chunk chunk;
    struct nvt_buffer row;
};

struct nvt_cut {
    struct nvt_trace_file *from;
    struct nvt_trace_writer *to;
    struct nvt_keep_names names; /* of the file, and of the new one */
    uint64_t ticks;
    struct nvt_cut_state *state;
    struct nvt_chunk_memory memory;
    /* Before `ticks`, the older one first; empty: none, or written. */
    struct moment last[LAST_MOMENTS];
    uint32_t moments;
    uint64_t strings; /* that are in the new file */
};

/* What says where the cut is stands first. */
static int open_file(struct nvt_cut *cut, struct nvt_error *err)
{
    const struct nvt_chunk chunk = {.kind = NVT_CHUNK_CUT,
                                    .process = NVT_NO_INDEX,
                                    .thread = NVT_NO_INDEX,
                                    .first = cut->ticks,
                                    .last = cut->ticks};
    cut->to = nvt_trace_writer_new(cut->names.fresh, 1, err);
    if (!cut->to)
        return -1;
    return cut->ticks ? nvt_trace_writer_chunk(cut->to, &chunk, "", 0, err) : 0;
}

/* A trace may have been cut, and later: that is where its copy is cut. */
static void note_cut(struct nvt_cut *cut)
{
    struct nvt_chunk first;
    if (nvt_trace_file_header(cut->from, &first, NULL) > 0 && first.kind == NVT_CHUNK_CUT &&
        first.first > cut->ticks)
        cut->ticks = first.first;
}

/* A cut of the file that has no new one yet. NULL with err. */
static struct nvt_cut *begin(const char *path, uint64_t ticks, struct nvt_error *err)
{
    struct nvt_cut *cut = calloc(1, sizeof(*cut));
    if (cut) {
        cut->ticks = ticks;
        cut->state = nvt_cut_state_new();
    }
    if (!cut || !cut->state)
        nvt_fail_at(err, path, -1, "out of memory");
    else
        cut->from = nvt_trace_file_open(path, err);
    if (cut && cut->from) {
        note_cut(cut);
        return cut;
    }
    nvt_cut_free(cut);
    return NULL;
}

struct nvt_cut *nvt_cut_begin(const struct nvt_trace_writer *writer, uint64_t ticks,
                              struct nvt_error *err)
{
    const char *path = nvt_trace_writer_path(writer);
    struct nvt_cut *cut = begin(path, ticks, err);
    if (cut && !nvt_keep_names(path, &cut->names, err) && !open_file(cut, err))
        return cut;
    nvt_cut_free(cut);
    return NULL;
}

void nvt_cut_free(struct nvt_cut *cut)
{
    if (!cut)
        return;
    if (cut->to) {
        unlink(cut->names.fresh);
        nvt_trace_writer_close(cut->to, NULL);
    }
    nvt_trace_file_close(cut->from);
    nvt_cut_state_free(cut->state);
    nvt_chunk_memory_free(&cut->memory);
    for (int i = 0; i < LAST_MOMENTS; i++)
        nvt_buffer_free(&cut->last[i].row);
    free(cut);
}

/* --- chunks ------------------------------------------------------------------------------------------- */

static int put_carried(void *context, const struct nvt_chunk *chunk, const void *payload,
                       size_t size)
{
    struct nvt_cut *cut = context;
    return nvt_trace_writer_chunk(cut->to, chunk, payload, size, NULL);
}

static int load(struct nvt_cut *cut, const struct nvt_chunk *chunk, const uint8_t **payload,
                struct nvt_error *err)
{
    return nvt_trace_file_load(cut->from, nvt_trace_file_offset(cut->from), chunk, &cut->memory,
                               payload, err);
}

/* The chunk as it is; packed in another way where readers would refuse it here. */
static int copy(struct nvt_cut *cut, const struct nvt_chunk *chunk, struct nvt_error *err)
{
    const uint8_t *payload;
    if (nvt_trace_file_stored(cut->from, nvt_trace_file_offset(cut->from), chunk, &cut->memory,
                              err))
        return -1;
    int status = nvt_trace_writer_copy(cut->to, chunk, &cut->memory.stored, err);
    if (status <= 0)
        return status;
    return load(cut, chunk, &payload, err) ||
                   nvt_trace_writer_chunk(cut->to, chunk, payload, chunk->raw_size, err)
               ? -1
               : 0;
}

/* What is cut off. */
static int take_state(struct nvt_cut *cut, const struct nvt_chunk *chunk, struct nvt_error *err)
{
    const uint8_t *payload;
    if (load(cut, chunk, &payload, err))
        return -1;
    return nvt_cut_state_take(cut->state, chunk, payload)
               ? nvt_fail_at(err, cut->names.fresh, -1, "out of memory, or a chunk is malformed")
               : 0;
}

/* Events and device records: cut off, or kept with what comes before the first that is. */
static int take_bulk(struct nvt_cut *cut, const struct nvt_chunk *chunk, struct nvt_error *err)
{
    int is_carried = chunk->flags & NVT_CHUNK_CARRIED;
    if (!is_carried && (chunk->last >= cut->ticks || nvt_cut_state_is_given(cut->state, chunk))) {
        if (nvt_cut_state_give(cut->state, chunk, put_carried, cut))
            return nvt_fail_at(err, cut->names.fresh, -1,
                               "what was open at the cut cannot be written");
        return copy(cut, chunk, err);
    }
    return take_state(cut, chunk, err);
}

static int write_moments(struct nvt_cut *cut, struct nvt_error *err)
{
    int status = 0;
    for (struct moment *moment = cut->last; moment < cut->last + LAST_MOMENTS; moment++) {
        if (moment->row.size && !status)
            status = nvt_trace_writer_chunk(cut->to, &moment->chunk, moment->row.data,
                                            moment->row.size, err);
        moment->row.size = 0;
    }
    return status;
}

/* Of the moments before the cut the first ones and the last ones stay. */
static int take_moment(struct nvt_cut *cut, const struct nvt_chunk *chunk, struct nvt_error *err)
{
    const uint8_t *payload;
    struct moment oldest = cut->last[0], *latest = &cut->last[LAST_MOMENTS - 1];
    if (cut->moments++ < FIRST_MOMENTS)
        return copy(cut, chunk, err);
    if (chunk->last >= cut->ticks)
        return write_moments(cut, err) || copy(cut, chunk, err) ? -1 : 0;
    memmove(&cut->last[0], &cut->last[1], (LAST_MOMENTS - 1) * sizeof(cut->last[0]));
    latest->chunk = *chunk;
    latest->row = oldest.row;
    latest->row.size = 0;
    if (load(cut, chunk, &payload, err))
        return -1;
    return nvt_buffer_append(&latest->row, payload, chunk->raw_size)
               ? nvt_fail_at(err, cut->names.fresh, -1, "out of memory")
               : 0;
}

static int take(struct nvt_cut *cut, const struct nvt_chunk *chunk, struct nvt_error *err)
{
    switch (chunk->kind) {
    case NVT_CHUNK_STRINGS:
        cut->strings = chunk->first + chunk->count;
        return copy(cut, chunk, err);
    case NVT_CHUNK_EVENTS:
    case NVT_CHUNK_DEVICE:
    case NVT_CHUNK_DEVICE_COLUMNS:
        return take_bulk(cut, chunk, err);
    case NVT_CHUNK_MACHINE:
    case NVT_CHUNK_OS_CALLS:
    case NVT_CHUNK_CPU_SAMPLES:
    case NVT_CHUNK_LOOK:
        return chunk->last < cut->ticks ? 0 : copy(cut, chunk, err);
    case NVT_CHUNK_CLOCK:
        return take_moment(cut, chunk, err);
    case NVT_CHUNK_PACE: /* of a cut before; that of this one adds to it */
        return take_state(cut, chunk, err);
    case NVT_CHUNK_CUT: /* there is one that cuts more */
        return 0;
    case NVT_CHUNK_THREAD_END:
        if (chunk->last < cut->ticks && nvt_cut_state_thread_ended(cut->state, chunk->thread))
            return nvt_fail_at(err, cut->names.fresh, -1, "out of memory");
        return copy(cut, chunk, err);
    default:
        return copy(cut, chunk, err);
    }
}

/* --- the whole ---------------------------------------------------------------------------------------- */

/* Go on to the end of so many bytes, or to that moment: nvt_cut_go. */
static int go(struct nvt_cut *cut, int64_t bytes, int64_t until_ns, struct nvt_error *err)
{
    struct nvt_chunk chunk;
    nvt_trace_file_grow(cut->from, bytes);
    for (;;) {
        int status = nvt_trace_file_header(cut->from, &chunk, err);
        if (status <= 0)
            return status;
        if (take(cut, &chunk, err))
            return -1;
        nvt_trace_file_skip(cut->from, &chunk);
        if (nvt_monotonic_ns() >= until_ns)
            return 1;
    }
}

int nvt_cut_go(struct nvt_cut *cut, const struct nvt_trace_writer *writer, int64_t until_ns,
               struct nvt_error *err)
{
    return go(cut, (int64_t)nvt_trace_writer_size(writer), until_ns, err);
}

uint64_t nvt_cut_left(const struct nvt_cut *cut, const struct nvt_trace_writer *writer)
{
    return nvt_trace_writer_size(writer) - (uint64_t)nvt_trace_file_offset(cut->from);
}

/* What is written when all chunks have been looked at. 0, or -1 with err. */
static int complete(struct nvt_cut *cut, struct nvt_error *err)
{
    if (nvt_cut_state_give_all(cut->state, put_carried, cut))
        return nvt_fail_at(err, cut->names.fresh, -1, "what was open at the cut cannot be written");
    return write_moments(cut, err);
}

int nvt_cut_take_over(struct nvt_cut *cut, struct nvt_trace_writer *writer, struct nvt_error *err)
{
    if (complete(cut, err) || nvt_trace_writer_replace(writer, cut->to, err))
        return -1;
    cut->to = NULL;
    return 0;
}

/* --- a copy ------------------------------------------------------------------------------------------- */

/* A fact, which replaces one of that name. 0, or -1 with err. */
static int write_fact(struct nvt_cut *cut, const char *name, const char *value,
                      struct nvt_error *err)
{
    struct nvt_buffer texts = {0}, row = {0};
    struct nvt_chunk strings = {.kind = NVT_CHUNK_STRINGS,
                                .process = NVT_NO_INDEX,
                                .thread = NVT_NO_INDEX,
                                .count = 2,
                                .first = cut->strings};
    struct nvt_chunk fact = strings;
    fact.kind = NVT_CHUNK_META;
    fact.count = 1;
    fact.first = 0;
    const size_t size = strlen(name), length = strlen(value);
    int status =
        nvt_buffer_varint(&texts, size) || nvt_buffer_append(&texts, name, size) ||
                nvt_buffer_varint(&texts, length) || nvt_buffer_append(&texts, value, length) ||
                nvt_buffer_varint(&row, cut->strings) || nvt_buffer_varint(&row, cut->strings + 1)
            ? nvt_fail(err, "out of memory")
            : 0;
    if (!status && (nvt_trace_writer_chunk(cut->to, &strings, texts.data, texts.size, err) ||
                    nvt_trace_writer_chunk(cut->to, &fact, row.data, row.size, err)))
        status = -1;
    cut->strings += 2;
    nvt_buffer_free(&texts);
    nvt_buffer_free(&row);
    return status;
}

int nvt_cut_copy(const char *from, int64_t bytes, uint64_t ticks, const char *kept, const char *to,
                 struct nvt_error *err)
{
    struct nvt_cut *cut = begin(from, ticks, err);
    if (!cut)
        return -1;
    snprintf(cut->names.fresh, sizeof(cut->names.fresh), "%s", to);
    int status = open_file(cut, err);
    if (!status)
        status = go(cut, bytes, INT64_MAX, err);
    if (!status)
        status = complete(cut, err);
    if (!status)
        status = write_fact(cut, "copy", "of a recording that went on", err);
    if (!status && kept && cut->ticks == ticks)
        status = write_fact(cut, "kept", kept, err);
    if (!status) {
        status = nvt_trace_writer_close(cut->to, err);
        cut->to = NULL;
    }
    nvt_cut_free(cut);
    return status;
}
