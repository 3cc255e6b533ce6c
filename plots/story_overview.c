/*
 * The first part of a report about traces: what was found, and the overview: key figures, and what a unit consists of; the same as
 * facts for programs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/json.h"
#include "../lib/people.h"
#include "../lib/version.h"
#include "../analyze/overview/overview_processes.h"
#include "story_sections.h"

enum { FINDINGS = 24 };

/* --- findings --- */

static int put_finding(const struct nvt_finding *finding, struct nvt_document *document)
{
    char what[NVT_WHAT_MAX], where[NVT_WHERE_MAX], moments[NVT_MOMENTS_MAX], cost[NVT_COST_MAX];
    char anchor[NVT_ANCHOR_MAX];
    struct nvt_buffer text = {0}, command = {0};
    nvt_finding_what(finding, what, sizeof(what));
    nvt_finding_where(finding, where, sizeof(where));
    nvt_finding_moments(finding, moments, sizeof(moments));
    nvt_finding_cost(finding, cost, sizeof(cost));
    int failed = nvt_finding_command(finding, NULL, &command) ||
                 nvt_buffer_append(&command, "", 1) ||
                 nvt_buffer_printf(&text, "%s\nRemedy: %s\nEvidence: %s\nWhere: %s", what,
                                   finding->remedy, finding->evidence, where);
    if (!failed && *moments)
        failed = nvt_buffer_printf(&text, "\nLook at: %s", moments);
    if (!failed && *command.data)
        failed = nvt_buffer_printf(&text, "\nShow: %s", (const char *)command.data);
    failed =
        failed ||
        nvt_buffer_printf(&text, "\nConfidence: %s", nvt_confidence_meaning(finding->confidence)) ||
        nvt_buffer_append(&text, "", 1);
    if (!failed)
        nvt_document_finding(document, finding->cause, cost, (const char *)text.data,
                             nvt_story_anchor(finding->rule, anchor));
    nvt_buffer_free(&text);
    nvt_buffer_free(&command);
    return failed;
}

/* "21 of 38 rules looked at iterations 6 to 10 of 10 and found nothing." */
static int put_nothing(const struct nvt_input *input, struct nvt_document *document,
                       struct nvt_error *err)
{
    struct nvt_buffer lines = {0};
    int status = nvt_diagnose_looked(input, &lines, err);
    if (!status && lines.size)
        nvt_document_text(document, "None: %.*s.", (int)lines.size - 1, (const char *)lines.data);
    nvt_buffer_free(&lines);
    return status;
}

int nvt_story_findings(const struct nvt_input *input, const struct nvt_overview *overview,
                       struct nvt_document *document, struct nvt_error *err)
{
    size_t shown = 0;
    nvt_document_heading(document, "Findings");
    for (size_t i = 0; i < overview->all.count && shown < FINDINGS; i++) {
        if (nvt_finding_is_minor(&overview->all.items[i]))
            continue;
        if (put_finding(&overview->all.items[i], document))
            return nvt_fail(err, "out of memory");
        shown++;
    }
    if (!shown)
        return put_nothing(input, document, err);
    if (*overview->cover)
        nvt_document_text(document, "Costs per iteration are of %s.", overview->cover);
    if (overview->found > shown)
        nvt_document_text(document, "The first %zu of %u: nvtally diagnose has all.", shown,
                          overview->found);
    return 0;
}

/* --- figures --- */

static int put_iteration(const struct nvt_overview *overview, struct nvt_buffer *text)
{
    char of[NVT_OVERVIEW_TEXT];
    return nvt_buffer_printf(text, "%s\t%s\t%s\n", nvt_overview_unit_name(overview),
                             NVT_TIME(overview->unit_ns), nvt_overview_unit_text(overview, of));
}

static int put_gpu(const struct nvt_overview *overview, struct nvt_buffer *text)
{
    char each[40] = "";
    if (isnan(overview->gpu_share))
        return 0;
    if (overview->gpus > 1)
        snprintf(each, sizeof(each), ", the mean of %u GPUs", overview->gpus);
    return overview->has_iterations
               ? nvt_buffer_printf(text, "GPU busy\t%.3g %%\t%s of an iteration%s\n",
                                   100 * overview->gpu_share, NVT_TIME(overview->gpu_ns), each)
               : nvt_buffer_printf(text, "GPU busy\t%.3g %%\tfrom first to last operation%s\n",
                                   100 * overview->gpu_share, each);
}

