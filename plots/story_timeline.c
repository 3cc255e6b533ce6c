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
    const int is_pair = viewer->side_count > 1;
    const char *other = is_pair ? nvt_file_name(viewer->traces[viewer->sides[1].first]->trace->path)
                        : viewer->count > 1 ? " …"
                                            : "";
    nvt_document_text(
        document,
        "%s%s. Wheel with Ctrl zooms, dragging selects time, ? lists the keys. nvtally "
        "view %s%s%s shows every event.",
        is_pair ? "Of the first trace of each side: " : "",
        texts[viewer->sides[0].iterations > 0][detail], file, is_pair ? " vs " : "", other);
}

/* Of a side, or of two. Findings: NULL, they are to be looked for. 0, or -1 with err. */
static int put_timeline(struct nvt_input *shown, size_t sides, const struct nvt_findings *findings,
                        size_t most, struct nvt_document *document, struct nvt_error *err)
{
    struct nvt_viewer viewer = {0};
    struct nvt_buffer json = {0};
    int status = nvt_viewer_make(&viewer, shown, sides, err);
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

/* The first traces of an input that stand for themselves. Returns how many events they have. */
static uint64_t choose(const struct nvt_input *input, size_t most,
                       struct nvt_input_trace traces[NVT_CHART_TRACES], struct nvt_input *shown)
{
    uint64_t events = 0;
    *shown = *input;
    shown->traces = traces;
    shown->trace_count = 0;
    for (size_t i = 0; i < input->trace_count && shown->trace_count < most; i++)
        if (nvt_input_is_own(&input->traces[i])) {
            traces[shown->trace_count++] = input->traces[i];
            events += events_of(input->traces[i].trace);
        }
    return events;
}

/* Whether they are too many, which the document says. */
static int is_beyond(uint64_t events, struct nvt_document *document)
{
    if (events <= EVENTS_MOST)
        return 0;
    nvt_document_heading(document, "Interactive timeline");
    nvt_document_text(document, "Left out, as there are more than %d million events: nvtally view.",
                      EVENTS_MOST / 1000000);
    return 1;
}

int nvt_story_timeline(const struct nvt_input *input, const struct nvt_overview *overview,
                       size_t most, struct nvt_document *document, struct nvt_error *err)
{
    struct nvt_input_trace traces[NVT_CHART_TRACES];
    struct nvt_input shown;
    const uint64_t events = choose(input, NVT_CHART_TRACES, traces, &shown);
    if (!most || !shown.trace_count || is_beyond(events, document))
        return 0;
    return put_timeline(&shown, 1, &overview->all, most, document, err);
}

int nvt_story_timelines(const struct nvt_input sides[2], size_t most, struct nvt_document *document,
                        struct nvt_error *err)
{
    struct nvt_input_trace traces[2][NVT_CHART_TRACES];
    struct nvt_input shown[2];
    uint64_t events = 0;
    for (size_t i = 0; i < 2; i++) {
        events += choose(&sides[i], 1, traces[i], &shown[i]);
        if (!shown[i].trace_count)
            return 0;
    }
    return !most || is_beyond(events, document) ? 0
                                                : put_timeline(shown, 2, NULL, most, document, err);
}
