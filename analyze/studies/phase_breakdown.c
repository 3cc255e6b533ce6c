#include "phase_breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/map.h"
#include "../model/loop_names.h"
#include "../model/cuda_names.h"
#include "../model/named_iterations.h"
#include "../model/nesting.h"
#include "../device/project.h"

enum {
    IN_ITERATION = 1 << NVT_PHASES_COUNT,
    IN_WARMUP = IN_ITERATION << 1,
    IS_PHASE = IN_WARMUP << 1
};

/* A trace being read. */
struct work {
    struct nvt_breakdown *parts;
    struct nvt_map by_key;
    struct nvt_map kernels; /* of the trace, by their names in it: place_kernel */
    const struct nvt_trace *trace;
    const char *fallback;    /* the configuration where no range says it */
    uint32_t *configuration; /* range around a range that names it, NVT_NONE */
    uint8_t *phase;          /* around or of a range, NVT_PHASES_COUNT: none that counts */
    uint8_t *within; /* what lies around a range, and what it is: phases and the bits below */
    struct nvt_projected *projected; /* NULL: no device operations */
};

int nvt_is_matmul_kernel(const char *name)
{
    static const char *const words[] = {
        "gemm",         "xmma",         "cutlass", "nvjet", "matmul", "gemv",
        "s1688",        "s16816",       "wgmma",   "s884",  "bmm",    "cublaslt::epilogue",
        "splitkreduce", "reducesplitk", "cijk_"};
    char telling[NVT_TELLING_NAME_MAX];
    nvt_kernel_function(name, strlen(name), telling);
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
        if (strcasestr(telling, words[i]))
            return 1;
    return 0;
}

void nvt_breakdown_free(struct nvt_breakdown *parts)
{
    nvt_strings_free(parts->strings);
    free(parts->items);
    *parts = (struct nvt_breakdown){0};
}

static const char *configuration_of(const struct work *work, uint32_t range)
{
    uint32_t named = work->configuration[range];
    return named == NVT_NONE ? work->fallback
                             : nvt_name(work->trace, work->trace->ranges.name[named]);
}

/* What a part is, beside its name. */
enum kind { A_RANGE, A_KERNEL, A_PRODUCT, KINDS };

/* The part of this name (id of a string) in the phase that a range lies in, added when new. */
static struct nvt_phase_part *part_of(struct work *work, uint32_t range, enum kind kind,
                                      uint32_t id)
{
    struct nvt_breakdown *parts = work->parts;
    uint32_t configuration = nvt_strings_add_text(parts->strings, configuration_of(work, range));
    if (configuration > UINT32_MAX / 16 || id == NVT_NO_STRING)
        return NULL;
    uint64_t key =
        ((uint64_t)configuration * 16 + work->phase[range] * (unsigned)KINDS + kind) << 32 | id;
    struct nvt_phase_part *part =
        nvt_map_item(&work->by_key, key, &parts->items, &parts->count, sizeof(*part));
    if (part && !part->configuration)
        *part = (struct nvt_phase_part){.configuration =
                                            nvt_strings_get(parts->strings, configuration, NULL),
                                        .phase = (enum nvt_phase)work->phase[range],
                                        .is_kernel = kind != A_RANGE,
                                        .is_product = kind == A_PRODUCT,
                                        .name = nvt_strings_get(parts->strings, id, NULL)};
    return part;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Whether phases count within iterations only. */
static unsigned wanted_around(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    if (nvt_loop_is_inference(trace->loop))
        return 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->style[i] == NVT_PUSH_POP && nvt_is_called_iteration(trace, i))
            return IN_ITERATION;
    return 0;
}

/* The bit of what a range is by its name, 0: nothing that matters. */
static unsigned bit_of(const struct nvt_trace *trace, uint32_t range)
{
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    for (int phase = 0; phase < NVT_PHASES_COUNT; phase++)
        if (!strcmp(name, nvt_phase_name((enum nvt_phase)phase)))
            return 1u << phase;
    return nvt_is_called_iteration(trace, range) ? IN_ITERATION
           : !strcmp(name, "warmup")             ? IN_WARMUP
                                                 : 0;
}

