#include "schedule.h"

#include <stdlib.h>
#include <string.h>

/* The order of one partition: which forward or backward stands at place i among its own. */
static struct nvt_action nth(const struct nvt_schedule *s, int partition, int is_backward, int i)
{
    struct nvt_action action = {partition, 0, i, is_backward};
    int turn = s->partitions * s->chunks;
    if (s->kind == NVT_GPIPE) {
        action.microbatch = is_backward ? s->microbatches - 1 - i : i;
    } else if (s->kind == NVT_INTERLEAVED) {
        int chunk = i % turn / s->partitions;
        action.chunk = is_backward ? s->chunks - 1 - chunk : chunk;
        action.microbatch = i / turn * s->partitions + i % s->partitions;
    }
    return action;
}

/* Forwards that a partition runs before its first backward. */
static int head_start(const struct nvt_schedule *s, int partition)
{
    int all = s->microbatches * s->chunks, ahead;
    if (s->kind == NVT_GPIPE)
        return all;
    ahead = s->partitions - 1 - partition;
    if (s->kind == NVT_INTERLEAVED)
        ahead = 2 * ahead + (s->chunks - 1) * s->partitions;
    return ahead < all ? ahead : all;
}

static void fill_order(const struct nvt_schedule *s, int partition, struct nvt_action *order)
{
    int all = s->microbatches * s->chunks, forward = 0, backward = 0,
        ahead = head_start(s, partition);
    size_t count = 0;
    while (forward < ahead)
        order[count++] = nth(s, partition, 0, forward++);
    while (backward < all) {
        if (forward < all)
            order[count++] = nth(s, partition, 0, forward++);
        order[count++] = nth(s, partition, 1, backward++);
    }
}

/* --- one order for all ------------------------------------------------------------------------------- */

/* What has been run, by part of the model (chunk · K + partition) and micro-batch. */
struct progress {
    unsigned char *forward, *backward;
};

static int is_ready(const struct nvt_schedule *s, const struct progress *done,
                    const struct nvt_action *action)
{
    int last = s->partitions * s->chunks - 1,
        part = action->chunk * s->partitions + action->partition;
    const unsigned char *forward = &done->forward[(size_t)action->microbatch * (size_t)(last + 1)];
    const unsigned char *backward =
        &done->backward[(size_t)action->microbatch * (size_t)(last + 1)];
    if (!action->is_backward)
        return part == 0 || forward[part - 1];
    return forward[part] && (part == last || backward[part + 1]);
}

static void mark(const struct nvt_schedule *s, struct progress *done,
                 const struct nvt_action *action)
{
    int parts = s->partitions * s->chunks, part = action->chunk * s->partitions + action->partition;
    size_t at = (size_t)action->microbatch * (size_t)parts + (size_t)part;
    (action->is_backward ? done->backward : done->forward)[at] = 1;
}

/*
 * In steps of one action a partition at most, as if every action took the same time: what becomes ready in
 * a step runs in the next one. That is the order of the published loop, in which step t runs micro-batch
 * t − p on partition p.
 */
static int merge(struct nvt_schedule *s, const struct nvt_action *orders, size_t each, size_t *at,
                 struct progress *done)
{
    for (size_t count = 0; count < s->count;) {
        size_t before = count;
        for (int p = 0; p < s->partitions; p++) {
            const struct nvt_action *next = &orders[(size_t)p * each + at[p]];
            if (at[p] < each && is_ready(s, done, next))
                s->actions[count++] = *next;
        }
        if (count == before)
            return -1;
        for (size_t i = before; i < count; i++) {
            mark(s, done, &s->actions[i]);
            at[s->actions[i].partition]++;
        }
    }
    return 0;
}

static int check(const struct nvt_schedule *s, struct nvt_error *err)
{
    if (s->partitions < 1 || s->microbatches < 1 || s->chunks < 1 || s->partitions > 1024 ||
        s->microbatches > 65536 || s->chunks > 64)
        return nvt_fail(err, "no schedule of %d partitions, %d micro-batches and %d chunks",
                        s->partitions, s->microbatches, s->chunks);
    if (s->chunks > 1 && s->kind != NVT_INTERLEAVED)
        return nvt_fail(err, "chunks are for the interleaved schedule");
    if (s->kind == NVT_INTERLEAVED && s->microbatches % s->partitions)
        return nvt_fail(err,
                        "the interleaved schedule needs a multiple of %d micro-batches, not %d",
                        s->partitions, s->microbatches);
    return 0;
}

int nvt_schedule_make(enum nvt_schedule_kind kind, int partitions, int microbatches, int chunks,
                      struct nvt_schedule *schedule, struct nvt_error *err)
{
    *schedule = (struct nvt_schedule){kind, partitions, microbatches, chunks, NULL, 0};
    if (check(schedule, err))
        return -1;
    size_t each = 2 * (size_t)microbatches * (size_t)chunks,
           parts = (size_t)partitions * (size_t)chunks;
    schedule->count = each * (size_t)partitions;
    schedule->actions = (struct nvt_action *)calloc(schedule->count, sizeof(*schedule->actions));
    struct nvt_action *orders = (struct nvt_action *)calloc(schedule->count, sizeof(*orders));
    size_t *at = (size_t *)calloc((size_t)partitions, sizeof(*at));
    struct progress done = {(unsigned char *)calloc(parts, (size_t)microbatches),
                            (unsigned char *)calloc(parts, (size_t)microbatches)};
    int status = -1;
    if (!schedule->actions || !orders || !at || !done.forward || !done.backward) {
        nvt_fail(err, "out of memory");
    } else {
        for (int p = 0; p < partitions; p++)
            fill_order(schedule, p, &orders[(size_t)p * each]);
        status = merge(schedule, orders, each, at, &done);
        if (status)
            nvt_fail(err, "the schedule waits for itself");
    }
    free(orders);
    free(at);
    free(done.forward);
    free(done.backward);
    if (status)
        nvt_schedule_free(schedule);
    return status;
}

void nvt_schedule_free(struct nvt_schedule *schedule)
{
    free(schedule->actions);
    schedule->actions = NULL;
    schedule->count = 0;
}

double nvt_schedule_bubble(const struct nvt_schedule *schedule)
{
    double idle = schedule->partitions - 1;
    return idle / ((double)schedule->chunks * schedule->microbatches + idle);
}
