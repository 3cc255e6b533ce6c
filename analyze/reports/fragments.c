/*
 * fragments: the fragment study, a row a configuration. Its published layout is that of the
 * benchmark's own output file: a block a size and batch, the linear layer first, then the layer in
 * training and in inference, a paragraph a number of fragments. Times in ms with two decimals, peak
 * memory in MiB (which the file calls MB) with one. The file has only the looped inference; the
 * grouped one follows in a section of its own.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../input/conditions.h"
#include "../studies/fragments.h"
#include "../published/published.h"
#include "report.h"

enum {
    SIZE,
    BATCH,
    MODE,
    VARIANT,
    FRAGMENTS,
    FORWARD,
    FORWARD_STD,
    BACKWARD,
    BACKWARD_STD,
    OPTIMIZER,
    OPTIMIZER_STD,
    PEAK,
    PARAMETERS,
    STATUS,
    SOURCE,
    CONDITION /* where some differ in it */
};

static const struct nvt_column_spec columns[] = {
    [SIZE] = {"size", "", NVT_INT, 0, NVT_PLAIN},
    [BATCH] = {"batch", "", NVT_INT, 0, 0},
    [MODE] = {"mode", "", NVT_TEXT, 0, 0},
    [VARIANT] = {"variant", "", NVT_TEXT, 0, 0},
    [FRAGMENTS] = {"fragments", "", NVT_INT, 0, 0},
    [FORWARD] = {"forward (ms)", "ms", NVT_REAL, 4, 0},
    [FORWARD_STD] = {"forward std (ms)", "ms", NVT_REAL, 4, 0},
    [BACKWARD] = {"backward (ms)", "ms", NVT_REAL, 4, 0},
    [BACKWARD_STD] = {"backward std (ms)", "ms", NVT_REAL, 4, 0},
    [OPTIMIZER] = {"optimizer (ms)", "ms", NVT_REAL, 4, 0},
    [OPTIMIZER_STD] = {"optimizer std (ms)", "ms", NVT_REAL, 4, 0},
    [PEAK] = {"peak (MiB)", "MiB", NVT_REAL, 1, 0},
    [PARAMETERS] = {"parameters", "", NVT_INT, 0, 0},
    [STATUS] = {"status", "", NVT_TEXT, 0, 0},
    [SOURCE] = {"source", "", NVT_TEXT, 0, 0},
    [CONDITION] = {"measured with", "", NVT_TEXT, 0, 0},
};

static const char *const modes[] = {
    [NVT_LINEAR] = "linear",
    [NVT_TRAIN] = "train",
    [NVT_LOOPED] = "inference",
    [NVT_GROUPED] = "inference",
};

static void put_row(struct nvt_table *table, const struct nvt_fragment_row *from,
                    unsigned conditions)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, SIZE, from->size);
    nvt_table_set_int(table, row, BATCH, from->batch);
    nvt_table_set_text(table, row, MODE, modes[from->line]);
    nvt_table_set_text(table, row, VARIANT, from->variant);
    if (from->fragments)
        nvt_table_set_int(table, row, FRAGMENTS, from->fragments);
    nvt_table_set_real(table, row, FORWARD, from->forward.mean_ms);
    nvt_table_set_real(table, row, FORWARD_STD, from->forward.std_ms);
    nvt_table_set_real(table, row, BACKWARD, from->backward.mean_ms);
    nvt_table_set_real(table, row, BACKWARD_STD, from->backward.std_ms);
    nvt_table_set_real(table, row, OPTIMIZER, from->optimizer.mean_ms);
    nvt_table_set_real(table, row, OPTIMIZER_STD, from->optimizer.std_ms);
    nvt_table_set_real(table, row, PEAK, from->peak_mib);
    if (from->parameters >= 0 && from->parameters <= 9e15)
        nvt_table_set_int(table, row, PARAMETERS, (int64_t)from->parameters);
    nvt_table_set_text(table, row, STATUS, from->status);
    nvt_table_set_text(table, row, SOURCE, from->source);
    nvt_condition_put(table, row, CONDITION, from->record, conditions);
}

static struct nvt_fragment_row *rows_of(struct nvt_input *input, size_t *count,
                                        struct nvt_error *err)
{
    struct nvt_fragment_row *rows = nvt_fragment_rows(input->runs, input->run_count, count, err);
    if (rows && !*count) {
        nvt_fail(err, "holds no run of linear or fragmented");
        nvt_error_in(err, input->run_count ? input->runs[0]->path : "input");
        free(rows);
        return NULL;
    }
    return rows;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    size_t count;
    struct nvt_fragment_row *rows = rows_of(input, &count, err);
    if (!rows)
        return -1;
    unsigned conditions = nvt_conditions_of(input->runs, input->run_count, NVT_OF_ALL);
    struct nvt_table *table =
        nvt_report_table_of(&nvt_report_fragments, conditions ? CONDITION + 1 : CONDITION, input,
                            "Fragment study", err);
    for (size_t i = 0; table && i < count; i++)
        put_row(table, &rows[i], conditions);
    free(rows);
    return nvt_report_add(tables, table, err);
}

