/*
 * The first lines of a report: what was run, and the one thing that each of its parts shows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/studies/overhead.h"
#include "../analyze/studies/warmup.h"
#include "../lib/buffer.h"
#include "story_sections.h"

static int put_runs(const struct nvt_input *input, struct nvt_buffer *text)
{
    size_t all = 0, ok = 0, published = 0;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++, all++) {
            const char *status = nvt_record_text(&input->runs[i]->records[k], "status");
            ok += !status || !strcmp(status, "ok");
            published += (size_t)(nvt_story_published(input->runs[i]) != 0);
        }
    if (!all)
        return nvt_buffer_printf(text, "Read: %zu trace%s", input->trace_count,
                                 input->trace_count == 1 ? "" : "s");
    return nvt_buffer_printf(
        text, "Runs: %zu configuration%s, %zu without trouble%s", all, all == 1 ? "" : "s", ok,
        published ? "; published figures of another machine are among them" : "");
}

/* Of the study with the largest first iteration by the steady ones. */
static int put_warmup(const struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err)
{
    const struct nvt_warmup_study *most = NULL;
    double factor = 0, scratch[1];
    int failed = 0;
    if (!input->trace_count)
        return 0;
    struct nvt_warmups *warmups = nvt_warmups_of(input, err);
    if (!warmups)
        return -1;
    for (size_t i = 0; i < warmups->count; i++) {
        const struct nvt_warmup_study *study = &warmups->studies[i];
        for (size_t s = 0; s < study->count && study->length > 1 && study->steady > 0; s++) {
            scratch[0] = study->series[s].ns[0] / study->steady;
            if (scratch[0] > factor) {
                factor = scratch[0];
                most = study;
            }
        }
    }
    if (most)
        failed = nvt_buffer_printf(
            text,
            "\nWarm-up: the first iteration of a process took up to %.2f times the steady ones "
            "(%.60s%s)",
            factor, most->name, strlen(most->name) > 60 ? "…" : "");
    nvt_warmups_free(warmups);
    return failed;
}

static int put_cost(const struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err)
{
    struct nvt_slowdowns slowdowns = {0};
    const struct nvt_slowdown_row *most = NULL;
    int failed = nvt_slowdowns_make(&slowdowns, input, err);
    for (size_t i = 0; !failed && i < slowdowns.count; i++)
        if (isfinite(slowdowns.rows[i].ratio) && strcmp(slowdowns.rows[i].level, "control") &&
            (!most || slowdowns.rows[i].ratio > most->ratio))
            most = &slowdowns.rows[i];
    if (!failed && most)
        failed = nvt_buffer_printf(text, "\nProfiler: at most %.3f times the bare time (%s, %s)",
                                   most->ratio, most->phase, most->level);
    nvt_slowdowns_free(&slowdowns);
    return failed;
}

static int put_memory(const struct nvt_input *input, struct nvt_buffer *text)
{
    double most = 0;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++)
            most =
                fmax(most, nvt_record_number(&input->runs[i]->records[k], "peak_allocated_bytes"));
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_memory *memory = &input->traces[i].trace->memory;
        for (uint32_t k = 0; k < memory->count; k++)
            if (memory->allocated[k] != UINT64_MAX)
                most = fmax(most, (double)memory->allocated[k]);
    }
    return most > 0 ? nvt_buffer_printf(text, "\nMemory: at most %.4g MiB allocated",
                                        most / (1024.0 * 1024.0))
                    : 0;
}

/* Behind an overview, which has the rest. */
static int put_all(struct nvt_input *input, int has_overview, struct nvt_buffer *text,
                   struct nvt_error *err)
{
    if ((!has_overview || input->run_count) && put_runs(input, text))
        return -1;
    if (nvt_story_device(input, has_overview, text, err) ||
        nvt_story_host(input, has_overview, text, err) || put_warmup(input, text, err) ||
        put_cost(input, text, err))
        return -1;
    return has_overview ? 0 : put_memory(input, text);
}

int nvt_story_summary(struct nvt_input *input, int has_overview, struct nvt_document *document,
                      struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    int failed = put_all(input, has_overview, &text, err) || nvt_buffer_append(&text, "", 1);
    const char *lines = failed ? "" : (const char *)text.data;
    lines += *lines == '\n';
    if (*lines)
        nvt_document_item(document, has_overview ? "Further" : "In short", lines);
    nvt_buffer_free(&text);
    return failed ? nvt_fail(err, "out of memory") : 0;
}
