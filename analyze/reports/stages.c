/* stages: the stages of a pipeline, and how long each waits for those before and behind it (studies/stages.h). */
#include "../../lib/quantity_text.h"
#include "../../lib/text.h"
#include "../studies/stages.h"
#include "report.h"

static void put_stage(struct nvt_table *table, const struct nvt_ranks *ranks,
                      const struct nvt_stage *stage)
{
    const struct nvt_rank *rank = &ranks->items[stage->rank];
    nvt_table_put(
        table, NVT_IF(stage->number != NVT_NONE, stage->number), nvt_rank_shown(ranks, stage->rank),
        nvt_file_name(rank->from->trace->path), NVT_IF(stage->batches, stage->batches), rank->span,
        stage->compute, stage->for_previous, stage->for_next,
        nvt_percent(stage->for_previous + stage->for_next, (double)rank->span), rank->idle);
}

static void put_batch(struct nvt_table *table, const struct nvt_stage_batch *batch)
{
    nvt_table_put(table, batch->stage, batch->batch,
                  batch->counts[0] ? batch->waited[0] / batch->counts[0] : NAN,
                  batch->counts[1] ? batch->waited[1] / batch->counts[1] : NAN);
}

static int put_stages(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_stages stages = {.items = NULL};
    const int status = nvt_stages_make(&stages, making->input, making->err);
    for (uint32_t i = 0; i < stages.count && !status; i++)
        put_stage(table, &stages.ranks, &stages.items[i]);
    for (uint32_t i = 0; i < stages.batch_count && !status; i++)
        put_batch(making->tables[1], &stages.batches[i]);
    if (!status && stages.by_ranges)
        nvt_note(making->input, "note: stages are known by the ranges of their steps, not by "
                                "messages between ranks");
    else if (!status && stages.left_out)
        nvt_note(making->input, "note: left out, as the other end is missing: %s",
                 NVT_COUNTED((double)stages.left_out, "message", "messages"));
    nvt_stages_free(&stages);
    return status;
}

static const struct nvt_table_kind more[] = {{.title = "Waits for other stages by micro-batch",
                                              .is_optional = 1,
                                              .columns = {{"Stage", NVT_IDS},
                                                          {"Micro-Batch", NVT_IDS},
                                                          {"Forward Avg (ns)", NVT_NS_AVERAGE},
                                                          {"Backward Avg (ns)", NVT_NS_AVERAGE}},
                                              .order = {"Stage", "Micro-Batch"}},
                                             {.title = NULL}};

const struct nvt_report nvt_report_stages = {
    .name = "stages",
    .about = "stages of a pipeline, by messages or ranges: waits for the stages before and behind",
    .needs = NVT_TAKES_DIGESTS,
    .columns = {{"Stage", NVT_IDS},
                {"Rank", NVT_IDS},
                {"File", NVT_SPARE_NAMES},
                {"Micro-Batches", NVT_COUNTS},
                {"Span (ns)", NVT_SPARE_NS},
                {"Compute (ns)", NVT_NS},
                {"For Previous (ns)", NVT_NS_AVERAGE},
                {"For Next (ns)", NVT_NS_AVERAGE},
                {"Bubble (%)", NVT_PERCENT},
                {"Idle (ns)", NVT_SPARE_NS}},
    .title = "Stages of a pipeline",
    .order = {"Stage", "Rank"},
    .nothing =
        "no messages in the input whose two ranks are known, and no ranges of a pipeline's steps",
    .of_input = put_stages,
    .more = more,
};