/* Whether a range of a workload lies directly in an iteration of it: then it counts, whatever is around that. */
static int is_step(const struct nvt_trace *trace, uint32_t i, uint32_t outer)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    return outer != NVT_NONE && !strcmp(nvt_name(trace, ranges->name[outer]), "iteration") &&
           nvt_is_workloads_domain(trace, ranges->domain[outer]) &&
           nvt_is_workloads_domain(trace, ranges->domain[i]);
}

/* What lies around each range; parents precede their children. Which ranges are phases says phases.h. */
static void place_ranges(struct work *work, const uint32_t *parent)
{
    const struct nvt_trace *trace = work->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const unsigned wanted = wanted_around(trace);
    for (uint32_t i = 0; i < ranges->count; i++) {
        const unsigned bit = bit_of(trace, i);
        const uint32_t outer = parent[i];
        const unsigned around = outer == NVT_NONE ? 0 : work->within[outer] & ~(unsigned)IS_PHASE;
        work->configuration[i] = nvt_range_is_configuration(trace, i) ? i
                                 : outer == NVT_NONE                  ? NVT_NONE
                                                                      : work->configuration[outer];
        work->within[i] = (uint8_t)(around | bit);
        work->phase[i] = outer == NVT_NONE ? NVT_PHASES_COUNT : work->phase[outer];
        if (!bit || bit >= IN_ITERATION || around & IN_WARMUP ||
            ranges->flags[i] & NVT_RANGE_UNCLOSED)
            continue;
        if (!is_step(trace, i, outer) && (around & bit || (around & wanted) != wanted))
            continue;
        work->within[i] |= IS_PHASE;
        for (work->phase[i] = 0; bit >> work->phase[i] != 1;)
            work->phase[i]++;
    }
}

/* Whether a range is called as the phase that it lies in: its own time is the phase's. */
static int is_again(const struct work *work, uint32_t i, const char *name)
{
    return !(work->within[i] & IS_PHASE) &&
           !strcmp(name, nvt_phase_name((enum nvt_phase)work->phase[i]));
}

static int add_range(struct work *work, const struct nvt_nesting *nesting, uint32_t i)
{
    const struct nvt_ranges *ranges = &work->trace->ranges;
    const char *name = nvt_name(work->trace, ranges->name[i]);
    struct nvt_phase_part *part =
        part_of(work, i, A_RANGE, nvt_strings_add_text(work->parts->strings, name));
    if (!part)
        return -1;
    const double ns = (double)(ranges->end[i] - ranges->start[i]);
    part->own_ns += ns - (double)nesting->children_ns[i];
    if (is_again(work, i, name))
        return 0;
    part->count++;
    part->ns += ns;
    part->device_ns += work->projected ? (double)work->projected[i].busy : 0;
    if (ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD) {
        double flops = nvt_declared_number(nvt_name(work->trace, ranges->payload[i]), "\"flops\"");
        part->flops += isnan(flops) ? 0 : flops;
    }
    return 0;
}

