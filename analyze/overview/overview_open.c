#include "overview_open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/quantity_text.h"
#include "../model/groups.h"
#include "../model/plain_names.h"
#include "../studies/open_items.h"

/* When the thread of an open range, or the recording, ended; 0: not known. */
static int64_t ended(const struct nvt_trace *trace, uint32_t range)
{
    return trace->is_part ? 0 : trace->threads.ended_ns[trace->ranges.thread[range]];
}

int64_t nvt_overview_end(const struct nvt_trace *trace)
{
    int64_t end = trace->last_ns;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (nvt_is_left_open(trace, i) && ended(trace, i) > end)
            end = ended(trace, i);
    return end;
}

/* Those of a name. */
struct open {
    uint32_t count;
    int is_carried;         /* the first one began before what its trace has */
    double since, duration; /* ns; since: from the beginning of its trace */
};

/* 0, or -1 when out of memory. */
static int add_range(struct nvt_groups *groups, const struct nvt_trace *trace, uint32_t range)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    char *plain = nvt_plain_name(nvt_name(trace, ranges->name[range]));
    const uint32_t text = plain ? nvt_groups_text(groups, plain) : 0;
    struct open *open = plain ? nvt_groups_item(groups, nvt_groups_key(groups, &text, 1)) : NULL;
    free(plain);
    if (!open)
        return -1;
    const double since = (double)(ranges->start[range] - nvt_trace_begin(trace));
    const int64_t end = ended(trace, range);
    const double duration = end > ranges->start[range] ? (double)(end - ranges->start[range]) : NAN;
    if (!open->count || since < open->since) {
        open->since = since;
        open->duration = duration;
    }
    open->is_carried |= (ranges->flags[range] & NVT_RANGE_CARRIED) != 0;
    open->count++;
    return 0;
}

static int first_begun(const void *left, const void *right)
{
    const struct nvt_overview_open *a = left, *b = right;
    const double since = isnan(a->since_ns) ? -1 : a->since_ns;
    const double others = isnan(b->since_ns) ? -1 : b->since_ns;
    if (since != others)
        return since < others ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* 0, or -1 when out of memory. */
static int put(struct nvt_overview *overview, const struct nvt_groups *groups)
{
    overview->open = calloc((size_t)groups->count + 1, sizeof(*overview->open));
    for (uint32_t i = 0; overview->open && i < groups->count; i++) {
        const struct open *open = nvt_groups_item(groups, i);
        struct nvt_overview_open *out = &overview->open[i];
        *out = (struct nvt_overview_open){
            .name = strdup(nvt_groups_part(groups, i, 0)),
            .count = open->count,
            .since_ns = open->is_carried ? NAN : open->since,
            .open_ns = open->is_carried ? NAN : open->duration,
        };
        if (!out->name)
            return -1;
        overview->open_count++;
    }
    if (overview->open_count > 1)
        qsort(overview->open, overview->open_count, sizeof(*overview->open), first_begun);
    return overview->open ? 0 : -1;
}

const char *nvt_overview_open_text(const struct nvt_overview_open *open,
                                   char out[NVT_OVERVIEW_TEXT])
{
    char many[40] = "", lasts[48] = "";
    if (open->count > 1)
        snprintf(many, sizeof(many), "%u, the first ", open->count);
    if (!isnan(open->open_ns))
        snprintf(lasts, sizeof(lasts), " for %s", NVT_TIME(open->open_ns));
    if (isnan(open->since_ns))
        snprintf(out, NVT_OVERVIEW_TEXT, "%sopen since before the recording", many);
    else
        snprintf(out, NVT_OVERVIEW_TEXT, "%sopen%s%s since %s", many, lasts, *lasts ? "," : "",
                 NVT_TIME(open->since_ns));
    return out;
}

int nvt_overview_take_open(struct nvt_overview *overview, const struct nvt_input *input,
                           struct nvt_error *err)
{
    struct nvt_groups groups = {.item_size = sizeof(struct open)};
    int failed = 0;
    for (size_t i = 0; i < input->trace_count && !failed; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        nvt_groups_trace(&groups, trace);
        for (uint32_t k = 0; k < trace->ranges.count && !failed; k++)
            if (nvt_is_left_open(trace, k))
                failed = add_range(&groups, trace, k);
    }
    failed = failed || nvt_groups_failed(&groups) || put(overview, &groups);
    nvt_groups_free(&groups);
    return failed ? nvt_fail(err, "out of memory") : 0;
}
