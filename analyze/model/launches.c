#include "launches.h"

#include <stdlib.h>

#include "launch_walk.h"
#include "parallel.h"
#include "sort.h"

static void free_lane(struct nvt_launch_lane *lane, uint32_t names)
{
    for (uint32_t i = 0; i < lane->class_count; i++) {
        free(lane->classes[i].times.values);
        free(lane->classes[i].longer);
    }
    for (size_t i = 0; i < (size_t)lane->class_capacity * names; i++)
        free(lane->cells[i].times.values);
    free(lane->classes);
    free(lane->cells);
    *lane = (struct nvt_launch_lane){.thread = lane->thread};
}

void nvt_launches_free(struct nvt_launches *launches)
{
    for (uint32_t i = 0; launches->lanes && i < launches->lane_count; i++)
        free_lane(&launches->lanes[i], launches->names);
    free(launches->lanes);
    free(launches->kinds);
    free(launches->name);
    *launches = (struct nvt_launches){0};
}

struct nvt_lane_kind nvt_launch_kind(const struct nvt_launches *launches,
                                     const struct nvt_launch_class *class)
{
    return class->kind & NVT_LANE_KIND ? launches->kinds[class->kind & ~NVT_LANE_KIND]
                                       : (struct nvt_lane_kind){0, class->kind, NVT_PUSH_POP};
}

static struct nvt_piece piece_of(const struct nvt_launch_times *times, int ascends)
{
    return (struct nvt_piece){times->values, times->count, nvt_sums_of(times->values, times->count),
                              ascends};
}

struct nvt_piece nvt_launch_class_piece(const struct nvt_launch_class *class)
{
    return piece_of(&class->times, 0);
}

struct nvt_piece nvt_launch_cell_piece(const struct nvt_launch_lane *lane,
                                       const struct nvt_launch_cell *cell)
{
    return piece_of(&cell->times, lane->ascend);
}

/* --- all of them --- */

struct job {
    uint32_t cells;
    struct nvt_lanes *lanes;
    struct nvt_launches *out;
    struct {
        enum nvt_walk_outcome outcome;
        uint64_t ops;
    } * results; /* of every lane */
};

/* Kernels count for every range around them, so several medians are wanted of the same times:
 * sorted, they are found at once. Without memory for it they are found all the same. */
static void sort_cells(struct nvt_launch_lane *lane, uint32_t names)
{
    size_t cells = (size_t)lane->class_count * names;
    uint32_t most = 0;
    for (size_t i = 0; i < cells; i++)
        most = lane->cells[i].times.count > most ? lane->cells[i].times.count : most;
    uint32_t *scratch = most ? malloc(most * sizeof(*scratch)) : NULL;
    for (size_t i = 0; i < cells && scratch; i++)
        nvt_sort_values(lane->cells[i].times.values, scratch, lane->cells[i].times.count);
    lane->ascend = scratch != NULL;
    free(scratch);
}

static void walk_one(void *context, size_t i)
{
    struct job *job = context;
    struct nvt_walk *walk = calloc(1, sizeof(*walk));
    if (!walk) {
        job->results[i].outcome = NVT_WALK_NO_MEMORY;
        return;
    }
    walk->lanes = job->lanes;
    walk->lane = &job->lanes->items[i];
    walk->out = &job->out->lanes[i];
    walk->out->thread = walk->lane->thread;
    walk->ids = &job->lanes->ids[walk->lane->process];
    walk->number = NVT_WALK_TAKEN | (uint32_t)i;
    walk->cells = &job->cells;
    nvt_walk_lane(walk);
    if (walk->outcome == NVT_WALK_DONE)
        sort_cells(walk->out, walk->lanes->names);
    job->results[i].outcome = walk->outcome;
    job->results[i].ops = walk->ops;
    nvt_map_free(&walk->classes);
    free(walk->open);
    free(walk);
}

/* Kernels from here on, which nobody is known to have launched. Returns how many operations;
 * *failed is set when out of memory. */
static uint64_t put_loose(struct nvt_launches *out, const struct nvt_lanes *lanes, uint32_t first,
                          int *failed)
{
    struct nvt_launch_lane *lane = &out->lanes[out->lane_count - 1];
    uint64_t count = 0;
    for (uint32_t op = first; op; op = lanes->ops[op - 1].next) {
        uint32_t name = lanes->ops[op - 1].name;
        count++;
        if (name != NVT_NONE &&
            nvt_launch_add_time(&lane->cells[lanes->number[name]].times, lanes->ops[op - 1].length))
            *failed = 1;
    }
    return count;
}

