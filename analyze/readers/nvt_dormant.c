#include "nvt_dormant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/quantity_text.h"
#include "../model/layout.h"
#include "../model/recorded_parts.h"

/* In ticks, `to` 0: as far as the trace goes. 0, or -1 when out of memory. */
static int add(struct nvt_file_reader *reader, uint64_t from, uint64_t to)
{
    const uint64_t last = reader->samples[reader->sample_count - 1].ticks;
    const int64_t end = nvt_file_time(reader, to ? to : last);
    const struct nvt_part part = {nvt_file_time(reader, from), end, end};
    return nvt_part_add(reader->trace, &part) == NVT_NONE ? -1 : 0;
}

/* Of record --dormant and --budget. */
static int add_facts(struct nvt_file_reader *reader)
{
    const struct nvt_trace *trace = reader->trace;
    for (uint32_t i = 0; i < trace->meta.count; i++) {
        const char *key = nvt_name(trace, trace->meta.key[i]);
        if (strncmp(key, "part ", 5) != 0 || !key[5] || key[5 + strspn(key + 5, "0123456789")])
            continue;
        char *end = NULL;
        const uint64_t from = strtoull(nvt_name(trace, trace->meta.value[i]), &end, 10);
        if (add(reader, from, strtoull(end, NULL, 10)))
            return -1;
    }
    return 0;
}

/* Of record --capture: from each beginning to the end behind it, of each process. */
static int add_captures(struct nvt_file_reader *reader)
{
    const struct nvt_capture_edge *edges = reader->devices.edges;
    for (size_t i = 0; i < reader->devices.edge_count; i++) {
        const int is_begun = i && edges[i - 1].process == edges[i].process && edges[i - 1].begins;
        size_t end = i + 1;
        while (end < reader->devices.edge_count && edges[end].process == edges[i].process &&
               edges[end].begins)
            end++;
        const int is_ended =
            end < reader->devices.edge_count && edges[end].process == edges[i].process;
        if (edges[i].begins && !is_begun &&
            add(reader, edges[i].ticks, is_ended ? edges[end].ticks : 0))
            return -1;
    }
    return 0;
}

int nvt_file_add_parts(struct nvt_file_reader *reader)
{
    if (!reader->sample_count)
        return 0;
    if (nvt_trace_meta(reader->trace, "recorded") && add_facts(reader))
        return -1;
    if (nvt_trace_meta(reader->trace, "capture") && add_captures(reader))
        return -1;
    return nvt_parts_settle(reader->trace);
}

static void end_ranges(struct nvt_trace *trace)
{
    struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!(ranges->flags[i] & NVT_RANGE_UNCLOSED) || ranges->style[i] != NVT_PUSH_POP)
            continue;
        const uint32_t part = nvt_part_at(trace, ranges->start[i]);
        const int64_t end = part ? trace->parts.end[part - 1] : INT64_MAX;
        if (end < ranges->end[i])
            ranges->end[i] = end > ranges->start[i] ? end : ranges->start[i];
    }
}

/* The part that a row is of, from 1: one that begins between two is of the nearer one, as processes hear a moment later. 0: of none. */
static uint32_t part_of(const struct nvt_parts *parts, uint32_t at, int64_t start)
{
    if (at && start <= parts->end[at - 1])
        return at;
    const int64_t since = at ? start - parts->end[at - 1] : INT64_MAX;
    return at < parts->count && parts->start[at] - start < since ? at + 1 : at;
}

/* Widen what has been seen of each part by rows of a table that begin in it. */
static void see_rows(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                     struct nvt_part *seen)
{
    const struct nvt_parts *parts = &trace->parts;
    const int64_t *start = nvt_layout_starts(trace, table), *end = nvt_layout_ends(trace, table);
    const uint32_t rows = nvt_layout_rows(trace, table);
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t part = part_of(parts, nvt_part_at(trace, start[i]), start[i]);
        if (!part)
            continue;
        struct nvt_part *of = &seen[part - 1];
        const int64_t most = part < parts->count ? parts->start[part] : INT64_MAX;
        const int64_t until = end[i] < most ? end[i] : most;
        of->start = start[i] < of->start ? start[i] : of->start;
        of->end = until > of->end ? until : of->end;
    }
}

/*
 * A part is asked for, and ended, some time before and behind what is in it: iterations that were asked for begin later, and a recorder
 * looks ten times a second. So a part lasts from its first to its last row; one under way at the end of the recording until then.
 * *is_last_empty: the last one has no row. 0, or -1 when out of memory.
 */
