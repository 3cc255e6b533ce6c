#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "../model/layout.h"
#include "../model/name_facts.h"

/* Constants are known by how far they are from this one, in a program that is loaded as a whole. */
static const char anchor[] = "";

void nvt_image_put(struct nvt_buffer *out, const void *items, uint64_t count, size_t width)
{
    (void)nvt_buffer_append(out, &count, sizeof(count));
    if (count)
        (void)nvt_buffer_append(out, items, (size_t)count * width);
}

void *nvt_image_take(struct nvt_cursor *in, uint64_t *count, size_t width)
{
    *count = nvt_cursor_number(in, sizeof(*count));
    if (!in->at || *count > (uint64_t)(in->end - in->at) / width) {
        in->at = NULL;
        *count = 0;
    }
    const uint8_t *bytes = *count ? nvt_cursor_bytes(in, *count * width) : NULL;
    void *items = bytes ? malloc((size_t)*count * width) : NULL;
    if (items)
        memcpy(items, bytes, (size_t)*count * width);
    else if (*count) {
        in->at = NULL;
        *count = 0;
    }
    return items;
}

void nvt_image_put_text(struct nvt_buffer *out, const char *text)
{
    nvt_image_put(out, text, text ? strlen(text) + 1 : 0, 1);
}

char *nvt_image_take_text(struct nvt_cursor *in)
{
    uint64_t size;
    char *text = nvt_image_take(in, &size, 1);
    if (text && text[size - 1]) {
        free(text);
        text = NULL;
        in->at = NULL;
    }
    return text;
}

void nvt_image_put_constant(struct nvt_buffer *out, const void *constant)
{
    const uint64_t distance =
        constant ? (uint64_t)(uintptr_t)constant - (uint64_t)(uintptr_t)anchor : UINT64_MAX;
    (void)nvt_buffer_append(out, &distance, sizeof(distance));
}

const void *nvt_image_take_constant(struct nvt_cursor *in)
{
    const uint64_t distance = nvt_cursor_number(in, sizeof(distance));
    return !in->at || distance == UINT64_MAX
               ? NULL
               /* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one of the same program */
               : (const void *)(uintptr_t)((uint64_t)(uintptr_t)anchor + distance);
}

/* --- strings --- */

void nvt_image_put_strings(struct nvt_buffer *out, const struct nvt_strings *strings)
{
    const uint32_t count = nvt_strings_count(strings);
    (void)nvt_buffer_append(out, &count, sizeof(count));
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const char *text = nvt_strings_get(strings, i, &size);
        nvt_image_put(out, text, size, 1);
    }
}

struct nvt_strings *nvt_image_take_strings(struct nvt_cursor *in)
{
    const uint32_t count = (uint32_t)nvt_cursor_number(in, sizeof(count));
    struct nvt_strings *strings = nvt_strings_new();
    for (uint32_t i = 0; i < count && in->at && strings; i++) {
        const uint64_t size = nvt_cursor_number(in, sizeof(size));
        const uint8_t *text = size ? nvt_cursor_bytes(in, size) : in->at;
        if (text && nvt_strings_add(strings, (const char *)text, (size_t)size) != i)
            in->at = NULL;
    }
    if (in->at && strings)
        return strings;
    in->at = NULL;
    nvt_strings_free(strings);
    return NULL;
}

/* --- traces --- */

static void put_table(struct nvt_buffer *out, const struct nvt_trace *trace,
                      const struct nvt_layout_table *table)
{
    const uint32_t rows = nvt_layout_rows(trace, table);
    for (uint32_t i = 0; i < table->count; i++)
        nvt_image_put(out, nvt_layout_values(trace, table, i), rows, table->columns[i].width);
}

void nvt_image_put_trace(struct nvt_buffer *out, const struct nvt_trace *trace)
{
    (void)nvt_buffer_append(out, trace, sizeof(*trace));
    nvt_image_put_strings(out, trace->strings);
    nvt_image_put_text(out, trace->path);
    nvt_image_put_constant(out, trace->format);
    nvt_image_put_text(out, trace->warning);
    nvt_image_put_text(out, trace->notes);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        put_table(out, trace, &nvt_layout()[i]);
}

/* 0 or -1. */
static int take_table(struct nvt_cursor *in, struct nvt_trace *trace,
                      const struct nvt_layout_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const size_t width = table->columns[i].width;
        const uint64_t rows = nvt_cursor_number(in, sizeof(rows));
        if (!in->at || rows >= NVT_NONE || rows > (uint64_t)(in->end - in->at) / width)
            return -1;
        const uint8_t *values = nvt_cursor_bytes(in, rows * width);
        if (!i && table->reserve(trace, rows))
            return -1;
        if (rows)
            memcpy(nvt_layout_values(trace, table, i), values, (size_t)rows * width);
        nvt_layout_set_rows(trace, table, (uint32_t)rows);
    }
    return 0;
}

/* What is no table and no pointer. */
static void take_state(struct nvt_trace *trace, const struct nvt_trace *from)
{
    trace->step_name = from->step_name;
    trace->recorder = from->recorder;
    trace->tells_mpi_peers = from->tells_mpi_peers;
    trace->lacks_page_faults = from->lacks_page_faults;
    trace->origin_ns = from->origin_ns;
    trace->first_ns = from->first_ns;
    trace->last_ns = from->last_ns;
    trace->levels_ns = from->levels_ns;
    trace->was_finished = from->was_finished;
    trace->has_extent = from->has_extent;
    trace->is_part = from->is_part;
    trace->before_ns = from->before_ns;
    trace->cut_ns = from->cut_ns;
    trace->open_ns = from->open_ns;
    trace->was_stopped = from->was_stopped;
    trace->goes_on = from->goes_on;
    trace->is_late = from->is_late;
    trace->is_truncated = from->is_truncated;
    trace->loop = from->loop;
}

struct nvt_trace *nvt_image_take_trace(struct nvt_cursor *in)
{
    struct nvt_trace from, *trace = calloc(1, sizeof(*trace));
    const uint8_t *state = nvt_cursor_bytes(in, sizeof(from));
    if (state && trace) {
        memcpy(&from, state, sizeof(from));
        take_state(trace, &from);
        trace->strings = nvt_image_take_strings(in);
        trace->path = nvt_image_take_text(in);
        trace->format = nvt_image_take_constant(in);
        trace->warning = nvt_image_take_text(in);
        trace->notes = nvt_image_take_text(in);
        for (size_t i = 0; i < NVT_TABLE_COUNT && in->at; i++)
            if (take_table(in, trace, &nvt_layout()[i]))
                in->at = NULL;
        if (in->at && nvt_trace_keep_name_facts(trace))
            in->at = NULL;
    }
    if (trace && in->at)
        return trace;
    in->at = NULL;
    nvt_trace_free(trace);
    return NULL;
}
