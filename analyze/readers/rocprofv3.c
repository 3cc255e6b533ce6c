/*
 * rocprofv3's JSON (--output-format json). Source: rocprofiler-sdk, source/docs/rocprofv3-schema.json and
 * source/lib/output/generateJSON.cpp: a list of processes, each with its agents, counters, strings and kernels, and lists of records by
 * kind. An id is an object around its number ("agent_id": {"handle": 7}); a bare number is taken as well.
 *
 * What records refer to may come behind them, so they are kept until their process ends; a record without times is none.
 */
#include "rocprofv3.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "json_stream.h"
#include "reader.h"

enum place {
    IN_TOP,
    IN_ROOT,
    IN_PROCESSES,
    IN_PROCESS,
    IN_METADATA,
    IN_COMMAND,
    IN_STRINGS,
    IN_CALLBACKS,
    IN_BUFFERS,
    IN_LIST,
    IN_ITEM,
    IN_PART, /* of an item, whose members are as if they were the item's */
    IN_ID,
    IN_SIZES,
    IN_OPERATIONS,
    IN_VALUES,
    IN_VALUE
};

/* What a key leads to. */
enum leads { TO_NUMBER, TO_TEXT, TO_BOTH, TO_ID, TO_SIZES, TO_LIST, TO_PLACE, TO_PID, TO_VALUE };

