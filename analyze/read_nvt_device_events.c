/* Events: which call recorded what a sync waits for. */
#include <stdlib.h>

#include "read_nvt_device_chunk.h"

int nvt_device_keep_event(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_nvt_devices *devices = chunk->devices;
    size_t count = devices->event_count;
    if (!(count & (count - 1))) {
        void *grown = realloc(devices->events, (count ? count * 2 : 1) * sizeof(*devices->events));
        if (!grown)
            return -1;
        devices->events = grown;
    }
    devices->events[devices->event_count++] =
        (struct nvt_device_event){chunk->owner, (uint32_t)row->fields[NVT_EVENT_STREAM],
                                  row->fields[NVT_EVENT_ID], row->fields[NVT_EVENT_CORRELATION]};
    return 0;
}

static int by_call(const void *left, const void *right)
{
    const struct nvt_device_event *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

/* How many of the sorted events come before one. */
static size_t count_before(const struct nvt_nvt_devices *devices,
                           const struct nvt_device_event *wanted)
{
    size_t low = 0, high = devices->event_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_call(&devices->events[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void nvt_device_link_events(struct nvt_nvt_devices *devices, struct nvt_syncs *syncs)
{
    if (devices->event_count)
        qsort(devices->events, devices->event_count, sizeof(*devices->events), by_call);
    for (uint32_t i = 0; i < syncs->count; i++) {
        if (!syncs->recorded[i])
            continue;
        const struct nvt_device_event wanted = {syncs->process[i], 0, syncs->recorded[i] - 1,
                                                syncs->correlation[i]};
        size_t before = count_before(devices, &wanted);
        const struct nvt_device_event *event = before ? &devices->events[before - 1] : NULL;
        syncs->recorded[i] = 0;
        if (!event || event->process != wanted.process || event->event != wanted.event)
            continue;
        syncs->recorded[i] = event->correlation;
        syncs->recorded_stream[i] = event->stream;
    }
}
