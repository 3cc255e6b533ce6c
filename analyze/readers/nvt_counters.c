#include "nvt_counters.h"

#include <inttypes.h>
#include <math.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "nvt_forks.h"
#include "nvtx_schema.h"
#include "../model/sort.h"

/* Bytes of a name, "group.entry[3]"; a longer one is cut. */
#define PATH_ROOM 1024
/* A sample of before is later than the event that hands it over by no more than clocks differ, ns. */
#define CLOCK_SLACK INT64_C(1000000)

/* Static ids are unique in a domain, dynamic ones in the process. */
static uint64_t map_key(uint32_t domain, uint64_t id)
{
    return id < NVTX_COUNTER_ID_DYNAMIC_START ? (uint64_t)domain << 32 | id
                                              : id | UINT64_C(1) << 63;
}

/* The counter with this key, made when it is new. NULL when out of memory. */
static struct nvt_file_counter *counter_at(struct nvt_file_reader *reader,
                                           const struct nvt_file_counter_key *key)
{
    struct nvt_file_counters *counters = &reader->counters;
    struct nvt_file_counter *counter =
        nvt_map_item(&reader->processes[key->process].counters, map_key(key->domain, key->id),
                     &counters->items, &counters->count, sizeof(*counter));
    if (counter) {
        counter->process = key->process;
        counter->domain = key->domain;
        counter->id = key->id;
    }
    return counter;
}

int nvt_file_define_counter(struct nvt_file_reader *reader, const struct nvt_file_counter_key *key,
                            struct nvt_cursor bytes)
{
    struct nvt_strings *strings = reader->trace->strings;
    struct nvt_meaning meaning;
    uint64_t name_length, description_length;
    const uint8_t *name = nvt_cursor_text(&bytes, &name_length);
    const uint8_t *description = nvt_cursor_text(&bytes, &description_length);
    uint64_t schema = nvt_cursor_number(&bytes, 8);
    if (key->domain == NVT_MAP_NONE || nvt_meaning_read(&bytes, &meaning))
        return -1;
    struct nvt_file_counter *counter = counter_at(reader, key);
    if (!counter)
        return -1;
    counter->name = nvt_strings_add(strings, (const char *)name, (size_t)name_length);
    counter->description =
        nvt_strings_add(strings, (const char *)description, (size_t)description_length);
    counter->unit =
        nvt_strings_add(strings, (const char *)meaning.unit, (size_t)meaning.unit_length);
    counter->schema = schema;
    counter->flags = meaning.flags;
    counter->numerator = meaning.numerator;
    counter->denominator = meaning.denominator;
    counter->is_defined = 1;
    return counter->name == NVT_NO_STRING || counter->description == NVT_NO_STRING ||
                   counter->unit == NVT_NO_STRING
               ? -1
               : 0;
}

int nvt_file_keep_sample(struct nvt_file_reader *reader, const struct nvt_file_counter_key *key,
                         const struct nvt_file_sample *sample, const uint8_t *payloads, size_t size)
{
    struct nvt_file_counters *counters = &reader->counters;
    const struct nvt_file_counter *counter = counter_at(reader, key);
    if (!counter ||
        nvt_grow(&counters->samples, counters->sample_count, sizeof(*counters->samples)))
        return -1;
    struct nvt_file_sample *kept = &counters->samples[counters->sample_count++];
    *kept = *sample;
    kept->counter = (uint32_t)(counter - counters->items);
    kept->size = 0;
    if (!payloads)
        return 0;
    kept->value = reader->blobs.size;
    kept->size = (uint32_t)size;
    return nvt_buffer_append(&reader->blobs, payloads, size);
}

void nvt_file_counters_free(struct nvt_file_counters *counters)
{
    free(counters->items);
    free(counters->leaves);
    free(counters->samples);
}

/* --- what a sample consists of --- */

