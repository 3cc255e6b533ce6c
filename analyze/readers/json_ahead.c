#include "json_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "../model/parallel.h"

struct nvt_json_parts {
    struct nvt_json_source *source;
    const struct nvt_json_ahead *ahead;
    pthread_mutex_t lock;   /* of what follows, up to the threads */
    pthread_cond_t changed; /* of that */
    uint64_t begun, taken;  /* parts: begun to be read, and given back */
    int is_reading;         /* a thread uses the source */
    int is_over;            /* it has no more, */
    int stops;              /* or nobody wants more */
    unsigned slot_count;    /* parts at once */
    struct nvt_json_part *slots;
    pthread_t threads[NVT_THREADS_MOST];
    unsigned started;
    int holds; /* the one that takes parts has one */
};

/* --- the work on a part --- */

static void read_ahead(const struct nvt_json_ahead *ahead, struct nvt_json_part *part)
{
    struct nvt_json_scan *scan = &part->scan;
    if (!part->items)
        part->items = ahead->make();
    if (!part->items || ahead->begin(part->items))
        return;
    scan->handler = ahead->handler;
    scan->context = part->items;
    nvt_json_scan_start_item(scan, ahead->depth);
    nvt_json_scan(scan, (const char *)part->text.data, part->text.size, 0);
    if (scan->closed)
        part->closed = (size_t)(scan->closed - (const char *)part->text.data);
}

/* Whether a part can be begun. With the lock. */
static int can_begin(const struct nvt_json_parts *parts)
{
    return !parts->is_reading && !parts->is_over && !parts->stops &&
           parts->begun - parts->taken < parts->slot_count;
}

/* Begin a part, and end it. With the lock, which is released in between. */
static void work(struct nvt_json_parts *parts)
{
    struct nvt_json_part *part = &parts->slots[parts->begun % parts->slot_count];
    const int is_first = !parts->begun++;
    parts->is_reading = 1;
    pthread_mutex_unlock(&parts->lock);
    part->closed = 0;
    part->status = nvt_json_source_next(parts->source, &part->text, &part->offset, &part->err);
    pthread_mutex_lock(&parts->lock);
    parts->is_reading = 0;
    parts->is_over = part->status != 1;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->lock);
    /* The first one begins with the file. */
    if (part->status == 1 && parts->ahead && !is_first)
        read_ahead(parts->ahead, part);
    pthread_mutex_lock(&parts->lock);
    part->is_ready = 1;
    pthread_cond_broadcast(&parts->changed);
}

static void *run(void *argument)
{
    struct nvt_json_parts *parts = argument;
    pthread_mutex_lock(&parts->lock);
    while (!parts->is_over && !parts->stops) {
        if (can_begin(parts))
            work(parts);
        else
            pthread_cond_wait(&parts->changed, &parts->lock);
    }
    pthread_mutex_unlock(&parts->lock);
    return NULL;
}

/* --- their order --- */

static void start_threads(struct nvt_json_parts *parts)
{
    while (parts->started + 1 < nvt_thread_count() &&
           !pthread_create(&parts->threads[parts->started], NULL, run, parts))
        parts->started++;
}

struct nvt_json_part *nvt_json_parts_next(struct nvt_json_parts *parts)
{
    pthread_mutex_lock(&parts->lock);
    if (parts->holds) {
        parts->slots[parts->taken % parts->slot_count].is_ready = 0;
        parts->taken++;
        pthread_cond_broadcast(&parts->changed);
    }
    parts->holds = 1;
    struct nvt_json_part *part = &parts->slots[parts->taken % parts->slot_count];
    while (!part->is_ready) {
        if (can_begin(parts))
            work(parts);
        else
            pthread_cond_wait(&parts->changed, &parts->lock);
    }
    const int starts = !parts->taken && !parts->is_over && parts->ahead;
    pthread_mutex_unlock(&parts->lock);
    if (starts)
        start_threads(parts);
    return part;
}

struct nvt_json_parts *nvt_json_parts_open(const char *path, const struct nvt_json_ahead *ahead,
                                           int repairs, struct nvt_error *err)
{
    struct nvt_json_parts *parts = calloc(1, sizeof(*parts));
    const unsigned threads = ahead ? nvt_thread_count() : 1, slots = threads == 1 ? 1 : threads + 2;
    if (parts)
        parts->slots = calloc(slots, sizeof(*parts->slots));
    if (!parts || !parts->slots) {
        free(parts);
        nvt_fail_at(err, path, -1, "out of memory");
        return NULL;
    }
    parts->source = nvt_json_source_open(path, repairs, err);
    if (!parts->source) {
        free(parts->slots);
        free(parts);
        return NULL;
    }
    /* Alone, who takes the parts is as quick on its own. */
    parts->ahead = threads == 1 ? NULL : ahead;
    parts->slot_count = slots;
    pthread_mutex_init(&parts->lock, NULL);
    pthread_cond_init(&parts->changed, NULL);
    return parts;
}

int nvt_json_parts_is_cut(const struct nvt_json_parts *parts)
{
    return nvt_json_source_is_cut(parts->source);
}

void nvt_json_parts_close(struct nvt_json_parts *parts, uint64_t *repaired)
{
    pthread_mutex_lock(&parts->lock);
    parts->stops = 1;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->lock);
    while (parts->started)
        pthread_join(parts->threads[--parts->started], NULL);
    if (repaired)
        *repaired = nvt_json_source_repaired(parts->source);
    for (unsigned i = 0; i < parts->slot_count; i++) {
        nvt_buffer_free(&parts->slots[i].text);
        nvt_json_scan_free(&parts->slots[i].scan);
        if (parts->slots[i].items)
            parts->ahead->free(parts->slots[i].items);
    }
    nvt_json_source_close(parts->source);
    pthread_mutex_destroy(&parts->lock);
    pthread_cond_destroy(&parts->changed);
    free(parts->slots);
    free(parts);
}
