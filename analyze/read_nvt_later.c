/*
 * The chunks that a file mostly consists of, events and device rows. Whoever calls decodes device
 * rows; a thread beside it decodes events and then, as long as there is something left, unpacks
 * chunks of device rows ahead. Each of the two goes through its own chunks in the order of the
 * file.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "read_nvt.h"

/* Chunks that are unpacked ahead, at most: they take memory. */
#define AHEAD 4
/* Helping threads, at most: unpacking is done by then. */
#define HELPERS 3
/* Rows from which on a second thread is worth its start. */
#define BESIDE_FROM 20000

enum state { FREE, BUSY, READY };

struct ahead {
    enum state state;
    size_t index; /* of the chunk among those with device rows */
    struct nvt_chunk_memory memory;
    const uint8_t *payload;
    struct nvt_nvt_damage damage;
};

struct work {
    struct nvt_nvt_reader *reader;
    const struct nvt_trace_file *file;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    struct ahead ahead[AHEAD];
    size_t next; /* chunk of device rows that nobody has taken yet */
    int events_taken, stop;
    struct nvt_nvt_damage events; /* of whoever took them */
};

static void load(const struct work *work, const struct nvt_nvt_later *later,
                 struct nvt_chunk_memory *memory, const uint8_t **payload,
                 struct nvt_nvt_damage *damage)
{
    errno = 0;
    damage->number = NVT_NONE;
    if (nvt_trace_file_load(work->file, later->offset, &later->header, memory, payload,
                            &damage->err)) {
        damage->number = later->number;
        damage->no_memory = errno == ENOMEM;
    }
}

static void fail(struct nvt_nvt_damage *damage, const struct nvt_nvt_later *later)
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
    return work->reader->lanes && work->reader->lanes->complex_rows;
}

static void read_events(struct work *work)
{
    const struct nvt_nvt_laters *laters = &work->reader->events;
    struct nvt_chunk_memory memory = {0};
    const uint8_t *payload;
    for (size_t i = 0;
         i < laters->count && work->events.number == NVT_NONE && !events_are_in_vain(work); i++) {
        const struct nvt_nvt_later *later = &laters->items[i];
        load(work, later, &memory, &payload, &work->events);
        if (work->events.number == NVT_NONE &&
            nvt_nvt_events(work->reader, later, payload, &work->events.err))
            fail(&work->events, later);
    }
    nvt_chunk_memory_free(&memory);
}

/* One that is in this state, NULL when there is none. */
static struct ahead *find(struct work *work, enum state state)
{
    for (size_t i = 0; i < AHEAD; i++)
        if (work->ahead[i].state == state)
            return &work->ahead[i];
    return NULL;
}

static void unpack_ahead(struct work *work)
{
    const struct nvt_nvt_laters *laters = &work->reader->device_rows;
    pthread_mutex_lock(&work->lock);
    while (!work->stop && work->next < laters->count) {
        struct ahead *ahead = find(work, FREE);
        if (!ahead) {
            pthread_cond_wait(&work->changed, &work->lock);
            continue;
        }
        ahead->state = BUSY;
        ahead->index = work->next++;
        pthread_mutex_unlock(&work->lock);
        load(work, &laters->items[ahead->index], &ahead->memory, &ahead->payload, &ahead->damage);
        pthread_mutex_lock(&work->lock);
        ahead->state = READY;
        pthread_cond_broadcast(&work->changed);
    }
    pthread_mutex_unlock(&work->lock);
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
    unpack_ahead(work);
    return NULL;
}

/* Chunk `index`, if somebody else unpacks it, when it is ready; NULL: it is the caller's to unpack.
 */
static struct ahead *wait_for(struct work *work, size_t index)
{
    struct ahead *found = NULL;
    pthread_mutex_lock(&work->lock);
    if (work->next == index)
        work->next++;
    else
        for (size_t i = 0; i < AHEAD; i++)
            if (work->ahead[i].state != FREE && work->ahead[i].index == index)
                found = &work->ahead[i];
    while (found && found->state == BUSY)
        pthread_cond_wait(&work->changed, &work->lock);
    pthread_mutex_unlock(&work->lock);
    return found;
}

static void hand_back(struct work *work, struct ahead *ahead, int stop)
{
    pthread_mutex_lock(&work->lock);
    if (ahead)
        ahead->state = FREE;
    work->stop |= stop;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

static void read_device_rows(struct work *work, struct nvt_nvt_damage *damage)
{
    const struct nvt_nvt_laters *laters = &work->reader->device_rows;
    struct nvt_chunk_memory memory = {0};
    const uint8_t *payload;
    for (size_t i = 0; i < laters->count && damage->number == NVT_NONE; i++) {
        const struct nvt_nvt_later *later = &laters->items[i];
        struct ahead *ahead = wait_for(work, i);
        if (ahead) {
            *damage = ahead->damage;
            payload = ahead->payload;
        } else {
            load(work, later, &memory, &payload, damage);
        }
        errno = 0;
        if (damage->number == NVT_NONE && nvt_nvt_device_chunk(work->reader, later, payload)) {
            nvt_fail(&damage->err, "a chunk of kind %u is malformed", later->header.kind);
            fail(damage, later);
        }
        if (rows_are_in_vain(work))
            damage->number = later->number;
        hand_back(work, ahead, damage->number != NVT_NONE);
    }
    nvt_chunk_memory_free(&memory);
}

/* Addresses for what is to come, so that columns need not be moved. Headers may say anything: of a
 * row there is at least a byte in the file, packed or not, or columns grow as rows arrive. */
static void reserve(struct nvt_nvt_reader *reader, uint64_t bytes)
{
    uint64_t events = reader->events.rows < bytes ? reader->events.rows : bytes;
    uint64_t rows = reader->device_rows.rows < bytes ? reader->device_rows.rows : bytes;
    /* Where there are none, or not enough, that shows when they are wanted. */
    (void)nvt_range_reserve(reader->trace, events);
    (void)nvt_op_reserve(reader->trace, rows);
    (void)nvt_api_reserve(reader->trace, rows);
}

void nvt_nvt_read_later(struct nvt_nvt_reader *reader, const struct nvt_trace_file *file,
                        struct nvt_nvt_damage *damage)
{
    struct work work = {.reader = reader,
                        .file = file,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .events = {NVT_NONE, NVT_ERROR_INIT, 0}};
    pthread_t helpers[HELPERS];
    size_t most = nvt_thread_count() - 1, started = 0;
    *damage = work.events;
    work.events_taken = reader->walks;
    if (!reader->lanes)
        reserve(reader, (uint64_t)nvt_trace_file_size(file));
    if (reader->events.rows + reader->device_rows.rows < BESIDE_FROM || !reader->device_rows.rows)
        most = 0;
    while (started < most && started < HELPERS &&
           !pthread_create(&helpers[started], NULL, help, &work))
        started++;
    if (!started && !reader->walks)
        read_events(&work);
    read_device_rows(&work, damage);
    while (started)
        pthread_join(helpers[--started], NULL);
    if (work.events.number < damage->number)
        *damage = work.events;
    for (size_t i = 0; i < AHEAD; i++)
        nvt_chunk_memory_free(&work.ahead[i].memory);
    pthread_mutex_destroy(&work.lock);
    pthread_cond_destroy(&work.changed);
}