/* A counter whose schema is followed. */
struct plan {
    struct nvt_file_reader *reader;
    struct nvt_file_process *process;
    struct nvt_file_counter *counter;
    uint64_t *left; /* of the work that may be done: of broken files, schemas refer to each other */
};

/* Where in the sample, and what it is called. */
struct place {
    uint64_t offset;
    const char *path; /* "group.entry" */
    const struct nvt_meaning *meaning;
    int depth;
};

/* What a value is multiplied by: its unit's scale, and 1 over the largest integer where it is a share of that. */
static double scale_of(const struct nvt_meaning *meaning, struct nvt_nvtx_type type)
{
    double scale = 1;
    if (meaning->numerator && meaning->denominator)
        scale = (double)meaning->numerator / (double)meaning->denominator;
    if (meaning->flags & NVTX_COUNTER_FLAG_NORMALIZE && (type.form == 'i' || type.form == 'u'))
        scale /= ldexp(1, 8 * type.size - (type.form == 'i')) - 1;
    return scale;
}

static uint8_t values_of(const struct nvt_meaning *meaning)
{
    uint64_t type = meaning->flags & NVTX_COUNTER_FLAG_VALUETYPE_DELTA_SINCE_START;
    return type == NVTX_COUNTER_FLAG_VALUETYPE_DELTA               ? NVT_COUNTER_DELTA
           : type == NVTX_COUNTER_FLAG_VALUETYPE_DELTA_SINCE_START ? NVT_COUNTER_SINCE_START
                                                                   : NVT_COUNTER_ABSOLUTE;
}

static int add_leaf(const struct plan *plan, const struct place *place, struct nvt_nvtx_type type)
{
    struct nvt_file_counters *counters = &plan->reader->counters;
    struct nvt_trace *trace = plan->reader->trace;
    const struct nvt_meaning *meaning = place->meaning;
    struct nvt_counter row = {.process = plan->process->row,
                              .domain = plan->counter->domain,
                              .name = nvt_strings_add_text(trace->strings, place->path),
                              .unit = nvt_strings_add(trace->strings, (const char *)meaning->unit,
                                                      (size_t)meaning->unit_length),
                              .description = plan->counter->description,
                              .values = values_of(meaning),
                              .is_further = plan->counter->leaf_count > 0};
    if (nvt_schema_spend(plan->left, 1 + strlen(place->path)))
        return 0;
    struct nvt_file_leaf leaf = {.offset = place->offset,
                                 .size = (uint8_t)type.size,
                                 .form = type.form,
                                 .scale = scale_of(meaning, type)};
    if (row.name == NVT_NO_STRING || row.unit == NVT_NO_STRING ||
        nvt_grow(&counters->leaves, counters->leaf_count, sizeof(*counters->leaves)))
        return -1;
    leaf.row = nvt_counter_add(trace, &row);
    counters->leaves[counters->leaf_count++] = leaf;
    plan->counter->leaf_count++;
    return leaf.row == NVT_NONE ? -1 : 0;
}

static int add_entries(const struct plan *plan, const struct nvt_blob *blob,
                       const struct place *place);

/* A value of any type: numbers become leaves, texts and what has no fixed place do not. *size gets its bytes,
 * 0 where they are unknown. */
static int add_value(const struct plan *plan, uint64_t id, const struct place *place,
                     uint64_t *size)
{
    struct nvt_nvtx_type type = nvt_nvtx_type(id);
    struct nvt_schema schema;
    *size = (uint64_t)type.size;
    if (type.size)
        return type.form == 'c' ? 0 : add_leaf(plan, place, type);
    const struct nvt_blob *blob = nvt_schema_find(plan->reader, plan->process, id);
    if (!blob || place->depth > NVT_SCHEMA_DEEPEST || nvt_schema_open(plan->reader, blob, &schema))
        return 0;
    *size = schema.size;
    if (!blob->is_enum)
        return add_entries(plan, blob, place);
    if (schema.size && schema.size <= 8)
        return add_leaf(plan, place, (struct nvt_nvtx_type){(int)schema.size, 'u'});
    return 0;
}

