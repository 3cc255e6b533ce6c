#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <pthread.h>

#include "../../lib/pages.h"

/*
 * Small buffers: one that is not full is only handed over when all its records are complete, and on
 * a device that always has work queued that is never so, until the buffer is full.
 */
#define BUFFER_BYTES (256u * 1024)
/* Filled and waiting for the decoder at most; beyond that CUPTI gets none, and counts what it
 * drops. */
#define BUFFERS_MOST 1024u

/* In front of what CUPTI fills, which must lie at a multiple of 8. */
struct buffer {
    struct buffer *next;
    size_t valid;
    char pad[48];
};
_Static_assert(sizeof(struct buffer) % 64 == 0, "CUPTI's part must be aligned");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *empty, *filled, **filled_end = &filled;
static uint32_t made;
static void (*ring_bell)(void);

void nvt_cupti_buffers_init(void (*bell)(void))
{
    ring_bell = bell;
}

void CUPTIAPI nvt_cupti_buffer_requested(uint8_t **buffer, size_t *size, size_t *most)
{
    pthread_mutex_lock(&lock);
    struct buffer *fresh = empty;
    if (fresh)
        empty = fresh->next;
    else if (made < BUFFERS_MOST && (fresh = nvt_pages_new(BUFFER_BYTES)))
        made++;
    pthread_mutex_unlock(&lock);
    *buffer = fresh ? (uint8_t *)(fresh + 1) : NULL;
    *size = fresh ? BUFFER_BYTES - sizeof(*fresh) : 0;
    *most = 0;
}

void CUPTIAPI nvt_cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                         size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    if (!buffer)
        return;
    struct buffer *full = (struct buffer *)buffer - 1;
    pthread_mutex_lock(&lock);
    full->valid = valid;
    full->next = NULL;
    *filled_end = full;
    filled_end = &full->next;
    pthread_mutex_unlock(&lock);
    ring_bell();
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
    pthread_mutex_lock(&lock);
    done->next = empty;
    empty = done;
    pthread_mutex_unlock(&lock);
}

#endif