static const struct rule {
    const char *key; /* NULL: any */
    enum place place;
    enum leads leads;
    int to; /* a number, a list or a place */
    int text;
} rules[] = {
    {"rocprofiler-sdk-tool", IN_ROOT, TO_PLACE, IN_PROCESSES, 0},
    {"metadata", IN_PROCESS, TO_PLACE, IN_METADATA, 0},
    {"agents", IN_PROCESS, TO_LIST, NVT_V3_AGENTS, 0},
    {"counters", IN_PROCESS, TO_LIST, NVT_V3_COUNTERS, 0},
    {"strings", IN_PROCESS, TO_PLACE, IN_STRINGS, 0},
    {"kernel_symbols", IN_PROCESS, TO_LIST, NVT_V3_SYMBOLS, 0},
    {"callback_records", IN_PROCESS, TO_PLACE, IN_CALLBACKS, 0},
    {"buffer_records", IN_PROCESS, TO_PLACE, IN_BUFFERS, 0},
    {"pid", IN_METADATA, TO_PID, 0, 0},
    {"command", IN_METADATA, TO_PLACE, IN_COMMAND, 0},
    {"buffer_records", IN_STRINGS, TO_LIST, NVT_V3_KINDS, 0},
    {"marker_api", IN_STRINGS, TO_LIST, NVT_V3_MESSAGES, 0},
    {"counter_collection", IN_CALLBACKS, TO_LIST, NVT_V3_COUNTS, 0},
    {NULL, IN_CALLBACKS, TO_LIST, NVT_V3_UNREAD, 0},
    {"kernel_dispatch", IN_BUFFERS, TO_LIST, NVT_V3_KERNELS, 0},
    {"memory_copy", IN_BUFFERS, TO_LIST, NVT_V3_COPIES, 0},
    {"memory_allocation", IN_BUFFERS, TO_LIST, NVT_V3_ALLOCATIONS, 0},
    {"hip_api", IN_BUFFERS, TO_LIST, NVT_V3_CALLS, 0},
    {"hsa_api", IN_BUFFERS, TO_LIST, NVT_V3_CALLS, 0},
    {"marker_api", IN_BUFFERS, TO_LIST, NVT_V3_CALLS, 0},
    {"rccl_api", IN_BUFFERS, TO_LIST, NVT_V3_CALLS, 0},
    {"rocdecode_api", IN_BUFFERS, TO_LIST, NVT_V3_CALLS, 0},
    {"rocjpeg_api", IN_BUFFERS, TO_LIST, NVT_V3_CALLS, 0},
    {NULL, IN_BUFFERS, TO_LIST, NVT_V3_UNREAD, 0},
    {"kind", IN_ITEM, TO_BOTH, NVT_V3_KIND, NVT_V3_NAME},
    {"operation", IN_ITEM, TO_NUMBER, NVT_V3_OPERATION, 0},
    {"thread_id", IN_ITEM, TO_NUMBER, NVT_V3_THREAD, 0},
    {"correlation_id", IN_ITEM, TO_ID, NVT_V3_CORRELATION, 0},
    {"start_timestamp", IN_ITEM, TO_NUMBER, NVT_V3_START, 0},
    {"end_timestamp", IN_ITEM, TO_NUMBER, NVT_V3_END, 0},
    {"dispatch_info", IN_ITEM, TO_PLACE, IN_PART, 0},
    {"dispatch_data", IN_ITEM, TO_PLACE, IN_PART, 0},
    {"agent_id", IN_ITEM, TO_ID, NVT_V3_AGENT, 0},
    {"queue_id", IN_ITEM, TO_ID, NVT_V3_QUEUE, 0},
    {"stream_id", IN_ITEM, TO_ID, NVT_V3_STREAM, 0},
    {"kernel_id", IN_ITEM, TO_NUMBER, NVT_V3_KERNEL, 0},
    {"dispatch_id", IN_ITEM, TO_NUMBER, NVT_V3_DISPATCH, 0},
    {"group_segment_size", IN_ITEM, TO_NUMBER, NVT_V3_LDS, 0},
    {"workgroup_size", IN_ITEM, TO_SIZES, NVT_V3_GROUP, 0},
    {"grid_size", IN_ITEM, TO_SIZES, NVT_V3_GRID, 0},
    {"src_agent_id", IN_ITEM, TO_ID, NVT_V3_SOURCE, 0},
    {"dst_agent_id", IN_ITEM, TO_ID, NVT_V3_TARGET, 0},
    {"bytes", IN_ITEM, TO_NUMBER, NVT_V3_BYTES, 0},
    {"allocation_size", IN_ITEM, TO_NUMBER, NVT_V3_BYTES, 0},
    {"address", IN_ITEM, TO_ID, NVT_V3_ADDRESS, 0},
    {"records", IN_ITEM, TO_PLACE, IN_VALUES, 0},
    {"operations", IN_ITEM, TO_PLACE, IN_OPERATIONS, 0},
    {"id", IN_ITEM, TO_ID, NVT_V3_ID, 0},
    {"key", IN_ITEM, TO_NUMBER, NVT_V3_ID, 0},
    {"value", IN_ITEM, TO_TEXT, 0, NVT_V3_NAME},
    {"type", IN_ITEM, TO_NUMBER, NVT_V3_TYPE, 0},
    {"logical_node_type_id", IN_ITEM, TO_NUMBER, NVT_V3_INDEX, 0},
    {"name", IN_ITEM, TO_TEXT, 0, NVT_V3_NAME},
    {"product_name", IN_ITEM, TO_TEXT, 0, NVT_V3_PRODUCT},
    {"kernel_name", IN_ITEM, TO_TEXT, 0, NVT_V3_MANGLED},
    {"formatted_kernel_name", IN_ITEM, TO_TEXT, 0, NVT_V3_FORMATTED},
    {"demangled_kernel_name", IN_ITEM, TO_TEXT, 0, NVT_V3_DEMANGLED},
    {"arch_vgpr_count", IN_ITEM, TO_NUMBER, NVT_V3_REGISTERS, 0},
    {"counter_id", IN_VALUE, TO_ID, NVT_V3_ID, 0},
    {"value", IN_VALUE, TO_VALUE, 0, 0},
};

#define UNREAD_NAMES 16

struct reader {
    struct nvt_v3 file;
    struct nvt_error *err;
    enum place places[NVT_JSON_DEPTH + 1];
    int depth;
    const struct rule *rule; /* of the key before */
    char key[24];            /* its beginning */
    int list;
    struct nvt_v3_item item;
    struct nvt_v3_value value;
    uint64_t number; /* of an id that an object is around */
    int id;          /* which number that is, or of three the first */
    struct nvt_buffer command;
    struct {
        char name[24];
        uint64_t count;
    } unread[UNREAD_NAMES];
    int has_processes, is_cut;
};

static int no_memory(struct reader *reader)
{
    return nvt_fail(reader->err, "out of memory");
}

/* --- keys --- */

