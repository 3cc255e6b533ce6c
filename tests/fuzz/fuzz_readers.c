#include "fuzz_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../analyze/comparison/compare_functions.h"
#include "../../analyze/comparison/compare_table.h"
#include "../../analyze/comparison/stack_changes.h"
#include "../../analyze/exports/export.h"
#include "../../analyze/device/project.h"
#include "../../analyze/model/layout.h"
#include "../../analyze/model/table_file.h"
#include "../../analyze/reports/report.h"
#include "../../lib/count_of.h"
#include "../../lib/render.h"
#include "../../lib/trace_file.h"
#include "../trace_same.h"

static char path[64], tables_path[72];

static void remove_file(void)
{
    unlink(path);
    unlink(tables_path);
}

/* A file with these bytes, in memory where there is such a place. SQLite wants a real path. */
static void write_file(const uint8_t *data, size_t size)
{
    static int descriptor = -1;
    if (descriptor < 0) {
        snprintf(path, sizeof(path), "%s/nvtally-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        descriptor = mkstemp(path);
        snprintf(tables_path, sizeof(tables_path), "%s.tables", path);
        (void)atexit(remove_file);
    }
    if (descriptor < 0 || ftruncate(descriptor, 0) ||
        pwrite(descriptor, data, size, 0) != (ssize_t)size)
        abort();
}

static void run_reports(struct nvt_trace *trace)
{
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    struct nvt_input_trace traces = {.trace = trace};
    for (size_t i = 0; i < count; i++) {
        struct nvt_input input = {.traces = &traces,
                                  .trace_count = 1,
                                  .project_flags = (unsigned)(i & NVT_ACROSS_THREADS)};
        struct nvt_tables tables = {0};
        struct nvt_error err = NVT_ERROR_INIT;
        if (reports[i]->needs & NVT_NEEDS_RUNS)
            continue;
        if (nvt_report_make(reports[i], &input, &tables, &err) && !*err.message)
            abort();
        nvt_tables_free(&tables);
        nvt_buffer_free(&input.notes);
    }
}

/* The trace against itself: as a comparison and its pictures read it. */
static void run_comparison(struct nvt_trace *trace)
{
    static const enum nvt_stacks_of parts[] = {NVT_STACKS_HOST, NVT_STACKS_DEVICE, NVT_STACKS_CPU};
    struct nvt_input_trace traces = {.trace = trace};
    struct nvt_input input = {.traces = &traces, .trace_count = 1};
    struct nvt_compared_functions functions = {0};
    struct nvt_outcomes outcomes = {0};
    struct nvt_buffer notes = {0};
    struct nvt_sides groups;
    int failed = nvt_sides_init(&groups);
    for (size_t side = 0; side < 2; side++)
        failed |= nvt_sides_add(&groups, side, &input, NULL) ||
                  nvt_compared_functions_add(&functions, side, &input, NULL);
    if (failed || nvt_compared_functions_finish(&functions, 2, &groups, &notes) ||
        nvt_outcomes_make(&outcomes, &groups, 2, 0.01, 1))
        abort();
    nvt_table_free(nvt_compare_table(&outcomes, &groups, 2, 0));
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++) {
        struct nvt_stack_changes changes = {.what = parts[i]};
        if (nvt_stack_changes_add(&changes, 0, trace, NULL) ||
            nvt_stack_changes_add(&changes, 1, trace, NULL))
            abort();
        free(nvt_stack_changes_order(&changes, 0, 1));
        nvt_stack_changes_free(&changes);
    }
    nvt_outcomes_free(&outcomes);
    nvt_sides_free(&groups);
    nvt_compared_functions_free(&functions);
    nvt_buffer_free(&notes);
}

