#include "model_flops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../device/project.h"
#include "../model/named_iterations.h"
#include "../model/nesting.h"
#include "../model/workload_ranges.h"
#include "../readers/operator_work.h"
#include "phases.h"

/* A range in the making. */
struct part {
    struct nvt_flops_range sum;
    int64_t start, end;
};

struct making {
    const struct nvt_trace *trace;
    const struct nvt_record *record; /* of the run, NULL: there is none */
    uint32_t *parents;               /* NULL: not asked for yet */
    struct nvt_map at;               /* range -> part */
    struct part *parts;
    uint32_t count;
    struct nvt_map texts; /* string of a name; or 1 << 32 and that of a payload -> declared */
    struct nvt_declared *declared;
    uint32_t declared_count;
    uint8_t *is_taken; /* of each range, whether its declared work was added */
    struct nvt_error *err;
};

/* What a name says in words, or by shapes, without types. `plain`: of nvt_declared_in_name. */
static struct nvt_declared said_in_name(const char *name, char **plain)
{
    struct nvt_declared work = nvt_declared_in_name(name, plain);
    if (nvt_has_shapes_in_name(name))
        work = (struct nvt_declared){nvt_operator_flops_in_name(name), 0, NVT_ROOF_OTHER};
    return work;
}

/* What a name or a payload says, each looked at once. -1 when out of memory. */
static int find_said(struct making *making, uint32_t text, int is_payload,
                     struct nvt_declared *work)
{
    const uint32_t before = making->declared_count;
    const char *said = nvt_name(making->trace, text);
    struct nvt_declared *known =
        nvt_map_item(&making->texts, (uint64_t)is_payload << 32 | text, &making->declared,
                     &making->declared_count, sizeof(*known));
    char *plain = NULL;
    if (!known)
        return -1;
    if (making->declared_count > before) {
        *known = is_payload ? nvt_declared_in_payload(said) : said_in_name(said, &plain);
        if (!is_payload && !plain)
            return -1;
        free(plain);
    }
    *work = *known;
    return 0;
}

/* Whether a range is a phase: by its name, or as it is directly in an iteration or loop of a workload. */
static int is_phase(const struct making *making, uint32_t range)
{
    const struct nvt_trace *trace = making->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *name = nvt_name(trace, ranges->name[range]);
    const uint32_t outer = making->parents[range];
    for (int phase = 0; phase < NVT_PHASES_COUNT; phase++)
        if (!strcmp(name, nvt_phase_name((enum nvt_phase)phase)))
            return 1;
    if (outer == NVT_NONE || !nvt_is_workloads_domain(trace, ranges->domain[outer]) ||
        !nvt_is_workloads_domain(trace, ranges->domain[range]))
        return 0;
    const char *around = nvt_name(trace, ranges->name[outer]);
    return !strcmp(around, "iteration") || !strcmp(around, "loop");
}

/* What a range multiplies that does not say it: what is around it does. -1 when out of memory. */
static int find_roof(struct making *making, uint32_t range, struct nvt_declared *work)
{
    const struct nvt_trace *trace = making->trace;
    const char *configuration = nvt_trace_meta(trace, "configuration"), *phase = NULL;
    if (!making->parents && !(making->parents = nvt_nest_threads(trace, making->err)))
        return -1;
    for (uint32_t at = range; at != NVT_NONE; at = making->parents[at]) {
        const char *name = nvt_name(trace, trace->ranges.name[at]);
        if (nvt_range_is_configuration(trace, at)) {
            configuration = name;
            break;
        }
        phase = !phase && is_phase(making, at) ? name : phase;
    }
    work->roof = nvt_declared_roof(work, making->record, configuration ? configuration : "",
                                   phase ? phase : "");
    return 0;
}

/* What a range declares, in its payload, or else in its name; 1, 0: nothing, -1 when out of memory. */
static int work_of(struct making *making, uint32_t range, struct nvt_declared *work)
{
    const struct nvt_ranges *ranges = &making->trace->ranges;
    struct nvt_declared in_payload = {NAN, NAN, NVT_ROOFS};
    if ((ranges->flags[range] & NVT_RANGE_HAS_PAYLOAD &&
         find_said(making, ranges->payload[range], 1, &in_payload)) ||
        find_said(making, ranges->name[range], 0, work))
        return -1;
    *work = in_payload.flops > 0 ? in_payload : *work;
    if (!(work->flops > 0))
        return 0;
    return work->roof == NVT_ROOFS && find_roof(making, range, work) ? -1 : 1;
}

static struct part *part_of(struct making *making, uint32_t range)
{
    const uint32_t before = making->count;
    struct part *part =
        nvt_map_item(&making->at, range, &making->parts, &making->count, sizeof(*part));
    if (part && making->count > before) {
        part->sum.range = range;
        part->sum.device = part->sum.process = NVT_NONE;
        part->start = INT64_MAX;
        part->end = INT64_MIN;
    }
    return part;
}

static int add_flops(struct making *making, uint32_t range, const struct nvt_declared *work)
{
    struct part *part = part_of(making, range);
    if (part)
        *(work->roof < NVT_ROOFS ? &part->sum.flops[work->roof] : &part->sum.untyped) +=
            work->flops;
    return part ? 0 : -1;
}

/* Work of declaring ranges, the outermost first, is that of the ranges around each up to the declaring one before it. 0 or -1. */
static int add_declared(struct making *making, const uint32_t *ranges, uint32_t count)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct nvt_declared work;
        const int has = work_of(making, ranges[i], &work);
        if (has < 0)
            return -1;
        if (!has)
            continue;
        for (uint32_t k = from; k <= i && !making->is_taken[ranges[i]]; k++)
            if (add_flops(making, ranges[k], &work))
                return -1;
        making->is_taken[ranges[i]] = 1;
        from = i + 1;
    }
    return 0;
}

