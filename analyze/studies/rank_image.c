/* Digests as bytes, for processes that share files (input/image.h). */
#include <stdlib.h>
#include <string.h>

#include "../input/image.h"
#include "rank_digest.h"

static void put_rank(const struct nvt_rank *rank, struct nvt_buffer *out)
{
    nvt_image_put(out, rank, 1, sizeof(*rank));
    nvt_image_put(out, rank->turns, rank->turns ? rank->iterations : 0, sizeof(*rank->turns));
    nvt_image_put(out, rank->parts, rank->part_count, sizeof(*rank->parts));
    nvt_image_put(out, rank->steps, rank->step_count, sizeof(*rank->steps));
}

/* 0 or -1. What it owns is its own, or NULL. */
static int take_rank(struct nvt_rank *rank, const struct nvt_input_trace *item,
                     struct nvt_cursor *in)
{
    uint64_t count = 0, turns = 0, parts = 0, steps = 0;
    struct nvt_rank *from = nvt_image_take(in, &count, sizeof(*from));
    if (from && count == 1)
        *rank = *from;
    else
        in->at = NULL;
    free(from);
    rank->from = item;
    rank->names = rank->groups = NULL;
    rank->turns = nvt_image_take(in, &turns, sizeof(*rank->turns));
    rank->parts = nvt_image_take(in, &parts, sizeof(*rank->parts));
    rank->steps = nvt_image_take(in, &steps, sizeof(*rank->steps));
    return in->at && parts == rank->part_count && steps == rank->step_count ? 0 : -1;
}

void nvt_ranks_put(const struct nvt_input_trace *item, struct nvt_buffer *out)
{
    const struct nvt_ranks *digest = item->digest;
    const uint32_t count = digest ? digest->count : NVT_NONE;
    (void)nvt_buffer_append(out, &count, sizeof(count));
    if (!digest)
        return;
    nvt_image_put_strings(out, digest->names);
    nvt_image_put(out, digest->groups, digest->group_count, sizeof(*digest->groups));
    (void)nvt_buffer_append(out, &digest->left_out, sizeof(digest->left_out));
    for (uint32_t i = 0; i < count; i++)
        put_rank(&digest->items[i], out);
}

static int take_digest(struct nvt_ranks *digest, uint32_t count, const struct nvt_input_trace *item,
                       struct nvt_cursor *in)
{
    uint64_t groups = 0;
    digest->names = nvt_image_take_strings(in);
    digest->groups = nvt_image_take(in, &groups, sizeof(*digest->groups));
    digest->group_count = (uint32_t)groups;
    digest->left_out = nvt_cursor_number(in, sizeof(digest->left_out));
    /* A rank takes more bytes than its struct. */
    if (!in->at || count > (uint64_t)(in->end - in->at) / sizeof(*digest->items))
        return -1;
    digest->items = calloc((size_t)count + 1, sizeof(*digest->items));
    for (uint32_t i = 0; digest->items && i < count; i++) {
        digest->count = i + 1;
        if (take_rank(&digest->items[i], item, in))
            return -1;
    }
    return digest->items ? 0 : -1;
}

int nvt_ranks_take(struct nvt_input_trace *item, struct nvt_cursor *in)
{
    const uint32_t count = (uint32_t)nvt_cursor_number(in, sizeof(count));
    if (!in->at || count == NVT_NONE)
        return in->at ? 0 : -1;
    item->digest = calloc(1, sizeof(*item->digest));
    return item->digest && !take_digest(item->digest, count, item, in) ? 0 : -1;
}
