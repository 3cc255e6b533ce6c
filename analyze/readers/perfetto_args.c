/* What slices say of themselves: annotations, and the text of "metadata" in which Kineto writes what its JSON has as args. */
#include "kineto_dialects.h"
#include "kineto_keys.h"
#include "perfetto.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

/* A name and a value that belongs to it, which is a number, a text, or a list of either. */
struct value {
    const char *text; /* as it is written; not terminated */
    size_t size;
    int is_text;
    uint64_t address; /* of a pointer */
};

/* --- numbers and texts of an event --- */

/* "Agent-4", "GPU 0": the last number of a text. */
static int last_number(const struct value *value, int64_t *out)
{
    size_t at = value->size;
    while (at && !isdigit((unsigned char)value->text[at - 1]))
        at--;
    const size_t end = at;
    while (at && isdigit((unsigned char)value->text[at - 1]))
        at--;
    return end > at ? nvt_parse_scaled(value->text + at, end - at, 0, out) : -1;
}

/* A key that may be one of rocprofv3's. */
static void take_rocm(struct nvt_kineto_event *event, const char *key, size_t size,
                      const struct value *value)
{
    static const struct {
        const char *key;
        enum nvt_kineto_number number;
    } keys[] = {{"corr_id", NVT_KN_CORRELATION},  {"copy_bytes", NVT_KN_BYTES},
                {"stream_ID", NVT_KN_STREAM},     {"agent", NVT_KN_DEVICE},
                {"VGPR_Count", NVT_KN_REGISTERS}, {"LDS_Block_Size", NVT_KN_SHARED},
                {"src_agent", NVT_KN_SOURCE},     {"dst_agent", NVT_KN_TARGET}};
    int64_t number;
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (strlen(keys[i].key) == size && !memcmp(keys[i].key, key, size)) {
            if (!last_number(value, &number))
                nvt_kineto_set(event, keys[i].number, number);
            return;
        }
    /* Products of the three sizes, of the grid in threads. */
    const int is_group = size == 14 && !memcmp(key, "workgroup_size", 14);
    if (!is_group && !(size == 9 && !memcmp(key, "grid_size", 9)))
        return;
    if (!last_number(value, &number) && number > 0 && number < UINT32_MAX) {
        uint32_t *sizes = is_group ? event->block : event->grid;
        sizes[0] = (uint32_t)number;
        sizes[1] = sizes[2] = 1;
        *(is_group ? &event->block_size : &event->grid_size) = 3;
    }
}

static uint32_t *text_at(struct nvt_kineto_event *event, int key)
{
    switch (key) {
    case KEY_COLLECTIVE:
        return &event->collective;
    case KEY_TYPE:
        return &event->type;
    case KEY_GROUP:
        return &event->group;
    case KEY_PURPOSE:
        return &event->purpose;
    case KEY_FILE:
        return &event->file;
    case KEY_CALLER:
        return &event->caller;
    default:
        return NULL;
    }
}

/* 0, or -1 when out of memory. */
static int take_value(struct nvt_perfetto *reader, int key, const struct value *value)
{
    struct nvt_trace *trace = reader->kineto.trace;
    struct nvt_kineto_event *event = &reader->kineto.event;
    uint32_t *text = text_at(event, key);
    int64_t number;
    if (text) {
        *text = nvt_strings_add(trace->strings, value->text, value->size);
        return *text == NVT_NO_STRING ? -1 : 0;
    }
    if (key == KEY_MEMBERS) {
        event->members = nvt_kineto_members(trace->strings, value->text, value->size);
        return event->members == NVT_NO_STRING ? -1 : 0;
    }
    if (key == KEY_ADDRESS)
        event->address = value->address;
    if (key == KEY_DETAILS)
        nvt_dialect_details(event, value->text, value->size);
    if (key >= KEY_NUMBER && !nvt_parse_scaled(value->text, value->size, 0, &number))
        nvt_kineto_set(event, (enum nvt_kineto_number)(key - KEY_NUMBER), number);
    return 0;
}

