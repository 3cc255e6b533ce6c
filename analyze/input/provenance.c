#include "input.h"

#include <string.h>

/* What those before and one more have in common. */
static const char *agree(const char *common, const char *value, size_t before, const char *several,
                         const char *partly)
{
    if (!before || (!value && !common))
        return value;
    if (!value || !common)
        return partly;
    return strcmp(common, value) ? several : common;
}

/* "2026-11-26" of a moment on it. */
#define DAY_LENGTH 10

/* The moment, or the day, where those before and one more have it in common. */
static void agree_on_date(struct nvt_provenance *common, const struct nvt_provenance *more,
                          size_t before)
{
    const char *first = common->date, *next = more->date;
    const int are_moments = before && first && next && strlen(first) > DAY_LENGTH &&
                            strlen(next) > DAY_LENGTH && !strncmp(first, next, DAY_LENGTH);
    if (are_moments && (common->date_length || strcmp(first, next) != 0)) {
        common->date_length = DAY_LENGTH;
        return;
    }
    common->date_length = 0;
    common->date = agree(first, next, before, "several dates", "date not stated for all");
}

static void merge(struct nvt_provenance *common, const struct nvt_provenance *more, size_t before)
{
    static const char several[] = "several", partly[] = "not stated for all";
    common->backend = agree(common->backend, more->backend, before, several, partly);
    common->device = agree(common->device, more->device, before, several, partly);
    agree_on_date(common, more, before);
    common->condition = agree(common->condition, more->condition, before, "several conditions",
                              "condition not stated for all");
}

/* Of a run directory: what the trace's row says, and for what it does not say, the directory. */
static struct nvt_provenance row_provenance(const struct nvt_input_trace *from)
{
    struct nvt_provenance said = nvt_runs_provenance(from->runs);
    const struct nvt_record *row = nvt_record_of_trace(from);
    const char *backend = row ? nvt_record_text(row, "backend") : NULL;
    const char *device = row ? nvt_record_text(row, "device") : NULL;
    const char *date = row ? nvt_record_text(row, "date") : NULL;
    said.backend = backend ? backend : said.backend;
    said.device = device ? device : said.device;
    said.date = date ? date : said.date;
    return said;
}

struct nvt_provenance nvt_input_trace_provenance(const struct nvt_input_trace *from)
{
    struct nvt_provenance provenance =
        from->runs ? row_provenance(from)
                   : (struct nvt_provenance){
                         .backend = nvt_trace_meta(from->trace, "backend"),
                         .device = nvt_trace_meta(from->trace, "device"),
                         .date = nvt_trace_meta(from->trace, "date"),
                         .condition = nvt_trace_meta(from->trace, "condition"),
                     };
    provenance.begin = from->trace ? nvt_trace_begin(from->trace) : 0;
    provenance.has_begin = from->trace != NULL;
    return provenance;
}

struct nvt_provenance nvt_input_provenance(const struct nvt_input *input)
{
    struct nvt_provenance common = {0};
    size_t before = 0;
    for (size_t i = 0; i < input->run_count; i++) {
        struct nvt_provenance more = nvt_runs_provenance(input->runs[i]);
        merge(&common, &more, before++);
    }
    for (size_t i = 0; i < input->trace_count; i++) {
        /* A trace of a run directory has that one's: its own date is a moment within the run. */
        if (input->traces[i].runs)
            continue;
        struct nvt_provenance more = nvt_input_trace_provenance(&input->traces[i]);
        merge(&common, &more, before++);
    }
    if (input->trace_count == 1 && input->traces[0].trace) {
        common.begin = nvt_trace_begin(input->traces[0].trace);
        common.has_begin = 1;
    }
    return common;
}
