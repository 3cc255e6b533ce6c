#include "perfetto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/text.h"
#include "../model/counters.h"
#include "../model/sequences.h"
#include "chrome_args.h"
#include "export.h"
#include "first.h"

enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };

/* Further tracks of a track, at most: in the last one ends are exchanged. */
#define MOST_FURTHER 1024
/* Arrows from where nothing but a thread and a moment is known: above the numbers of calls. */
#define MOMENT_FLOW  (UINT64_C(1) << 40)
#define MOMENT_TAKEN (UINT32_C(1) << 30)

/* --- packets --- */

void nvt_pf_put(struct nvt_pf *pf)
{
    uint8_t head[1 + NVT_VARINT_MAX] = {0x0a}; /* field 1, a message */
    if (pf->interned.size)
        nvt_proto_message(&pf->packet, 12, &pf->interned);
    nvt_proto_number(&pf->packet, 10, 1);
    pf->failed |= pf->packet.failed | pf->event.failed | pf->inner.failed | pf->deep.failed |
                  pf->interned.failed;
    if (!pf->failed) {
        const uint8_t *end = nvt_varint_put(head + 1, pf->packet.size);
        fwrite(head, 1, (size_t)(end - head), pf->out);
        fwrite(pf->packet.data, 1, pf->packet.size, pf->out);
    }
    pf->packet.size = 0;
}

const char *nvt_pf_clean(struct nvt_pf *pf, const char *text)
{
    char bytes[NVT_UTF8_MAX];
    uint32_t character;
    pf->clean.size = 0;
    while ((character = nvt_utf8_next(&text)))
        pf->failed |= nvt_buffer_append(&pf->clean, bytes, nvt_utf8_put(character, bytes)) != 0;
    pf->failed |= nvt_buffer_append(&pf->clean, "", 1) != 0;
    return pf->failed ? "" : (const char *)pf->clean.data;
}

uint64_t nvt_pf_intern(struct nvt_pf *pf, enum nvt_pf_interned kind, const char *text)
{
    static const uint32_t fields[] = {1, 2, 3, 29};
    const uint32_t id = nvt_strings_add_text(pf->strings[kind], text);
    if (id == NVT_NO_STRING) {
        pf->failed = 1;
        return 0;
    }
    /* The empty text is there from the start: its number is 1, and nobody writes it. */
    if (id && id >= pf->told[kind]) {
        nvt_proto_number(&pf->fresh, 1, (uint64_t)id + 1);
        nvt_proto_text(&pf->fresh, 2, nvt_pf_clean(pf, text));
        nvt_proto_message(&pf->interned, fields[kind], &pf->fresh);
        pf->told[kind] = id + 1;
    }
    return (uint64_t)id + 1;
}

/* The event in `event`, which is begun here, at a moment. */
static void begin_event(struct nvt_pf *pf, unsigned type, uint32_t track, int64_t time)
{
    pf->event.size = 0;
    nvt_proto_number(&pf->packet, 8, (uint64_t)time - (uint64_t)pf->base);
    nvt_proto_number(&pf->event, 9, type);
    nvt_proto_number(&pf->event, 11, (uint64_t)track + 1);
}

static void put_event(struct nvt_pf *pf)
{
    nvt_proto_message(&pf->packet, 11, &pf->event);
    nvt_pf_put(pf);
}

/* --- slices --- */

static void put_end(struct nvt_pf *pf, uint32_t track, int64_t time)
{
    begin_event(pf, END, track, time);
    put_event(pf);
}

/* End the slices of a track until a moment. */
static void end_until(struct nvt_pf *pf, uint32_t track, int64_t time)
{
    while (pf->tracks[track].open) {
        const uint32_t at = pf->tracks[track].open - 1;
        if (pf->open[at].end > time)
            return;
        put_end(pf, track, pf->open[at].end);
        pf->tracks[track].open = pf->open[at].outer;
        pf->open[at].outer = pf->open_free;
        pf->open_free = at + 1;
    }
}

