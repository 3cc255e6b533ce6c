#include "stages.h"

#include <stdlib.h>

#include "../../lib/map.h"

enum direction { PREVIOUS, NEXT, DIRECTIONS };

/* A stage on a rank; in a micro-batch. */
struct row {
    uint32_t rank, stage;
    int is_known, computes;
    double waited[DIRECTIONS];
    int64_t compute;
    uint32_t counts[DIRECTIONS]; /* steps */
    uint32_t seen[DIRECTIONS];   /* of them, by add_cells */
    uint32_t batches;            /* that names number */
};

struct stages {
    struct nvt_stages *made;
    const struct nvt_ranks *ranks;  /* of it */
    struct nvt_map row_of, cell_of; /* rank or stage << 32, and stage or micro-batch */
    struct row *rows;
    uint32_t row_count;
    uint32_t last; /* stage, NVT_NONE: unknown */
};

int nvt_has_stage_ranges(const struct nvt_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->count; i++)
        if (ranks->items[i].step_count)
            return 1;
    return 0;
}

/* The stage that a name says, else the place of the rank; NVT_NONE: unknown. */
static uint32_t stage_of(const struct nvt_rank *rank, const struct nvt_rank_step *step)
{
    return step->name.stage != NVT_NONE ? step->name.stage : rank->places[NVT_AXIS_PIPELINE];
}

/* What a step waits for; DIRECTIONS: for no other stage. */
static enum direction direction_of(const struct nvt_rank_step *step)
{
    switch (step->name.kind) {
    case NVT_STEP_FORWARD:
    case NVT_STEP_FROM_PREVIOUS:
        return PREVIOUS;
    case NVT_STEP_BACKWARD:
    case NVT_STEP_FROM_NEXT:
        return NEXT;
    default:
        return DIRECTIONS;
    }
}

static void find_last(struct stages *stages)
{
    stages->last = NVT_NONE;
    for (uint32_t i = 0; i < stages->ranks->count; i++)
        for (uint32_t k = 0; k < stages->ranks->items[i].step_count; k++) {
            const struct nvt_rank *rank = &stages->ranks->items[i];
            const uint32_t stage = stage_of(rank, &rank->steps[k]);
            if (stage != NVT_NONE && (stages->last == NVT_NONE || stage > stages->last))
                stages->last = stage;
        }
}

/* The micro-batch that a name says, else which of its row's in an iteration it is; NVT_NONE: unknown. */
static uint32_t batch_of(const struct nvt_rank *rank, const struct nvt_rank_step *step,
                         uint32_t number, uint32_t total)
{
    if (step->name.batch != NVT_NONE)
        return step->name.batch;
    return rank->iterations && total % rank->iterations == 0 ? number % (total / rank->iterations)
                                                             : NVT_NONE;
}

static struct row *row_of(struct stages *stages, uint32_t rank, uint32_t stage)
{
    struct row *row = nvt_map_item(&stages->row_of, (uint64_t)rank << 32 | stage, &stages->rows,
                                   &stages->row_count, sizeof(*row));
    if (row && !row->is_known)
        *row = (struct row){.rank = rank, .stage = stage, .is_known = 1};
    return row;
}

static double waited_of(const struct stages *stages, uint32_t stage, enum direction direction,
                        const struct nvt_rank_step *step)
{
    const int has_none =
        stage != NVT_NONE && (direction == PREVIOUS ? !stage : stage == stages->last);
    return has_none ? 0 : (double)step->waited;
}

/* 0, or -1 when out of memory. */
static int add_rank(struct stages *stages, uint32_t number)
{
    const struct nvt_rank *rank = &stages->ranks->items[number];
    for (uint32_t i = 0; i < rank->step_count; i++) {
        const struct nvt_rank_step *step = &rank->steps[i];
        const enum direction direction = direction_of(step);
        struct row *row = row_of(stages, number, stage_of(rank, step));
        if (!row)
            return -1;
        row->compute += step->compute;
        row->computes |= nvt_step_computes(step->name.kind);
        if (step->name.batch != NVT_NONE && step->name.batch >= row->batches)
            row->batches = step->name.batch + 1;
        if (direction == DIRECTIONS)
            continue;
        row->counts[direction]++;
        row->waited[direction] += waited_of(stages, row->stage, direction, step);
    }
    return 0;
}

/* Once all rows of a rank have their counts. 0, or -1 when out of memory. */
static int add_cells(struct stages *stages, uint32_t number)
{
    const struct nvt_rank *rank = &stages->ranks->items[number];
    for (uint32_t i = 0; i < rank->step_count; i++) {
        const struct nvt_rank_step *step = &rank->steps[i];
        const enum direction direction = direction_of(step);
        struct row *row = row_of(stages, number, stage_of(rank, step));
        if (!row)
            return -1;
        if (direction == DIRECTIONS || row->stage == NVT_NONE)
            continue;
        const uint32_t batch = batch_of(rank, step, row->seen[direction]++, row->counts[direction]);
        if (batch == NVT_NONE)
            continue;
        struct nvt_stage_batch *cell =
            nvt_map_item(&stages->cell_of, (uint64_t)row->stage << 32 | batch,
                         &stages->made->batches, &stages->made->batch_count, sizeof(*cell));
        if (!cell)
            return -1;
        cell->stage = row->stage;
        cell->batch = batch;
        cell->counts[direction]++;
        cell->waited[direction] += waited_of(stages, row->stage, direction, step);
    }
    return 0;
}

static struct nvt_stage stage_of_row(const struct stages *stages, const struct row *row)
{
    const struct nvt_rank *rank = &stages->ranks->items[row->rank];
    const uint32_t steps = row->counts[PREVIOUS] ? row->counts[PREVIOUS] : row->counts[NEXT];
    const uint32_t counted =
        rank->iterations && steps % rank->iterations == 0 ? steps / rank->iterations : 0;
    return (struct nvt_stage){row->rank,
                              row->stage,
                              row->batches ? row->batches : counted,
                              row->computes ? row->compute : rank->compute,
                              row->waited[PREVIOUS],
                              row->waited[NEXT]};
}

int nvt_stages_by_range(struct nvt_stages *made)
{
    struct stages stages = {.made = made, .ranks = &made->ranks};
    int failed = 0;
    find_last(&stages);
    for (uint32_t i = 0; i < stages.ranks->count && !failed; i++)
        failed = add_rank(&stages, i) || add_cells(&stages, i);
    made->items = failed ? NULL : malloc(((size_t)stages.row_count + 1) * sizeof(*made->items));
    for (uint32_t i = 0; i < stages.row_count && made->items; i++)
        made->items[made->count++] = stage_of_row(&stages, &stages.rows[i]);
    nvt_map_free(&stages.row_of);
    nvt_map_free(&stages.cell_of);
    free(stages.rows);
    return made->items ? 0 : -1;
}
