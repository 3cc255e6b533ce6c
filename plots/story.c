#include "story.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/reports/compare_reference.h"
#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/reports/report.h"
#include "../lib/render.h"
#include "../lib/text.h"
#include "story_sections.h"

/* Rows of a trace's reports, which may have thousands; those of a study are all shown. */
enum { TOP_ROWS = 25, WARMUP_ROWS = 30, STUDY_ROWS = 500, FINDINGS = 12 };

static void put_pictures(const struct nvt_story *story, enum nvt_chart_part part,
                         struct nvt_document *document)
{
    for (size_t i = 0; i < story->picture_count; i++)
        if (story->pictures[i].part == part)
            nvt_document_picture(document, story->pictures[i].path, story->pictures[i].title);
}

static int has_pictures(const struct nvt_story *story, enum nvt_chart_part part)
{
    for (size_t i = 0; i < story->picture_count; i++)
        if (story->pictures[i].part == part)
            return 1;
    return 0;
}

/* A part of the story: reports, each where it has rows and fits the input, and their pictures. */
struct part {
    const char *heading, *text;
    const char *const *reports; /* names, NULL behind them */
    size_t most;                /* rows of a table */
    enum nvt_chart_part pictures;
    const char *absent; /* what to say where there is nothing of it, NULL: leave it out */
};

static void put_part(const struct nvt_story *story, const struct part *part,
                     struct nvt_document *document)
{
    struct nvt_tables tables = {0};
    int shown = has_pictures(story, part->pictures);
    for (const char *const *names = part->reports; *names; names++) {
        const struct nvt_report *report = nvt_report_find(*names);
        struct nvt_error err = NVT_ERROR_INIT;
        size_t noted = story->input->notes.size, made = tables.count;
        int rows = 0;
        if (report && !((report->needs & NVT_NEEDS_RUNS) && !story->input->run_count))
            (void)nvt_report_make(report, story->input, &tables, &err);
        for (size_t i = made; i < tables.count; i++)
            rows |= nvt_table_rows(tables.items[i]) > 0;
        if (!rows) /* nobody asked for it: why it has nothing is no news */
            story->input->notes.size = noted;
    }
    for (size_t i = 0; i < tables.count; i++)
        shown |= nvt_table_rows(tables.items[i]) > 0;
    if (shown || part->absent) {
        nvt_document_heading(document, part->heading);
        nvt_document_text(document, "%s", shown ? part->text : part->absent);
    }
    put_pictures(story, part->pictures, document);
    for (size_t i = 0; i < tables.count; i++)
        if (nvt_table_rows(tables.items[i]))
            nvt_story_table(document, tables.items[i], part->most);
    nvt_tables_free(&tables);
}

/* --- the parts -------------------------------------------------------------------------------- */

static int has_measured(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->run_count; i++)
        if (!nvt_story_published(input->runs[i]))
            return 1;
    return 0;
}

static void put_results(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_report *main = nvt_report_default(story->input);
    int is_study = story->input->run_count > 0;
    const char *const names[] = {main->name,
                                 is_study && main != &nvt_report_phases ? "phases" : NULL, NULL};
    const struct part results = {
        "Results",
        is_study ? "Means and standard deviations are over the timed iterations."
                 : "Where the time of the ranges went, over the whole trace.",
        names,
        is_study ? STUDY_ROWS : TOP_ROWS,
        NVT_CHART_RESULTS,
        NULL};
    put_part(story, &results, document);
    if (story->no_pictures)
        nvt_document_text(document, "Charts left out: %s.", story->no_pictures);
}