/* One of a list of sizes. */
static void take_size(struct nvt_kineto_event *event, int key, const struct value *value)
{
    uint32_t *sizes = key == KEY_GRID ? event->grid : event->block;
    unsigned *count = key == KEY_GRID ? &event->grid_size : &event->block_size;
    int64_t number;
    if (*count < 3 && !nvt_parse_scaled(value->text, value->size, 0, &number) && number >= 0 &&
        number <= UINT32_MAX)
        sizes[(*count)++] = (uint32_t)number;
}

/* A name with a value. What it says of the kind of event is kept for classify. 0, or -1 when out of memory. */
static int take_arg(struct nvt_perfetto *reader, const char *name, size_t size,
                    const struct value *value)
{
    struct nvt_kineto_event *event = &reader->kineto.event;
    const int key = nvt_kineto_key(name, size);
    if (size == 4 && !memcmp(name, "cbid", 4))
        reader->says |= NVT_PERFETTO_SAYS_CALL;
    if ((size == 11 && !memcmp(name, "External id", 11)) ||
        (size == 18 && !memcmp(name, "Record function id", 18)))
        reader->says |= NVT_PERFETTO_SAYS_OPERATOR;
    if (size == 9 && !memcmp(name, "Python id", 9))
        reader->says |= NVT_PERFETTO_SAYS_PYTHON;
    if (key == OTHER_KEY) {
        take_rocm(event, name, size, value);
        return 0;
    }
    if (key == KEY_GRID || key == KEY_BLOCK) {
        take_size(event, key, value);
        return 0;
    }
    return take_value(reader, key, value);
}

int nvt_perfetto_arg(struct nvt_perfetto *reader, const char *name, size_t length, const char *text,
                     size_t size)
{
    const struct value value = {.text = text, .size = size};
    return take_arg(reader, name, length, &value);
}

/* --- Kineto's metadata: "device": 0, "grid": [1, 2, 3], "name": "text" --- */

struct scan {
    const char *at, *end;
};

static void skip_space(struct scan *scan)
{
    while (scan->at < scan->end && (isspace((unsigned char)*scan->at) || *scan->at == ',' ||
                                    *scan->at == '{' || *scan->at == '}'))
        scan->at++;
}

/* A text in quotes, whose escapes stay as they are. 0, or -1: there is none. */
static int scan_text(struct scan *scan, struct value *value)
{
    if (scan->at == scan->end || *scan->at != '"')
        return -1;
    value->text = ++scan->at;
    value->is_text = 1;
    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 2 : 1;
    if (scan->at >= scan->end)
        return -1;
    value->size = (size_t)(scan->at++ - value->text);
    return 0;
}

/* A text, or what stands until the next comma or bracket. */
static int scan_value(struct scan *scan, struct value *value)
{
    *value = (struct value){.text = scan->at};
    if (scan->at < scan->end && *scan->at == '"')
        return scan_text(scan, value);
    while (scan->at < scan->end && !strchr(",]}[{\" \t\n", *scan->at))
        scan->at++;
    value->size = (size_t)(scan->at - value->text);
    return value->size ? 0 : -1;
}

/* A list that has lists within is left out. */
static int scan_list(struct nvt_perfetto *reader, struct scan *scan, const struct value *name)
{
    int depth = 1;
    struct value value;
    for (scan->at++; scan->at < scan->end && depth;) {
        skip_space(scan);
        if (scan->at < scan->end && (*scan->at == '[' || *scan->at == ']')) {
            depth += *scan->at++ == '[' ? 1 : -1;
            continue;
        }
        if (scan->at == scan->end || scan_value(scan, &value))
            return 1;
        if (depth == 1 && take_arg(reader, name->text, name->size, &value))
            return -1;
    }
    return 0;
}

