#include "roofline_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../device/project.h"
#include "../model/nesting.h"
#include "phases.h"

/* What a name says, each looked at once. */
struct known {
    struct nvt_declared work;
    uint32_t plain; /* string of the roofline: without the words of work */
    /* a step: an iteration or loop, directly in which phases are */
    uint8_t is_phase, is_warmup, is_step;
};

/* Around a range: names of the trace, NVT_NONE for none. */
struct around {
    uint32_t configuration, phase;
};
/* In the place of one: within a warm-up, nothing counts. */
#define IN_WARMUP UINT32_MAX

/* An array that grows. */
struct items {
    void *items;
    size_t count;
};

/* A trace being read. */
struct walk {
    struct nvt_roofline_work *work;
    struct nvt_roofline *roofline; /* its */
    const struct nvt_input_trace *from;
    const struct nvt_trace *trace;
    char suffix[NVT_CONDITION_SIZE + 1]; /* what else sets the run apart */
    size_t peaks[2];                     /* of the host's clock and of the device's */
    int waits_in_phases;                 /* nothing else of a device waits for it */
    const uint32_t *parent;
    uint32_t *around;                /* of each range, a row of `arounds` or IN_WARMUP */
    struct nvt_projected *projected; /* NULL: no device operations */
    struct nvt_measured_work measured;
    struct nvt_map names, payloads, around_at, points;
    struct items known, declared, arounds;
};

/* One more of that size, NULL when out of memory. */
static void *add_item(struct items *items, size_t size)
{
    if (nvt_grow(&items->items, items->count, size))
        return NULL;
    return (char *)items->items + size * items->count++;
}

/* --- what the machine reaches ----------------------------------------------------------------- */

static int find_peaks(struct walk *walk)
{
    static const char *const backends[] = {"host", "cuda"};
    const struct nvt_trace *trace = walk->trace;
    const char *host = nvt_trace_meta(trace, "host"), *device = nvt_trace_meta(trace, "device");
    if (nvt_roofline_has_directory(walk->from)) {
        const int status =
            nvt_roofline_peaks_of_runs(walk->roofline, walk->from->runs, &walk->peaks[0]);
        walk->peaks[1] = walk->peaks[0];
        return status;
    }
    for (int i = 0; i < 2; i++) {
        struct nvt_peaks peaks;
        walk->peaks[i] = SIZE_MAX;
        if (nvt_peaks_cached(host, backends[i], device, &peaks) &&
            nvt_roofline_add_peaks(walk->roofline, &peaks, &walk->peaks[i]))
            return -1;
    }
    return 0;
}

/* --- names and payloads ----------------------------------------------------------------------- */

static int is_phase_name(const char *name)
{
    for (int phase = 0; phase < NVT_PHASES_COUNT; phase++)
        if (!strcmp(name, nvt_phase_name((enum nvt_phase)phase)))
            return 1;
    return 0;
}

/* NULL when out of memory. */
static struct known *know_name(struct walk *walk, uint32_t name)
{
    uint32_t *at = nvt_map_at(&walk->names, name);
    struct known *known;
    char *plain = NULL;
    if (!at)
        return NULL;
    if (*at != NVT_MAP_NONE)
        return (struct known *)walk->known.items + *at;
    if (!(known = add_item(&walk->known, sizeof(*known))))
        return NULL;
    known->work = nvt_declared_in_name(nvt_name(walk->trace, name), &plain);
    known->plain = plain ? nvt_strings_add_text(walk->roofline->strings, plain) : NVT_NO_STRING;
    if (plain) {
        known->is_phase = (uint8_t)is_phase_name(plain);
        known->is_warmup = !strcmp(plain, "warmup");
        known->is_step = !strcmp(plain, "iteration") ? 1 : !strcmp(plain, "loop") ? 2 : 0;
    }
    free(plain);
    *at = (uint32_t)walk->known.count - 1;
    return known->plain == NVT_NO_STRING ? NULL : known;
}