/* Open a slice on a track, whose innermost it is then. */
static void push(struct nvt_pf *pf, uint32_t track, int64_t end)
{
    uint32_t at = pf->open_free;
    if (at)
        pf->open_free = pf->open[--at].outer;
    else {
        at = pf->open_count;
        if (nvt_grow(&pf->open, at, sizeof(*pf->open))) {
            pf->failed = 1;
            return;
        }
        pf->open_count++;
    }
    pf->open[at] = (struct nvt_pf_open){end, pf->tracks[track].open};
    pf->tracks[track].open = at + 1;
}

/* The track on which a slice lies inside what is open: its own, or a further one. */
static uint32_t fit(struct nvt_pf *pf, const struct nvt_pf_entry *entry)
{
    uint32_t track = entry->track;
    for (;;) {
        end_until(pf, track, entry->start);
        const uint32_t open = pf->tracks[track].open;
        if (pf->failed || !open || pf->open[open - 1].end >= entry->end ||
            pf->tracks[track].length == MOST_FURTHER)
            return track;
        track = nvt_pf_further_track(pf, track);
    }
}

static uint64_t moment_key(uint32_t thread, int64_t time)
{
    return (uint64_t)time * 64 + thread % 64;
}

/* An arrow from a moment of a thread, where one begins; the first slice there has it. */
static void put_moment_flow(struct nvt_pf *pf, uint32_t thread, int64_t time, uint32_t take)
{
    uint32_t number = nvt_map_get(&pf->launches, moment_key(thread, time));
    if (number == NVT_MAP_NONE || number & take)
        return;
    nvt_proto_fixed64(&pf->event, 47, MOMENT_FLOW + (number & ~MOMENT_TAKEN));
    if (take)
        pf->failed |= nvt_map_set(&pf->launches, moment_key(thread, time), number | take) != 0;
}

/* The arrows of a slice: from calls, or from what began on the thread at that moment, to operations. */
static void put_flow(struct nvt_pf *pf, const struct nvt_pf_entry *entry)
{
    const struct nvt_trace *trace = pf->trace;
    const struct nvt_ops *ops = &trace->ops;
    const uint32_t i = entry->row;
    if (entry->kind == NVT_PF_API && pf->launched[i])
        nvt_proto_fixed64(&pf->event, 47, (uint64_t)i + 1);
    if (entry->kind == NVT_PF_OP && ops->api[i] != NVT_NONE)
        nvt_proto_fixed64(&pf->event, 47, (uint64_t)ops->api[i] + 1);
    else if (entry->kind == NVT_PF_OP && ops->thread[i] != NVT_NONE)
        put_moment_flow(pf, ops->thread[i], ops->launch[i], 0);
    else if (entry->kind == NVT_PF_RANGE && trace->ranges.style[i] == NVT_PUSH_POP)
        put_moment_flow(pf, trace->ranges.thread[i], entry->start, MOMENT_TAKEN);
}

static void put_slice(struct nvt_pf *pf, const struct nvt_pf_entry *entry)
{
    if (entry->end == INT64_MIN) {
        begin_event(pf, INSTANT, entry->track, entry->start);
        nvt_pf_describe(pf, entry);
        put_event(pf);
        return;
    }
    const uint32_t track = fit(pf, entry);
    begin_event(pf, BEGIN, track, entry->start);
    nvt_pf_describe(pf, entry);
    put_flow(pf, entry);
    put_event(pf);
    push(pf, track, entry->end);
}

/* --- what is written --- */

static void add(struct nvt_pf *pf, enum nvt_pf_kind kind, uint32_t row, uint32_t track,
                int64_t start, int64_t end)
{
    if (nvt_reserve(&pf->entries, &pf->entry_room, pf->entry_count + 1, sizeof(*pf->entries))) {
        pf->failed = 1;
        return;
    }
    pf->entries[pf->entry_count++] =
        (struct nvt_pf_entry){.start = start, .end = end, .track = track, .row = row, .kind = kind};
}