/* 0, or -1 when out of memory; what is no such text ends it. */
static int take_metadata(struct nvt_perfetto *reader, const char *text, size_t size)
{
    struct scan scan = {text, text + size};
    struct value name, value;
    for (;;) {
        skip_space(&scan);
        if (scan_text(&scan, &name))
            return 0;
        while (scan.at < scan.end && (isspace((unsigned char)*scan.at) || *scan.at == ':'))
            scan.at++;
        if (scan.at < scan.end && *scan.at == '[') {
            const int status = scan_list(reader, &scan, &name);
            if (status)
                return status < 0 ? -1 : 0;
            continue;
        }
        if (scan_value(&scan, &value))
            return 0;
        if (take_arg(reader, name.text, name.size, &value))
            return -1;
    }
}

/* --- annotations --- */

struct annotation {
    const char *name;
    size_t name_size;
    struct value value;
    char number[32];
    struct nvt_wire list; /* the whole message, where it holds values of a list or a dictionary */
    int has_value, is_json;
};

static int take_name(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                     uint64_t iid, enum nvt_perfetto_interned kind, const char **text, size_t *size)
{
    const uint32_t id = nvt_perfetto_interned(reader, packet, kind, iid);
    if (id == NVT_NO_STRING)
        return -1;
    *text = nvt_strings_get(reader->kineto.trace->strings, id, size);
    return 0;
}

static void take_numeral(struct annotation *out, const struct nvt_wire_field *field)
{
    int length = 0;
    if (field->number == 4)
        length = snprintf(out->number, sizeof(out->number), "%" PRId64, nvt_wire_int(field));
    else if (field->number == 5)
        length = snprintf(out->number, sizeof(out->number), "%.17g", nvt_wire_double(field));
    else
        length = snprintf(out->number, sizeof(out->number), "%" PRIu64, field->value);
    out->value = (struct value){
        .text = out->number, .size = length > 0 ? (size_t)length : 0, .address = field->value};
    out->has_value = 1;
}

/* 0, or -1 when out of memory. */
static int read_annotation(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                           struct nvt_wire wire, struct annotation *out)
{
    const struct nvt_wire whole = wire;
    struct nvt_wire_field field;
    *out = (struct annotation){0};
    while (nvt_wire_next(&wire, &field) > 0) {
        const int is_text = field.type == NVT_WIRE_BYTES;
        if (field.number == 1) {
            if (take_name(reader, packet, field.value, NVT_PI_ANNOTATION, &out->name,
                          &out->name_size))
                return -1;
        } else if (field.number == 10 && is_text) {
            out->name = (const char *)field.data;
            out->name_size = field.size;
        } else if ((field.number == 6 || field.number == 9) && is_text) {
            out->value =
                (struct value){.text = (const char *)field.data, .size = field.size, .is_text = 1};
            out->has_value = 1;
            out->is_json = field.number == 9;
        } else if (field.number == 17) {
            out->has_value = out->value.is_text = 1;
            if (take_name(reader, packet, field.value, NVT_PI_TEXT, &out->value.text,
                          &out->value.size))
                return -1;
        } else if (field.number >= 2 && field.number <= 7 && !is_text)
            take_numeral(out, &field);
        else if (field.number == 11 || field.number == 12)
            out->list = whole;
    }
    return 0;
}

/* Entries of a dictionary have names of their own, those of a list have that of the list. Dictionaries are read one level deep. */
static int take_list(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                     const struct annotation *outer)
{
    struct nvt_wire list = outer->list;
    struct nvt_wire_field field;
    struct annotation inner;
    while (nvt_wire_next(&list, &field) > 0) {
        if ((field.number != 11 && field.number != 12) || field.type != NVT_WIRE_BYTES)
            continue;
        if (read_annotation(reader, packet, nvt_wire_in(&field), &inner))
            return -1;
        const char *name = field.number == 11 ? inner.name : outer->name;
        const size_t size = field.number == 11 ? inner.name_size : outer->name_size;
        if (inner.has_value && name && take_arg(reader, name, size, &inner.value))
            return -1;
    }
    return 0;
}