static const char *const
    warmup[] = {"warmup", NULL},
    *const overhead[] = {"overhead", NULL},
    *const memory[] = {"memory_peak", "memory_at_peak", "memory_segments", NULL},
    *const growth[] = {"growth", NULL}, *const none[] = {NULL},
    *const roofline[] = {"roofline", NULL}, *const ranges[] = {"nvtx_sum", NULL},
    *const device[] = {"cuda_gpu_kern_sum",
                       "cuda_gpu_mem_time_sum",
                       "critical_path",
                       "gpu_idle",
                       "overlap",
                       "collectives",
                       NULL},
    *const calls[] = {"cuda_api_sum", NULL},
    *const mpi[] = {"mpi_ranks", "nvtx_mpi_sum", "mpi_waits", "stragglers", NULL},
    *const system_calls[] = {"nvtx_osrt_sum", "osrt_files", "osrt_locks", "osrt_callers", NULL},
    *const cpu[] = {"nvtx_cpu_sum", "cpu_functions", "cpu_modules", "cpu_threads", NULL},
    *const machine[] = {"machine", NULL}, *const processes[] = {"process_memory", NULL},
    *const counters[] = {"nvtx_counters", "nvtx_counter_ranges", NULL};

static const struct part
    growth_part =
        {"Cost over the number that was varied",
         "What ranges, calls and device operations cost per iteration, over runs that differ in "
         "one number alone; the exponent is of that number, with its 95 % interval.",
         growth,
         TOP_ROWS,
         NVT_CHART_GROWTH,
         NULL},
    roofline_part = {"Below the roof of the machine",
                     "FLOP/s of phases and ranges beside what products and a copy reached on the "
                     "machine at their arithmetic intensity, by the time that would be gained "
                     "there.",
                     roofline,
                     TOP_ROWS,
                     NVT_CHART_ROOFLINE,
                     NULL},
    warmup_part = {"What the warm-up did",
                   "Iterations since the start of each process: the first ones pay for loading, "
                   "first touches of memory and growing pools.",
                   warmup,
                   WARMUP_ROWS,
                   NVT_CHART_WARMUP,
                   NULL},
    cost_part = {"What the profiler cost",
                 "The same runs with and without collecting, in turns.",
                 overhead,
                 STUDY_ROWS,
                 NVT_CHART_COST,
                 "Not measured in this run. The same command with --collect off,nvtx,kernel,full "
                 "(on a host: off,nvtx) measures it, and stats -r overhead prints it."},
    cost_of_published = {"What the profiler cost",
                         "The same runs with and without collecting, as published.",
                         overhead,
                         STUDY_ROWS,
                         NVT_CHART_COST,
                         NULL},
    ranges_part = {"Ranges",
                   "Ranges of all traces by total time.",
                   ranges,
                   TOP_ROWS,
                   NVT_CHART_NOWHERE,
                   NULL},
    time_part = {"Over time",    "What ran when, and which names took the most time.",
                 none,           TOP_ROWS,
                 NVT_CHART_TIME, NULL},
    counters_part = {"Counters",
                     "The numbers that the program sampled, and what they did within ranges.",
                     counters,
                     TOP_ROWS,
                     NVT_CHART_COUNTERS,
                     NULL},
    process_part = {"Memory of processes",
                    "What was resident of each process, and what grew steadily.",
                    processes,
                    TOP_ROWS,
                    NVT_CHART_NOWHERE,
                    NULL},
    machine_part = {"The machine",
                    "The state of the machine beside the program; of devices also on average while "
                    "they worked.",
                    machine,
                    TOP_ROWS,
                    NVT_CHART_NOWHERE,
                    NULL},
    mpi_part = {"Calls of MPI",
                "What the ranks did in MPI, and in which ranges.",
                mpi,
                TOP_ROWS,
                NVT_CHART_NOWHERE,
                NULL},
    system_part = {"Calls of the operating system",
                   "What the host waited for: by range, by file, by lock, and by who called.",
                   system_calls,
                   TOP_ROWS,
                   NVT_CHART_NOWHERE,
                   NULL},
    cpu_part = {"What processors worked on",
                "Functions in samples of what threads run: by range, by function with who called "
                "it, by library, and by thread.",
                cpu,
                TOP_ROWS,
                NVT_CHART_CPU,
                NULL},
    device_part = {"On the device",
                   "Kernels, copies, and how busy the devices were.",
                   device,
                   TOP_ROWS,
                   NVT_CHART_NOWHERE,
                   NULL},
    calls_part = {"CUDA calls of the host",
                  "Time in calls of the CUDA API, waiting included.",
                  calls,
                  TOP_ROWS,
                  NVT_CHART_NOWHERE,
                  NULL};