static void add_ranges(struct nvt_pf *pf)
{
    const struct nvt_ranges *ranges = &pf->trace->ranges;
    for (uint32_t i = 0; i < ranges->count && !pf->failed; i++)
        add(pf, NVT_PF_RANGE, i,
            ranges->style[i] == NVT_PUSH_POP ? nvt_pf_thread_track(pf, ranges->thread[i])
                                             : nvt_pf_async_track(pf, ranges->thread[i]),
            ranges->start[i], ranges->end[i]);
}

static void add_calls(struct nvt_pf *pf)
{
    const struct nvt_trace *trace = pf->trace;
    for (uint32_t i = 0; i < trace->mpi_calls.count && !pf->failed; i++)
        add(pf, NVT_PF_MPI, i, nvt_pf_thread_track(pf, trace->mpi_calls.thread[i]),
            trace->mpi_calls.start[i], trace->mpi_calls.end[i]);
    for (uint32_t i = 0; i < trace->apis.count && !pf->failed; i++)
        add(pf, NVT_PF_API, i, nvt_pf_thread_track(pf, trace->apis.thread[i]), trace->apis.start[i],
            trace->apis.end[i]);
    for (uint32_t i = 0; i < trace->os_calls.count && !pf->failed; i++)
        add(pf, NVT_PF_OS, i, nvt_pf_thread_track(pf, trace->os_calls.thread[i]),
            trace->os_calls.start[i], trace->os_calls.end[i]);
    for (uint32_t i = 0; i < trace->overheads.count && !pf->failed; i++)
        add(pf, NVT_PF_OVERHEAD, i,
            trace->overheads.thread[i] == NVT_NONE
                ? nvt_pf_process_track(trace->overheads.process[i])
                : nvt_pf_thread_track(pf, trace->overheads.thread[i]),
            trace->overheads.start[i], trace->overheads.end[i]);
}

static void add_devices(struct nvt_pf *pf)
{
    const struct nvt_trace *trace = pf->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_syncs *syncs = &trace->syncs;
    const struct nvt_um_events *events = &trace->um_events;
    uint32_t moments = 0;
    for (uint32_t i = 0; i < ops->count && !pf->failed; i++) {
        add(pf, NVT_PF_OP, i,
            nvt_pf_stream_track(pf, ops->process[i], ops->device[i], ops->stream[i], ""),
            ops->start[i], ops->end[i]);
        if (ops->api[i] != NVT_NONE)
            pf->launched[ops->api[i]] = 1;
        else if (ops->thread[i] != NVT_NONE && ops->launch[i] != INT64_MIN)
            pf->failed |= nvt_map_number(&pf->launches, moment_key(ops->thread[i], ops->launch[i]),
                                         &moments) == NVT_MAP_NONE;
    }
    for (uint32_t i = 0; i < syncs->count && !pf->failed; i++)
        add(pf, NVT_PF_SYNC, i,
            nvt_pf_stream_track(pf, syncs->process[i], syncs->device[i], syncs->stream[i],
                                ", waits"),
            syncs->start[i], syncs->end[i]);
    for (uint32_t i = 0; i < events->count && !pf->failed; i++)
        add(pf, NVT_PF_UM, i,
            events->device[i] == NVT_NONE
                ? nvt_pf_process_track(events->process[i])
                : nvt_pf_stream_track(pf, events->process[i], events->device[i], 0,
                                      ": managed memory"),
            events->start[i], nvt_chrome_um_lasts(trace, i) ? events->end[i] : INT64_MIN);
}

