#ifdef HAVE_SQLITE
#include "nsys.h"

#include <stdio.h>

#include "../../lib/grow.h"

/* ENUM_NSYS_EVENT_TYPE. */
enum {
    EVENT_CATEGORY = 33,
    EVENT_MARK = 34,
    EVENT_PUSH = 35,
    EVENT_START = 37,
    EVENT_PUSH_POP = 59,
    EVENT_START_END = 60,
    EVENT_NVTXT_MARK = 65,
    EVENT_NVTXT_PUSH_POP = 70,
    EVENT_NVTXT_START_END = 71,
    EVENT_DOMAIN = 75,
};

enum { TYPE, START, END, TID, END_TID, TEXT, TEXT_ID, DOMAIN, CATEGORY, COLOR };
enum { JSON = COLOR + 1, JSON_ID, INT64, UINT64, DOUBLE, INT32, UINT32, FLOAT };

#define NVTX_COLUMN_NAMES                                                                          \
    {                                                                                              \
        "eventType", "start", "end", "globalTid", "endGlobalTid", "text", "textId", "domainId",    \
            "category", "color", "jsonText", "jsonTextId", "int64Value", "uint64Value",            \
            "doubleValue", "int32Value", "uint32Value", "floatValue"                               \
    }

static uint32_t event_name(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t name = nvt_nsys_name(reader, table, TEXT);
    return name ? name : nvt_nsys_name(reader, table, TEXT_ID);
}

/* The row that a domain of a process has in the model, set or (when `name` is none) looked up; a
 * domain without a name is called by its number. */
static uint32_t domain_row(struct nvt_nsys *reader, uint32_t process, int64_t id, uint32_t name)
{
    char number[32];
    if (!id)
        return 0;
    uint32_t small = nvt_map_number(&reader->domain_ids, (uint64_t)id, &reader->domain_count);
    if (small == NVT_MAP_NONE)
        return NVT_NONE;
    uint32_t *row = nvt_map_at(&reader->domains, (uint64_t)process << 32 | small);
    if (!row)
        return NVT_NONE;
    if (*row == NVT_MAP_NONE) {
        snprintf(number, sizeof(number), "%lld", (long long)id);
        *row =
            nvt_trace_domain(reader->trace, process, name ? nvt_name(reader->trace, name) : number);
    }
    return *row;
}

static uint32_t *category_at(struct nvt_nsys *reader, uint32_t domain, uint32_t category)
{
    return nvt_map_at(&reader->categories, (uint64_t)domain << 32 | category);
}

/* A category is kept until all domains have their names. */
static int keep_category(struct nvt_nsys *reader, const struct nvt_nsys_category *category)
{
    if (nvt_grow(&reader->defined, reader->defined_count, sizeof(*reader->defined)))
        return -1;
    reader->defined[reader->defined_count++] = *category;
    return 0;
}

static int define(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_nsys_category event = {.process = nvt_nsys_process(reader, table, TID),
                                            .domain = nvt_nsys_int(table, DOMAIN, 0),
                                            .number = nvt_nsys_u32(table, CATEGORY, 0),
                                            .name = event_name(reader, table)};
    if (event.process == NVT_NONE || event.name == NVT_NO_STRING)
        return -1;
    if (nvt_nsys_int(table, TYPE, 0) == EVENT_CATEGORY)
        return keep_category(reader, &event);
    return domain_row(reader, event.process, event.domain, event.name) == NVT_NONE ? -1 : 0;
}

static int place_categories(struct nvt_nsys *reader)
{
    for (uint32_t i = 0; i < reader->defined_count; i++) {
        const struct nvt_nsys_category *event = &reader->defined[i];
        const uint32_t domain = domain_row(reader, event->process, event->domain, 0);
        uint32_t *name = domain == NVT_NONE ? NULL : category_at(reader, domain, event->number);
        if (!name)
            return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
        *name = event->name;
    }
    return 0;
}

/* Events that name things come first, because rows have no order. */
static const struct nvt_nsys_spec names = {"NVTX_EVENTS", "eventType IN (33, 75)", 1,
                                           NVTX_COLUMN_NAMES, define};

static uint32_t category_name(struct nvt_nsys *reader, struct nvt_nsys_table *table,
                              uint32_t domain)
{
    char number[32];
    uint32_t category = nvt_nsys_u32(table, CATEGORY, 0);
    if (!category)
        return 0;
    uint32_t *name = category_at(reader, domain, category);
    if (!name)
        return NVT_NO_STRING;
    if (*name == NVT_MAP_NONE) {
        snprintf(number, sizeof(number), "%u", category);
        *name = nvt_strings_add_text(reader->trace->strings, number);
    }
    return *name;
}