/* Peaks of what the runs allocated, as their records have them. NULL when out of memory. */
static struct nvt_table *peaks_of_runs(const struct nvt_input *input)
{
    static const struct nvt_column columns[] = {{"configuration", NVT_NAMES},
                                                {"peak allocated", NVT_REALS("MiB", 1)},
                                                {"peak reserved", NVT_REALS("MiB", 1)},
                                                {"parameters", NVT_COUNTS}};
    const double mib = 1024.0 * 1024.0;
    char *title = nvt_story_caption(input, "Peak memory of the runs");
    struct nvt_table *table = nvt_table_new("memory", title, columns, 4);
    free(title);
    for (size_t i = 0; table && i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            double peak = nvt_record_number(record, "peak_allocated_bytes");
            double reserved = nvt_record_number(record, "peak_reserved_bytes");
            double parameters = nvt_record_number(record, "parameters");
            if (!(peak >= 0) && !(reserved >= 0))
                continue;
            char *configuration = nvt_record_configuration(record);
            size_t rows = nvt_table_rows(table);
            if (!configuration) {
                nvt_table_free(table);
                return NULL;
            }
            /* Repetitions of a configuration: one row says what they took. */
            if (rows && !strcmp(nvt_table_text(table, rows - 1, 0), configuration)) {
                free(configuration);
                continue;
            }
            nvt_table_put(table, configuration, peak / mib, reserved / mib,
                          NVT_IF(parameters >= 0 && parameters < 0x1p62, (int64_t)parameters));
            free(configuration);
        }
    return table;
}

static void put_memory(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_input *input = story->input;
    struct nvt_table *peaks = peaks_of_runs(input);
    size_t events = 0;
    document->failed |= !peaks;
    for (size_t i = 0; i < input->trace_count; i++)
        events += input->traces[i].trace->memory.count;
    const struct part part = {"Memory",
                              "Peaks of what was allocated, and of what was held from the system.",
                              events ? memory : none,
                              TOP_ROWS,
                              NVT_CHART_MEMORY,
                              peaks && nvt_table_rows(peaks)
                                  ? "Peaks of what was allocated, and of what was held from the "
                                    "system."
                              : input->run_count ? NULL
                                                 : "The trace holds no memory event."};
    put_part(story, &part, document);
    if (peaks && nvt_table_rows(peaks))
        nvt_story_table(document, peaks, STUDY_ROWS);
    nvt_table_free(peaks);
}

/* Against runs without collecting, and what each trace says of itself. */
static void put_cost(const struct nvt_story *story, struct nvt_document *document)
{
    struct nvt_table *own = nvt_story_cost(story->input);
    struct part part = has_measured(story->input) ? cost_part : cost_of_published;
    int is_own = own && nvt_table_rows(own) > 0;
    if (is_own && !part.absent)
        part.absent = "There is no run without collecting to compare with.";
    put_part(story, &part, document);
    if (is_own) {
        nvt_document_text(
            document, "What recording itself took: NVTX events, at what one cost when the recorder "
                      "measured itself, threads that waited for it, and the overhead that CUPTI "
                      "reported. nvtally stats --compensate subtracts the first of these.");
        nvt_story_table(document, own, TOP_ROWS);
    }
    nvt_table_free(own);
}

/* The charts of traces, and which of them have none. */
static void put_time(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_input *input = story->input;
    struct nvt_buffer text = {0};
    struct part part = time_part;
    size_t count = nvt_chart_own_traces(input), seen = 0;
    int failed = nvt_buffer_printf(&text, "%s", time_part.text);
    if (count > NVT_CHART_TRACES)
        failed |= nvt_buffer_printf(
            &text, " Charts are of the first %d of %zu traces; left out:", NVT_CHART_TRACES, count);
    for (size_t i = 0; i < input->trace_count; i++) {
        const char *name = nvt_file_name(input->traces[i].trace->path);
        if (nvt_input_is_own(&input->traces[i]) && ++seen > NVT_CHART_TRACES)
            failed |=
                nvt_buffer_printf(&text, "%s %s", seen > NVT_CHART_TRACES + 1 ? "," : "", name);
    }
    if (count > NVT_CHART_TRACES)
        failed |= nvt_buffer_printf(&text, ".");
    failed |= nvt_buffer_append(&text, "", 1);
    part.text = failed ? time_part.text : (const char *)text.data;
    document->failed |= failed;
    put_part(story, &part, document);
    nvt_buffer_free(&text);
}