/* What a range declares; 1, 0: nothing, -1 when out of memory. */
static int find_work(struct walk *walk, uint32_t range, const struct known *known,
                     struct nvt_declared *work)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    *work = known->work;
    if (ranges->flags[range] & NVT_RANGE_HAS_PAYLOAD) {
        uint32_t *at = nvt_map_at(&walk->payloads, ranges->payload[range]);
        struct nvt_declared *declared =
            at && *at != NVT_MAP_NONE ? (struct nvt_declared *)walk->declared.items + *at : NULL;
        if (at && !declared && (declared = add_item(&walk->declared, sizeof(*declared)))) {
            *declared = nvt_declared_in_payload(nvt_name(walk->trace, ranges->payload[range]));
            *at = (uint32_t)walk->declared.count - 1;
        }
        if (!declared)
            return -1;
        *work = nvt_declared_is_work(declared) ? *declared : *work;
    }
    return nvt_declared_is_work(work);
}

/* --- ranges ----------------------------------------------------------------------------------- */

static struct around around_of(const struct walk *walk, uint32_t row)
{
    return ((const struct around *)walk->arounds.items)[row];
}

/* The row of what is around a range, added when new; IN_WARMUP when out of memory. */
static uint32_t row_of(struct walk *walk, struct around around)
{
    uint32_t *at =
        nvt_map_at(&walk->around_at, (uint64_t)around.configuration << 32 | around.phase);
    if (!at)
        return IN_WARMUP;
    if (*at == NVT_MAP_NONE) {
        struct around *added = add_item(&walk->arounds, sizeof(*added));
        if (!added)
            return IN_WARMUP;
        *added = around;
        *at = (uint32_t)walk->arounds.count - 1;
    }
    return *at;
}

/* Of what step (known.is_step) a range of a workload is directly in, 0: of none. Then it is a phase, whatever its name. */
static uint8_t step_around(struct walk *walk, uint32_t range)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    const uint32_t outer = walk->parent[range];
    const struct known *known = outer == NVT_NONE ? NULL : know_name(walk, ranges->name[outer]);
    return known && known->is_step && nvt_is_workloads_domain(walk->trace, ranges->domain[outer]) &&
                   nvt_is_workloads_domain(walk->trace, ranges->domain[range])
               ? known->is_step
               : 0;
}

/* What is the configuration where no range says it. */
static const char *fallback_of(const struct walk *walk)
{
    const char *named = nvt_trace_meta(walk->trace, "configuration");
    return named ? named : walk->trace->path;
}

/* The point of a range; `phase`: it is the one that it lies in. NULL when out of memory. */
static struct nvt_roof_point *point_of(struct walk *walk, const struct known *known, int is_phase,
                                       uint32_t row, int on_device, const struct nvt_declared *work)
{
    struct nvt_strings *strings = walk->roofline->strings;
    const uint64_t key =
        ((uint64_t)row << 5 | (unsigned)work->roof << 1 | (unsigned)is_phase) << 32 | known->plain;
    uint32_t *at = row < 1u << 27 ? nvt_map_at(&walk->points, key) : NULL;
    if (!at)
        return NULL;
    if (*at != NVT_MAP_NONE)
        return &walk->roofline->points[*at];
    const struct around around = around_of(walk, row);
    const int is_named = around.configuration != NVT_NONE;
    const char *plain = nvt_strings_get(strings, known->plain, NULL), *phase = "";
    if (around.phase != NVT_NONE)
        phase = nvt_strings_get(strings, around.phase, NULL);
    struct nvt_roof_point point = {
        .configuration = is_named ? nvt_name(walk->trace, around.configuration) : fallback_of(walk),
        .phase = phase,
        .range = is_phase ? "" : plain,
        .peaks = walk->peaks[on_device],
    };
    point.roof =
        nvt_declared_roof(work, nvt_record_of_trace(walk->from), point.configuration, phase);
    struct nvt_roof_point *added = nvt_roofline_point(
        walk->work, nvt_roofline_has_directory(walk->from) ? walk->from->runs : NULL, &point,
        walk->suffix);
    if (added)
        *at = (uint32_t)(added - walk->roofline->points);
    return added;
}

/* How many calls a loop is of. */
static double calls_of(const struct nvt_trace *trace, uint32_t loop)
{
    if (!(trace->ranges.flags[loop] & NVT_RANGE_HAS_PAYLOAD))
        return 1;
    const double calls = strtod(nvt_name(trace, trace->ranges.payload[loop]), NULL);
    return calls >= 1 && calls < 1e15 ? calls : 1;
}