static int add_array(const struct plan *plan, const struct nvt_schema_entry *entry,
                     const struct place *place)
{
    char path[PATH_ROOM];
    struct place element = *place;
    uint64_t size = 0;
    element.path = path;
    for (uint64_t i = 0; i < entry->detail && i < NVT_SCHEMA_ELEMENTS && *plan->left; i++) {
        snprintf(path, sizeof(path), "%.*s[%u]", (int)sizeof(path) - 16, place->path, (unsigned)i);
        if (add_value(plan, entry->type, &element, &size))
            return -1;
        if (!size)
            break;
        element.offset += size;
    }
    return 0;
}

/* The path of an entry: its name behind that of what it is in; its number where it has none. */
static void extend_path(char *path, size_t size, const char *before,
                        const struct nvt_schema_entry *entry, uint64_t number)
{
    size_t length = strnlen(before, size - 1);
    uint64_t most = entry->name_length < size ? entry->name_length : size;
    if (most)
        snprintf(path, size, "%.*s%s%.*s", (int)length, before, length ? "." : "", (int)most,
                 (const char *)entry->name);
    else
        snprintf(path, size, "%.*s%s%u", (int)length, before, length ? "." : "", (unsigned)number);
}

static int add_entries(const struct plan *plan, const struct nvt_blob *blob,
                       const struct place *place)
{
    char path[PATH_ROOM];
    struct nvt_schema schema;
    struct nvt_schema_entry entry;
    uint64_t ignored;
    if (nvt_schema_open(plan->reader, blob, &schema))
        return 0;
    nvt_schema_meanings(&schema);
    for (uint64_t i = 0; i < schema.count && !nvt_schema_next(&schema, &entry); i++) {
        const struct nvt_meaning *own = nvt_schema_meaning(&schema, i);
        uint64_t array = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags);
        if (nvt_schema_spend(plan->left, 1))
            return 0;
        if (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP || nvt_nvtx_is_text(entry.type) ||
            entry.offset > UINT32_MAX || place->offset > UINT32_MAX)
            continue;
        extend_path(path, sizeof(path), place->path, &entry, i);
        struct place at = {place->offset + entry.offset, path, own ? own : place->meaning,
                           place->depth + 1};
        int status = 0;
        if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
            status = add_array(plan, &entry, &at);
        else if (!array)
            status = add_value(plan, entry.type, &at, &ignored);
        if (status)
            return -1;
    }
    return 0;
}

/* The numbers of a counter's samples; one that knows no schema has one. 0, or -1 when out of memory. */
static int find_leaves(const struct plan *plan)
{
    struct nvt_file_counter *counter = plan->counter;
    struct nvt_trace *trace = plan->reader->trace;
    char name[PATH_ROOM];
    size_t length;
    uint64_t ignored;
    const char *unit = nvt_strings_get(trace->strings, counter->unit, &length);
    struct nvt_meaning meaning = {.flags = counter->flags,
                                  .numerator = counter->numerator,
                                  .denominator = counter->denominator,
                                  .unit = (const uint8_t *)unit,
                                  .unit_length = length};
    /* Of its own, as strings move when others are added. */
    uint8_t *copy = malloc(length + 1);
    if (!copy)
        return -1;
    memcpy(copy, unit, length);
    meaning.unit = copy;
    snprintf(name, sizeof(name), "%s", nvt_name(trace, counter->name));
    struct place place = {0, name, &meaning, 0};
    counter->has_leaves = 1;
    counter->first_leaf = (uint32_t)plan->reader->counters.leaf_count;
    int status = add_value(plan, counter->schema, &place, &ignored);
    /* Of a schema that nobody knows, there are numbers by themselves only. */
    place.offset = UINT64_MAX;
    if (!status && !counter->leaf_count && !ignored)
        status = add_leaf(plan, &place, nvt_nvtx_type(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE));
    free(copy);
    return status;
}

