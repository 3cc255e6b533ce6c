#include "merged.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/quantity_text.h"
#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../model/flight_payload.h"
#include "../model/merge.h"
#include "../studies/one_axis.h"

/* Traces that are named one by one. */
#define NOTED 8

#define TRACES(count) NVT_COUNTED((double)(count), "trace", "traces")

static int check(const struct nvt_input *input, struct nvt_error *err)
{
    const struct nvt_trace *first = input->traces[0].trace;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (nvt_trace_meta(trace, NVT_FLIGHT_FACT))
            return nvt_fail_at(err, trace->path, -1,
                               "is a dump of a flight recorder: it is not exported with others");
        if (strcmp(trace->format, first->format) != 0)
            return nvt_fail_at(err, trace->path, -1,
                               "is of the format %s, and %s is of %s: traces of several formats "
                               "are not exported as one",
                               trace->format, first->path, first->format);
    }
    return 0;
}

static void set_ranks(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        struct nvt_processes *processes = &input->traces[i].trace->processes;
        for (uint32_t k = 0; k < processes->count; k++)
            processes->rank[k] = nvt_input_rank(&input->traces[i], k);
    }
}

/* How many were placed by something, and by which residual and drift at most. */
static void note_placed(struct nvt_input *input, const struct nvt_axis_place *places)
{
    size_t counts[NVT_AXIS_KINDS] = {0}, first = 0;
    double residual = 0, drift = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        counts[places[i].by]++;
        first = places[i].by == NVT_AXIS_FIRST ? i : first;
        residual = fmax(places[i].clock.residual_ns, residual);
        drift = fmax(fabs(places[i].clock.drift), drift);
    }
    const char *name = nvt_file_name(input->traces[first].trace->path);
    if (counts[NVT_AXIS_COLLECTIVES])
        nvt_note(input,
                 "note: clocks: %s set to that of %s by the ends of collectives (residual up to "
                 "%.1f us, drift up to %.1f ppm)",
                 TRACES(counts[NVT_AXIS_COLLECTIVES]), name, residual / 1e3, drift * 1e6);
    if (counts[NVT_AXIS_HOST])
        nvt_note(input, "note: clocks: %s by the host's clock that another one shares",
                 TRACES(counts[NVT_AXIS_HOST]));
    if (counts[NVT_AXIS_MARK])
        nvt_note(input, "note: clocks: %s set to that of %s by their mark 'clock offset'",
                 TRACES(counts[NVT_AXIS_MARK]), name);
}

static void note_apart(struct nvt_input *input, const struct nvt_axis_place *places)
{
    size_t apart = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        size_t more = 0;
        char others[48] = "";
        if (places[i].by != NVT_AXIS_UNKNOWN || places[i].set != i || apart++ >= NOTED)
            continue;
        for (size_t k = 0; k < input->trace_count; k++)
            more += k != i && places[k].set == i;
        if (more)
            snprintf(others, sizeof(others), ", with %zu more on its clock,", more);
        nvt_note(input,
                 "note: clocks: %s%s is placed behind the others: how its clock stands to theirs "
                 "is unknown (no collectives in common, no common host)",
                 input->traces[i].trace->path, others);
    }
    if (apart > NOTED)
        nvt_note(input, "note: clocks: %zu more are placed behind the others", apart - NOTED);
}

/* A file that there is not, so that the whole is no copy of one of its parts. */
static void write_name(const struct nvt_input *input, char *out, size_t size)
{
    snprintf(out, size, "%.200s and %zu more", input->traces[0].trace->path,
             input->trace_count - 1);
}

static struct nvt_trace *merge(struct nvt_input *input, struct nvt_axis_place *places,
                               struct nvt_error *err)
{
    const struct nvt_trace **traces = calloc(input->trace_count, sizeof(*traces));
    struct nvt_clock_fit *clocks = calloc(input->trace_count, sizeof(*clocks));
    struct nvt_trace *whole = NULL;
    size_t axis = 0;
    char name[256];
    for (size_t i = 0; traces && clocks && i < input->trace_count; i++) {
        traces[i] = input->traces[i].trace;
        clocks[i] = places[i].clock;
        axis = places[i].by == NVT_AXIS_FIRST ? i : axis;
    }
    write_name(input, name, sizeof(name));
    if (traces && clocks)
        whole = nvt_merge(traces, clocks, input->trace_count, axis, name, err);
    else
        nvt_error_set(err, "out of memory");
    free(traces);
    free(clocks);
    return whole;
}

struct nvt_trace *nvt_merged(struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_trace *whole = NULL;
    if (nvt_input_keep_job(input, err) || check(input, err))
        return NULL;
    set_ranks(input);
    struct nvt_axis_place *places = calloc(input->trace_count, sizeof(*places));
    if (!places)
        nvt_error_set(err, "out of memory");
    else if (!nvt_one_axis(input, places, err))
        whole = merge(input, places, err);
    if (whole) {
        note_placed(input, places);
        note_apart(input, places);
    }
    free(places);
    return whole;
}