/* The last lane: operations of no call, and of calls of no lane. Returns how many. */
static uint64_t take_loose(struct nvt_launches *out, const struct nvt_lanes *lanes, uint64_t taken,
                           int *failed)
{
    struct nvt_launch_lane *lane = &out->lanes[out->lane_count - 1];
    uint32_t cells = 0;
    lane->thread = NVT_NONE;
    if (taken == lanes->op_count)
        return 0;
    enum nvt_walk_outcome outcome = nvt_launch_grow(lane, out->names, &cells);
    *failed = outcome == NVT_WALK_NO_MEMORY;
    if (outcome != NVT_WALK_DONE)
        return 0;
    lane->classes[0] = (struct nvt_launch_class){0};
    lane->class_count = 1;
    uint64_t count = put_loose(out, lanes, lanes->loose, failed);
    for (uint32_t p = 0; p < lanes->id_count; p++) {
        const struct nvt_lane_ids *ids = &lanes->ids[p];
        for (uint64_t i = 0;
             taken + count < lanes->op_count && ids->first && i <= ids->high - ids->low; i++)
            if (!(ids->first[i] & NVT_WALK_TAKEN))
                count += put_loose(out, lanes, ids->first[i], failed);
    }
    return count;
}

static int merge(struct job *job)
{
    uint64_t taken = 0;
    int failed = 0, complex = 0;
    for (uint32_t i = 0; i < job->lanes->count; i++) {
        failed |= job->results[i].outcome == NVT_WALK_NO_MEMORY;
        complex |= job->results[i].outcome == NVT_WALK_COMPLEX;
        taken += job->results[i].ops;
    }
    if (failed || complex)
        return failed ? -1 : 1;
    taken += take_loose(job->out, job->lanes, taken, &failed);
    return failed ? -1 : taken != job->lanes->op_count;
}

int nvt_launches_of(struct nvt_launches *launches, struct nvt_lanes *lanes)
{
    struct job job = {.lanes = lanes, .out = launches};
    uint64_t rows = lanes->op_count;
    for (uint32_t i = 0; i < lanes->count; i++)
        rows += lanes->items[i].ranges.count;
    int beside = rows >= NVT_BESIDE_FROM;
    *launches =
        (struct nvt_launches){.lanes = calloc((size_t)lanes->count + 1, sizeof(*launches->lanes)),
                              .lane_count = lanes->count + 1,
                              .name = lanes->name,
                              .names = lanes->names};
    lanes->name = NULL;
    job.results = calloc((size_t)lanes->count + 1, sizeof(*job.results));
    int status = launches->lanes && job.results ? 0 : -1;
    if (!status && (lanes->op_count > NVT_WALK_TAKEN - 1 || lanes->count > NVT_WALK_TAKEN - 1))
        status = 1;
    if (!status && beside)
        nvt_parallel(walk_one, &job, lanes->count);
    for (uint32_t i = 0; i < lanes->count && !status && !beside; i++)
        walk_one(&job, i);
    launches->kinds = lanes->kinds;
    lanes->kinds = NULL;
    if (!status)
        status = merge(&job);
    free(job.results);
    if (status)
        nvt_launches_free(launches);
    return status;
}

int nvt_may_lend(const struct nvt_trace *trace)
{
    enum { LAUNCHES = 1, HAS_RANGES = 2 };
    const struct nvt_threads *threads = &trace->threads;
    uint8_t *does = calloc((size_t)threads->count + 1, 1);
    uint32_t *with_ranges = calloc((size_t)trace->processes.count + 1, sizeof(*with_ranges));
    const int failed = !does || !with_ranges;
    int may = 0;
    for (uint32_t i = 0; i < trace->ranges.count && !failed; i++)
        does[trace->ranges.thread[i]] |= HAS_RANGES;
    for (uint32_t i = 0; i < trace->ops.count && !failed; i++)
        if (trace->ops.thread[i] != NVT_NONE)
            does[trace->ops.thread[i]] |= LAUNCHES;
    for (uint32_t i = 0; i < threads->count && !failed; i++)
        with_ranges[threads->process[i]] += (does[i] & HAS_RANGES) > 0;
    for (uint32_t i = 0; i < threads->count && !failed; i++)
        may |= does[i] & LAUNCHES &&
               with_ranges[threads->process[i]] > ((does[i] & HAS_RANGES) ? 1u : 0u);
    free(does);
    free(with_ranges);
    return failed ? -1 : may;
}

int nvt_launches_make(struct nvt_launches *launches, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err)
{
    struct nvt_lanes lanes = {0};
    *launches = (struct nvt_launches){0};
    const int may_lend = flags & NVT_ACROSS_WAITS ? nvt_may_lend(trace) : 0;
    if (flags & NVT_ACROSS_THREADS || may_lend > 0)
        return 1;
    int status = may_lend ? -1 : nvt_lanes_of_trace(&lanes, trace);
    if (!status)
        status = nvt_launches_of(launches, &lanes);
    nvt_lanes_free(&lanes);
    return status < 0 ? nvt_fail_at(err, trace->path, -1, "out of memory") : status;
}
