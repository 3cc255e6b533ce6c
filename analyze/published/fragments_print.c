#include "fragments.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../studies/fragments.h"
#include "published.h"

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

int nvt_published_fragments(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    size_t count;
    struct nvt_fragment_row *rows = nvt_fragment_rows_of(input, &count, err);
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
