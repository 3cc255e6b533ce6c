/*
 * Flame graphs that a reader can zoom and search: the stacks of the charts `flame`, `cpu` and `memory_at_peak`, as data.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../lib/json.h"
#include "../lib/count_of.h"
#include "../lib/text.h"
#include "chart.h"
#include "flame.h"
#include "story_sections.h"

/* Rows of a graph, and the share of all below which one is left out with what it has. */
enum { ROWS_MOST = 4000, PARTS = 4000 };

static const struct {
    enum nvt_stacks_of what;
    const char *title, *unit;
} graphs[] = {{NVT_STACKS_DEVICE, "Device time by range and kernel", "ns"},
              {NVT_STACKS_HOST, "Host time by range", "ns"},
              {NVT_STACKS_CPU, "CPU time by function", "ns"},
              {NVT_STACKS_MEMORY, "Memory at its peak", "B"}};

struct shown {
    uint32_t number; /* and 1 of those that are */
    int look;
};

/* 0, or -1 when out of memory. */
static int put_rows(const struct nvt_trace *trace, const struct nvt_stacks *stacks,
                    struct nvt_buffer *out)
{
    struct shown *shown = calloc((size_t)stacks->count + 1, sizeof(*shown));
    uint32_t count = 0;
    for (uint32_t i = 0; shown && i < stacks->count && count < ROWS_MOST; i++) {
        const uint32_t row = stacks->order[i];
        const struct nvt_stack *stack = &stacks->items[row];
        const int is_outer = stack->parent == NVT_NONE;
        if (stack->total < stacks->total / PARTS || stack->total <= 0 ||
            (!is_outer && !shown[stack->parent].number))
            continue;
        shown[row].look = is_outer ? 0 : shown[stack->parent].look;
        const char *color = nvt_flame_color(trace, stacks, row, &shown[row].look);
        nvt_buffer_printf(out, "%s[%" PRId64 ",%" PRId64 ",\"%s\",", count ? "," : "",
                          is_outer ? -1 : (int64_t)shown[stack->parent].number - 1, stack->total,
                          color);
        nvt_json_quote(out, nvt_stacks_name(stacks, row));
        nvt_buffer_printf(out, "]");
        shown[row].number = ++count;
    }
    const int status = shown ? 0 : -1;
    free(shown);
    return status;
}

/* A graph, where its stacks lie within each other. 0, or -1 with err. */
static int put_graph(const struct nvt_trace *trace, size_t graph, const char *of,
                     struct nvt_document *document, struct nvt_error *err)
{
    const enum nvt_stacks_of what = graphs[graph].what;
    struct nvt_stacks stacks = {0};
    struct nvt_buffer json = {0};
    uint32_t deepest = 0;
    int status = nvt_stacks_make(&stacks, trace, what, NVT_FLAME_STACKS, err);
    for (uint32_t i = 0; i < stacks.count && !status; i++)
        deepest = stacks.items[i].depth > deepest ? stacks.items[i].depth : deepest;
    if (!status && stacks.total > 0 && (deepest || what == NVT_STACKS_CPU)) {
        char title[400];
        snprintf(title, sizeof(title), "%s%s%.300s", graphs[graph].title, *of ? ": " : "", of);
        nvt_buffer_printf(&json, "{\"title\":");
        nvt_json_quote(&json, title);
        nvt_buffer_printf(&json, ",\"unit\":\"%s\",\"total\":%" PRId64 ",\"rows\":[",
                          stacks.counts_samples ? "samples" : graphs[graph].unit, stacks.total);
        if (put_rows(trace, &stacks, &json) || nvt_buffer_printf(&json, "]}") ||
            nvt_buffer_append(&json, "", 1))
            status = nvt_fail(err, "out of memory");
        else
            nvt_document_flame(document, (const char *)json.data);
    }
    nvt_buffer_free(&json);
    nvt_stacks_free(&stacks);
    return status ? -1 : 0;
}

int nvt_story_flames(const struct nvt_input *input, struct nvt_document *document,
                     struct nvt_error *err)
{
    const size_t before = document->count;
    size_t traces = 0;
    nvt_document_heading(document, "Interactive flame graphs");
    nvt_document_text(document, "A click on a name shows what is in it, another one goes back.");
    for (size_t i = 0; i < input->trace_count && traces < NVT_CHART_TRACES; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (!nvt_input_is_own(&input->traces[i]))
            continue;
        traces++;
        for (size_t g = 0; g < NVT_COUNT_OF(graphs); g++)
            if (put_graph(trace, g, input->trace_count > 1 ? nvt_file_name(trace->path) : "",
                          document, err))
                return -1;
    }
    if (document->count == before + 2)
        nvt_document_cut(document, before);
    return 0;
}
