#include "trace.h"
#include "../../lib/count_of.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"

struct nvt_trace *nvt_trace_new(const char *path, const char *format)
{
    struct nvt_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return NULL;
    trace->strings = nvt_strings_new();
    trace->path = strdup(path);
    trace->format = format;
    struct nvt_domain everywhere = {.process = NVT_NONE, .name = 0};
    if (!trace->strings || !trace->path || nvt_domain_add(trace, &everywhere) == NVT_NONE) {
        nvt_trace_free(trace);
        return NULL;
    }
    return trace;
}

#define FREE_COLUMN(type, field) nvt_column_free(table->field);

void nvt_trace_free(struct nvt_trace *trace)
{
    if (!trace)
        return;
#define FREE_TABLE(member, row, columns, ...)                                                      \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        columns(FREE_COLUMN)                                                                       \
    }
    NVT_TABLES(FREE_TABLE)
    nvt_strings_free(trace->strings);
    free(trace->path);
    free(trace->recent_kernels);
    free((void *)trace->name_facts);
    free(trace->warning);
    free(trace->notes);
    free(trace);
}

#define RELEASE_TABLE(member, row, columns, ...)                                                   \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        const void *const at = table;                                                              \
        if (!is_kept(trace, at, ranges)) {                                                         \
            columns(FREE_COLUMN) *table = (struct nvt_##member){0};                                \
        }                                                                                          \
    }

static int is_kept(const struct nvt_trace *trace, const void *table, int ranges)
{
    const void *const kept[] = {
        &trace->processes, &trace->event_costs, &trace->threads,   &trace->domains, &trace->marks,
        &trace->mpi_calls, &trace->devices,     &trace->resources, &trace->meta,    &trace->parts};
    for (size_t i = 0; i < NVT_COUNT_OF(kept); i++)
        if (kept[i] == table)
            return 1;
    return table == (const void *)&trace->ranges && ranges;
}

void nvt_trace_release_events(struct nvt_trace *trace, int ranges)
{
    NVT_TABLES(RELEASE_TABLE)
    free(trace->recent_kernels);
    trace->recent_kernels = NULL;
}

#define GROW_COLUMN(type, field)                                                                   \
    {                                                                                              \
        type *grown = nvt_column_grow(table->field, capacity * sizeof(type));                      \
        if (!grown)                                                                                \
            return -1;                                                                             \
        table->field = grown;                                                                      \
    }
/* A zero is there already, and writing it would take memory for it. */
#define STORE_FIELD(type, field)                                                                   \
    if (values->field != 0)                                                                        \
        table->field[table->count] = values->field;

/* Columns grow together; when one cannot, capacity stays and the others merely have spare room. */
#define DEFINE_RESERVE(member, row, columns, ...)                                                  \
    int nvt_##row##_reserve(struct nvt_trace *trace, uint64_t rows)                                \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        if (rows <= table->capacity)                                                               \
            return 0;                                                                              \
        if (rows > UINT32_MAX - 1)                                                                 \
            return -1;                                                                             \
        uint64_t twice = table->capacity < UINT32_MAX / 2 ? (uint64_t)table->capacity * 2 : rows;  \
        size_t capacity = (size_t)(rows > twice ? rows : twice);                                   \
        columns(GROW_COLUMN) table->capacity = (uint32_t)capacity;                                 \
        return 0;                                                                                  \
    }
NVT_TABLES(DEFINE_RESERVE)

#define DEFINE_ADD(member, row, columns, ...)                                                      \
    uint32_t nvt_##row##_add(struct nvt_trace *trace, const struct nvt_##row *values)              \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        if (table->count == table->capacity &&                                                     \
            nvt_##row##_reserve(trace, table->count < 16 ? 16 : (uint64_t)table->count + 1))       \
            return NVT_NONE;                                                                       \
        columns(STORE_FIELD) return table->count++;                                                \
    }
NVT_TABLES(DEFINE_ADD)

/* Places for kernels seen last, by what they are; a power of two. */
#define RECENT 1024

#define MIX_FIELD(type, field)                                                                     \
    hash = (hash ^ (uint64_t)values->field) * UINT64_C(0x9E3779B97F4A7C15);
#define SAME_FIELD(type, field) &&table->field[row] == values->field