static int add_range(struct walk *walk, uint32_t i, const struct known *known, int is_phase,
                     uint8_t step)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    const struct nvt_projected *projected = walk->projected ? &walk->projected[i] : NULL;
    const int on_device = projected && projected->ops;
    struct nvt_declared work;
    const int has = find_work(walk, i, known, &work);
    if (has < 1)
        return has;
    if (walk->waits_in_phases && !on_device && !step) {
        walk->roofline->without++;
        return 0;
    }
    const double ns = on_device ? (double)(projected->end - projected->start)
                                : (double)(ranges->end[i] - ranges->start[i]);
    struct nvt_roof_point *point =
        ns > 0 ? point_of(walk, known, is_phase, walk->around[i], on_device, &work) : NULL;
    if (!point)
        return ns > 0 ? -1 : 0;
    walk->roofline->ranges++;
    point->on_device |= on_device;
    point->count += step == 2 ? calls_of(walk->trace, walk->parent[i]) : 1;
    point->ns += ns;
    nvt_measured_work_add(&walk->measured, i, on_device ? projected : NULL, point->roof,
                          &point->measured);
    point->flops += work.flops;
    point->bytes += work.bytes;
    return 0;
}

/* Parents precede their children, so what encloses a range is known when it is reached. */
static int add_ranges(struct walk *walk)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    const uint32_t outermost = row_of(walk, (struct around){NVT_NONE, NVT_NONE});
    for (uint32_t i = 0; i < ranges->count; i++) {
        const uint32_t outer = walk->parent[i];
        const struct known *known = know_name(walk, ranges->name[i]);
        if (!known || outermost == IN_WARMUP)
            return -1;
        walk->around[i] = outer == NVT_NONE ? outermost : walk->around[outer];
        if (known->is_warmup)
            walk->around[i] = IN_WARMUP;
        if (walk->around[i] == IN_WARMUP)
            continue;
        const struct known copy = *known; /* names that follow may move it */
        const uint8_t step = step_around(walk, i);
        struct around around = around_of(walk, walk->around[i]);
        const int is_phase = step || (copy.is_phase && around.phase != copy.plain);
        const int is_configuration =
            isnan(copy.work.flops) && nvt_range_is_configuration(walk->trace, i);
        around.phase = is_phase ? copy.plain : around.phase;
        around.configuration = is_configuration ? ranges->name[i] : around.configuration;
        if (is_phase || is_configuration)
            walk->around[i] = row_of(walk, around);
        if (walk->around[i] == IN_WARMUP || (!(ranges->flags[i] & NVT_RANGE_NOT_WHOLE) &&
                                             add_range(walk, i, &copy, is_phase, step)))
            return -1;
    }
    return 0;
}

static void free_walk(struct walk *walk)
{
    struct nvt_map *const maps[] = {&walk->names, &walk->payloads, &walk->around_at, &walk->points};
    for (size_t i = 0; i < NVT_COUNT_OF(maps); i++)
        nvt_map_free(maps[i]);
    free(walk->known.items);
    free(walk->declared.items);
    free(walk->arounds.items);
    free(walk->around);
    free(walk->projected);
    nvt_measured_work_free(&walk->measured);
}

/* Whether it was run on a device: as its row says, or itself. */
static int is_on_cuda(const struct nvt_input_trace *from)
{
    const char *backend = nvt_trace_meta(from->trace, "backend");
    if (!backend && nvt_roofline_has_directory(from))
        backend = nvt_record_text(&from->runs->env, "backend");
    return backend && !strcmp(backend, "cuda");
}

int nvt_roofline_add_trace(struct nvt_roofline_work *work, const struct nvt_input_trace *from,
                           struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    struct walk walk = {.work = work,
                        .roofline = work->roofline,
                        .from = from,
                        .trace = trace,
                        .waits_in_phases = is_on_cuda(from)};
    uint32_t *parent = nvt_nest_threads(trace, err);
    int status = -1;
    if (nvt_roofline_has_directory(from))
        nvt_roofline_suffix(work, nvt_record_of_trace(from), walk.suffix);
    walk.parent = parent;
    walk.around = malloc(((size_t)trace->ranges.count + 1) * sizeof(*walk.around));
    if (trace->ops.count)
        walk.projected = nvt_project_ranges(trace, nvt_input_projection(work->input), err);
    if (parent && walk.around && (walk.projected || !trace->ops.count) &&
        !nvt_measured_work_make(&walk.measured, trace, err))
        status = find_peaks(&walk) || add_ranges(&walk) ? -1 : 0;
    if (status)
        nvt_fail_at(err, trace->path, -1, "out of memory");
    free_walk(&walk);
    free(parent);
    return status;
}
