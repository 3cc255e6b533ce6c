#include "retain.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/clock.h"
#include "../lib/grow.h"
#include "cut.h"

#define LEAST_BYTES  (1u << 20)  /* a shorter file is left as it is */
#define CHUNKS_KEPT  16          /* of a size to be kept, so many at least */
#define SLICE_NS     2000000     /* of work, where it gets on; */
#define SLICE_MOST   64000000    /* and where it falls behind */
#define NEXT_LOOK_NS 100000000   /* whether it is time to cut */
#define RETRY_NS     10000000000 /* behind a failure */

/* A chunk of events or device records in the file. */
struct entry {
    uint64_t last; /* ticks */
    uint64_t bytes;
};

struct nvt_retain {
    struct nvt_retain_limits limits;
    struct entry *entries; /* in the order of the file */
    size_t count;
    uint64_t total; /* bytes of all of them */
    int unknown;    /* there was no memory for some */
    struct nvt_cut *cut;
    uint64_t ticks; /* where it is */
    uint64_t left;  /* what there was still to do at the last step */
    int64_t slice_ns, next_look;
    uint64_t cuts;
    struct nvt_error error; /* the first since a cut went well */
};

struct nvt_retain *nvt_retain_new(const struct nvt_retain_limits *limits)
{
    struct nvt_retain *retain = calloc(1, sizeof(*retain));
    if (!retain)
        return NULL;
    retain->limits = *limits;
    retain->slice_ns = SLICE_NS;
    retain->error = (struct nvt_error)NVT_ERROR_INIT;
    return retain;
}

void nvt_retain_free(struct nvt_retain *retain)
{
    if (!retain)
        return;
    nvt_cut_free(retain->cut);
    free(retain->entries);
    free(retain);
}

uint64_t nvt_retain_chunk_bytes(const struct nvt_retain *retain)
{
    return retain->limits.bytes ? retain->limits.bytes / CHUNKS_KEPT : UINT64_MAX;
}

static void note_error(struct nvt_retain *retain, const struct nvt_error *err)
{
    if (!retain->error.message[0])
        retain->error = *err;
}

void nvt_retain_note(struct nvt_retain *retain, const struct nvt_chunk *chunk, uint64_t bytes)
{
    if (chunk->kind != NVT_CHUNK_EVENTS && chunk->kind != NVT_CHUNK_DEVICE &&
        chunk->kind != NVT_CHUNK_DEVICE_COLUMNS && chunk->kind != NVT_CHUNK_MACHINE &&
        chunk->kind != NVT_CHUNK_OS_CALLS && chunk->kind != NVT_CHUNK_CPU_SAMPLES)
        return;
    if (nvt_grow(&retain->entries, retain->count, sizeof(*retain->entries))) {
        retain->unknown = 1;
        return;
    }
    retain->entries[retain->count++] = (struct entry){chunk->last, bytes};
    retain->total += bytes;
}

/* --- where to cut ------------------------------------------------------------------------------------ */

/* The moment since which there are as many bytes as are to be kept. The last chunk is, however long: without it there
 * would be nothing. */
static uint64_t ticks_by_size(const struct nvt_retain *retain)
{
    uint64_t bytes = 0;
    for (size_t i = retain->count; i-- > 0;) {
        bytes += retain->entries[i].bytes;
        if (bytes > retain->limits.bytes && i + 1 < retain->count)
            return retain->entries[i].last + 1;
    }
    return 0;
}

static uint64_t ticks_by_age(const struct nvt_retain *retain, const struct nvt_retain_time *time)
{
    double age = (double)retain->limits.age_ns * time->ticks_per_ns;
    return age < (double)time->ticks ? time->ticks - (uint64_t)age : 0;
}

static uint64_t ticks_of(const struct nvt_retain *retain, const struct nvt_retain_time *time)
{
    uint64_t by_size = retain->limits.bytes ? ticks_by_size(retain) : 0;
    uint64_t by_age = retain->limits.age_ns ? ticks_by_age(retain, time) : 0;
    return by_size > by_age ? by_size : by_age;
}

