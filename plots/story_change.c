#include "story_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/comparison/compare_table.h"
#include "../lib/render.h"
#include "story_sections.h"

enum { ROWS = 60, PEAKS = 60 };

char *nvt_change_story_caption(const struct nvt_changes *changes, const char *what)
{
    struct nvt_table *table = nvt_changes_origin(changes, what);
    char *caption = table ? nvt_render_caption(table) : NULL;
    nvt_table_free(table);
    return caption;
}

/* "nvtally report: A: before, B: after". malloc'ed, NULL when out of memory. */
static char *title_of(const struct nvt_changes *changes)
{
    struct nvt_buffer text = {0};
    int failed = nvt_buffer_printf(&text, "nvtally report: ");
    for (size_t side = 0; side < changes->comparison.sides; side++) {
        char name[120];
        nvt_changes_side(changes, side, name, sizeof(name));
        failed |= nvt_buffer_printf(&text, "%s%s", side ? ", " : "", name);
    }
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

static void put_summary(const struct nvt_change_story *story, struct nvt_document *document)
{
    const struct nvt_comparison *comparison = &story->changes->comparison;
    nvt_document_heading(document, "Changes");
    for (size_t side = 1; side < comparison->sides; side++) {
        size_t verdicts[4] = {0}, all = 0, alone = 0;
        for (size_t i = 0; i < comparison->outcomes.count; i++) {
            const struct nvt_outcome *row = &comparison->outcomes.rows[i];
            if (row->side != side)
                continue;
            /* A function without a sample is judged, as its time is known to be little, but not on that side. */
            const int is_judged = nvt_outcome_has_both(row);
            alone += !is_judged || !row->change->n[0] || !row->change->n[1];
            if (!is_judged)
                continue;
            all++;
            verdicts[row->change->verdict]++;
        }
        nvt_document_text(document,
                          "Side %c compared with side A: of %zu phases, ranges, kernels and "
                          "functions, %zu are slower, %zu faster, %zu the same, and %zu cannot be "
                          "told from noise. %zu are on one side only.",
                          (char)('A' + side), all, verdicts[NVT_SLOWER], verdicts[NVT_FASTER],
                          verdicts[NVT_SAME], verdicts[NVT_CANNOT_TELL], alone);
    }
    for (size_t i = 0; i < story->picture_count; i++)
        nvt_document_picture(document, story->pictures[i].path, story->pictures[i].title);
    if (story->no_pictures)
        nvt_document_text(document, "Charts left out: %s.", story->no_pictures);
}

static void put_table(const struct nvt_change_story *story, struct nvt_document *document)
{
    const struct nvt_comparison *comparison = &story->changes->comparison;
    struct nvt_table *table =
        nvt_compare_table(&comparison->outcomes, &comparison->groups, comparison->sides, 0);
    nvt_document_heading(document, "Times and verdicts");
    nvt_document_text(document, "The largest changes of the time in all come first; nvtally "
                                "compare prints every row.");
    if (table)
        nvt_story_table(document, table, ROWS);
    document->failed |= !table;
    nvt_table_free(table);
}

static int put_memory(const struct nvt_change_story *story, struct nvt_document *document,
                      struct nvt_error *err)
{
    const struct nvt_comparison *comparison = &story->changes->comparison;
    struct nvt_table *table = NULL;
    size_t same = 0, above = 0;
    if (nvt_compared_memory_table(&comparison->memory, comparison->sides, NVT_COMPARISON_TOLERANCE,
                                  NAN, &table, &same, &above, err))
        return -1;
    const int differs = nvt_table_rows(table) > 0;
    if (differs || same)
        nvt_document_heading(document, "Peak memory");
    if (differs) {
        nvt_compare_set_provenance(table, &comparison->groups, comparison->sides);
        nvt_document_text(document, "Peaks that differ; %zu more are the same.", same);
        nvt_story_table(document, table, PEAKS);
    } else if (same) {
        nvt_document_text(document, "All %zu are the same.", same);
    }
    nvt_table_free(table);
    return 0;
}

static void put_again(const struct nvt_change_story *story, struct nvt_document *document)
{
    const struct nvt_strings *commands = story->changes->commands;
    nvt_document_heading(document, "Reproduction");
    for (uint32_t i = 1; i < nvt_strings_count(commands); i++)
        nvt_document_command(document, nvt_strings_get(commands, i, NULL));
    nvt_document_command(document, story->command);
    nvt_document_text(document,
                      "nvtally plot, with the same sides, draws the charts again, with the "
                      "data and the gnuplot script of each next to it.");
}

int nvt_change_story_tell(const struct nvt_change_story *story, struct nvt_document *document,
                          struct nvt_error *err)
{
    document->title = story->title ? strdup(story->title) : title_of(story->changes);
    document->origin = nvt_change_story_caption(story->changes, "");
    put_summary(story, document);
    put_table(story, document);
    if (put_memory(story, document, err))
        return -1;
    if (story->sides && nvt_story_timelines(story->sides, story->embed, document, err))
        return -1;
    nvt_document_notes(document, &story->changes->comparison.notes);
    put_again(story, document);
    return document->failed || !document->title ? nvt_fail(err, "out of memory") : 0;
}
