#include "recorded_events.h"

#include <stdlib.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"

int nvt_recorded_events_add(struct nvt_recorded_events *events,
                            const struct nvt_recorded_event *event)
{
    size_t count = events->count;
    if (nvt_grow(&events->items, count, sizeof(*events->items)))
        return -1;
    events->items[events->count++] = *event;
    return 0;
}

static int by_call(const void *left, const void *right)
{
    const struct nvt_recorded_event *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

/* How many of the sorted calls come before one. */
static size_t count_before(const struct nvt_recorded_events *events,
                           const struct nvt_recorded_event *wanted)
{
    size_t low = 0;
    NVT_BISECT(low, events->count, by_call(&events->items[low], wanted) < 0);
    return low;
}

void nvt_recorded_events_link(struct nvt_recorded_events *events, struct nvt_syncs *syncs)
{
    if (events->count)
        qsort(events->items, events->count, sizeof(*events->items), by_call);
    for (uint32_t i = 0; i < syncs->count; i++) {
        if (!syncs->recorded[i])
            continue;
        const struct nvt_recorded_event wanted = {syncs->process[i], 0, syncs->recorded[i] - 1,
                                                  syncs->correlation[i]};
        size_t before = count_before(events, &wanted);
        const struct nvt_recorded_event *found = before ? &events->items[before - 1] : NULL;
        int is_it = found && found->process == wanted.process && found->event == wanted.event;
        syncs->recorded[i] = is_it ? found->correlation : 0;
        syncs->recorded_stream[i] = is_it ? found->stream : 0;
    }
}

void nvt_recorded_events_free(struct nvt_recorded_events *events)
{
    free(events->items);
    *events = (struct nvt_recorded_events){0};
}
