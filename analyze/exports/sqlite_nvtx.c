#ifdef HAVE_SQLITE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite.h"

/* ENUM_NSYS_EVENT_TYPE. */
enum { CATEGORY = 33, MARK = 34, PUSH_POP = 59, START_END = 60, DOMAIN = 75 };

/* Names of categories get numbers above those that programs use. */
#define NAMED_CATEGORY (1u << 20)

/* A row of NVTX_EVENTS, of any type. */
struct event {
    int64_t start, end;
    int has_end, type;
    uint32_t thread, end_thread; /* NVT_NONE: none */
    uint32_t process;            /* of an event without thread */
    uint32_t name, domain, category, color, payload;
    uint8_t flags;
    int64_t id;          /* -1: none */
    const double *value; /* instead of a payload, NULL: none */
};

/* A category that is called by its number has no name. */
static uint32_t category_number(struct nvt_sql *sql, uint32_t name)
{
    const char *text = nvt_name(sql->trace, name);
    char *end, back[32];
    unsigned long number = strtoul(text, &end, 10);
    snprintf(back, sizeof(back), "%lu", number);
    if (!*end && number && number < NAMED_CATEGORY && !strcmp(back, text))
        return (uint32_t)number;
    return NAMED_CATEGORY + name;
}

static int is_whole_number(const char *text)
{
    char back[32];
    snprintf(back, sizeof(back), "%lld", strtoll(text, NULL, 10));
    return !strcmp(back, text);
}

static int put_event(struct nvt_sql *sql, const struct event *event)
{
    const int has_payload = event->flags & NVT_RANGE_HAS_PAYLOAD;
    const char *payload = nvt_name(sql->trace, event->payload);
    const int is_whole = has_payload && is_whole_number(payload);
    nvt_sql_more(sql, event->start, NVT_IF(event->has_end, event->end), event->type,
                 NVT_IF(event->id >= 0, event->id),
                 NVT_IF(event->category, category_number(sql, event->category)),
                 NVT_IF(event->flags & NVT_RANGE_HAS_COLOR, event->color));
    nvt_sql_name(sql, event->name);
    nvt_sql_more(sql,
                 event->thread == NVT_NONE ? nvt_sql_process(sql, event->process)
                                           : nvt_sql_thread(sql, event->thread),
                 nvt_sql_thread(sql, event->end_thread), NVT_NULL, event->domain, NVT_NULL,
                 NVT_IF(is_whole, strtoll(payload, NULL, 10)), NVT_IF(event->value, *event->value),
                 NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL);
    if (!has_payload || is_whole)
        return nvt_sql_put(sql, NVT_NULL, NVT_NULL);
    nvt_sql_name(sql, event->payload); /* jsonText */
    return nvt_sql_put(sql, NVT_NULL);
}

static int put_domains(struct nvt_sql *sql)
{
    const struct nvt_domains *domains = &sql->trace->domains;
    for (uint32_t i = 1; i < domains->count; i++) {
        const struct event event = {.start = sql->trace->first_ns,
                                    .type = DOMAIN,
                                    .thread = NVT_NONE,
                                    .end_thread = NVT_NONE,
                                    .process = domains->process[i],
                                    .name = domains->name[i],
                                    .domain = i,
                                    .id = -1};
        if (put_event(sql, &event))
            return -1;
    }
    return 0;
}

/* The event that names a category, once a process, domain and category. */
static int name_category(struct nvt_sql *sql, struct nvt_map *named, uint32_t thread,
                         uint32_t domain, uint32_t category)
{
    uint32_t process = sql->trace->threads.process[thread];
    if (!category || category_number(sql, category) < NAMED_CATEGORY)
        return 0;
    /* Domains but the default one belong to a process. */
    uint64_t owner = domain ? domain : ~(uint64_t)process;
    uint32_t *at = nvt_map_at(named, owner << 32 ^ category);
    if (!at)
        return nvt_fail_at(sql->err, sql->path, -1, "out of memory");
    if (*at != NVT_MAP_NONE)
        return 0;
    *at = 1;
    const struct event event = {.start = sql->trace->first_ns,
                                .type = CATEGORY,
                                .thread = NVT_NONE,
                                .end_thread = NVT_NONE,
                                .process = process,
                                .name = category,
                                .domain = domain,
                                .category = category,
                                .id = -1};
    return put_event(sql, &event);
}

