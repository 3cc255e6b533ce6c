/*
 * The chunks that a file mostly consists of, events and device rows. Chunks of device rows are
 * decoded one after the other in the order of the file, by whoever unpacked them: a thread unpacks
 * its next one while another one decodes, and what was unpacked is still near the processor that
 * wants it. Where lanes are filled there are two turns: one thread decodes the calls of a chunk while
 * another one is at the kernels of the next. Events are read by one of the threads beside it, from
 * the first to the last.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../model/parallel.h"
#include "nvt.h"
#include "nvt_device_chunk.h"

/* Helping threads, at most: unpacking is done by then. */
#define HELPERS 3

enum turn { KERNELS, CALLS, TURNS };

struct work {
    struct nvt_file_reader *reader;
    const struct nvt_trace_file *file;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    size_t next;        /* chunk of device rows that nobody has taken yet */
    size_t turn[TURNS]; /* the one that is to be decoded next */
    int events_taken;
    struct nvt_file_damage events; /* of whoever took them */
    struct nvt_file_damage rows;   /* of the first chunk that has some */
};

static void load(const struct work *work, const struct nvt_file_later *later,
                 struct nvt_chunk_memory *memory, const uint8_t **payload,
                 struct nvt_file_damage *damage)
{
    errno = 0;
    damage->number = NVT_NONE;
    if (nvt_trace_file_load(work->file, later->offset, &later->header, memory, payload,
                            &damage->err)) {
        damage->number = later->number;
        damage->no_memory = errno == ENOMEM;
    }
}

static void fail(struct nvt_file_damage *damage, const struct nvt_file_later *later)
{
    damage->number = later->number;
    damage->no_memory = errno == ENOMEM;
    damage->err.offset = later->offset;
}

/* Whether it has turned out that the file is to be read another way. */
static int events_are_in_vain(const struct work *work)
{
    return work->reader->lanes && work->reader->lanes->complex_events;
}

static int rows_are_in_vain(const struct work *work)
{
    return work->reader->lanes &&
           __atomic_load_n(&work->reader->lanes->complex_rows, __ATOMIC_RELAXED);
}

static void read_events(struct work *work)
{
    const struct nvt_file_laters *laters = &work->reader->events;
    struct nvt_chunk_memory memory = {0};
    const uint8_t *payload;
    for (size_t i = 0;
         i < laters->count && work->events.number == NVT_NONE && !events_are_in_vain(work); i++) {
        const struct nvt_file_later *later = &laters->items[i];
        load(work, later, &memory, &payload, &work->events);
        if (work->events.number == NVT_NONE &&
            nvt_file_events(work->reader, later, payload, &work->events.err))
            fail(&work->events, later);
    }
    nvt_chunk_memory_free(&memory);
}

/* Take the next chunk. Returns 0 when there is none, or none is wanted. */
static int take_rows(struct work *work, size_t *index)
{
    pthread_mutex_lock(&work->lock);
    *index = work->next++;
    int wanted = *index < work->reader->device_rows.count && work->rows.number == NVT_NONE;
    pthread_mutex_unlock(&work->lock);
    return wanted;
}

/* Chunks in front of this one have been decoded when it returns. 0: there was damage in them. */
static int wait_for_turn(struct work *work, enum turn turn, size_t index)
{
    pthread_mutex_lock(&work->lock);
    while (work->turn[turn] < index)
        pthread_cond_wait(&work->changed, &work->lock);
    int wanted = work->rows.number == NVT_NONE;
    pthread_mutex_unlock(&work->lock);
    return wanted;
}