static enum place rules_of(enum place place)
{
    return place == IN_PART ? IN_ITEM : place;
}

static int on_key(void *context, const char *text, size_t size)
{
    struct reader *reader = context;
    const enum place place = rules_of(reader->places[reader->depth]);
    reader->rule = NULL;
    snprintf(reader->key, sizeof(reader->key), "%.*s", (int)(size < 64 ? size : 64), text);
    if (place == IN_ID || place == IN_SIZES)
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(rules) && !reader->rule; i++)
        if (rules[i].place == place &&
            (!rules[i].key || (strlen(rules[i].key) == size && !memcmp(rules[i].key, text, size))))
            reader->rule = &rules[i];
    return reader->rule ? 0 : NVT_JSON_SKIP;
}

/* --- brackets --- */

/* Where what opens leads to, IN_TOP: it is of no interest. */
static enum place inside(struct reader *reader, enum place place, int is_array)
{
    const struct rule *rule = reader->rule;
    if (place == IN_TOP)
        return is_array ? IN_TOP : IN_ROOT;
    if (place == IN_PROCESSES || place == IN_LIST || place == IN_VALUES)
        return is_array                ? IN_TOP
               : place == IN_PROCESSES ? IN_PROCESS
               : place == IN_LIST      ? IN_ITEM
                                       : IN_VALUE;
    if (!rule || place == IN_ID || place == IN_SIZES)
        return IN_TOP;
    if (rule->leads == TO_LIST)
        return is_array ? IN_LIST : IN_TOP;
    if (rule->leads == TO_PLACE && rule->to == IN_PROCESSES)
        return is_array ? IN_PROCESSES : IN_PROCESS;
    /* An item has either, and counts them in the same place. */
    if (place == IN_ITEM &&
        ((rule->to == IN_OPERATIONS && reader->list != NVT_V3_KINDS) ||
         (rule->to == IN_VALUES && reader->list != NVT_V3_COUNTS)) &&
        rule->leads == TO_PLACE)
        return IN_TOP;
    if (rule->leads == TO_PLACE)
        return is_array == (rule->to == IN_COMMAND || rule->to == IN_OPERATIONS ||
                            rule->to == IN_VALUES)
                   ? (enum place)rule->to
                   : IN_TOP;
    return is_array                  ? IN_TOP
           : rule->leads == TO_ID    ? IN_ID
           : rule->leads == TO_SIZES ? IN_SIZES
                                     : IN_TOP;
}

/* An item of a list that is not read. A note gets the list's name, which may be any bytes. */
static void count_unread(struct reader *reader)
{
    for (char *at = reader->key; *at; at++)
        *at = isalnum((unsigned char)*at) ? *at : '_';
    for (int i = 0; i < UNREAD_NAMES; i++) {
        if (!reader->unread[i].count)
            snprintf(reader->unread[i].name, sizeof(reader->unread[i].name), "%s", reader->key);
        if (!strcmp(reader->unread[i].name, reader->key)) {
            reader->unread[i].count++;
            return;
        }
    }
}

static int on_open(void *context, int is_array)
{
    struct reader *reader = context;
    const enum place outer = reader->places[reader->depth];
    const enum place place = inside(reader, outer, is_array);
    if (place == IN_ITEM && reader->list == NVT_V3_UNREAD)
        count_unread(reader);
    if (place == IN_TOP || (place == IN_ITEM && reader->list == NVT_V3_UNREAD))
        return NVT_JSON_SKIP;
    if (place == IN_PROCESS)
        reader->has_processes = 1;
    if (place == IN_LIST)
        reader->list = reader->rule->to;
    if (place == IN_ITEM)
        reader->item = (struct nvt_v3_item){0};
    if (place == IN_VALUES)
        reader->item.first = (uint32_t)(reader->file.values.size / sizeof(struct nvt_v3_value));
    if (place == IN_VALUE)
        reader->value = (struct nvt_v3_value){0};
    if (place == IN_OPERATIONS)
        reader->item.first = (uint32_t)(reader->file.operations.size / sizeof(uint32_t));
    if (place == IN_ID || place == IN_SIZES)
        reader->id = reader->rule->to;
    reader->places[++reader->depth] = place;
    if (place != IN_LIST)
        reader->rule = NULL;
    return 0;
}

