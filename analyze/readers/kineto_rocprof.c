#include "kineto_rocprof.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "kineto.h"

/* Calls that are looked at, from the last one that begins in front of an arrow. */
#define LOOKED_AT 8

static int add(struct nvt_rocprof_places *places, const struct nvt_rocprof_place *place)
{
    if (nvt_grow(&places->at, places->count, sizeof(*places->at)))
        return -1;
    places->at[places->count++] = *place;
    return 0;
}

/* Where the event is, in the file's microseconds. */
static struct nvt_rocprof_place place_of(const struct nvt_kineto *reader, int64_t lane,
                                         uint32_t row)
{
    const struct nvt_kineto_event *event = &reader->event;
    const int64_t start = event->time / 1000;
    return (struct nvt_rocprof_place){lane, event->tid, start, start + event->duration / 1000,
                                      row,  0};
}

int nvt_rocprof_call(struct nvt_kineto *reader, int64_t lane)
{
    const struct nvt_rocprof_place place = place_of(reader, lane, reader->trace->apis.count - 1);
    return add(&reader->dialects.rocprof.calls, &place);
}

int nvt_rocprof_op(struct nvt_kineto *reader)
{
    const struct nvt_rocprof_place place =
        place_of(reader, reader->event.pid, reader->trace->ops.count - 1);
    return add(&reader->dialects.rocprof.ops, &place);
}

int nvt_rocprof_flow(struct nvt_kineto *reader)
{
    static const struct nvt_rocprof_place none = {.pid = INT64_MIN};
    struct nvt_rocprof *rocprof = &reader->dialects.rocprof;
    const int begins = reader->event.phase == 's';
    uint32_t *arrow = nvt_map_at(&rocprof->arrows, reader->event.id);
    if (!arrow)
        return -1;
    if (*arrow == NVT_MAP_NONE) {
        *arrow = rocprof->begins.count;
        if (add(&rocprof->begins, &none) || add(&rocprof->ends, &none))
            return -1;
    }
    struct nvt_rocprof_places *places = begins ? &rocprof->begins : &rocprof->ends;
    places->at[*arrow] = (struct nvt_rocprof_place){
        reader->event.pid, reader->event.tid, reader->event.time / 1000, 0, *arrow, 0};
    *(begins ? &rocprof->begun : &rocprof->ended) += 1;
    return 0;
}

/* --- links --- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_thread(const void *a, const void *b)
{
    const struct nvt_rocprof_place *x = a, *y = b;
    const int lane = compare(x->pid, y->pid), thread = compare(x->tid, y->tid);
    return lane ? lane : thread ? thread : compare(x->start, y->start);
}

static int by_time(const void *a, const void *b)
{
    const struct nvt_rocprof_place *x = a, *y = b;
    const int lane = compare(x->pid, y->pid), time = compare(x->start, y->start);
    return lane ? lane : time ? time : compare(x->row, y->row);
}

static void sort(struct nvt_rocprof_places *places, int (*order)(const void *, const void *))
{
    if (places->count)
        qsort(places->at, places->count, sizeof(*places->at), order);
}

/* How many of sorted places do not come behind one. */
static uint32_t count_until(const struct nvt_rocprof_places *places,
                            const struct nvt_rocprof_place *place,
                            int (*order)(const void *, const void *))
{
    uint32_t low = 0, high = places->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (order(&places->at[middle], place) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The call that an arrow comes from: one that ends there, by one or two roundings, or one that is under way. NULL: there is none. */
static const struct nvt_rocprof_place *call_of(const struct nvt_rocprof_places *calls,
                                               const struct nvt_rocprof_place *begin)
{
    const struct nvt_rocprof_place *under_way = NULL;
    uint32_t at = count_until(calls, begin, by_thread);
    for (uint32_t left = LOOKED_AT; left && at; left--) {
        const struct nvt_rocprof_place *call = &calls->at[--at];
        if (call->pid != begin->pid || call->tid != begin->tid)
            break;
        if (call->end == begin->start || call->end + 1 == begin->start)
            return call;
        if (!under_way && call->end > begin->start)
            under_way = call;
    }
    return under_way;
}

/* The operation that an arrow leads to, of those that no other one does: in its stream if there is one. NULL: there is none. */
static struct nvt_rocprof_place *op_of(struct nvt_rocprof_places *ops,
                                       const struct nvt_rocprof_place *end)
{
    struct nvt_rocprof_place *found = NULL;
    struct nvt_rocprof_place before = *end; /* sorts behind those that begin earlier */
    before.start--;
    before.row = UINT32_MAX;
    for (uint32_t at = count_until(ops, &before, by_time);
         at < ops->count && ops->at[at].pid == end->pid && ops->at[at].start == end->start; at++) {
        struct nvt_rocprof_place *op = &ops->at[at];
        if (!op->is_taken && op->tid == end->tid)
            return op;
        if (!op->is_taken && !found)
            found = op;
    }
    return found;
}

static int link_arrow(struct nvt_kineto *reader, uint32_t arrow)
{
    struct nvt_rocprof *rocprof = &reader->dialects.rocprof;
    struct nvt_trace *trace = reader->trace;
    const struct nvt_rocprof_place *call = call_of(&rocprof->calls, &rocprof->begins.at[arrow]);
    struct nvt_rocprof_place *op = call ? op_of(&rocprof->ops, &rocprof->ends.at[arrow]) : NULL;
    if (!op)
        return 0;
    uint64_t *correlation = &trace->apis.correlation[call->row];
    if (!*correlation)
        *correlation = (uint64_t)arrow + 1;
    trace->ops.correlation[op->row] = *correlation;
    op->is_taken = 1;
    return 1;
}

void nvt_rocprof_link(struct nvt_kineto *reader, int is_rocprof)
{
    struct nvt_rocprof *rocprof = &reader->dialects.rocprof;
    uint64_t unlinked = 0;
    if (!is_rocprof) {
        reader->unread['s'] += rocprof->begun;
        reader->unread['t'] += rocprof->ended;
        return;
    }
    sort(&rocprof->calls, by_thread);
    sort(&rocprof->ops, by_time);
    for (uint32_t i = 0; i < rocprof->begins.count; i++)
        unlinked += !link_arrow(reader, i);
    if (unlinked)
        nvt_trace_note(reader->trace,
                       "arrows that lead from no call, or to no operation, are not followed (%llu)",
                       (unsigned long long)unlinked);
}

void nvt_rocprof_free(struct nvt_rocprof *rocprof)
{
    nvt_map_free(&rocprof->arrows);
    free(rocprof->calls.at);
    free(rocprof->ops.at);
    free(rocprof->begins.at);
    free(rocprof->ends.at);
}