static void add_moments(struct nvt_pf *pf)
{
    const struct nvt_trace *trace = pf->trace;
    for (uint32_t i = 0; i < trace->marks.count && !pf->failed; i++)
        add(pf, NVT_PF_MARK, i, nvt_pf_thread_track(pf, trace->marks.thread[i]),
            trace->marks.time[i], INT64_MIN);
    for (uint32_t i = 0; i < trace->memory.count && !pf->failed; i++)
        add(pf, NVT_PF_MEMORY, i,
            trace->memory.thread[i] == NVT_NONE ? nvt_pf_process_track(trace->memory.process[i])
                                                : nvt_pf_thread_track(pf, trace->memory.thread[i]),
            trace->memory.time[i], INT64_MIN);
}

/* By start, of those that start together the longer first; then as they were added. */
static int compare(const void *one, const void *other)
{
    const struct nvt_pf_entry *a = one, *b = other;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* --- counters --- */

static void put_value(struct nvt_pf *pf, uint32_t track, const char *category, int64_t time,
                      double value)
{
    begin_event(pf, COUNTER, track, time);
    if (*category)
        nvt_proto_number(&pf->event, 3, nvt_pf_intern(pf, NVT_PF_CATEGORY, category));
    if (value == floor(value) && fabs(value) < 9e15)
        nvt_proto_number(&pf->event, 30, (uint64_t)(int64_t)value);
    else
        nvt_proto_double(&pf->event, 44, value);
    put_event(pf);
}

static uint32_t counter_track(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_trace *trace = pf->trace;
    const struct nvt_counters *counters = &trace->counters;
    char whole[400];
    const char *name = nvt_name(trace, counters->name[i]);
    if (counters->is_of_machine[i]) {
        snprintf(whole, sizeof(whole), "%.60s: %.300s", nvt_domain_name(trace, counters->domain[i]),
                 name);
        name = whole;
    }
    return nvt_pf_counter_track(pf, counters->process[i], name, nvt_name(trace, counters->unit[i]));
}

static void put_counters(struct nvt_pf *pf)
{
    const struct nvt_trace *trace = pf->trace;
    const struct nvt_counters *counters = &trace->counters;
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    double *levels = calloc((size_t)counters->count + 1, sizeof(*levels));
    uint32_t *tracks = calloc((size_t)counters->count + 1, sizeof(*tracks));
    pf->failed |= !levels || !tracks;
    for (uint32_t i = 0; !pf->failed && i < counters->count; i++)
        tracks[i] = counter_track(pf, i);
    for (uint32_t i = 0; !pf->failed && i < samples->count; i++) {
        const uint32_t at = samples->counter[i];
        levels[at] = nvt_counter_level(counters->values[at], levels[at], samples->value[i]);
        if (samples->time[i] >= pf->base)
            put_value(pf, tracks[at],
                      counters->is_of_machine[at]   ? NVT_EXPORT_MACHINE
                      : counters->is_of_process[at] ? NVT_EXPORT_PROCESS
                                                    : nvt_domain_name(trace, counters->domain[at]),
                      samples->time[i], levels[at]);
    }
    free(levels);
    free(tracks);
}

/* What memory is in use, as counters that viewers draw: their values are in the events, too. */
static void put_levels(struct nvt_pf *pf)
{
    const struct nvt_memory *memory = &pf->trace->memory;
    struct nvt_map tracks = {0};
    for (uint32_t i = 0; !pf->failed && i < memory->count; i++)
        for (unsigned which = 0; which < 2; which++) {
            const uint64_t level = which ? memory->reserved[i] : memory->allocated[i];
            char name[80];
            if (level == UINT64_MAX)
                continue;
            uint32_t *at =
                nvt_map_at(&tracks, (uint64_t)memory->process[i] << 32 |
                                        (uint64_t)(memory->device[i] & 0x7fffffff) << 1 | which);
            pf->failed |= !at;
            if (at && *at == NVT_MAP_NONE) {
                snprintf(name, sizeof(name),
                         memory->device[i] == NVT_NONE ? "memory of the host, %s"
                                                       : "memory of GPU %2$u, %1$s",
                         which ? "reserved" : "allocated", memory->device[i]);
                *at = nvt_pf_counter_track(pf, memory->process[i], name, "bytes");
            }
            if (at)
                put_value(pf, *at, NVT_EXPORT_MEMORY, memory->time[i], (double)level);
        }
    nvt_map_free(&tracks);
}

/* --- the file --- */

/* A packet with which the state of the sequence begins, and how its clock runs against the calendar. */
static void put_head(struct nvt_pf *pf)
{
    static const uint32_t boot = 6, real = 1;
    int64_t date;
    nvt_proto_number(&pf->packet, 13, 1);
    nvt_proto_number(&pf->packet, 87, 1);
    nvt_proto_number(&pf->inner, 1, boot);
    nvt_proto_number(&pf->inner, 2, 0);
    nvt_proto_message(&pf->event, 1, &pf->inner);
    /* A broken file's clock can stand anywhere. */
    if (pf->trace->origin_ns && !__builtin_add_overflow(pf->trace->origin_ns, pf->base, &date) &&
        date > 0) {
        nvt_proto_number(&pf->inner, 1, real);
        nvt_proto_number(&pf->inner, 2, (uint64_t)date);
        nvt_proto_message(&pf->event, 1, &pf->inner);
    }
    nvt_proto_message(&pf->packet, 6, &pf->event);
    nvt_pf_put(pf);
}

static void write_all(struct nvt_pf *pf)
{
    put_head(pf);
    nvt_pf_describe_owners(pf);
    add_ranges(pf);
    add_calls(pf);
    add_devices(pf);
    add_moments(pf);
    if (pf->entry_count && !pf->failed)
        qsort(pf->entries, pf->entry_count, sizeof(*pf->entries), compare);
    for (size_t i = 0; i < pf->entry_count && !pf->failed; i++)
        put_slice(pf, &pf->entries[i]);
    for (uint32_t i = 0; i < pf->track_count && !pf->failed; i++)
        end_until(pf, i, INT64_MAX);
    put_counters(pf);
    put_levels(pf);
}

static void release(struct nvt_pf *pf)
{
    struct nvt_buffer *const buffers[] = {&pf->packet,   &pf->event, &pf->inner, &pf->deep,
                                          &pf->interned, &pf->fresh, &pf->clean};
    for (size_t i = 0; i < NVT_COUNT_OF(buffers); i++)
        nvt_buffer_free(buffers[i]);
    for (size_t i = 0; i < NVT_COUNT_OF(pf->strings); i++)
        nvt_strings_free(pf->strings[i]);
    for (uint32_t i = 0; i < pf->track_count; i++)
        free(pf->tracks[i].name);
    nvt_map_free(&pf->devices);
    nvt_map_free(&pf->lanes);
    nvt_map_free(&pf->launches);
    nvt_map_free(&pf->sequences);
    free(pf->entries);
    free(pf->tracks);
    free(pf->open);
    free(pf->launched);
}

static int write_perfetto(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    struct nvt_pf pf = {.trace = trace, .out = out, .base = nvt_export_first(trace)};
    pf.launched = calloc((size_t)trace->apis.count + 1, 1);
    pf.failed = !pf.launched || nvt_sequences_map(&pf.sequences, trace);
    for (size_t i = 0; i < NVT_COUNT_OF(pf.strings); i++) {
        pf.strings[i] = nvt_strings_new();
        pf.failed |= !pf.strings[i];
    }
    if (!pf.failed)
        write_all(&pf);
    release(&pf);
    return pf.failed ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

const struct nvt_exporter nvt_exporter_perfetto = {
    .name = "perfetto",
    .about = "Perfetto's binary trace: as chrome, in a third of the size or less",
    .is_trace = 1,
    .is_binary = 1,
    .write = write_perfetto};