static int is_record(const struct reader *reader)
{
    return reader->list >= NVT_V3_CALLS && reader->list != NVT_V3_COUNTS;
}

static int end_process(struct reader *reader)
{
    struct nvt_v3 *file = &reader->file;
    file->command = reader->command.size
                        ? nvt_strings_add(file->trace->strings, (const char *)reader->command.data,
                                          reader->command.size)
                        : 0;
    reader->command.size = 0;
    return file->command == NVT_NO_STRING || nvt_v3_add(file) ? no_memory(reader) : 0;
}

static int end_item(struct reader *reader)
{
    const uint32_t timed = UINT32_C(1) << NVT_V3_START | UINT32_C(1) << NVT_V3_END;
    if (is_record(reader) && (reader->item.have & timed) != timed) {
        reader->file.untimed++;
        return 0;
    }
    return nvt_buffer_append(&reader->file.lists[reader->list], &reader->item, sizeof(reader->item))
               ? no_memory(reader)
               : 0;
}

static int on_close(void *context)
{
    struct reader *reader = context;
    struct nvt_v3 *file = &reader->file;
    const enum place place = reader->places[reader->depth--];
    if (place == IN_PROCESS)
        return end_process(reader);
    if (place == IN_ITEM)
        return end_item(reader);
    if (place == IN_VALUES)
        reader->item.count =
            (uint32_t)(file->values.size / sizeof(struct nvt_v3_value)) - reader->item.first;
    if (place == IN_OPERATIONS)
        reader->item.count =
            (uint32_t)(file->operations.size / sizeof(uint32_t)) - reader->item.first;
    if (place == IN_VALUE &&
        nvt_buffer_append(&file->values, &reader->value, sizeof(reader->value)))
        return no_memory(reader);
    return 0;
}

/* --- values --- */

/* A number, decimal or, as text, "0x7f…". 0, or -1: it is none of 64 bits. */
static int number_of(const char *text, size_t size, uint64_t *out)
{
    char copy[40], *end;
    if (!size || size >= sizeof(copy) || !isdigit((unsigned char)*text))
        return -1;
    memcpy(copy, text, size);
    copy[size] = 0;
    errno = 0;
    *out = strtoull(copy, &end, size > 2 && (copy[1] == 'x' || copy[1] == 'X') ? 16 : 10);
    if (*end == '.' || *end == 'e' || *end == 'E') {
        const double number = strtod(copy, &end);
        *out = number < 0x1p63 ? (uint64_t)number : 0;
        errno = number < 0x1p63 ? 0 : ERANGE;
    }
    return *end || errno ? -1 : 0;
}

static void set(struct reader *reader, int which, const char *text, size_t size)
{
    uint64_t number;
    if (number_of(text, size, &number))
        return;
    if (rules_of(reader->places[reader->depth]) == IN_VALUE ||
        (reader->places[reader->depth] == IN_ID && reader->places[reader->depth - 1] == IN_VALUE)) {
        reader->value.counter = number;
        return;
    }
    reader->item.number[which] = number;
    reader->item.have |= UINT32_C(1) << which;
}

/* A word of a command, or the name of an operation. */
static int add_word(struct reader *reader, enum place place, const char *text, size_t size)
{
    if (place == IN_COMMAND)
        return (reader->command.size && nvt_buffer_append(&reader->command, " ", 1)) ||
                       nvt_buffer_append(&reader->command, text, size)
                   ? no_memory(reader)
                   : 0;
    const uint32_t name = nvt_strings_add(reader->file.trace->strings, text, size);
    return name == NVT_NO_STRING || nvt_buffer_append(&reader->file.operations, &name, sizeof(name))
               ? no_memory(reader)
               : 0;
}

static int set_text(struct reader *reader, const char *text, size_t size)
{
    const uint32_t name = nvt_strings_add(reader->file.trace->strings, text, size);
    reader->item.text[reader->rule->text] = name;
    return name == NVT_NO_STRING ? no_memory(reader) : 0;
}

