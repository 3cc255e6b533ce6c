/*
 * The timeline that a report holds.
 */
#include "../analyze/view/answers.h"
#include "../lib/text.h"
#include "chart.h"
#include "story_sections.h"

/* Beyond so many events a document would take too long, and too much memory, for what it can show of them. */
enum { EVENTS_MOST = 20000000 };

static uint64_t events_of(const struct nvt_trace *trace)
{
    return (uint64_t)trace->ranges.count + trace->ops.count + trace->apis.count +
           trace->os_calls.count + trace->cpu_samples.count + trace->counter_samples.count +
           trace->memory.count;
}

static void put_text(const struct nvt_viewer *viewer, enum nvt_view_detail detail,
                     struct nvt_document *document)
{
    static const char *const texts[][3] = {
        {"The whole recording, coarsely", "The whole recording, as finely as there is room for",
         "The whole recording"},
        {"The whole recording, coarsely", "The median iteration in more detail than the rest",
         "The median iteration at full detail, the rest more coarsely"}};
    const char *file = nvt_file_name(viewer->traces[0]->trace->path);
    const char *more = viewer->count > 1 ? " …" : "";
    nvt_document_text(document,
                      "%s. Wheel with Ctrl zooms, dragging selects time, ? lists the keys. nvtally "
                      "view %s%s shows "
                      "every event.",
                      texts[viewer->sides[0].iterations > 0][detail], file, more);
}

/* 0, or -1 with err. */
static int put_timeline(struct nvt_input *shown, const struct nvt_findings *findings, size_t most,
                        struct nvt_document *document, struct nvt_error *err)
{
    struct nvt_viewer viewer = {0};
    struct nvt_buffer json = {0};
    int status = nvt_viewer_make(&viewer, shown, 1, err);
    if (!status && viewer.first[viewer.count]) {
        enum nvt_view_detail detail = NVT_DETAIL_NONE;
        const int fits = nvt_answer_embedded(&viewer, findings, most, &detail, &json);
        if (fits < 0 || nvt_buffer_append(&json, "", 1))
            status = nvt_fail(err, "out of memory");
        else if (!fits) {
            nvt_document_heading(document, "Interactive timeline");
            put_text(&viewer, detail, document);
            nvt_document_timeline(document, (const char *)json.data);
        }
    }
    nvt_buffer_free(&json);
    nvt_viewer_free(&viewer);
    return status;
}

int nvt_story_timeline(const struct nvt_input *input, const struct nvt_overview *overview,
                       size_t most, struct nvt_document *document, struct nvt_error *err)
{
    struct nvt_input_trace traces[NVT_CHART_TRACES];
    struct nvt_input shown = *input;
    uint64_t events = 0;
    shown.traces = traces;
    shown.trace_count = 0;
    for (size_t i = 0; i < input->trace_count && shown.trace_count < NVT_CHART_TRACES; i++)
        if (nvt_input_is_own(&input->traces[i])) {
            traces[shown.trace_count++] = input->traces[i];
            events += events_of(input->traces[i].trace);
        }
    if (!most || !shown.trace_count)
        return 0;
    if (events > EVENTS_MOST) {
        nvt_document_heading(document, "Interactive timeline");
        nvt_document_text(document,
                          "Left out, as there are more than %d million events: nvtally view.",
                          EVENTS_MOST / 1000000);
        return 0;
    }
    return put_timeline(&shown, &overview->all, most, document, err);
}