/* What the program counts, and what was sampled beside it. One chart has all of it, with the first that is there. */
static void put_counters(const struct nvt_story *story, struct nvt_document *document)
{
    struct part parts[] = {counters_part, process_part, machine_part};
    size_t counts[] = {0, 0, 0};
    int has_chart = 0;
    for (size_t i = 0; i < story->input->trace_count; i++) {
        const struct nvt_counters *rows = &story->input->traces[i].trace->counters;
        for (uint32_t k = 0; k < rows->count; k++)
            counts[rows->is_of_machine[k] ? 2 : rows->is_of_process[k] ? 1 : 0]++;
    }
    for (int i = 0; i < 3; i++) {
        if (!counts[i])
            continue;
        parts[i].pictures = has_chart ? NVT_CHART_NOWHERE : NVT_CHART_COUNTERS;
        has_chart = 1;
        put_part(story, &parts[i], document);
    }
}

static void put_trace_reports(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_input *input = story->input;
    size_t ops = 0, apis = 0, samples = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        samples += input->traces[i].trace->counter_samples.count;
        ops += input->traces[i].trace->ops.count;
        apis += input->traces[i].trace->apis.count;
    }
    if (!has_pictures(story, NVT_CHART_GROWTH))
        put_part(story, &growth_part, document);
    put_part(story, &warmup_part, document);
    put_cost(story, document);
    put_memory(story, document);
    if (samples)
        put_counters(story, document);
    if (input->trace_count && input->run_count)
        put_part(story, &ranges_part, document);
    if (ops)
        put_part(story, &device_part, document);
    if (apis)
        put_part(story, &calls_part, document);
    if (nvt_input_has_mpi(input))
        put_part(story, &mpi_part, document);
    if (nvt_input_has_os_calls(input))
        put_part(story, &system_part, document);
    if (nvt_input_has_cpu_samples(input))
        put_part(story, &cpu_part, document);
}

static void put_reference(const struct nvt_story *story, struct nvt_document *document)
{
    struct nvt_reference_pairs pairs = {0};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (has_measured(story->input) && !nvt_reference_pairs_find(story->input, &pairs, &err) &&
        !nvt_reference_pairs_table(story->input, &pairs, &tables, &err)) {
        nvt_document_heading(document, "Beside the published figures");
        nvt_document_text(document,
                          "The same configurations as others published them, on other machines. A "
                          "ratio below 1 is a shorter time or less memory here; it is no verdict.");
        put_pictures(story, NVT_CHART_REFERENCE, document);
        nvt_story_table(document, tables.items[0], STUDY_ROWS);
    }
    nvt_tables_free(&tables);
    nvt_reference_pairs_free(&pairs);
}

static int put_findings(const struct nvt_story *story, const struct nvt_findings *findings,
                        struct nvt_document *document, struct nvt_error *err)
{
    char title[NVT_TITLE_MAX], what[NVT_WHAT_MAX], where[NVT_WHERE_MAX];
    char moments[NVT_MOMENTS_MAX], *text;
    if (!story->input->trace_count)
        return 0;
    nvt_document_heading(document, "Findings");
    nvt_document_text(document, "%s",
                      findings->count ? "What nvtally diagnose found, the largest share first."
                                      : "nvtally diagnose found nothing in these traces.");
    for (size_t i = 0; i < findings->count && i < FINDINGS; i++) {
        const struct nvt_finding *finding = &findings->items[i];
        nvt_finding_title(finding, title, sizeof(title));
        nvt_finding_where(finding, where, sizeof(where));
        nvt_finding_moments(finding, moments, sizeof(moments));
        nvt_finding_what(finding, what, sizeof(what));
        if (asprintf(&text,
                     "What: %s\nWhere: %s\nEvidence: %s\nLook at: %s\nRemedy: %s\nHow sure: %s",
                     what, where, finding->evidence, moments, finding->remedy,
                     nvt_confidence_meaning(finding->confidence)) < 0)
            return nvt_fail(err, "out of memory");
        nvt_document_item(document, title, text);
        free(text);
    }
    if (findings->count > FINDINGS)
        nvt_document_text(document, "The first %d of %zu: nvtally diagnose has all.", FINDINGS,
                          findings->count);
    return 0;
}