static int on_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    struct reader *reader = context;
    const enum place place = reader->places[reader->depth];
    const struct rule *rule = reader->rule;
    const int is_text = type == NVT_JSON_TEXT, is_number = type == NVT_JSON_NUMBER;
    char copy[40];
    if ((place == IN_COMMAND || place == IN_OPERATIONS) && is_text)
        return add_word(reader, place, text, size);
    if (place == IN_ID && (!strcmp(reader->key, "handle") || !strcmp(reader->key, "internal")))
        set(reader, reader->id, text, size);
    if (place == IN_SIZES && *reader->key >= 'x' && *reader->key <= 'z' && !reader->key[1])
        set(reader, reader->id + (*reader->key - 'x'), text, size);
    if (!rule || place == IN_LIST || (!is_text && !is_number))
        return 0;
    if (rule->leads == TO_VALUE && is_number && size < sizeof(copy)) {
        snprintf(copy, sizeof(copy), "%.*s", (int)size, text);
        reader->value.value = strtod(copy, NULL);
    }
    if (rule->leads == TO_PID && number_of(text, size, &reader->file.pid))
        reader->file.pid = 0;
    if (rule->leads == TO_ID || (is_number && (rule->leads == TO_NUMBER || rule->leads == TO_BOTH)))
        set(reader, rule->to, text, size);
    return is_text && (rule->leads == TO_TEXT || rule->leads == TO_BOTH)
               ? set_text(reader, text, size)
               : 0;
}

/* --- the file --- */

static int cut(void *context)
{
    struct reader *reader = context;
    reader->is_cut = 1;
    return reader->has_processes ? 0 : -1;
}

static int recognizes(const uint8_t *head, size_t size)
{
    static const char key[] = "\"rocprofiler-sdk-tool\"";
    size_t at = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < size && isspace(head[at]))
        at++;
    if (at == size || head[at++] != '{')
        return 0;
    while (at < size && isspace(head[at]))
        at++;
    return size - at >= sizeof(key) - 1 && !memcmp(head + at, key, sizeof(key) - 1);
}

static int finish(struct reader *reader)
{
    struct nvt_trace *trace = reader->file.trace;
    if (reader->is_cut) {
        nvt_trace_warn_truncated(trace, "ends in the middle: what was written until then was read");
        if (end_process(reader))
            return -1;
    }
    if (!trace->processes.count)
        return nvt_fail(reader->err, "is rocprofv3's JSON without any process");
    for (int i = 0; i < UNREAD_NAMES && reader->unread[i].count; i++)
        nvt_trace_note(trace, "%s records are not read (%llu)", reader->unread[i].name,
                       (unsigned long long)reader->unread[i].count);
    if (reader->file.untimed)
        nvt_trace_note(trace, NVT_UNTIMED_NOTE, (unsigned long long)reader->file.untimed);
    return nvt_rocm_finish(trace) ? no_memory(reader) : 0;
}

static int read_file(const char *path, struct nvt_trace *trace, int repairs, struct nvt_error *err)
{
    static const struct nvt_json_handler handler = {
        .open = on_open, .close = on_close, .key = on_key, .value = on_value, .cut = cut};
    struct nvt_error own = NVT_ERROR_INIT;
    uint64_t repaired = 0;
    struct reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return nvt_fail_at(err, path, -1, "out of memory");
    reader->file.trace = trace;
    reader->err = &own;
    int status = nvt_json_stream(path, &handler, reader, repairs ? &repaired : NULL, &own);
    if (!status && finish(reader))
        status = nvt_error_in(&own, path);
    if (repaired)
        nvt_trace_note(trace, NVT_REPAIRED_NOTE, (unsigned long long)repaired);
    nvt_v3_free(&reader->file);
    nvt_buffer_free(&reader->command);
    free(reader);
    if (status && err)
        *err = own;
    return status;
}

static int read_rocprofv3(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_file(path, trace, 0, err);
}

static int read_repaired(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_file(path, trace, 1, err);
}

const struct nvt_reader nvt_reader_rocprofv3 = {.name = "rocprofv3",
                                                .recorder = NVT_BY_OTHERS,
                                                .recognizes = recognizes,
                                                .read = read_rocprofv3,
                                                .read_repaired = read_repaired};