static int put_peak(const struct nvt_overview *overview, struct nvt_buffer *text)
{
    char peak[NVT_TIME_MAX], reserved[NVT_TIME_MAX];
    if (isnan(overview->peak_bytes))
        return 0;
    nvt_binary_text(overview->peak_bytes, peak);
    if (isnan(overview->reserved_bytes))
        return nvt_buffer_printf(text, "Peak memory\t%s\tallocated %s\n", peak,
                                 overview->peak_is_host ? "by the host" : "on a GPU");
    return nvt_buffer_printf(text, "Peak memory\t%s\tallocated %s, %s reserved\n", peak,
                             overview->peak_is_host ? "by the host" : "on a GPU",
                             nvt_binary_text(overview->reserved_bytes, reserved));
}

static int put_start_up(const struct nvt_overview *overview, struct nvt_buffer *text)
{
    char share[40] = "before the first iteration";
    if (isnan(overview->start_ns))
        return 0;
    if (!isnan(overview->start_share))
        snprintf(share, sizeof(share), "%.3g %% of the run", 100 * overview->start_share);
    return nvt_buffer_printf(text, "Start-up\t%s\t%s\n", NVT_TIME(overview->start_ns), share);
}

static int put_processes(const struct nvt_overview *overview, struct nvt_buffer *text)
{
    char bare[NVT_OVERVIEW_TEXT];
    return overview->bare ? nvt_buffer_printf(text, "Processes\t%u\t%s\n", overview->processes,
                                              nvt_overview_bare_text(overview, bare))
                          : 0;
}

/* --- what a unit consists of --- */

static double share_of(double ns, const struct nvt_overview *overview)
{
    return 100 * ns / nvt_overview_whole(overview);
}

static void put_tree(const struct nvt_overview *overview, struct nvt_document *document)
{
    static const struct nvt_column columns[] = {
        {"Range", NVT_NAMES},         {"CPU (ns)", NVT_NS_AVERAGE}, {"CPU (%)", NVT_PERCENT},
        {"GPU (ns)", NVT_NS_AVERAGE}, {"GPU (%)", NVT_PERCENT},     {"Calls", NVT_REALS("", 1)}};
    const char *title = !isnan(overview->mean_ns)  ? "Ranges, mean iteration"
                        : overview->has_iterations ? "Ranges, per iteration"
                                                   : "Ranges";
    if (!overview->row_count)
        return;
    struct nvt_table *table =
        nvt_table_new("overview", overview->are_kernels ? "Kernels" : title, columns, 6);
    for (uint32_t i = 0; table && i < overview->row_count; i++) {
        const struct nvt_overview_row *row = &overview->rows[i];
        char *name = NULL;
        if (asprintf(&name, "%*s%s", 2 * (int)row->level, "", row->name) < 0) {
            document->failed = 1;
            break;
        }
        nvt_table_put(table, name, NVT_IF(!isnan(row->cpu_ns), row->cpu_ns),
                      NVT_IF(!isnan(row->cpu_ns), share_of(row->cpu_ns, overview)),
                      NVT_IF(!isnan(row->gpu_ns), row->gpu_ns),
                      NVT_IF(!isnan(row->gpu_ns), share_of(row->gpu_ns, overview)), row->calls);
        free(name);
    }
    nvt_document_tree(document, table,
                      overview->lends
                          ? "GPU work that another thread launches counts for the range around it."
                          : NULL);
}

/* Ranges that never ended, which are in no row above. */
static void put_open(const struct nvt_overview *overview, struct nvt_document *document)
{
    static const struct nvt_column columns[] = {{"Range", NVT_NAMES},
                                                {"Open", NVT_COUNTS},
                                                {"Since (ns)", NVT_NS_AVERAGE},
                                                {"Open For (ns)", NVT_NS_AVERAGE}};
    enum { OPEN_MOST = 25 };
    if (!overview->open_count)
        return;
    struct nvt_table *table =
        nvt_table_new("open", "Ranges still open at the end", columns, NVT_COUNT_OF(columns));
    for (uint32_t i = 0; table && i < overview->open_count; i++) {
        const struct nvt_overview_open *open = &overview->open[i];
        nvt_table_put(table, open->name, open->count,
                      NVT_IF(!isnan(open->since_ns), open->since_ns),
                      NVT_IF(!isnan(open->open_ns), open->open_ns));
    }
    if (table)
        nvt_story_table(document, table, OPEN_MOST);
    document->failed |= !table;
    nvt_table_free(table);
}