int nvt_perfetto_annotation(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                            struct nvt_wire wire)
{
    struct annotation annotation;
    int status = read_annotation(reader, packet, wire, &annotation);
    if (!status && annotation.list.at)
        status = take_list(reader, packet, &annotation);
    if (!status && annotation.has_value && annotation.name) {
        const int is_metadata =
            annotation.name_size == 8 && !memcmp(annotation.name, "metadata", 8);
        const struct value *value = &annotation.value;
        if (value->is_text && (annotation.is_json || is_metadata))
            status = take_metadata(reader, value->text, value->size);
        else
            status = take_arg(reader, annotation.name, annotation.name_size, value);
    }
    return status ? nvt_kineto_no_memory(&reader->kineto) : 0;
}

/* --- what kind of event it is --- */

static int begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Of rocprofv3: copies say between which agents, of which one is a device. */
static const char *rocm_category(struct nvt_kineto_event *event, const char *category,
                                 const char *name)
{
    if (!strcmp(category, "memory_copy")) {
        const int from_device = begins(name, "MEMORY_COPY_DEVICE_TO_HOST");
        const int64_t device = event->number[from_device ? NVT_KN_SOURCE : NVT_KN_TARGET];
        nvt_kineto_set(event, NVT_KN_DEVICE, device > 0 ? device : 0);
        event->have &= ~(1u << NVT_KN_SOURCE | 1u << NVT_KN_TARGET);
        return "gpu_memcpy";
    }
    if (!strcmp(category, "kernel_dispatch")) {
        const uint32_t threads = event->block_size ? event->block[0] : 0;
        if (event->grid_size && threads)
            event->grid[0] = event->grid[0] / threads + (event->grid[0] % threads != 0);
        return "kernel";
    }
    return !strcmp(category, "hip_api")      ? "hip_runtime"
           : !strcmp(category, "hsa_api")    ? "hsa_api"
           : !strcmp(category, "marker_api") ? "nvtx"
                                             : NULL;
}

/* Of Kineto, which writes no categories here: by what it says of each. */
static const char *kineto_category(const struct nvt_perfetto *reader, const char *name)
{
    const struct nvt_kineto_event *event = &reader->kineto.event;
    if (reader->says & NVT_PERFETTO_SAYS_CALL)
        return begins(name, "cuda") || begins(name, "hip") ? "cuda_runtime" : "cuda_driver";
    if (event->have >> NVT_KN_STREAM & 1 && event->have >> NVT_KN_DEVICE & 1) {
        if (begins(name, "Memcpy"))
            return "gpu_memcpy";
        if (begins(name, "Memset"))
            return "gpu_memset";
        return begins(name, "Stream Wait Event") || begins(name, "Event Sync") ||
                       begins(name, "Stream Sync") || begins(name, "Context Sync")
                   ? "cuda_sync"
                   : "kernel";
    }
    if (begins(name, "PyTorch Profiler ("))
        return "Trace";
    return reader->says & NVT_PERFETTO_SAYS_PYTHON     ? "python_function"
           : reader->says & NVT_PERFETTO_SAYS_OPERATOR ? "Operator"
                                                       : NULL;
}

int nvt_perfetto_classify(struct nvt_perfetto *reader)
{
    struct nvt_kineto *kineto = &reader->kineto;
    const char *category = nvt_name(kineto->trace, kineto->event.category);
    const char *name = nvt_name(kineto->trace, kineto->event.name);
    const char *made =
        *category ? rocm_category(&kineto->event, category, name) : kineto_category(reader, name);
    if (made && *category)
        kineto->backend = "hip";
    if (made)
        kineto->event.category = nvt_strings_add_text(kineto->trace->strings, made);
    return kineto->event.category == NVT_NO_STRING ? nvt_kineto_no_memory(kineto) : 0;
}