static void put_notes(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_buffer *notes = &story->input->notes;
    const char *at = (const char *)notes->data, *end = at + notes->size;
    if (!notes->size)
        return;
    nvt_document_heading(document, "What to know about these numbers");
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        nvt_document_text(document, "%.*s", (int)((stop ? stop : end) - at), at);
        at = stop ? stop + 1 : end;
    }
}

static void put_again(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_input *input = story->input;
    nvt_document_heading(document, "How to reproduce it");
    for (size_t i = 0; i < input->run_count; i++) {
        const char *command = nvt_record_text(&input->runs[i]->env, "command");
        if (command && !nvt_story_published(input->runs[i]))
            nvt_document_command(document, command);
    }
    for (size_t i = 0; i < input->trace_count; i++) {
        const char *command = nvt_trace_meta(input->traces[i].trace, "record");
        if (!command)
            command = nvt_trace_meta(input->traces[i].trace, "command");
        if (command && nvt_input_is_own(&input->traces[i]))
            nvt_document_command(document, command);
    }
    nvt_document_command(document, story->command);
    nvt_document_text(document,
                      "nvtally plot draws the charts again, with the data and the gnuplot "
                      "script of each beside it; nvtally stats prints each table.");
}

/* --- together --------------------------------------------------------------------------------- */

char *nvt_story_caption(const struct nvt_input *input, const char *what)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_phases, input, what, NULL);
    char *caption = table ? nvt_render_caption(table) : NULL;
    nvt_table_free(table);
    return caption;
}

/* The workloads, each once, or else the names of the files. malloc'ed, NULL when out of memory. */
static char *title_of(const struct nvt_input *input)
{
    struct nvt_buffer text = {0};
    const char *last = NULL;
    int failed = nvt_buffer_printf(&text, "nvtally report: ");
    size_t start = text.size;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count && text.size < 200; k++) {
            const char *workload = nvt_record_text(&input->runs[i]->records[k], "workload");
            if (!workload || (last && !strcmp(last, workload)))
                continue;
            failed |= nvt_buffer_printf(&text, "%s%s", text.size > start ? ", " : "", workload);
            last = workload;
        }
    for (size_t i = 0; i < input->trace_count && text.size < 200; i++) {
        const char *name = nvt_file_name(input->traces[i].trace->path);
        if (!input->traces[i].runs)
            failed |= nvt_buffer_printf(&text, "%s%s", text.size > start ? ", " : "", name);
    }
    if (!has_measured(input) && input->run_count)
        failed |= nvt_buffer_printf(&text, " (published figures)");
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

int nvt_story_tell(const struct nvt_story *story, struct nvt_document *document,
                   struct nvt_error *err)
{
    struct nvt_findings findings = {0};
    document->title = story->title ? strdup(story->title) : title_of(story->input);
    int status = story->input->trace_count ? nvt_diagnose(story->input, NULL, &findings, err) : 0;
    if (!status)
        status = nvt_findings_fold(&findings, story->input, err);
    if (!status)
        status = nvt_story_summary(story->input, &findings, document, err);
    if (!status) {
        if (has_pictures(story, NVT_CHART_GROWTH))
            put_part(story, &growth_part, document);
        put_time(story, document);
        put_results(story, document);
        if (nvt_chart_roofline.fits(story->input))
            put_part(story, &roofline_part, document);
        put_trace_reports(story, document);
        put_reference(story, document);
        status = put_findings(story, &findings, document, err);
    }
    if (!status) {
        put_notes(story, document);
        nvt_story_where(story->input, document);
        put_again(story, document);
    }
    free(findings.items);
    if (status)
        return -1;
    return document->failed || !document->title ? nvt_fail(err, "out of memory") : 0;
}
