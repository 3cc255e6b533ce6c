#include "story.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/diagnosis/hip_words.h"
#include "../analyze/input/ranks.h"
#include "../analyze/published/reference_pairs.h"
#include "../analyze/reports/report.h"
#include "../lib/render.h"
#include "../lib/text.h"
#include "story_sections.h"

/* Rows of a trace's reports, which may have thousands; those of a study are all shown. */
enum { TOP_ROWS = 25, WARMUP_ROWS = 30, STUDY_ROWS = 500 };

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
    int is_folded;      /* its tables are shown on request */
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
        const char *text = shown ? part->text : part->absent;
        nvt_document_heading(document, part->heading);
        if (*text)
            nvt_document_text(document, "%s", text);
    }
    put_pictures(story, part->pictures, document);
    document->folds = part->is_folded;
    for (size_t i = 0; i < tables.count; i++)
        if (nvt_table_rows(tables.items[i]))
            nvt_story_table(document, tables.items[i], part->most);
    document->folds = 0;
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
    const int is_study = story->input->run_count > 0;
    const char *const names[] = {main->name,
                                 is_study && main != &nvt_report_phases ? "phases" : NULL, NULL};
    const struct part results = {
        .heading = is_study ? "Results" : "Ranges",
        .text = is_study ? "Means and standard deviations are over the timed iterations."
                         : "Over the whole trace.",
        .reports = names,
        .most = is_study ? STUDY_ROWS : TOP_ROWS,
        .pictures = NVT_CHART_RESULTS,
        .is_folded = !is_study};
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
    growth_part = {.heading = "Cost over the number that was varied",
                   .text = "What ranges, calls and device operations cost per iteration, over runs "
                           "that differ in one number; the exponent is of that number, with its 95 "
                           "% interval.",
                   .reports = growth,
                   .most = TOP_ROWS,
                   .pictures = NVT_CHART_GROWTH},
    roofline_part = {.heading = "Roofline",
                     .text = "FLOP/s of phases and ranges compared with what large products and a "
                             "copy reached on the machine at their arithmetic intensity, by the "
                             "time that would be gained there.",
                     .reports = roofline,
                     .most = TOP_ROWS,
                     .pictures = NVT_CHART_ROOFLINE},
    warmup_part = {.heading = "Warm-up",
                   .text = "Iterations since the start of each process: the first ones pay for "
                           "loading, first touches of memory and growing pools.",
                   .reports = warmup,
                   .most = WARMUP_ROWS,
                   .pictures = NVT_CHART_WARMUP,
                   .is_folded = 1},
    cost_part = {.heading = "Profiling overhead",
                 .text = "The same runs with and without collecting, in turns.",
                 .reports = overhead,
                 .most = STUDY_ROWS,
                 .pictures = NVT_CHART_COST,
                 .absent = "Not measured in this run. The same command with --collect "
                           "off,nvtx,kernel,full (on a host: off,nvtx) measures it, and stats -r "
                           "overhead prints it."},
    cost_of_published = {.heading = "Profiling overhead",
                         .text = "The same runs with and without collecting, as published.",
                         .reports = overhead,
                         .most = STUDY_ROWS,
                         .pictures = NVT_CHART_COST},
    ranges_part = {.heading = "Ranges",
                   .text = "Ranges of all traces by total time.",
                   .reports = ranges,
                   .most = TOP_ROWS,
                   .pictures = NVT_CHART_NOWHERE,
                   .is_folded = 1},
    time_part = {.heading = "Timeline and flame graphs",
                 .text = "",
                 .reports = none,
                 .most = TOP_ROWS,
                 .pictures = NVT_CHART_TIME},
    counters_part = {.heading = "Counters",
                     .text = "Numbers that the program sampled, and their values within ranges.",
                     .reports = counters,
                     .most = TOP_ROWS,
                     .pictures = NVT_CHART_COUNTERS,
                     .is_folded = 1},
    process_part = {.heading = "Process memory",
                    .text = "Resident memory of each process, and what grew steadily.",
                    .reports = processes,
                    .most = TOP_ROWS,
                    .pictures = NVT_CHART_NOWHERE,
                    .is_folded = 1},
    machine_part = {.heading = "Machine",
                    .text = "The machine's state while the program ran; of devices also on average "
                            "while they worked.",
                    .reports = machine,
                    .most = TOP_ROWS,
                    .pictures = NVT_CHART_NOWHERE,
                    .is_folded = 1},
    mpi_part = {.heading = "MPI calls",
                .text = "What the ranks did in MPI, and in which ranges.",
                .reports = mpi,
                .most = TOP_ROWS,
                .pictures = NVT_CHART_NOWHERE,
                .is_folded = 1},
    system_part = {.heading = "OS calls",
                   .text = "What the host waited for: by range, by file, by lock, and by caller.",
                   .reports = system_calls,
                   .most = TOP_ROWS,
                   .pictures = NVT_CHART_NOWHERE,
                   .is_folded = 1},
    cpu_part = {.heading = "CPU samples",
                .text = "Functions in samples of what threads run: by range, by function with its "
                        "callers, by library, and by thread.",
                .reports = cpu,
                .most = TOP_ROWS,
                .pictures = NVT_CHART_CPU,
                .is_folded = 1},
    device_part = {.heading = "Device",
                   .text = "Kernels, copies, and how busy the devices were.",
                   .reports = device,
                   .most = TOP_ROWS,
                   .pictures = NVT_CHART_NOWHERE,
                   .is_folded = 1},
    calls_part = {.heading = "CUDA calls",
                  .text = "Time in calls of the CUDA API, waiting included.",
                  .reports = calls,
                  .most = TOP_ROWS,
                  .pictures = NVT_CHART_NOWHERE,
                  .is_folded = 1};

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
    static const char text[] =
        "Peaks of what was allocated, and of what was reserved from the system.";
    const struct part part = {.heading = "Memory",
                              .text = text,
                              .reports = events ? memory : none,
                              .most = TOP_ROWS,
                              .pictures = NVT_CHART_MEMORY,
                              .absent = peaks && nvt_table_rows(peaks) ? text
                                        : input->run_count             ? NULL
                                                           : "The trace has no memory events.",
                              .is_folded = !input->run_count};
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
        nvt_document_text(document,
                          "Cost of recording: NVTX events, each at its measured cost, "
                          "threads that waited for the recorder, and the overhead that CUPTI "
                          "reported. nvtally stats --compensate subtracts the first of these.");
        document->folds = 1;
        nvt_story_table(document, own, TOP_ROWS);
        document->folds = 0;
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
    int failed = 0;
    if (count > NVT_CHART_TRACES)
        failed |= nvt_buffer_printf(
            &text, "Charts are of the first %d of %zu traces; left out:", NVT_CHART_TRACES, count);
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
        nvt_document_heading(document, "Published results");
        nvt_document_text(document,
                          "The same configurations as others published them, on other machines. A "
                          "ratio below 1 is a shorter time or less memory here; it is no verdict.");
        put_pictures(story, NVT_CHART_REFERENCE, document);
        nvt_story_table(document, tables.items[0], STUDY_ROWS);
    }
    nvt_tables_free(&tables);
    nvt_reference_pairs_free(&pairs);
}