/* Bytes of the file that would be cut off. */
static uint64_t bytes_before(const struct nvt_retain *retain, uint64_t ticks)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < retain->count; i++)
        if (retain->entries[i].last < ticks)
            bytes += retain->entries[i].bytes;
    return bytes;
}

/* --- cutting ----------------------------------------------------------------------------------------- */

static void forget_before(struct nvt_retain *retain, uint64_t ticks)
{
    size_t kept = 0;
    retain->total = 0;
    for (size_t i = 0; i < retain->count; i++)
        if (retain->entries[i].last >= ticks) {
            retain->total += retain->entries[i].bytes;
            retain->entries[kept++] = retain->entries[i];
        }
    retain->count = kept;
}

static void give_up(struct nvt_retain *retain, const struct nvt_error *err)
{
    note_error(retain, err);
    nvt_cut_free(retain->cut);
    retain->cut = NULL;
    retain->next_look = nvt_monotonic_ns() + RETRY_NS;
}

/* Whether there is more to do. */
static int go_on(struct nvt_retain *retain, struct nvt_trace_writer *writer, int64_t until_ns)
{
    struct nvt_error err = NVT_ERROR_INIT;
    int status = nvt_cut_go(retain->cut, writer, until_ns, &err);
    if (status > 0)
        return 1;
    if (status < 0 || nvt_cut_take_over(retain->cut, writer, &err)) {
        give_up(retain, &err);
        return 0;
    }
    nvt_cut_free(retain->cut);
    retain->cut = NULL;
    retain->cuts++;
    retain->error.message[0] = 0; /* what failed before has been made up for */
    forget_before(retain, retain->ticks);
    return 0;
}

/* `least`: bytes for which it is worth the while. */
static void begin(struct nvt_retain *retain, const struct nvt_trace_writer *writer,
                  const struct nvt_retain_time *time, uint64_t least)
{
    struct nvt_error err = NVT_ERROR_INIT;
    uint64_t ticks = ticks_of(retain, time), bytes = bytes_before(retain, ticks);
    if (!nvt_trace_writer_has_begun(writer) || bytes < least || bytes < retain->total - bytes)
        return;
    retain->cut = nvt_cut_begin(writer, ticks, &err);
    retain->ticks = ticks;
    retain->left = UINT64_MAX;
    retain->slice_ns = SLICE_NS;
    if (!retain->cut)
        give_up(retain, &err);
}

int nvt_retain_step(struct nvt_retain *retain, struct nvt_trace_writer *writer,
                    const struct nvt_retain_time *time)
{
    int64_t now = nvt_monotonic_ns();
    if (!retain->cut && now >= retain->next_look) {
        retain->next_look = now + NEXT_LOOK_NS;
        begin(retain, writer, time, LEAST_BYTES);
    }
    if (!retain->cut)
        return 0;
    /* It has to be faster than what is written meanwhile. */
    uint64_t left = nvt_cut_left(retain->cut, writer);
    if (left < retain->left)
        retain->slice_ns = SLICE_NS;
    else if (retain->slice_ns < SLICE_MOST)
        retain->slice_ns *= 2;
    retain->left = left;
    return go_on(retain, writer, now + retain->slice_ns);
}

int64_t nvt_retain_age(const struct nvt_retain *retain)
{
    return retain->limits.age_ns;
}

uint64_t nvt_retain_cuts(const struct nvt_retain *retain)
{
    return retain->cuts;
}

int nvt_retain_finish(struct nvt_retain *retain, struct nvt_trace_writer *writer,
                      const struct nvt_retain_time *time, struct nvt_error *err)
{
    if (retain->cut)
        go_on(retain, writer, INT64_MAX);
    uint64_t ticks = ticks_of(retain, time);
    struct nvt_error own = NVT_ERROR_INIT;
    if (nvt_trace_writer_has_begun(writer) && (retain->unknown || bytes_before(retain, ticks))) {
        retain->ticks = ticks;
        retain->cut = nvt_cut_begin(writer, ticks, &own);
        if (retain->cut)
            go_on(retain, writer, INT64_MAX);
        else
            note_error(retain, &own);
    }
    if (!retain->error.message[0])
        return 0;
    *err = retain->error;
    return -1;
}