/* --- samples --- */

struct completion {
    struct nvt_file_reader *reader;
    struct nvt_clock_line line;
    int64_t origin;
    uint64_t left;
    uint64_t not_finite, out_of_time, unknown; /* samples that are left out */
};

/* ns on the trace's axis. */
static int64_t from_ticks(struct completion *completion, uint64_t ticks)
{
    const struct nvt_file_reader *reader = completion->reader;
    return nvt_clock_convert_near(reader->samples, reader->sample_count, completion->origin,
                                  &completion->line, ticks);
}

/* When a sample was taken. -1: its time is outside of the recording. */
static int time_of(struct completion *completion, const struct nvt_file_sample *sample,
                   int64_t *time)
{
    int64_t event = from_ticks(completion, sample->ticks), given = nvt_clock_within(sample->time);
    switch (sample->clock) {
    case NVT_SAMPLE_EVENT:
        *time = event;
        return 0;
    case NVT_SAMPLE_TICKS:
        *time = from_ticks(completion, (uint64_t)sample->time);
        break;
    case NVT_SAMPLE_MONOTONIC:
        *time = given - nvt_clock_within(completion->origin);
        break;
    case NVT_SAMPLE_REALTIME:
        *time = given - nvt_clock_within(completion->reader->trace->origin_ns);
        break;
    default:
        return -1;
    }
    return *time < -CLOCK_SLACK || *time > event + CLOCK_SLACK ? -1 : 0;
}

static int put_value(struct completion *completion, const struct nvt_file_sample *sample,
                     struct nvt_file_leaf *leaf, int64_t time, double value)
{
    struct nvt_counter_sample row = {.time = time,
                                     .counter = leaf->row,
                                     .thread = sample->thread,
                                     .value = value,
                                     .flags = sample->clock ? NVT_SAMPLE_BATCHED : 0};
    if (!isfinite(value)) {
        completion->not_finite++;
        return 0;
    }
    leaf->last = value;
    leaf->has_last = 1;
    return nvt_counter_sample_add(completion->reader->trace, &row) == NVT_NONE ? -1 : 0;
}

/* A number as NVTX's attributes have it. */
static double number_of(const struct nvt_file_sample *sample)
{
    double real;
    if (sample->type != NVTX_PAYLOAD_TYPE_DOUBLE)
        return (double)(int64_t)sample->value;
    memcpy(&real, &sample->value, sizeof(real));
    return real;
}

/* All numbers of the counter are zero, or what they were. */
static int put_reason(struct completion *completion, const struct nvt_file_sample *sample,
                      struct nvt_file_leaf *leaves, uint32_t count, int64_t time)
{
    for (uint32_t i = 0; i < count; i++) {
        int is_known = sample->value == NVTX_COUNTER_SAMPLE_ZERO ||
                       (sample->value == NVTX_COUNTER_SAMPLE_UNCHANGED && leaves[i].has_last);
        double value = sample->value == NVTX_COUNTER_SAMPLE_ZERO ? 0 : leaves[i].last;
        if (is_known && (nvt_schema_spend(&completion->left, 1) ||
                         put_value(completion, sample, &leaves[i], time, value)))
            return completion->left ? -1 : 0;
    }
    return 0;
}

/* What stands in the payload: its id and size, then the bytes. */
static int put_payload(struct completion *completion, const struct nvt_file_sample *sample,
                       struct nvt_file_leaf *leaves, uint32_t count, int64_t time)
{
    const uint8_t *bytes = completion->reader->blobs.data + sample->value;
    struct nvt_cursor cursor = {bytes, bytes + sample->size};
    nvt_cursor_number(&cursor, 8);
    uint64_t size = nvt_cursor_number(&cursor, 8);
    const uint8_t *data = nvt_cursor_bytes(&cursor, size);
    for (uint32_t i = 0; data && i < count; i++) {
        struct nvt_nvtx_type type = {leaves[i].size, leaves[i].form};
        if (leaves[i].offset > size || size - leaves[i].offset < leaves[i].size)
            continue;
        if (nvt_schema_spend(&completion->left, 1))
            return 0;
        double value = nvt_nvtx_value(type, data + leaves[i].offset) * leaves[i].scale;
        if (put_value(completion, sample, &leaves[i], time, value))
            return -1;
    }
    return 0;
}