static void put_again(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_input *input = story->input;
    nvt_document_heading(document, "Reproduction");
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
                      "script of each next to it; nvtally stats prints each table.");
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

/* What comes first: findings, and the overview. 0, or -1 with err. */
static int put_first(const struct nvt_story *story, struct nvt_document *document,
                     struct nvt_error *err)
{
    struct nvt_overview overview = {0};
    struct nvt_input *input = story->input;
    const int fits = nvt_overview_fits(input);
    int status = fits                 ? nvt_overview_make(&overview, input, err)
                 : input->trace_count ? nvt_overview_find(&overview, input, err)
                                      : 0;
    if (!status && input->trace_count)
        status = nvt_story_findings(input, &overview, document, err);
    if (!status && fits)
        status = nvt_story_overview(&overview, document, err);
    if (!status && !fits)
        nvt_document_heading(document, "Overview");
    if (!status)
        status = nvt_story_summary(input, fits, document, err) ||
                         nvt_story_facts(input, &overview, document, err) ||
                         nvt_story_timeline(input, &overview, story->embed, document, err) ||
                         (story->embed && nvt_story_flames(input, document, err))
                     ? -1
                     : 0;
    nvt_overview_free(&overview);
    return status;
}

/* Traces of ROCm have no CUDA in a heading, or in what findings mean. */
static void put_in_hip(struct nvt_document *document)
{
    for (size_t i = 0; i < document->count; i++) {
        const struct nvt_block *block = &document->blocks[i];
        if (block->kind == NVT_BLOCK_COMMAND || block->kind == NVT_BLOCK_FLAME ||
            block->kind == NVT_BLOCK_TIMELINE)
            continue;
        if (block->title)
            nvt_hip_words(block->title, 1);
        if (block->text)
            nvt_hip_words(block->text, 1);
    }
}

int nvt_story_tell(const struct nvt_story *story, struct nvt_document *document,
                   struct nvt_error *err)
{
    document->title = story->title ? strdup(story->title) : title_of(story->input);
    document->origin = nvt_story_caption(story->input, "");
    if (put_first(story, document, err) || nvt_input_note_twice(story->input, err))
        return -1;
    if (has_pictures(story, NVT_CHART_GROWTH))
        put_part(story, &growth_part, document);
    put_time(story, document);
    put_results(story, document);
    if (nvt_chart_fits(&nvt_chart_roofline, story->input))
        put_part(story, &roofline_part, document);
    put_trace_reports(story, document);
    put_reference(story, document);
    nvt_document_notes(document, &story->input->notes);
    nvt_story_where(story->input, document);
    put_again(story, document);
    nvt_story_rules(document);
    if (nvt_input_is_of_hip(story->input))
        put_in_hip(document);
    return document->failed || !document->title ? nvt_fail(err, "out of memory") : 0;
}
