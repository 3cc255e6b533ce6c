/*
 * Events of chunks that are cut off, of those that stay.
 */
#ifndef NVT_CUT_STATE_KEPT_H
#define NVT_CUT_STATE_KEPT_H

#include <stdint.h>

/* A push or a start that is open, an end without a start, or what was said of a heap. Of no use any more: NVT_TOKEN_MARK, and of no heap. */
struct nvt_kept {
    uint64_t ticks, token, range;
    uint32_t domain, thread;
    uint32_t task;       /* of Python, 0 none: its pops end its pushes */
    uint32_t is_of_heap; /* a sample of NVT_SAMPLE_OF_HEAP */
    uint32_t is_sample;  /* a mark that is one of any kind */
    uint32_t size;       /* of the attributes */
    uint8_t *attributes;
};

struct nvt_kept_list {
    struct nvt_kept *items;
    uint32_t count;
};

/* Append an event, whose attributes become the list's. 0, or -1 when out of memory. */
int nvt_kept_add(struct nvt_kept_list *list, const struct nvt_kept *event);

void nvt_kept_list_free(struct nvt_kept_list *list);

#endif