static int put_categories(struct nvt_sql *sql)
{
    const struct nvt_ranges *ranges = &sql->trace->ranges;
    const struct nvt_marks *marks = &sql->trace->marks;
    struct nvt_map named = {0};
    int status = 0;
    for (uint32_t i = 0; i < ranges->count && !status; i++)
        status =
            name_category(sql, &named, ranges->thread[i], ranges->domain[i], ranges->category[i]);
    for (uint32_t i = 0; i < marks->count && !status; i++)
        status = name_category(sql, &named, marks->thread[i], marks->domain[i], marks->category[i]);
    nvt_map_free(&named);
    return status;
}

static int put_sqlite_nvtx_ranges(struct nvt_sql *sql)
{
    const struct nvt_ranges *ranges = &sql->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        int nests = ranges->style[i] == NVT_PUSH_POP;
        /* nsys names the thread that ended a range only where it is another, and its kernel reports leave such ranges out. */
        int ends_elsewhere = !nests && ranges->end_thread[i] != ranges->thread[i];
        const struct event event = {.start = ranges->start[i],
                                    .end = ranges->end[i],
                                    .has_end = !(ranges->flags[i] & NVT_RANGE_UNCLOSED),
                                    .type = nests ? PUSH_POP : START_END,
                                    .thread = ranges->thread[i],
                                    .end_thread = ends_elsewhere ? ranges->end_thread[i] : NVT_NONE,
                                    .name = ranges->name[i],
                                    .domain = ranges->domain[i],
                                    .category = ranges->category[i],
                                    .color = ranges->color[i],
                                    .payload = ranges->payload[i],
                                    .flags = ranges->flags[i],
                                    .id = nests ? -1 : (int64_t)i};
        if (put_event(sql, &event))
            return -1;
    }
    return 0;
}

static int put_marks(struct nvt_sql *sql)
{
    const struct nvt_marks *marks = &sql->trace->marks;
    for (uint32_t i = 0; i < marks->count; i++) {
        const struct event event = {.start = marks->time[i],
                                    .type = MARK,
                                    .thread = marks->thread[i],
                                    .end_thread = NVT_NONE,
                                    .name = marks->name[i],
                                    .domain = marks->domain[i],
                                    .category = marks->category[i],
                                    .color = marks->color[i],
                                    .payload = marks->payload[i],
                                    .flags = marks->flags[i],
                                    .id = -1};
        if (put_event(sql, &event))
            return -1;
    }
    return 0;
}

/* The schema knows no counters: a sample is a mark with its value. */
static int put_samples(struct nvt_sql *sql)
{
    const struct nvt_counter_samples *samples = &sql->trace->counter_samples;
    const struct nvt_counters *counters = &sql->trace->counters;
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t counter = samples->counter[i];
        if (counter >= counters->count)
            continue;
        const struct event event = {.start = samples->time[i],
                                    .type = MARK,
                                    .thread = samples->thread[i],
                                    .end_thread = NVT_NONE,
                                    .name = counters->name[counter],
                                    .domain = counters->domain[counter],
                                    .value = &samples->value[i],
                                    .id = -1};
        if (put_event(sql, &event))
            return -1;
    }
    return 0;
}

int nvt_sql_nvtx(struct nvt_sql *sql)
{
    return nvt_sql_prepare(sql, "NVTX_EVENTS", 20) || put_domains(sql) || put_categories(sql) ||
                   put_sqlite_nvtx_ranges(sql) || put_marks(sql) || put_samples(sql)
               ? -1
               : 0;
}
#endif