static int put_sample(struct completion *completion, const struct nvt_file_sample *sample)
{
    struct nvt_file_reader *reader = completion->reader;
    struct nvt_file_counter *counter = &reader->counters.items[sample->counter];
    struct plan plan = {reader, &reader->processes[counter->process], counter, &completion->left};
    int64_t time;
    if (!counter->is_defined)
        nvt_file_kin_counter(reader, counter);
    if (!counter->is_defined) {
        completion->unknown++;
        return 0;
    }
    if (!counter->has_leaves && find_leaves(&plan))
        return -1;
    struct nvt_file_leaf *leaves = reader->counters.leaves + counter->first_leaf;
    uint32_t count = counter->leaf_count;
    if (time_of(completion, sample, &time)) {
        completion->out_of_time++;
        return 0;
    }
    if (sample->size)
        return put_payload(completion, sample, leaves, count, time);
    if (sample->type == NVT_SAMPLE_NO_VALUE)
        return put_reason(completion, sample, leaves, count, time);
    return count ? put_value(completion, sample, leaves, time, number_of(sample) * leaves->scale)
                 : 0;
}

/* In the order in which they were taken; NULL in *order: they are. 0, or -1 when out of memory. */
static int order_samples(const struct nvt_file_counters *counters, uint32_t **order)
{
    uint64_t count = counters->sample_count;
    *order = NULL;
    if (count > UINT32_MAX)
        return -1;
    int64_t *ticks = malloc((count + 1) * sizeof(*ticks));
    if (!ticks)
        return -1;
    for (uint64_t i = 0; i < count; i++)
        ticks[i] = (int64_t)counters->samples[i].ticks;
    int status = nvt_sort_order(ticks, NULL, (uint32_t)count, order);
    free(ticks);
    return status;
}

static void say_what_is_missing(const struct completion *completion)
{
    struct nvt_trace *trace = completion->reader->trace;
    if (!completion->left)
        nvt_trace_warn(
            trace,
            "samples of counters hold more numbers than a recording has: the rest is left out");
    if (completion->unknown)
        nvt_trace_note(trace, "samples of counters that are not defined are left out: %" PRIu64,
                       completion->unknown);
    if (completion->out_of_time)
        nvt_trace_note(trace,
                       "samples of counters with times outside of the recording are left out: "
                       "%" PRIu64,
                       completion->out_of_time);
    if (completion->not_finite)
        nvt_trace_note(trace,
                       "values of counters that are infinite or not numbers are left out: %" PRIu64,
                       completion->not_finite);
}

int nvt_file_complete_counters(struct nvt_file_reader *reader, int64_t origin)
{
    struct nvt_file_counters *counters = &reader->counters;
    struct completion completion = {.reader = reader, .origin = origin};
    completion.left = NVT_PAYLOAD_GRACE +
                      NVT_PAYLOAD_RATIO * ((uint64_t)reader->blobs.size + counters->sample_count);
    uint32_t *order;
    /* "Unchanged" is said of the one before in time, of whichever thread. */
    int status = order_samples(counters, &order);
    for (uint64_t i = 0; i < counters->sample_count && !status && completion.left; i++)
        status = put_sample(&completion, &counters->samples[order ? order[i] : i]);
    free(order);
    free(counters->samples);
    counters->samples = NULL;
    counters->sample_count = 0;
    say_what_is_missing(&completion);
    return status;
}