/* Of several programs, of which nothing is added up. */
static void put_parts(const struct nvt_overview *overview, struct nvt_document *document)
{
    const struct nvt_column columns[] = {
        {"Trace", NVT_NAMES},
        {overview->has_iterations ? "Iteration (ns)" : "Recording (ns)", NVT_NS_AVERAGE},
        {"GPU busy (%)", NVT_PERCENT},
        {"Peak Memory (MiB)", NVT_MIB}};
    struct nvt_table *table =
        nvt_table_new("parts", "Each trace by itself", columns, NVT_COUNT_OF(columns));
    nvt_document_text(document,
                      "These traces are of %u different programs, so no value is of all of them. "
                      "Below are the medians of each trace.",
                      overview->programs);
    for (uint32_t i = 0; table && i < overview->part_count; i++) {
        const struct nvt_overview_part *part = &overview->parts[i];
        nvt_table_put(table, part->name, part->unit_ns,
                      NVT_IF(!isnan(part->gpu_share), 100 * part->gpu_share),
                      NVT_IF(!isnan(part->peak_bytes), part->peak_bytes / NVT_MEBIBYTE));
    }
    if (table)
        nvt_story_table(document, table, overview->part_count);
    document->failed |= !table;
    nvt_table_free(table);
}

int nvt_story_overview(const struct nvt_overview *overview, struct nvt_document *document,
                       struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    if (overview->programs > 1) {
        nvt_document_heading(document, "Overview");
        put_parts(overview, document);
        return 0;
    }
    int failed = put_iteration(overview, &text) || put_gpu(overview, &text) ||
                 put_peak(overview, &text) || put_start_up(overview, &text) ||
                 put_processes(overview, &text) || nvt_buffer_append(&text, "", 1);
    nvt_document_heading(document, "Overview");
    if (overview->ended)
        nvt_document_text(document, "%s", overview->ended);
    if (!failed)
        nvt_document_figures(document, (const char *)text.data);
    nvt_buffer_free(&text);
    put_tree(overview, document);
    put_open(overview, document);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

/* --- facts for programs --- */

/* Behind a key whose value is an array, an object a line. */
static void open_list(struct nvt_buffer *out, const char *key)
{
    nvt_buffer_printf(out, ",\n\"%s\": [", key);
}

static void put_finding_facts(const struct nvt_finding *finding, struct nvt_buffer *out)
{
    struct nvt_json json;
    struct nvt_buffer command = {0};
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "cause", finding->cause);
    nvt_json_number(&json, "cost_ns", finding->cost_ns > 0 ? finding->cost_ns : NAN);
    nvt_json_number(&json, "whole_ns", finding->whole_ns > 0 ? finding->whole_ns : NAN);
    nvt_json_number(&json, "cost_bytes", finding->cost_bytes > 0 ? finding->cost_bytes : NAN);
    nvt_json_text(&json, "per", finding->per);
    nvt_json_text(&json, "confidence", nvt_confidence_name(finding->confidence));
    nvt_json_text(&json, "where", finding->where);
    nvt_json_text(&json, "what", finding->what);
    nvt_json_text(&json, "evidence", finding->evidence);
    nvt_json_text(&json, "remedy", finding->remedy);
    if (!nvt_finding_command(finding, NULL, &command) && command.size &&
        !nvt_buffer_append(&command, "", 1))
        nvt_json_text(&json, "command", (const char *)command.data);
    nvt_json_end(&json);
    nvt_buffer_free(&command);
}

static void put_row_facts(const struct nvt_overview_row *row, struct nvt_buffer *out)
{
    struct nvt_json json;
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "name", row->name);
    nvt_json_integer(&json, "level", row->level);
    nvt_json_number(&json, "cpu_ns", row->cpu_ns);
    nvt_json_number(&json, "gpu_ns", row->gpu_ns);
    nvt_json_number(&json, "calls", row->calls);
    nvt_json_end(&json);
}

