#include "compare_tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../comparison/compare_table.h"
#include "../comparison/comparison.h"
#include "../comparison/headline.h"

#define SIDES 2

/* Peaks of memory that differ; none is no table. */
static int add_memory(struct nvt_comparison *compared, struct nvt_tables *tables,
                      struct nvt_error *err)
{
    struct nvt_table *table = NULL;
    size_t same = 0, above = 0;
    if (nvt_compared_memory_table(&compared->memory, SIDES, NVT_COMPARISON_TOLERANCE, NAN, &table,
                                  &same, &above, err))
        return -1;
    if (same)
        nvt_note_in(&compared->notes, "memory: %zu peak%s the same", same,
                    same == 1 ? " is" : "s are");
    if (!nvt_table_rows(table) && !nvt_table_failed(table, NULL)) {
        nvt_table_free(table);
        return 0;
    }
    return nvt_tables_add(tables, table) ? nvt_fail(err, "out of memory") : 0;
}

/* How fast B is compared with A, in a line. */
static int put_headline(const struct nvt_comparison *compared, struct nvt_answer *answer,
                        struct nvt_error *err)
{
    char text[NVT_HEADLINE_MAX], counts[NVT_HEADLINE_MAX];
    const struct nvt_headline headline = nvt_headline_of(compared, 1);
    (void)nvt_headline_text(&headline, text);
    (void)nvt_headline_counts(&headline, counts);
    if (asprintf(&answer->text, "%s%s%s", text, *counts ? "; " : "", counts) >= 0)
        return 0;
    answer->text = NULL;
    return nvt_fail(err, "out of memory");
}

static int put_all(struct nvt_comparison *compared, struct nvt_answer *answer,
                   struct nvt_error *err)
{
    if (nvt_comparison_check(compared, 1, err) || nvt_comparison_note_outcomes(compared, err))
        return -1;
    if (compared->outcomes.count &&
        (put_headline(compared, answer, err) ||
         nvt_tables_add(&answer->tables,
                        nvt_compare_table(&compared->outcomes, &compared->groups, SIDES, 0))))
        return nvt_fail(err, "out of memory");
    return add_memory(compared, &answer->tables, err);
}

int nvt_compare_opened(const struct nvt_opened *before, const struct nvt_opened *after,
                       struct nvt_answer *answer, struct nvt_error *err)
{
    char *paths[SIDES] = {before->path, after->path};
    struct nvt_comparison compared = {.sides = 0};
    const struct nvt_comparison_request how = {.command = "compare",
                                               .iteration = before->iteration,
                                               .tolerance = NVT_COMPARISON_TOLERANCE,
                                               .is_one_list = 1};
    if (before->range || before->time || after->range || after->time)
        return nvt_fail(err, "compare takes whole traces, no windows: open their files");
    if (!before->iteration != !after->iteration ||
        (before->iteration && strcmp(before->iteration, after->iteration) != 0))
        return nvt_fail(err, "compare: %s and %s were opened with different iterations",
                        before->name, after->name);
    int status = nvt_comparison_make(&compared, &how, SIDES, paths, err);
    if (!status)
        status = put_all(&compared, answer, err);
    answer->notes = compared.notes;
    compared.notes = (struct nvt_buffer){0};
    nvt_comparison_free(&compared);
    return status;
}