static void put_block(const struct nvt_fragment_row *row, FILE *out)
{
    if (!nvt_fragment_ok(row)) {
        fprintf(out, "  Status: %s\n", strcmp(row->status, "oom") ? "error" : "oom");
        return;
    }
    fprintf(out, "  Forward time: %.2fms\n", row->forward.mean_ms);
    if (isfinite(row->backward.mean_ms))
        fprintf(out, "  Backward time: %.2fms\n", row->backward.mean_ms);
    if (isfinite(row->peak_mib))
        fprintf(out, "  Peak memory: %.1fMB\n", row->peak_mib);
    if (isfinite(row->parameters))
        fprintf(out, "  Parameters: %.0f\n", row->parameters);
}

/* The rows that are printed, and how each was measured. */
struct printed {
    const struct nvt_fragment_row *rows;
    nvt_condition_text_of *conditions;
    size_t count;
};

static int same_condition(const struct printed *of, size_t a, size_t b)
{
    return !strcmp(of->conditions[a], of->conditions[b]);
}

static int same_block(const struct printed *of, size_t a, size_t b)
{
    return of->rows[a].size == of->rows[b].size && of->rows[a].batch == of->rows[b].batch &&
           same_condition(of, a, b);
}

static void put_section(const struct printed *of, size_t first, enum nvt_fragment_line line,
                        FILE *out)
{
    static const char *const headings[] = {
        [NVT_TRAIN] = "Train",
        [NVT_LOOPED] = "Inference",
        [NVT_GROUPED] = "Inference, grouped",
    };
    int started = 0;
    for (size_t i = first; i < of->count; i++) {
        const struct nvt_fragment_row *row = &of->rows[i];
        if (row->line != line || !same_block(of, i, first))
            continue;
        if (line == NVT_LINEAR)
            fprintf(out, "%sLinear Layer:\n", started ? "\n" : "");
        else if (!started)
            fprintf(out, "\nFragmentedLinear (%s) Results:\n", headings[line]);
        started = 1;
        if (line != NVT_LINEAR)
            fprintf(out, "\nFragments: %" PRId64 "\n", row->fragments);
        put_block(row, out);
    }
}

/* The blocks of rows that were measured as the one at `from`. */
static void put_condition(const struct printed *of, size_t from, FILE *out)
{
    nvt_published_put_condition(of->conditions[from], !from, out);
    for (size_t i = from; i < of->count; i++) {
        size_t first = from;
        if (!same_condition(of, i, from))
            continue;
        while (!same_block(of, first, i))
            first++;
        if (first < i)
            continue;
        const struct nvt_fragment_row *row = &of->rows[i];
        fprintf(out,
                "%sBenchmarking with input_size=%" PRId64 ", output_size=%" PRId64
                ", batch_size=%" PRId64 "\n\nDetailed Results:\n",
                i > from || *of->conditions[from] ? "\n" : "", row->size, row->size, row->batch);
        for (int line = 0; line < NVT_FRAGMENT_LINES; line++)
            put_section(of, i, (enum nvt_fragment_line)line, out);
    }
}

static nvt_condition_text_of *conditions_of(const struct nvt_fragment_row *rows, size_t count)
{
    const struct nvt_record **records = calloc(count + 1, sizeof(*records));
    for (size_t i = 0; records && i < count; i++)
        records[i] = rows[i].record;
    nvt_condition_text_of *conditions = records ? nvt_published_conditions(records, count) : NULL;
    free((void *)records);
    return conditions;
}

static int published(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    size_t count;
    struct nvt_fragment_row *rows = rows_of(input, &count, err);
    if (!rows)
        return -1;
    const struct printed of = {rows, conditions_of(rows, count), count};
    for (size_t i = 0; of.conditions && i < count;
         i = nvt_published_next_condition(of.conditions, count, i + 1))
        put_condition(&of, i, out);
    int status = of.conditions ? 0 : nvt_fail(err, "out of memory");
    free(of.conditions);
    free(rows);
    return status;
}

const struct nvt_report nvt_report_fragments = {
    .name = "fragments",
    .about = "the fragment study of a run directory: times, peak memory, parameters",
    .needs = NVT_NEEDS_RUNS,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .published = published,
};