uint32_t nvt_trace_kernel(struct nvt_trace *trace, const struct nvt_kernel *values)
{
    const struct nvt_kernels *table = &trace->kernels;
    uint64_t hash = 0;
    NVT_KERNEL_COLUMNS(MIX_FIELD)
    if (!trace->recent_kernels) {
        trace->recent_kernels = malloc(RECENT * sizeof(*trace->recent_kernels));
        if (!trace->recent_kernels)
            return NVT_NONE;
        memset(trace->recent_kernels, 0xff, RECENT * sizeof(*trace->recent_kernels));
    }
    uint32_t *recent = &trace->recent_kernels[hash >> 54], row = *recent;
    if (row == NVT_NONE || !(1 NVT_KERNEL_COLUMNS(SAME_FIELD)))
        *recent = nvt_kernel_add(trace, values);
    return *recent;
}

uint32_t nvt_trace_process(struct nvt_trace *trace, int64_t pid)
{
    for (uint32_t i = trace->processes.count; i-- > 0;)
        if (trace->processes.pid[i] == pid)
            return i;
    struct nvt_process row = {.pid = pid, .parent_pid = -1, .name = 0, .rank = NVT_NONE};
    return nvt_process_add(trace, &row);
}

uint32_t nvt_trace_thread(struct nvt_trace *trace, uint32_t process, int64_t tid)
{
    for (uint32_t i = trace->threads.count; i-- > 0;)
        if (trace->threads.process[i] == process && trace->threads.tid[i] == tid)
            return i;
    struct nvt_thread row = {.process = process, .tid = tid};
    return nvt_thread_add(trace, &row);
}

uint32_t nvt_trace_domain(struct nvt_trace *trace, uint32_t process, const char *name)
{
    if (!*name)
        return 0;
    uint32_t id = nvt_strings_add_text(trace->strings, name);
    if (id == NVT_NO_STRING)
        return NVT_NONE;
    for (uint32_t i = 0; i < trace->domains.count; i++)
        if (trace->domains.process[i] == process && trace->domains.name[i] == id)
            return i;
    struct nvt_domain row = {.process = process, .name = id};
    return nvt_domain_add(trace, &row);
}

uint32_t nvt_trace_any_thread(struct nvt_trace *trace)
{
    uint32_t process = trace->processes.count ? 0 : nvt_trace_process(trace, 0);
    if (process == NVT_NONE)
        return NVT_NONE;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.process[i] == process)
            return i;
    return nvt_trace_thread(trace, process, 0);
}

static uint32_t find_meta(const struct nvt_trace *trace, const char *key)
{
    uint32_t id = nvt_strings_find(trace->strings, key, strlen(key));
    for (uint32_t i = 0; id != NVT_NO_STRING && i < trace->meta.count; i++)
        if (trace->meta.key[i] == id)
            return i;
    return NVT_NONE;
}

const char *nvt_trace_meta(const struct nvt_trace *trace, const char *key)
{
    uint32_t row = find_meta(trace, key);
    return row == NVT_NONE ? NULL : nvt_name(trace, trace->meta.value[row]);
}

int nvt_trace_set_meta(struct nvt_trace *trace, const char *key, const char *value)
{
    struct nvt_fact row = {nvt_strings_add_text(trace->strings, key),
                           nvt_strings_add_text(trace->strings, value)};
    if (row.key == NVT_NO_STRING || row.value == NVT_NO_STRING)
        return -1;
    uint32_t at = find_meta(trace, key);
    if (at != NVT_NONE) {
        trace->meta.value[at] = row.value;
        return 0;
    }
    return nvt_fact_add(trace, &row) == NVT_NONE ? -1 : 0;
}

__attribute__((format(printf, 2, 0))) static void warn(struct nvt_trace *trace, const char *format,
                                                       va_list arguments)
{
    char text[512];
    if (trace->warning)
        return;
    vsnprintf(text, sizeof(text), format, arguments);
    trace->warning = strdup(text);
}

void nvt_trace_warn(struct nvt_trace *trace, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    warn(trace, format, arguments);
    va_end(arguments);
}

void nvt_trace_warn_truncated(struct nvt_trace *trace, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    warn(trace, format, arguments);
    va_end(arguments);
    trace->is_truncated = 1;
}

void nvt_trace_note(struct nvt_trace *trace, const char *format, ...)
{
    char text[512], *notes = NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (asprintf(&notes, "%s%s\n", trace->notes ? trace->notes : "", text) < 0)
        return;
    free(trace->notes);
    trace->notes = notes;
}

/* Sums come round: of a hostile file they say nothing anyway. */
uint64_t nvt_trace_lost(const struct nvt_trace *trace)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        lost += trace->threads.dropped[i];
    return lost;
}

void nvt_ranges_close(struct nvt_trace *trace)
{
    struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->flags[i] & NVT_RANGE_UNCLOSED)
            ranges->end[i] = trace->threads.last_ns[ranges->thread[i]];
}
