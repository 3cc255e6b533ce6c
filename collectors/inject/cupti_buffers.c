#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/pages.h"

/*
 * A buffer that is not full is only handed over when all its records are complete, and on a device
 * that always has work queued that is never so, until it is full. So they are small, and smaller
 * where they fill slowly: a full one should not have been out for longer than SLOW_NS.
 *
 * Nothing else would have records earlier, by CUPTI's headers: a forced flush hands over what has not ended without its end,
 * once and for all, and a period of CUPTI's own (cuptiActivityFlushPeriod) returns full buffers only. Whether each thread
 * has a buffer of its own, or all share one, is left as NVIDIA has it (the latter before CUDA 13).
 */
#define BUFFER_BYTES (256u * 1024)
#define SIZE_LEAST   (32u * 1024)
#define SLOW_NS      INT64_C(100000000)
#define QUICK_NS     (SLOW_NS / 4)
/* No record is larger: one that has no more room than this is full. */
#define RECORD_MOST 512u
/* Out or waiting for the decoder at most; beyond that CUPTI gets none, and counts what it drops. */
#define BUFFERS_MOST 1024u

/* In front of what CUPTI fills, which must lie at a multiple of 8. */
struct buffer {
    struct buffer *next, *before; /* `before` only of those that CUPTI has */
    size_t given, valid;
    int64_t asked; /* ns of CLOCK_MONOTONIC at which CUPTI asked for it */
    char pad[24];
};
_Static_assert(sizeof(struct buffer) % 64 == 0, "CUPTI's part must be aligned");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *empty, *filled, **filled_end = &filled;
static struct buffer *out, *out_last; /* with CUPTI, the oldest first */
static uint32_t made;
static size_t size_wanted = SIZE_LEAST;
static _Atomic uint32_t foreign;
static struct nvt_cupti_buffers_use use;

void nvt_cupti_buffers_init(const struct nvt_cupti_buffers_use *how)
{
    use = *how;
}

/* Whether CUPTI has written nothing into one that it has: a record begins with its kind, which is never 0. CUPTI may be
 * writing it right now. */
__attribute__((no_sanitize("thread"))) static int is_blank(const struct buffer *buffer)
{
    const volatile uint32_t *kind = (const volatile uint32_t *)(buffer + 1);
    _Static_assert(CUPTI_ACTIVITY_KIND_INVALID == 0, "a buffer comes clear");
    return *kind == CUPTI_ACTIVITY_KIND_INVALID;
}

static void hand_out(struct buffer *buffer)
{
    buffer->given = size_wanted - sizeof(*buffer);
    buffer->asked = nvt_monotonic_ns();
    buffer->next = NULL;
    buffer->before = out_last;
    *(out_last ? &out_last->next : &out) = buffer;
    out_last = buffer;
}

static void take_back(struct buffer *buffer)
{
    *(buffer->before ? &buffer->before->next : &out) = buffer->next;
    *(buffer->next ? &buffer->next->before : &out_last) = buffer->before;
    buffer->next = NULL;
}

void CUPTIAPI nvt_cupti_buffer_requested(uint8_t **buffer, size_t *size, size_t *most)
{
    pthread_mutex_lock(&lock);
    struct buffer *fresh = empty;
    if (fresh)
        empty = fresh->next;
    else if ((made < BUFFERS_MOST || use.must_give) && (fresh = nvt_pages_new(BUFFER_BYTES)))
        made++;
    if (fresh)
        hand_out(fresh);
    pthread_mutex_unlock(&lock);
    *buffer = fresh ? (uint8_t *)(fresh + 1) : NULL;
    *size = fresh ? fresh->given : 0;
    *most = 0;
}

/* What the next buffers should have, from how long this one took to fill and be complete. */
static void choose_size(const struct buffer *buffer)
{
    int64_t took = nvt_monotonic_ns() - buffer->asked;
    if (buffer->valid + RECORD_MOST < buffer->given)
        return;
    if (took > SLOW_NS && size_wanted > SIZE_LEAST)
        size_wanted /= 2;
    else if (took < QUICK_NS && size_wanted < BUFFER_BYTES)
        size_wanted *= 2;
}

void CUPTIAPI nvt_cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                         size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    if (!buffer)
        return;
    pthread_mutex_lock(&lock);
    struct buffer *full = out;
    while (full && (uint8_t *)(full + 1) != buffer)
        full = full->next;
    if (!full) {
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&foreign, 1);
        return;
    }
    take_back(full);
    full->valid = valid;
    choose_size(full);
    *filled_end = full;
    filled_end = &full->next;
    pthread_mutex_unlock(&lock);
    use.bell();
}

int64_t nvt_cupti_buffers_oldest(void)
{
    pthread_mutex_lock(&lock);
    const struct buffer *oldest = out;
    while (oldest && is_blank(oldest))
        oldest = oldest->next;
    int64_t asked = oldest ? oldest->asked : 0;
    pthread_mutex_unlock(&lock);
    return asked;
}

uint32_t nvt_cupti_buffers_foreign(void)
{
    return atomic_load(&foreign);
}

uint32_t nvt_cupti_buffers_made(void)
{
    pthread_mutex_lock(&lock);
    uint32_t count = made;
    pthread_mutex_unlock(&lock);
    return count;
}

uint8_t *nvt_cupti_buffer_take(size_t *valid)
{
    pthread_mutex_lock(&lock);
    struct buffer *next = filled;
    if (next) {
        filled = next->next;
        if (!filled)
            filled_end = &filled;
        *valid = next->valid;
    }
    pthread_mutex_unlock(&lock);
    return next ? (uint8_t *)(next + 1) : NULL;
}

void nvt_cupti_buffer_give(uint8_t *buffer)
{
    struct buffer *done = (struct buffer *)buffer - 1;
    memset(buffer, 0, use.zeroed ? done->given : sizeof(uint32_t));
    pthread_mutex_lock(&lock);
    done->next = empty;
    empty = done;
    pthread_mutex_unlock(&lock);
}

#endif
