#include "loop_interruptions.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/os_calls.h"
#include "../model/cover.h"
#include "../model/recording.h"
#include "running.h"

#define CALLS_TOLD 2
/* Of the time of the spans, from where on a call is told. */
#define LEAST_TOLD 0.05

static const struct {
    const char *text, *remedy;
} parts[NVT_LOOP_INTERRUPTIONS] = {
    [NVT_LOOP_EVALUATION] = {"an evaluation",
                             "evaluate less often or on fewer batches, in larger ones and without "
                             "gradients; or in another process, from a checkpoint"},
    [NVT_LOOP_CHECKPOINT] =
        {"a checkpoint",
         "save less often, or asynchronously: copy the state and write it on another "
         "thread (torch.distributed.checkpoint.async_save); fsync() only what must "
         "survive a crash"},
    [NVT_LOOP_OTHER] = {"the rest", "do it less often, or on another thread"},
};

const char *nvt_loop_interruption_text(enum nvt_loop_interruption part)
{
    return parts[part].text;
}

const char *nvt_loop_interruption_remedy(enum nvt_loop_interruption part)
{
    return parts[part].remedy;
}

int nvt_loop_spans_add(struct nvt_loop_spans *spans, int64_t start, int64_t end)
{
    if (end <= start)
        return 0;
    if (nvt_grow(&spans->items, spans->count, sizeof(*spans->items)))
        return -1;
    spans->items[spans->count++] = (struct nvt_span){start, end};
    spans->ns += (double)(end - start);
    return 0;
}

void nvt_loop_spans_free(struct nvt_loop_spans *spans)
{
    free(spans->items);
    spans->items = NULL;
    spans->count = 0;
}

/* What calls take of the spans, by name and by file, and who calls. */
struct calls {
    struct nvt_places names, files;
    struct nvt_called_from from;
};

/* 0, or -1 when out of memory. */
static int add_calls(const struct nvt_loop_spans *spans, struct calls *calls)
{
    const struct nvt_os_calls *rows = &spans->view->trace->os_calls;
    uint32_t at = 0;
    int64_t until = INT64_MIN;
    int failed = nvt_called_from_begin(&calls->from, spans->view->trace);
    for (uint32_t i = 0; i < rows->count && at < spans->count && !failed; i++) {
        struct nvt_span call = {rows->start[i], rows->end[i]};
        if (rows->thread[i] != spans->thread || rows->flags[i] & NVT_RANGE_PARTIAL)
            continue;
        while (at < spans->count && spans->items[at].end <= call.start)
            at++;
        if (at == spans->count)
            break;
        /* What lies in another call is a part of that. */
        call.start = call.start > until ? call.start : until;
        (void)nvt_cover(&until, call.start, call.end);
        const struct nvt_span *span = &spans->items[at];
        call.start = call.start > span->start ? call.start : span->start;
        call.end = call.end < span->end ? call.end : span->end;
        if (call.end <= call.start)
            continue;
        failed = nvt_places_add(&calls->names, rows->name[i], at + UINT64_C(1), span, &call);
        if (rows->file[i] && !failed)
            failed = nvt_places_add(&calls->files, (uint64_t)rows->name[i] << 32 | rows->file[i],
                                    at + UINT64_C(1), span, &call);
        (void)nvt_called_from_add_sampled(&calls->from, rows->frame[i], rows->frame[i],
                                          (double)(call.end - call.start));
    }
    return failed;
}

/* The file that most of a call's time is for; "" where none has half of it. */
static const char *file_of(const struct nvt_trace *trace, const struct calls *calls,
                           const struct nvt_place *name)
{
    for (uint32_t i = 0; i < calls->files.count; i++) {
        const struct nvt_place *file = &calls->files.items[i];
        if (file->key >> 32 == name->key && 2 * file->ns >= name->ns)
            return nvt_name(trace, (uint32_t)file->key);
    }
    return "";
}

static int by_time(const void *left, const void *right)
{
    const struct nvt_place *a = left, *b = right;
    return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

int nvt_loop_spans_tell_calls(const struct nvt_loop_spans *spans, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = spans->view->trace;
    struct calls calls = {.from = {.ns = 0}};
    int failed = add_calls(spans, &calls), told = 0;
    if (!failed && calls.names.count)
        qsort(calls.names.items, calls.names.count, sizeof(*calls.names.items), by_time);
    for (uint32_t i = 0; i < calls.names.count && i < CALLS_TOLD && !failed; i++) {
        const struct nvt_place *name = &calls.names.items[i];
        char text[NVT_FILE_TEXT_MAX];
        if ((double)name->ns < LEAST_TOLD * spans->ns)
            break;
        const char *file = file_of(trace, &calls, name);
        nvt_finding_append(finding, "%s%.0f %% %s %.40s()%s%s", i ? ", " : "; ",
                           100 * (double)name->ns / spans->ns, i ? "in" : "of that time in",
                           nvt_name(trace, (uint32_t)name->key), *file ? " on " : "",
                           *file ? nvt_file_text(file, 40, text) : "");
        told = 1;
    }
    if (told && !failed)
        failed = nvt_called_from_tell(&calls.from, "these calls", finding);
    nvt_places_free(&calls.names);
    nvt_places_free(&calls.files);
    nvt_called_from_free(&calls.from);
    return failed;
}

/* 0, or -1 when out of memory. */
static int tell_functions(const struct nvt_loop_spans *spans, struct nvt_finding *finding)
{
    struct nvt_running running = {.is_taken = NULL};
    int failed = nvt_running_begin(&running, spans->view->trace);
    for (uint32_t i = 0; i < spans->count && !failed; i++)
        nvt_running_add(&running, spans->thread, spans->items[i].start, spans->items[i].end);
    failed = failed || nvt_running_tell(&running, finding);
    nvt_running_free(&running);
    return failed;
}

int nvt_loop_spans_tell(const struct nvt_loop_spans *spans, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = spans->view->trace;
    if (!trace->os_calls.count && !trace->cpu_samples.count) {
        nvt_finding_append(finding, "; what it does there was not recorded%s",
                           nvt_recording_level(trace, "osrt") < 1 ? " (--trace osrt,cpu)" : "");
        return 0;
    }
    return (trace->os_calls.count && nvt_loop_spans_tell_calls(spans, finding)) ||
                   (trace->cpu_samples.count && tell_functions(spans, finding))
               ? -1
               : 0;
}