static void end_turn(struct work *work, enum turn turn, const struct nvt_file_damage *damage)
{
    pthread_mutex_lock(&work->lock);
    if (damage->number < work->rows.number)
        work->rows = *damage;
    work->turn[turn]++;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

/* What a step of decoding came to. */
static void note_outcome(const struct work *work, const struct nvt_file_later *later, int status,
                         struct nvt_file_damage *damage)
{
    if (status) {
        nvt_fail(&damage->err, "a chunk of kind %u is malformed", later->header.kind);
        fail(damage, later);
    }
    if (rows_are_in_vain(work))
        damage->number = later->number;
}

static void decode(struct work *work, size_t index, const uint8_t *payload,
                   struct nvt_device_reading *reading, struct nvt_file_damage *damage)
{
    const struct nvt_file_later *later = &work->reader->device_rows.items[index];
    /* Kernels and calls mixed: nobody else may be at either. */
    int is_mixed = later->header.kind == NVT_CHUNK_DEVICE;
    int wanted = wait_for_turn(work, KERNELS, index);
    if (is_mixed)
        wanted = wait_for_turn(work, CALLS, index);
    errno = 0;
    if (wanted && damage->number == NVT_NONE)
        note_outcome(work, later, nvt_file_device_chunk(reading, work->reader, later, payload),
                     damage);
    end_turn(work, KERNELS, damage);
    wanted = wait_for_turn(work, CALLS, index);
    errno = 0;
    if (wanted && damage->number == NVT_NONE)
        note_outcome(work, later, nvt_file_device_calls(reading), damage);
    end_turn(work, CALLS, damage);
    nvt_file_device_done(reading);
}

static void read_device_rows(struct work *work)
{
    struct nvt_chunk_memory memory = {0};
    struct nvt_device_reading reading = {.calls = NULL};
    const uint8_t *payload;
    size_t index;
    while (take_rows(work, &index)) {
        struct nvt_file_damage damage = {.err = NVT_ERROR_INIT};
        load(work, &work->reader->device_rows.items[index], &memory, &payload, &damage);
        decode(work, index, payload, &reading, &damage);
    }
    nvt_chunk_memory_free(&memory);
}

static void *help(void *context)
{
    struct work *work = context;
    pthread_mutex_lock(&work->lock);
    int mine = !work->events_taken;
    work->events_taken = 1;
    pthread_mutex_unlock(&work->lock);
    if (mine)
        read_events(work);
    read_device_rows(work);
    return NULL;
}

/* Addresses for what is to come, so that columns need not be moved. Headers may say anything: of a
 * row there is at least a byte in the file, packed or not, or columns grow as rows arrive. */
static void reserve(struct nvt_file_reader *reader, uint64_t bytes)
{
    uint64_t events = reader->events.rows < bytes ? reader->events.rows : bytes;
    uint64_t rows = reader->device_rows.rows < bytes ? reader->device_rows.rows : bytes;
    /* Where there are none, or not enough, that shows when they are wanted. */
    (void)nvt_range_reserve(reader->trace, events);
    (void)nvt_op_reserve(reader->trace, rows);
    (void)nvt_api_reserve(reader->trace, rows);
}

void nvt_file_read_later(struct nvt_file_reader *reader, const struct nvt_trace_file *file,
                         struct nvt_file_damage *damage)
{
    struct work work = {.reader = reader,
                        .file = file,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .events = {NVT_NONE, NVT_ERROR_INIT, 0},
                        .rows = {NVT_NONE, NVT_ERROR_INIT, 0}};
    pthread_t helpers[HELPERS];
    size_t most = nvt_thread_count() - 1, started = 0;
    if (!reader->lanes)
        reserve(reader, (uint64_t)nvt_trace_file_size(file));
    if (reader->events.rows + reader->device_rows.rows < NVT_BESIDE_FROM ||
        !reader->device_rows.rows)
        most = 0;
    while (started < most && started < HELPERS &&
           !pthread_create(&helpers[started], NULL, help, &work))
        started++;
    if (!started)
        read_events(&work);
    read_device_rows(&work);
    while (started)
        pthread_join(helpers[--started], NULL);
    *damage = work.events.number < work.rows.number ? work.events : work.rows;
    pthread_mutex_destroy(&work.lock);
    pthread_cond_destroy(&work.changed);
}
