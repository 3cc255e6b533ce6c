/* fragments: the fragment study, a row a configuration. Its published layout is that of published/fragments.h. */
#include <stdlib.h>

#include "../input/conditions.h"
#include "../published/fragments.h"
#include "../studies/fragments.h"
#include "report.h"

static const char *const modes[] = {
    [NVT_LINEAR] = "linear",
    [NVT_TRAIN] = "train",
    [NVT_LOOPED] = "inference",
    [NVT_GROUPED] = "inference",
};

static void put_fragments_row(struct nvt_table *table, const struct nvt_fragment_row *from,
                              unsigned conditions)
{
    char condition[NVT_CONDITION_SIZE];
    nvt_table_put(
        table, from->size, from->batch, modes[from->line], from->variant,
        NVT_IF(from->fragments, from->fragments), from->forward.mean_ms, from->forward.std_ms,
        from->backward.mean_ms, from->backward.std_ms, from->optimizer.mean_ms,
        from->optimizer.std_ms, from->peak_mib,
        NVT_IF(from->parameters >= 0 && from->parameters <= 9e15, (int64_t)from->parameters),
        from->status, from->source);
    if (conditions)
        nvt_table_more(table, nvt_condition_text(from->record, conditions, condition));
}

static int put_fragments(struct nvt_table *table, const struct nvt_making *making)
{
    size_t count;
    struct nvt_input *input = making->input;
    struct nvt_fragment_row *rows = nvt_fragment_rows_of(input, &count, making->err);
    if (!rows)
        return -1;
    unsigned conditions = nvt_conditions_of(input->runs, input->run_count, NVT_OF_ALL);
    if (!conditions)
        nvt_table_drop(table, "measured with", 1);
    for (size_t i = 0; i < count; i++)
        put_fragments_row(table, &rows[i], conditions);
    free(rows);
    return 0;
}

const struct nvt_report nvt_report_fragments = {
    .name = "fragments",
    .about = "the fragment study of a run directory: times, peak memory, parameters",
    .needs = NVT_NEEDS_RUNS,
    .columns = {{"size", NVT_IDS},
                {"batch", NVT_COUNTS},
                {"mode", NVT_NAMES},
                {"variant", NVT_NAMES},
                {"fragments", NVT_COUNTS},
                {"forward (ms)", NVT_REALS("ms", 4)},
                {"forward std (ms)", NVT_REALS("ms", 4)},
                {"backward (ms)", NVT_REALS("ms", 4)},
                {"backward std (ms)", NVT_REALS("ms", 4)},
                {"optimizer (ms)", NVT_REALS("ms", 4)},
                {"optimizer std (ms)", NVT_REALS("ms", 4)},
                {"peak (MiB)", NVT_REALS("MiB", 1)},
                {"parameters", NVT_COUNTS},
                {"status", NVT_NAMES},
                {"source", NVT_NAMES},
                {"measured with", NVT_NAMES}},
    .title = "Fragment study",
    .of_input = put_fragments,
    .published = nvt_published_fragments,
};