static void put_open_facts(const struct nvt_overview_open *open, struct nvt_buffer *out)
{
    struct nvt_json json;
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "name", open->name);
    nvt_json_integer(&json, "count", open->count);
    nvt_json_number(&json, "since_ns", open->since_ns);
    nvt_json_number(&json, "open_ns", open->open_ns);
    nvt_json_end(&json);
}

static void put_unit_facts(const struct nvt_overview *overview, struct nvt_buffer *out)
{
    struct nvt_json json;
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "unit", overview->has_iterations ? "iteration" : "recording");
    nvt_json_integer(&json, "units", overview->units);
    nvt_json_number(&json, "median_ns", overview->unit_ns);
    nvt_json_number(&json, "mean_ns", overview->mean_ns);
    nvt_json_number(&json, "lower_quartile_ns", overview->low_ns);
    nvt_json_number(&json, "upper_quartile_ns", overview->high_ns);
    nvt_json_number(&json, "first_ns", overview->first_ns);
    nvt_json_number(&json, "gpu_busy_ns", overview->gpu_ns);
    nvt_json_number(&json, "gpu_busy_share", overview->gpu_share);
    nvt_json_number(&json, "peak_bytes", overview->peak_bytes);
    nvt_json_number(&json, "reserved_bytes", overview->reserved_bytes);
    nvt_json_number(&json, "start_up_ns", overview->start_ns);
    nvt_json_text(&json, "device", overview->device);
    nvt_json_text(&json, "date", overview->date);
    nvt_json_text(&json, "ended", overview->ended);
    nvt_json_end(&json);
}

static void put_open_list(const struct nvt_overview *overview, struct nvt_buffer *out)
{
    open_list(out, "open_ranges");
    for (uint32_t i = 0; i < overview->open_count; i++) {
        nvt_buffer_printf(out, "%s", i ? ", " : "");
        put_open_facts(&overview->open[i], out);
    }
    nvt_buffer_printf(out, "]");
}

/* Names come from strangers: whatever is in them is escaped, by nvt_json_quote and by who writes the facts into a document. */
int nvt_story_facts(const struct nvt_input *input, const struct nvt_overview *overview,
                    struct nvt_document *document, struct nvt_error *err)
{
    struct nvt_buffer out = {0};
    int failed = nvt_buffer_printf(&out, "{\"nvtally\": \"" NVT_VERSION "\"");
    open_list(&out, "inputs");
    for (size_t i = 0; i < input->run_count + input->trace_count; i++) {
        const int is_run = i < input->run_count;
        const char *path =
            is_run ? input->runs[i]->path : input->traces[i - input->run_count].trace->path;
        if (!is_run && !nvt_input_is_own(&input->traces[i - input->run_count]))
            continue;
        nvt_buffer_printf(&out, "%s", out.data[out.size - 1] == '[' ? "" : ", ");
        failed |= nvt_json_quote(&out, path);
    }
    failed |= nvt_buffer_printf(&out, "]");
    if (nvt_overview_fits(input) && overview->programs < 2) {
        nvt_buffer_printf(&out, ",\n\"overview\": ");
        put_unit_facts(overview, &out);
        open_list(&out, "ranges");
        for (uint32_t i = 0; i < overview->row_count; i++) {
            nvt_buffer_printf(&out, "%s", i ? ", " : "");
            put_row_facts(&overview->rows[i], &out);
        }
        nvt_buffer_printf(&out, "]");
        put_open_list(overview, &out);
    }
    open_list(&out, "findings");
    for (size_t i = 0; i < overview->all.count; i++) {
        nvt_buffer_printf(&out, "%s", i ? ", " : "");
        put_finding_facts(&overview->all.items[i], &out);
    }
    failed |= nvt_buffer_printf(&out, "]}\n") || nvt_buffer_append(&out, "", 1) || out.failed;
    if (failed) {
        nvt_buffer_free(&out);
        return nvt_fail(err, "out of memory");
    }
    document->facts = (char *)out.data;
    return 0;
}