/* What reports say that need no more of a trace than its launches. */
static char *launches_of(const struct nvt_input_trace *item)
{
    size_t count, size;
    char *text = NULL;
    const struct nvt_report *const *reports = nvt_reports(&count);
    struct nvt_input_trace copy = *item;
    struct nvt_input input = {.traces = &copy, .trace_count = 1};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    for (size_t i = 0; i < count; i++)
        if ((reports[i]->needs & NVT_TAKES_LAUNCHES) &&
            nvt_report_make(reports[i], &input, &tables, &err))
            abort();
    if (nvt_render_json(&tables, out))
        abort();
    fclose(out);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    return text;
}

static int read_by_lanes(const struct nvt_reader *reader, struct nvt_trace *trace,
                         struct nvt_launches *launches)
{
    struct nvt_lanes lanes = {0};
    int status = reader->read_lanes(path, trace, &lanes) || nvt_lanes_link(&lanes, trace) ||
                 nvt_launches_of(launches, &lanes);
    nvt_lanes_free(&lanes);
    return status;
}

/* Whoever reads lanes comes to the same. */
static void compare_launches(const struct nvt_reader *reader, struct nvt_trace *trace)
{
    const struct nvt_input_trace whole = {.trace = trace};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_launches launches = {0};
    struct nvt_input_trace reduced = {.trace = nvt_trace_new(path, reader->name),
                                      .launches = &launches};
    if (!reduced.trace)
        abort();
    int status = read_by_lanes(reader, reduced.trace, &launches);
    if (!status && nvt_trace_finish(reduced.trace, &err))
        abort();
    if (!status) {
        char *expected = launches_of(&whole), *got = launches_of(&reduced);
        if (strcmp(expected, got))
            abort();
        free(expected);
        free(got);
    }
    nvt_launches_free(&launches);
    nvt_trace_free(reduced.trace);
}

static void run_exports(const struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    FILE *out = fopen("/dev/null", "w");
    if (!out)
        abort();
    nvt_exporter_chrome.write(trace, out, &err);
    nvt_exporter_perfetto.write(trace, out, &err);
    nvt_exporter_csv.write(trace, out, &err);
    fclose(out);
}

/* Analyses rely on what a reader lets through. */
static void check(const struct nvt_trace *trace)
{
    const char *column;
    uint32_t row;
    const char *table = nvt_layout_check(trace, &column, &row);
    if (table) {
        fprintf(stderr, "%s.%s, row %u, is wrong\n", table, column, (unsigned)row);
        abort();
    }
}

/* Whatever was read comes back from a file of tables. */
static void round_trip(const struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1100];
    unlink(tables_path);
    if (nvt_tables_write(trace, tables_path, 1, &err))
        abort();
    struct nvt_trace *again = nvt_trace_read(tables_path, &err);
    if (!again) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    const char *difference = trace_difference(trace, again, text, sizeof(text));
    if (difference) {
        fprintf(stderr, "%s\n", difference);
        abort();
    }
    nvt_trace_free(again);
}

/* What is refused has one line that says why. */
static int is_read(const struct nvt_reader *reader, struct nvt_trace *trace,
                   int (*read)(const char *, struct nvt_trace *, struct nvt_error *))
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1100];
    if (read(path, trace, &err)) {
        if (!*err.message || strchr(nvt_error_text(&err, text, sizeof(text)), '\n'))
            abort();
        return 0;
    }
    check(trace);
    if (nvt_trace_finish(trace, &err))
        abort();
    check(trace);
    round_trip(trace);
    run_reports(trace);
    run_comparison(trace);
    run_exports(trace);
    if (reader->read_lanes)
        compare_launches(reader, trace);
    return 1;
}

int fuzz_reader(const struct nvt_reader *reader, const uint8_t *data, size_t size)
{
    if (!reader->recognizes(data, size))
        return 0;
    write_file(data, size);
    struct nvt_trace *trace = nvt_trace_new(path, reader->name);
    int done = !trace || is_read(reader, trace, reader->read);
    nvt_trace_free(trace);
    if (done || !reader->read_repaired)
        return 0;
    trace = nvt_trace_new(path, reader->name);
    if (trace)
        is_read(reader, trace, reader->read_repaired);
    nvt_trace_free(trace);
    return 0;
}