/* --- with device operations ------------------------------------------------------------------- */

static int visit_op(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct making *making = context;
    const struct nvt_ops *ops = &making->trace->ops;
    for (uint32_t i = 0; i < count; i++) {
        struct part *part = part_of(making, ranges[i]);
        if (!part)
            return -1;
        if (part->sum.device == NVT_NONE) {
            part->sum.device = ops->device[op];
            part->sum.process = ops->process[op];
        }
        part->start = ops->start[op] < part->start ? ops->start[op] : part->start;
        part->end = ops->end[op] > part->end ? ops->end[op] : part->end;
    }
    return add_declared(making, ranges, count);
}

/* --- without ---------------------------------------------------------------------------------- */

#define DEPTH 512 /* ranges in each other that are looked at */

/* The iteration that a range belongs to although it is not within it on its thread, NVT_NONE: none. */
static uint32_t iteration_of(const struct nvt_named_iterations *iterations, uint32_t range,
                             const uint32_t *around, uint32_t count)
{
    const struct nvt_trace *trace = iterations->trace;
    const uint32_t thread = trace->ranges.thread[range];
    const uint32_t at = nvt_iteration_at(iterations, thread, trace->threads.process[thread],
                                         trace->ranges.start[range]);
    const uint32_t row = at == NVT_NONE ? NVT_NONE : iterations->rows[at];
    for (uint32_t i = 0; i < count; i++)
        if (around[i] == row)
            return NVT_NONE;
    return row;
}

static int add_host_range(struct making *making, const struct nvt_named_iterations *iterations,
                          uint32_t range)
{
    uint32_t chain[DEPTH], count = 0, ordered[DEPTH + 1], length = 0;
    struct nvt_declared work;
    const int has = work_of(making, range, &work);
    if (has < 1)
        return has;
    for (uint32_t at = range; at != NVT_NONE && count < DEPTH; at = making->parents[at])
        chain[count++] = at;
    const uint32_t iteration = iteration_of(iterations, range, chain, count);
    if (iteration != NVT_NONE)
        ordered[length++] = iteration;
    while (count)
        ordered[length++] = chain[--count];
    return add_declared(making, ordered, length);
}

static int add_host(struct making *making)
{
    const struct nvt_ranges *ranges = &making->trace->ranges;
    struct nvt_named_iterations iterations = {.rows = NULL};
    making->parents = nvt_nest_threads(making->trace, making->err);
    int status = making->parents && !nvt_named_iterations_of(&iterations, making->trace) ? 0 : -1;
    for (uint32_t i = 0; i < ranges->count && !status; i++)
        status = add_host_range(making, &iterations, i);
    for (uint32_t i = 0; i < making->count && !status; i++) {
        struct part *part = &making->parts[i];
        part->start = ranges->start[part->sum.range];
        part->end = ranges->end[part->sum.range];
    }
    nvt_named_iterations_free(&iterations);
    return status;
}

/* --- together --------------------------------------------------------------------------------- */

static double flops_of(const struct nvt_flops_range *range)
{
    double flops = range->untyped;
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        flops += range->flops[roof];
    return flops;
}

/* An iteration takes its own time. */
static int time_iterations(struct making *making)
{
    const struct nvt_ranges *ranges = &making->trace->ranges;
    uint32_t count = 0;
    uint32_t *rows = nvt_iterations(making->trace, &count);
    for (uint32_t i = 0; rows && i < count; i++) {
        const uint32_t at = nvt_map_get(&making->at, rows[i]);
        if (at == NVT_MAP_NONE || !making->parts)
            continue;
        making->parts[at].start = ranges->start[rows[i]];
        making->parts[at].end = ranges->end[rows[i]];
    }
    free(rows);
    return rows ? 0 : -1;
}

/* Keep those that have FLOPs, time, and both ends. */
static int keep(struct nvt_model_flops *model, const struct making *making)
{
    model->items = malloc(((size_t)making->count + 1) * sizeof(*model->items));
    for (uint32_t i = 0; model->items && i < making->count; i++) {
        struct part *part = &making->parts[i];
        part->sum.ns = (double)(part->end - part->start);
        if (flops_of(&part->sum) > 0 && part->end > part->start &&
            !(making->trace->ranges.flags[part->sum.range] & NVT_RANGE_NOT_WHOLE))
            model->items[model->count++] = part->sum;
    }
    return model->items ? 0 : -1;
}

int nvt_model_flops_make(struct nvt_model_flops *model, const struct nvt_trace *trace,
                         const struct nvt_record *record, unsigned flags, struct nvt_error *err)
{
    struct making making = {.trace = trace,
                            .record = record,
                            .err = err,
                            .is_taken = calloc((size_t)trace->ranges.count + 1, 1)};
    int status = making.is_taken ? 0 : -1;
    if (!status)
        status = trace->ops.count ? nvt_project(trace, flags, visit_op, &making, err)
                                  : add_host(&making);
    if (!status)
        status = time_iterations(&making) || keep(model, &making) ? -1 : 0;
    nvt_map_free(&making.at);
    nvt_map_free(&making.texts);
    free(making.parents);
    free(making.parts);
    free(making.declared);
    free(making.is_taken);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

double nvt_model_flops_at_peak(const double flops[NVT_ROOFS], const struct nvt_peaks *peaks)
{
    double ns = 0;
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        if (flops[roof] > 0)
            ns += peaks->flops[roof] > 0 ? flops[roof] / peaks->flops[roof] * 1e9 : NAN;
    return ns;
}