/* The text of whichever payload column is set. */
static uint32_t payload_text(struct nvt_nsys *reader, struct nvt_nsys_table *table, uint8_t *flags)
{
    char number[64];
    uint32_t json = nvt_nsys_name(reader, table, JSON);
    if (!json)
        json = nvt_nsys_name(reader, table, JSON_ID);
    if (json) {
        *flags |= NVT_RANGE_HAS_PAYLOAD;
        return json;
    }
    for (int column = INT64; column <= FLOAT; column++) {
        if (nvt_nsys_is_null(table, column))
            continue;
        int64_t whole;
        double real;
        nvt_nsys_number(table, column, &whole, &real);
        if (column == DOUBLE || column == FLOAT)
            snprintf(number, sizeof(number), column == DOUBLE ? "%.17g" : "%.9g", real);
        else if (column == UINT64 || column == UINT32)
            snprintf(number, sizeof(number), "%llu", (unsigned long long)whole);
        else
            snprintf(number, sizeof(number), "%lld", (long long)whole);
        *flags |= NVT_RANGE_HAS_PAYLOAD;
        return nvt_strings_add_text(reader->trace->strings, number);
    }
    return 0;
}

static void seen(struct nvt_trace *trace, uint32_t thread, int64_t time)
{
    struct nvt_threads *threads = &trace->threads;
    if (!threads->events[thread]++ || time > threads->last_ns[thread])
        threads->last_ns[thread] = time;
}

static int add_mark(struct nvt_nsys *reader, struct nvt_nsys_table *table,
                    const struct nvt_range *range)
{
    const struct nvt_mark mark = {.time = range->start,
                                  .thread = range->thread,
                                  .domain = range->domain,
                                  .name = range->name,
                                  .category = range->category,
                                  .color = range->color,
                                  .payload = range->payload,
                                  .flags = range->flags};
    (void)table;
    return nvt_mark_add(reader->trace, &mark) == NVT_NONE ? -1 : 0;
}

static int add_range(struct nvt_nsys *reader, struct nvt_nsys_table *table, struct nvt_range *range)
{
    range->end_thread = range->thread;
    if (range->style == NVT_START_END && !nvt_nsys_is_null(table, END_TID))
        range->end_thread = nvt_nsys_thread(reader, table, END_TID);
    if (range->end_thread == NVT_NONE)
        return -1;
    if (nvt_nsys_is_null(table, END))
        range->flags |= NVT_RANGE_UNCLOSED;
    else {
        range->end = nvt_nsys_time(table, END);
        seen(reader->trace, range->end_thread, range->end);
    }
    return nvt_range_add(reader->trace, range) == NVT_NONE ? -1 : 0;
}

static int event(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_range range = {.style = NVT_PUSH_POP};
    int64_t type = nvt_nsys_int(table, TYPE, 0);
    if (type == EVENT_START_END || type == EVENT_START || type == EVENT_NVTXT_START_END)
        range.style = NVT_START_END;
    else if (type != EVENT_PUSH_POP && type != EVENT_PUSH && type != EVENT_NVTXT_PUSH_POP &&
             type != EVENT_MARK && type != EVENT_NVTXT_MARK)
        return 0;
    range.start = nvt_nsys_time(table, START);
    range.thread = nvt_nsys_thread(reader, table, TID);
    range.name = event_name(reader, table);
    if (range.thread == NVT_NONE || range.name == NVT_NO_STRING)
        return -1;
    range.domain = domain_row(reader, reader->trace->threads.process[range.thread],
                              nvt_nsys_int(table, DOMAIN, 0), 0);
    if (range.domain == NVT_NONE)
        return -1;
    range.category = category_name(reader, table, range.domain);
    if (!nvt_nsys_is_null(table, COLOR)) {
        range.color = nvt_nsys_u32(table, COLOR, 0);
        range.flags |= NVT_RANGE_HAS_COLOR;
    }
    range.payload = payload_text(reader, table, &range.flags);
    if (range.category == NVT_NO_STRING || range.payload == NVT_NO_STRING)
        return -1;
    int is_mark = type == EVENT_MARK || type == EVENT_NVTXT_MARK;
    if (!is_mark && !nvt_nsys_is_null(table, END) &&
        nvt_nsys_is_untimed(range.start, nvt_nsys_time(table, END)))
        return 1;
    seen(reader->trace, range.thread, range.start);
    if (is_mark)
        return add_mark(reader, table, &range);
    return add_range(reader, table, &range);
}

static const struct nvt_nsys_spec events = {"NVTX_EVENTS", NULL, 2, NVTX_COLUMN_NAMES, event};

int nvt_nsys_read_nvtx(struct nvt_nsys *reader)
{
    return nvt_nsys_read(reader, &names) || place_categories(reader) ||
                   nvt_nsys_read(reader, &events)
               ? -1
               : 0;
}
#endif
