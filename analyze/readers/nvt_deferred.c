#include "nvt_deferred.h"

#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>

#include "../../lib/event_columns.h"
#include "nvt.h"

/* Times may be later than the moment at which they were handed over by no more than clocks differ, ns. */
#define CLOCK_SLACK INT64_C(1000000)

/* What nvt_clock_convert makes this time of, or the first that is later, in [first, last]. */
static uint64_t ticks_of(const struct nvt_file_reader *reader, int64_t monotonic_ns, uint64_t first,
                         uint64_t last)
{
    while (first < last) {
        const uint64_t middle = first + (last - first) / 2;
        if (nvt_clock_convert(reader->samples, reader->sample_count, middle) < monotonic_ns)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/* A time of the event as ticks. 0, or -1: it is outside of the recording up to the event, or on no clock that is known. */
static int read_time(const struct nvt_file_reader *reader, const struct nvt_file_said *said,
                     int64_t time, uint64_t *ticks)
{
    const struct nvt_clock_sample *first = reader->samples;
    if (!reader->sample_count)
        return -1;
    const int64_t until =
        nvt_clock_within(nvt_clock_convert(reader->samples, reader->sample_count, said->ticks));
    if (said->sample->clock == NVT_SAMPLE_TICKS) {
        *ticks = (uint64_t)time;
        return *ticks < first->ticks || *ticks > said->ticks ? -1 : 0;
    }
    if (said->sample->clock != NVT_SAMPLE_MONOTONIC && said->sample->clock != NVT_SAMPLE_REALTIME)
        return -1;
    time = nvt_clock_within(time);
    if (said->sample->clock == NVT_SAMPLE_REALTIME)
        time = nvt_clock_sum(nvt_clock_since(time, first->realtime_ns), first->monotonic_ns);
    if (time < first->monotonic_ns || time > until + CLOCK_SLACK)
        return -1;
    *ticks = ticks_of(reader, time, first->ticks, said->ticks);
    return 0;
}

static int keep_payload(struct nvt_file_reader *reader, const struct nvt_file_said *said,
                        uint32_t row, int is_mark)
{
    const struct nvt_event_attributes *attributes = said->attributes;
    return attributes->size ? nvt_file_keep_payload(reader, said->process, row, is_mark,
                                                    attributes->bytes, attributes->size)
                            : 0;
}

static int add_range(struct nvt_file_reader *reader, const struct nvt_file_said *said,
                     uint64_t start, uint64_t end)
{
    const struct nvt_event_attributes *attributes = said->attributes;
    const struct nvt_range row = {
        .start = (int64_t)start,
        .end = (int64_t)end,
        .thread = said->thread,
        .end_thread = said->thread,
        .domain = said->domain,
        .name = said->name,
        .category = attributes->flags & NVT_ATTRIBUTE_CATEGORY ? attributes->category : 0,
        .color = attributes->flags & NVT_ATTRIBUTE_COLOR ? attributes->color : 0,
        .style = NVT_START_END,
        .flags = attributes->flags & NVT_ATTRIBUTE_COLOR ? NVT_RANGE_HAS_COLOR : 0};
    const uint32_t at = nvt_range_add(reader->trace, &row);
    return at == NVT_NONE ? -1 : keep_payload(reader, said, at, 0);
}

static int add_mark(struct nvt_file_reader *reader, const struct nvt_file_said *said, uint64_t time)
{
    const struct nvt_event_attributes *attributes = said->attributes;
    const struct nvt_mark row = {
        .time = (int64_t)time,
        .thread = said->thread,
        .domain = said->domain,
        .name = said->name,
        .category = attributes->flags & NVT_ATTRIBUTE_CATEGORY ? attributes->category : 0,
        .color = attributes->flags & NVT_ATTRIBUTE_COLOR ? attributes->color : 0,
        .flags = attributes->flags & NVT_ATTRIBUTE_COLOR ? NVT_RANGE_HAS_COLOR : 0};
    const uint32_t at = nvt_mark_add(reader->trace, &row);
    return at == NVT_NONE ? -1 : keep_payload(reader, said, at, 1);
}

static int take_deferred(struct nvt_file_reader *reader, const struct nvt_file_said *said)
{
    const int is_mark = said->sample->counter == NVT_SAMPLE_OF_MARK;
    uint64_t start, end = 0;
    if (read_time(reader, said, said->sample->time, &start) ||
        (!is_mark &&
         (!(said->attributes->flags & NVT_ATTRIBUTE_PAYLOAD) ||
          said->attributes->payload_type != NVTX_PAYLOAD_TYPE_INT64 ||
          read_time(reader, said, (int64_t)said->attributes->payload, &end) || end < start))) {
        reader->out_of_time++;
        return 0;
    }
    return is_mark ? add_mark(reader, said, start) : add_range(reader, said, start, end);
}

int nvt_file_take_said(struct nvt_file_reader *reader, const struct nvt_file_said *said)
{
    const int is_told = said->sample->clock == NVT_SAMPLE_TICKS;
    const struct nvt_file_heap_event event = {.ticks = is_told ? (uint64_t)said->sample->time
                                                               : said->ticks,
                                              .process = said->process,
                                              .thread = said->thread,
                                              .name = said->name,
                                              .is_told = (uint8_t)is_told};
    switch (said->sample->counter) {
    case NVT_SAMPLE_OF_HEAP:
        return nvt_file_take_heap(reader, event, said->attributes->bytes,
                                  (size_t)said->attributes->size);
    case NVT_SAMPLE_OF_RANGE:
    case NVT_SAMPLE_OF_MARK:
        return take_deferred(reader, said);
    default: /* of a later version */
        return 0;
    }
}

void nvt_file_note_deferred(const struct nvt_file_reader *reader)
{
    if (reader->out_of_time)
        nvt_trace_note(reader->trace,
                       "deferred events with times outside of the recording are left out: "
                       "%" PRIu64,
                       reader->out_of_time);
}
