#include "parts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"
#include "../model/nesting.h"
#include "../device/project.h"

/* A trace being read. */
struct work {
    struct nvt_parts *parts;
    struct nvt_map by_key;
    const struct nvt_trace *trace;
    const char *fallback;    /* the configuration where no range says it */
    uint32_t *configuration; /* range around a range that names it, NVT_NONE */
    uint8_t *phase;          /* around or of a range, NVT_PHASES_COUNT: none that counts */
    uint8_t *in_iteration;
    struct nvt_projected *projected; /* NULL: no device operations */
};

int nvt_is_matmul_kernel(const char *name)
{
    static const char *const words[] = {
        "gemm",   "xmma",  "cutlass", "nvjet", "matmul", "gemv", "s1688",
        "s16816", "wgmma", "s884",    "bmm",   "cijk_"}; /* hipBLASLt's and rocBLAS's, of Tensile */
    char lower[512];
    size_t length = 0;
    for (; length < sizeof(lower) - 1 && name[length]; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    lower[length] = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(lower, words[i]))
            return 1;
    return 0;
}

void nvt_parts_free(struct nvt_parts *parts)
{
    nvt_strings_free(parts->strings);
    free(parts->items);
    *parts = (struct nvt_parts){0};
}

static const char *configuration_of(const struct work *work, uint32_t range)
{
    uint32_t named = work->configuration[range];
    return named == NVT_NONE ? work->fallback
                             : nvt_name(work->trace, work->trace->ranges.name[named]);
}

/* The part of this name in the phase that a range lies in, added when new. */
static struct nvt_part *part_of(struct work *work, uint32_t range, int is_kernel, const char *name)
{
    struct nvt_parts *parts = work->parts;
    uint32_t configuration = nvt_strings_add_text(parts->strings, configuration_of(work, range));
    uint32_t id = nvt_strings_add_text(parts->strings, name);
    if (configuration == NVT_NO_STRING || id == NVT_NO_STRING || configuration > UINT32_MAX / 8)
        return NULL;
    uint64_t key =
        ((uint64_t)configuration * 8 + work->phase[range] * 2u + (unsigned)is_kernel) << 32 | id;
    uint32_t *at = nvt_map_at(&work->by_key, key);
    if (!at)
        return NULL;
    if (*at != NVT_MAP_NONE)
        return &parts->items[*at];
    if (parts->count == parts->capacity) {
        size_t capacity = parts->capacity ? parts->capacity * 2 : 64;
        struct nvt_part *items = realloc(parts->items, capacity * sizeof(*items));
        if (!items)
            return NULL;
        parts->items = items;
        parts->capacity = capacity;
    }
    *at = (uint32_t)parts->count;
    parts->items[parts->count] =
        (struct nvt_part){.configuration = nvt_strings_get(parts->strings, configuration, NULL),
                          .phase = (enum nvt_phase)work->phase[range],
                          .is_kernel = is_kernel,
                          .name = nvt_strings_get(parts->strings, id, NULL)};
    return &parts->items[parts->count++];
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* What lies around each range; parents precede their children. */
static void place_ranges(struct work *work, const uint32_t *parent)
{
    const struct nvt_trace *trace = work->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    int any_iteration = 0;
    for (uint32_t i = 0; i < ranges->count && !any_iteration; i++)
        any_iteration = !strcmp(nvt_name(trace, ranges->name[i]), "iteration");
    for (uint32_t i = 0; i < ranges->count; i++) {
        const char *name = nvt_name(trace, ranges->name[i]);
        const uint32_t around = parent[i];
        work->configuration[i] = nvt_range_is_configuration(trace, i) ? i
                                 : around == NVT_NONE                 ? NVT_NONE
                                                                      : work->configuration[around];
        work->in_iteration[i] = !any_iteration || !strcmp(name, "iteration") ||
                                (around != NVT_NONE && work->in_iteration[around]);
        work->phase[i] = around == NVT_NONE ? NVT_PHASES_COUNT : work->phase[around];
        for (int phase = 0; phase < NVT_PHASES_COUNT && work->in_iteration[i]; phase++)
            if (!strcmp(name, nvt_phase_name((enum nvt_phase)phase)))
                work->phase[i] = (uint8_t)phase;
    }
}

static int add_range(struct work *work, const struct nvt_nesting *nesting, uint32_t i)
{
    const struct nvt_ranges *ranges = &work->trace->ranges;
    struct nvt_part *part = part_of(work, i, 0, nvt_name(work->trace, ranges->name[i]));
    if (!part)
        return -1;
    const double ns = (double)(ranges->end[i] - ranges->start[i]);
    const double device_ns = work->projected ? (double)work->projected[i].busy : 0;
    part->count++;
    part->ns += ns;
    part->own_ns += ns - (double)nesting->children_ns[i];
    part->device_ns += device_ns;
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
            !(ranges->flags[i] & NVT_RANGE_PARTIAL) && add_range(work, nesting, i))
            return -1;
    return 0;
}

/* --- kernels ---------------------------------------------------------------------------------- */

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
        struct nvt_part *part =
            part_of(work, ranges[i], 1, nvt_name(work->trace, ops->short_name[op]));
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
    work->in_iteration = malloc(room);
    work->projected = NULL;
    int status = work->configuration && work->phase && work->in_iteration
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
    free(work->configuration);
    free(work->phase);
    free(work->in_iteration);
    free(work->projected);
    return status;
}

/* Stable by configuration and phase: what came first stays first. */
static int by_own_time(const void *a, const void *b)
{
    const struct nvt_part *left = a, *right = b;
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

int nvt_parts_make(struct nvt_parts *parts, const struct nvt_report_input *input,
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
        status = add_trace(&work, input->project_flags, err);
    }
    if (parts->count)
        qsort(parts->items, parts->count, sizeof(*parts->items), by_own_time);
    nvt_map_free(&work.by_key);
    return status;
}

uint64_t nvt_parts_runs(const struct nvt_parts *parts, const struct nvt_part *like)
{
    for (size_t i = 0; i < parts->count; i++) {
        const struct nvt_part *part = &parts->items[i];
        if (!part->is_kernel && part->phase == like->phase &&
            part->configuration == like->configuration &&
            !strcmp(part->name, nvt_phase_name(part->phase)))
            return part->count;
    }
    return 0;
}