static int add_ranges(struct work *work, const struct nvt_nesting *nesting)
{
    const struct nvt_ranges *ranges = &work->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (work->phase[i] < NVT_PHASES_COUNT && ranges->style[i] == NVT_PUSH_POP &&
            !(ranges->flags[i] & NVT_RANGE_NOT_WHOLE) && add_range(work, nesting, i))
            return -1;
    return 0;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* The id of a kernel's telling name, and what it is. 0, or -1 when out of memory. */
static int place_kernel(struct work *work, uint32_t op, enum kind *kind, uint32_t *id)
{
    char telling[NVT_TELLING_NAME_MAX];
    const uint32_t full = work->trace->ops.name[op];
    uint32_t *at = nvt_map_at(&work->kernels, full);
    if (!at)
        return -1;
    if (*at == NVT_MAP_NONE) {
        size_t size;
        const char *name = nvt_strings_get(work->trace->strings, full, &size);
        *id = nvt_strings_add_text(work->parts->strings, nvt_telling_name(name, size, telling));
        if (*id >= NVT_MAP_NONE / 2)
            return -1;
        *at = *id * 2 + (unsigned)nvt_is_matmul_kernel(name);
    }
    *kind = *at % 2 ? A_PRODUCT : A_KERNEL;
    *id = *at / 2;
    return 0;
}

/* A kernel belongs to the innermost phase of those ranges that it was launched in. */
static int visit(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct work *work = context;
    const struct nvt_ops *ops = &work->trace->ops;
    if (ops->kind[op] != NVT_OP_KERNEL)
        return 0;
    for (uint32_t i = count; i-- > 0;) {
        if (work->phase[ranges[i]] == NVT_PHASES_COUNT)
            continue;
        enum kind kind;
        uint32_t id;
        struct nvt_phase_part *part =
            place_kernel(work, op, &kind, &id) ? NULL : part_of(work, ranges[i], kind, id);
        if (!part)
            return -1;
        const double ns = (double)(ops->end[op] - ops->start[op]);
        part->count++;
        part->ns += ns;
        part->own_ns += ns;
        return 0;
    }
    return 0;
}

static int add_trace(struct work *work, unsigned flags, struct nvt_error *err)
{
    const size_t room = (size_t)work->trace->ranges.count + 1;
    struct nvt_nesting nesting = {0};
    work->configuration = malloc(room * sizeof(*work->configuration));
    work->phase = malloc(room);
    work->within = malloc(room);
    work->projected = NULL;
    int status = work->configuration && work->phase && work->within
                     ? nvt_nesting_make(&nesting, work->trace, err)
                     : nvt_fail(err, "out of memory");
    if (!status && work->trace->ops.count) {
        work->projected = nvt_project_ranges(work->trace, flags, err);
        status = work->projected ? 0 : -1;
    }
    if (!status) {
        place_ranges(work, nesting.parent);
        status = add_ranges(work, &nesting) ? nvt_fail(err, "out of memory") : 0;
    }
    if (!status && work->projected && nvt_project(work->trace, flags, visit, work, err))
        status = nvt_fail(err, "out of memory");
    nvt_nesting_free(&nesting);
    nvt_map_free(&work->kernels);
    free(work->configuration);
    free(work->phase);
    free(work->within);
    free(work->projected);
    return status;
}

/* Stable by configuration and phase: what came first stays first. */
static int by_own_time(const void *a, const void *b)
{
    const struct nvt_phase_part *left = a, *right = b;
    if (left->configuration != right->configuration)
        return strcmp(left->configuration, right->configuration);
    if (left->phase != right->phase)
        return left->phase < right->phase ? -1 : 1;
    if (left->is_kernel != right->is_kernel)
        return left->is_kernel - right->is_kernel;
    if (left->own_ns < right->own_ns || left->own_ns > right->own_ns)
        return left->own_ns > right->own_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

int nvt_breakdown_make(struct nvt_breakdown *parts, const struct nvt_input *input,
                       struct nvt_error *err)
{
    struct work work = {.parts = parts};
    parts->strings = nvt_strings_new();
    int status = parts->strings ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        work.trace = input->traces[i].trace;
        work.fallback = nvt_trace_meta(work.trace, "configuration");
        if (!work.fallback)
            work.fallback = work.trace->path;
        status = add_trace(&work, nvt_input_projection(input), err);
    }
    if (parts->count)
        qsort(parts->items, parts->count, sizeof(*parts->items), by_own_time);
    nvt_map_free(&work.by_key);
    return status;
}

size_t nvt_breakdown_phase_end(const struct nvt_breakdown *parts, size_t from)
{
    size_t to = from;
    while (to < parts->count &&
           parts->items[to].configuration == parts->items[from].configuration &&
           parts->items[to].phase == parts->items[from].phase)
        to++;
    return to;
}

uint64_t nvt_breakdown_runs(const struct nvt_breakdown *parts, const struct nvt_phase_part *like)
{
    for (size_t i = 0; i < parts->count; i++) {
        const struct nvt_phase_part *part = &parts->items[i];
        if (!part->is_kernel && part->phase == like->phase &&
            part->configuration == like->configuration &&
            !strcmp(part->name, nvt_phase_name(part->phase)))
            return part->count;
    }
    return 0;
}
