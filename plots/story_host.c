/*
 * The first lines of a report about traces without devices: the loop, and where the host's time went.
 */
#include <stdlib.h>
#include <string.h>

#include "../analyze/model/named_iterations.h"
#include "../analyze/model/nesting.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/run_time.h"
#include "../lib/grow.h"
#include "../lib/sample.h"
#include "story_sections.h"

enum { RANGES_TOLD = 3, NAME_LONGEST = 48, RANGES_MOST = 4096 };

/* Lengths of all iterations that the input names; malloc'ed with *count, NULL when out of memory. */
static double *lengths_of(const struct nvt_input *input, size_t *count)
{
    double *lengths = malloc(sizeof(*lengths));
    *count = 0;
    for (size_t i = 0; i < input->trace_count && lengths; i++) {
        const struct nvt_ranges *ranges = &input->traces[i].trace->ranges;
        uint32_t found, *rows = nvt_iterations(input->traces[i].trace, &found);
        if (!rows || nvt_resize(&lengths, *count + found, sizeof(*lengths))) {
            free(lengths);
            lengths = NULL;
        }
        for (uint32_t k = 0; lengths && k < found; k++)
            lengths[(*count)++] = (double)(ranges->end[rows[k]] - ranges->start[rows[k]]);
        free(rows);
    }
    return lengths;
}

static int put_iterations(const struct nvt_input *input, struct nvt_buffer *text)
{
    size_t count;
    double *lengths = lengths_of(input, &count);
    int failed = !lengths;
    if (lengths && count)
        failed = nvt_buffer_printf(text, "\nIterations: %zu, %s each (median)", count,
                                   NVT_TIME(nvt_sample_median(lengths, count)));
    free(lengths);
    return failed;
}

/* Where the whole run of the only process with iterations went. */
static int put_run(const struct nvt_input *input, struct nvt_buffer *text)
{
    struct nvt_run_times times = {0};
    char parts[256];
    if (input->trace_count != 1)
        return 0;
    int failed = nvt_run_times_make(&times, input->traces[0].trace);
    if (!failed && times.count == 1 && times.items[0].iterations &&
        nvt_run_time_is_whole(&times.items[0], input->traces[0].trace)) {
        nvt_run_time_text(&times.items[0], parts, sizeof(parts));
        failed = nvt_buffer_printf(text, "\nRun: %s (nvtally stats -r run_time)", parts);
    }
    nvt_run_times_free(&times);
    return failed;
}

/* Rows of range_tree that together are the host's time in push/pop ranges, none within another. */
struct split {
    const struct nvt_table *table;
    size_t time, level, style, name; /* columns */
    size_t rows[RANGES_MOST];
    size_t count;
    int64_t all; /* ns */
};

static int64_t time_of(const struct split *split, size_t row)
{
    return nvt_table_int(split->table, row, split->time);
}

static int64_t level_of(const struct split *split, size_t row)
{
    return nvt_table_int(split->table, row, split->level);
}

/* A loader's workers make batches while the loop does something else: what it waits for of that is its range `data`. */
static int is_beside(const char *name)
{
    return !strcmp(name, "PyTorch:worker");
}

/* Add the rows of a level from `from` on, until one above it; the first of them have the most time. Their time in ns. */
static int64_t add_level(struct split *split, size_t from, int64_t level)
{
    int64_t ns = 0;
    for (size_t row = from; row < nvt_table_rows(split->table); row++) {
        const int64_t own = level_of(split, row);
        if (own < level)
            break;
        if (own > level || strcmp(nvt_table_text(split->table, row, split->style), "PushPop") ||
            is_beside(nvt_table_text(split->table, row, split->name)))
            continue;
        if (split->count < RANGES_MOST)
            split->rows[split->count++] = row;
        ns += time_of(split, row);
    }
    return ns;
}

/* The largest of those from `first` on comes there. */
static void sort_next(struct split *split, size_t first)
{
    for (size_t i = first + 1; i < split->count; i++)
        if (time_of(split, split->rows[i]) > time_of(split, split->rows[first])) {
            size_t row = split->rows[i];
            split->rows[i] = split->rows[first];
            split->rows[first] = row;
        }
}

/* What has over half of all time says little by itself: in its place stands what lies in it, if that is most of it. */
static void open_up(struct split *split)
{
    /* Each opening reads the rows, of which a program that pushes and never pops has as many as levels. */
    int opened = 0;
    for (sort_next(split, 0); split->count && opened++ < NVT_NESTING_DEPTH; sort_next(split, 0)) {
        size_t row = split->rows[0], before = split->count;
        int64_t ns = time_of(split, row);
        if (2 * ns <= split->all)
            break;
        if (2 * add_level(split, row + 1, level_of(split, row) + 1) < ns) {
            split->count = before;
            break;
        }
        split->rows[0] = split->rows[--split->count];
    }
}

/* "36.8 % backward, 32.3 % data" of the largest. */
static int put_split(struct split *split, struct nvt_buffer *text)
{
    int failed = 0;
    for (size_t i = 0; i < split->count && i < RANGES_TOLD && split->all > 0 && !failed; i++) {
        sort_next(split, i);
        const char *name = nvt_table_text(split->table, split->rows[i], split->name);
        const int64_t level = level_of(split, split->rows[i]);
        name += 2 * (level < NVT_NESTING_DEPTH ? level : NVT_NESTING_DEPTH);
        name += *name == ':'; /* of the default domain */
        size_t length = strlen(name) < NAME_LONGEST ? strlen(name) : NAME_LONGEST;
        while (length && ((unsigned char)name[length] & 0xC0) == 0x80)
            length--;
        failed =
            nvt_buffer_printf(text, "%s%.1f %% %.*s%s", i ? ", " : "\nHost: of the time in ranges ",
                              100 * (double)time_of(split, split->rows[i]) / (double)split->all,
                              (int)length, name, name[length] ? "…" : "");
    }
    return failed;
}

int nvt_story_host(struct nvt_input *input, int has_overview, struct nvt_buffer *text,
                   struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    struct split *split;
    size_t noted = input->notes.size;
    if (input->run_count || !input->trace_count)
        return 0;
    if ((!has_overview && put_iterations(input, text)) || put_run(input, text))
        return -1;
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->ops.count)
            return 0;
    split = calloc(1, sizeof(*split));
    int failed = !split || nvt_report_make(nvt_report_find("range_tree"), input, &tables, err);
    if (!failed && tables.count) {
        *split = (struct split){.table = tables.items[0],
                                .time = nvt_table_find(tables.items[0], "Host Total (ns)"),
                                .level = nvt_table_find(tables.items[0], "Lvl"),
                                .style = nvt_table_find(tables.items[0], "Style"),
                                .name = nvt_table_find(tables.items[0], "Range")};
        split->all = add_level(split, 0, 0);
        open_up(split);
        failed = put_split(split, text);
    }
    free(split);
    nvt_tables_free(&tables);
    input->notes.size = noted; /* the tables have them too */
    return failed ? -1 : 0;
}
