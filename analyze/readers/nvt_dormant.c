#include "nvt_dormant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"

struct part {
    int64_t from, to; /* on the trace's axis; INT64_MAX: as far as it goes */
};

static int64_t time_of(const struct nvt_file_reader *reader, uint64_t ticks)
{
    return nvt_clock_since(nvt_clock_convert(reader->samples, reader->sample_count, ticks),
                           reader->samples[0].monotonic_ns);
}

/* Part number `number`, from 1. Whether there is one. */
static int read_part(const struct nvt_file_reader *reader, uint32_t number, struct part *part)
{
    char name[40];
    snprintf(name, sizeof(name), "part %" PRIu32, number);
    const char *value = nvt_trace_meta(reader->trace, name);
    char *end = NULL;
    if (!value)
        return 0;
    const uint64_t from = strtoull(value, &end, 10), to = strtoull(end, NULL, 10);
    *part = (struct part){time_of(reader, from), to ? time_of(reader, to) : INT64_MAX};
    return 1;
}

/* The last part that begins at or before that moment, of `count`, which are in the order of time; NULL: none does. */
static const struct part *part_at(const struct part *parts, size_t count, int64_t time)
{
    size_t behind = 0;
    NVT_BISECT(behind, count, parts[behind].from <= time);
    return behind ? &parts[behind - 1] : NULL;
}

static void end_ranges(struct nvt_ranges *ranges, const struct part *parts, size_t count)
{
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!(ranges->flags[i] & NVT_RANGE_UNCLOSED) || ranges->style[i] != NVT_PUSH_POP)
            continue;
        const struct part *part = part_at(parts, count, ranges->start[i]);
        if (part && part->to < ranges->end[i])
            ranges->end[i] = part->to > ranges->start[i] ? part->to : ranges->start[i];
    }
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

static void note_parts(struct nvt_trace *trace, const char *recorded, size_t count)
{
    char iterations[500];
    iterations_of(trace, count, iterations, sizeof(iterations));
    if (count > 1)
        nvt_trace_note(trace,
                       "recorded in %s, on request%s%s: the time between was not recorded, and "
                       "counts as idle",
                       recorded, *iterations ? ", " : "", iterations);
    else if (*iterations)
        nvt_trace_note(trace, "recorded in %s, on request: %s", recorded, iterations);
}

int nvt_file_end_parts(struct nvt_file_reader *reader)
{
    const char *recorded = nvt_trace_meta(reader->trace, "recorded");
    struct part *parts = NULL, part;
    size_t count = 0;
    if (!recorded || !reader->sample_count)
        return 0;
    while (count < UINT32_MAX && read_part(reader, (uint32_t)count + 1, &part)) {
        if (nvt_grow(&parts, count, sizeof(*parts))) {
            free(parts);
            return -1;
        }
        parts[count++] = part;
    }
    end_ranges(&reader->trace->ranges, parts, count);
    free(parts);
    const char *budget = nvt_trace_meta(reader->trace, "budget");
    const char *use = nvt_trace_meta(reader->trace, "budget use");
    if (budget && use)
        nvt_trace_note(reader->trace,
                       "record --budget %s: %s. What follows is of the recorded iterations alone; "
                       "the time between counts as idle",
                       budget, use);
    else
        note_parts(reader->trace, recorded, count);
    return 0;
}