static int trim_parts(struct nvt_trace *trace, int64_t last, int *is_last_empty)
{
    struct nvt_parts *parts = &trace->parts;
    struct nvt_part *seen = calloc((size_t)parts->count + 1, sizeof(*seen));
    if (!seen)
        return -1;
    for (uint32_t i = 0; i < parts->count; i++)
        seen[i] = (struct nvt_part){.start = INT64_MAX, .end = INT64_MIN};
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        if (nvt_layout()[i].extent == NVT_WIDENS)
            see_rows(trace, &nvt_layout()[i], seen);
    for (uint32_t i = 0; i < parts->count; i++) {
        *is_last_empty = seen[i].start > seen[i].end;
        if (*is_last_empty)
            continue;
        parts->start[i] = seen[i].start;
        if (parts->end[i] < last || seen[i].end > parts->end[i])
            parts->end[i] = seen[i].end;
    }
    free(seen);
    return 0;
}

#define NAMED 3 /* parts whose iterations are named */

/* Of `nvtally ctl steps`: "iterations 822 to 826 of 4 processes; 900 to 904 of 4 processes (from 0)". Returns out, "" where all parts
 * are of another kind. */
static const char *iterations_of(const struct nvt_trace *trace, size_t count, char *out,
                                 size_t size)
{
    size_t used = 0, found = 0;
    *out = 0;
    for (size_t i = 1; i <= count; i++) {
        char name[48];
        snprintf(name, sizeof(name), "iterations of part %zu", i);
        const char *value = nvt_trace_meta(trace, name);
        if (value && found++ < NAMED && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.100s",
                                     found > 1 ? "; " : "iterations ", value);
    }
    if (found && used < size)
        snprintf(out + used, size - used, "%s (from 0)", found > NAMED ? "; …" : "");
    return out;
}

static void note_parts(struct nvt_trace *trace, const char *recorded, int is_last_empty)
{
    const uint32_t count = trace->parts.count;
    char iterations[500], empty[80] = "";
    iterations_of(trace, count, iterations, sizeof(iterations));
    if (is_last_empty) /* as in a hang */
        snprintf(
            empty, sizeof(empty), ". Nothing began or ended in the last part (%s)",
            NVT_TIME((double)trace->parts.end[count - 1] - (double)trace->parts.start[count - 1]));
    if (!trace->ranges.count && !trace->marks.count)
        nvt_trace_note(trace,
                       "recorded in %s, on request: no range began or ended in it, and what was "
                       "open before it began is not known",
                       recorded);
    else if (count > 1)
        nvt_trace_note(trace,
                       "recorded in %s, on request%s%s: the time between was not recorded, and is "
                       "left out%s",
                       recorded, *iterations ? ", " : "", iterations, empty);
    else if (*iterations)
        nvt_trace_note(trace, "recorded in %s, on request: %s", recorded, iterations);
}

/* "2 parts, 3.4 s". The fact says it of parts that were ended; how long one under way is, in a copy or where the recorder was killed,
 * the trace's end says. */
#define RECORDED_TEXT 64
static const char *recorded_text(const struct nvt_trace *trace, char out[RECORDED_TEXT])
{
    const char *recorded = nvt_trace_meta(trace, "recorded");
    char name[32], *end = NULL;
    double ns = 0;
    snprintf(name, sizeof(name), "part %lu", strtoul(recorded, NULL, 10));
    const char *last = nvt_trace_meta(trace, name);
    if (!last || !strtoull(last, &end, 10) || strtoull(end, NULL, 10))
        return recorded;
    for (uint32_t i = 0; i < trace->parts.count; i++)
        ns += (double)(trace->parts.end[i] - trace->parts.start[i]);
    snprintf(out, RECORDED_TEXT, "%.*s, %s", (int)strcspn(recorded, ","), recorded, NVT_TIME(ns));
    return out;
}

int nvt_file_end_parts(struct nvt_file_reader *reader)
{
    struct nvt_trace *trace = reader->trace;
    char recorded[RECORDED_TEXT];
    const char *budget = nvt_trace_meta(trace, "budget");
    const char *use = nvt_trace_meta(trace, "budget use");
    if (!nvt_trace_meta(trace, "recorded") || !trace->parts.count)
        return 0;
    const char *text = recorded_text(trace, recorded);
    int is_last_empty = 0;
    end_ranges(trace);
    if (trim_parts(trace, nvt_file_time(reader, reader->samples[reader->sample_count - 1].ticks),
                   &is_last_empty))
        return -1;
    if (budget && use)
        nvt_trace_note(trace,
                       "record --budget %s: %s. What follows is of the recorded iterations alone",
                       budget, use);
    else if (!budget)
        note_parts(trace, text, is_last_empty);
    return 0;
}
