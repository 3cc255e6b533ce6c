/* memory growth: what is in use at the end of an iteration rises from iteration to iteration. */
#include <stdio.h>
#include <stdlib.h>

#include "../model/counters.h"
#include "../device/devices.h"
#include "../diagnosis/diagnose.h"
#include "../../lib/map.h"
#include "../../lib/people.h"

#define LEAST_ITERATIONS 16
#define LEAST_RISES      0.75
#define LEAST_BYTES      (1 << 20)
#define POOLS_MAX        64

/* Memory of a device, or of the host, as one process sees it, or as a counter tells. */
struct pool {
    const struct nvt_counter_course *course; /* NULL: memory events tell */
    uint32_t process, device;
    double used;
    double first, last; /* at the end of the first iteration looked at, and of the last */
    double before;      /* at the end of the iteration before */
    uint32_t ends, rises, falls;
};

struct pools {
    struct pool items[POOLS_MAX];
    size_t count;
    struct nvt_map sizes; /* address and pool: row of the event that allocated it */
};

static struct pool *find_pool(struct pools *pools, uint32_t process, uint32_t device)
{
    for (size_t i = 0; i < pools->count; i++)
        if (pools->items[i].process == process && pools->items[i].device == device)
            return &pools->items[i];
    if (pools->count == POOLS_MAX)
        return NULL;
    pools->items[pools->count] = (struct pool){.process = process, .device = device};
    return &pools->items[pools->count++];
}

/* Where the allocation at an address is kept; two pools may use one address. */
static uint32_t *allocation(struct pools *pools, const struct nvt_memory *memory, uint32_t row,
                            const struct pool *pool)
{
    uint64_t at = (uint64_t)(pool - pools->items);
    return nvt_map_at(&pools->sizes, memory->address[row] ^ at << 57);
}

/* What is in use after an event: as its allocator says, or what was taken less what was freed. */
static int follow(struct pools *pools, const struct nvt_memory *memory, uint32_t row)
{
    struct pool *pool = find_pool(pools, memory->process[row], memory->device[row]);
    if (!pool)
        return 0;
    uint32_t *taken = allocation(pools, memory, row, pool);
    if (!taken)
        return -1;
    if (memory->kind[row] == NVT_MEMORY_ALLOC) {
        pool->used += (double)memory->bytes[row];
        *taken = row;
    } else if (!memory->address[row]) { /* none is on record */
        pool->used -= (double)memory->bytes[row];
    } else if (*taken != NVT_MAP_NONE) {
        pool->used -= (double)memory->bytes[*taken];
        *taken = NVT_MAP_NONE;
    }
    if (memory->allocated[row] != UINT64_MAX)
        pool->used = (double)memory->allocated[row];
    return 0;
}

static void end_iteration(struct pool *pool)
{
    if (!pool->ends++)
        pool->first = pool->used;
    else if (pool->used > pool->before)
        pool->rises++;
    else if (pool->used < pool->before)
        pool->falls++;
    pool->before = pool->last = pool->used;
}

/* Moments: allocations in the steady part that are still in use at the end of the last iteration.
 */
static void point_at_kept(struct pools *pools, const struct pool *pool, const struct nvt_view *view,
                          struct nvt_finding *finding)
{
    const struct nvt_memory *memory = &view->trace->memory;
    for (uint32_t i = 0; i < memory->count && finding->moment_count < NVT_MOMENTS; i++) {
        if (memory->kind[i] != NVT_MEMORY_ALLOC || !nvt_is_steady(view, memory->time[i]) ||
            memory->process[i] != pool->process || memory->device[i] != pool->device)
            continue;
        uint32_t *taken = allocation(pools, memory, i, pool);
        if (taken && *taken == i)
            nvt_finding_point(finding, memory->time[i]);
    }
}

/* Point at the samples of a counter in the steady part that are higher than the one before. */
static void point_at_rises(const struct pool *pool, const struct nvt_view *view,
                           struct nvt_finding *finding)
{
    const struct nvt_counter_course *course = pool->course;
    for (uint32_t i = 1; i < course->count && finding->moment_count < NVT_MOMENTS; i++)
        if (nvt_is_steady(view, course->time[i]) && course->level[i] > course->level[i - 1])
            nvt_finding_point(finding, course->time[i]);
}

static int tell_memory(const struct nvt_rule *rule, struct pools *pools, const struct pool *pool,
                       const struct nvt_view *view, struct nvt_findings *findings,
                       struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    double growth = pool->last - pool->first;
    double steps = pool->ends - 1;
    char device[100] = "host memory";
    if (pool->course)
        snprintf(device, sizeof(device), "the counter %.60s",
                 nvt_name(trace, trace->counters.name[pool->course->counter]));
    else if (pool->device != NVT_NONE)
        snprintf(device, sizeof(device), "device %u's memory", pool->device);
    nvt_finding_about(&finding, device);
    finding.cost_bytes = growth / steps;
    snprintf(finding.what, sizeof(finding.what), "%s%s grows by %s per iteration and %s", device,
             pool->course ? "" : " in use",
             nvt_binary_text(growth / steps, (char[NVT_TIME_MAX]){0}),
             pool->course ? "never falls" : "is never freed");
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "%s at the end of iteration %u, %s at the end of iteration %u; it rose in %u of %.0f and "
        "fell in %u",
        nvt_binary_text(pool->first, (char[NVT_TIME_MAX]){0}), view->iteration_count / 2 + 1,
        nvt_binary_text(pool->last, (char[NVT_TIME_MAX]){0}), view->iteration_count, pool->rises,
        steps, pool->falls);
    if (pool->course)
        point_at_rises(pool, view, &finding);
    else
        point_at_kept(pools, pool, view, &finding);
    return nvt_findings_add(findings, &finding, err);
}

static int grows(const struct pool *pool)
{
    return pool->ends >= 2 && pool->last - pool->first >= LEAST_BYTES &&
           pool->rises >= LEAST_RISES * (pool->ends - 1);
}

static int judge_memory(const struct nvt_rule *rule, struct pools *pools,
                        const struct nvt_view *view, struct nvt_findings *findings,
                        struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < pools->count && !status; i++)
        if (grows(&pools->items[i]))
            status = tell_memory(rule, pools, &pools->items[i], view, findings, err);
    return status;
}

static int look_at_counter(const struct nvt_rule *rule, const struct nvt_view *view,
                           const struct nvt_counter_course *course, struct nvt_findings *findings,
                           struct nvt_error *err)
{
    struct pool pool = {.course = course};
    for (uint32_t i = view->iteration_count / 2; i < view->iteration_count; i++) {
        uint32_t until = nvt_course_until(course, view->trace->ranges.end[view->iterations[i]]);
        if (!until)
            continue;
        pool.used = course->level[until - 1];
        end_iteration(&pool);
    }
    return grows(&pool) ? tell_memory(rule, NULL, &pool, view, findings, err) : 0;
}

static int look_at_counters(const struct nvt_rule *rule, const struct nvt_view *view,
                            struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    struct nvt_counter_courses courses = {.items = NULL};
    int status = nvt_counter_courses(trace, &courses)
                     ? nvt_fail_at(err, trace->path, -1, "out of memory")
                     : 0;
    for (uint32_t i = 0; i < courses.count && !status; i++)
        if (nvt_is_memory_counter(trace, courses.items[i].counter) &&
            nvt_is_viewed(view, trace->counters.process[courses.items[i].counter]))
            status = look_at_counter(rule, view, &courses.items[i], findings, err);
    nvt_counter_courses_free(&courses);
    return status;
}

static int find_memory(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    uint32_t event = 0;
    int status = 0;
    if (view->iteration_count < LEAST_ITERATIONS)
        return 0;
    if (nvt_counts_memory(trace))
        status = look_at_counters(rule, view, findings, err);
    if (status || !trace->memory.count)
        return status;
    struct pools *pools = calloc(1, sizeof(*pools));
    if (!pools)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < view->iteration_count && !status; i++) {
        int64_t end = trace->ranges.end[view->iterations[i]];
        while (event < trace->memory.count && trace->memory.time[event] <= end && !status)
            status = nvt_is_viewed(view, trace->memory.process[event])
                         ? follow(pools, &trace->memory, event++)
                         : (event++, 0);
        for (size_t k = 0; i >= view->iteration_count / 2 && k < pools->count; k++)
            end_iteration(&pools->items[k]);
    }
    status = status ? nvt_fail_at(err, trace->path, -1, "out of memory")
                    : judge_memory(rule, pools, view, findings, err);
    nvt_map_free(&pools->sizes);
    free(pools);
    return status;
}

const struct nvt_rule nvt_rule_memory = {
    .cause = "memory growth",
    .about = "memory in use that rises with every iteration: a leak, or results that are kept",
    .means = "Each iteration leaves more memory in use than the one before. Sooner or later the "
             "program runs out of memory, the later the smaller the growth.",
    .found = "The level at the end of each iteration is followed through the second half of the "
             "iterations, by memory events, or by an NVTX counter in bytes with alloc in its name, "
             "such as those of record --pytorch. The moments are allocations that are still in use "
             "at the end.",
    .threshold = "16 iterations, and in their second half 1 MiB more and a rise in three of four: "
                 "a cache is full by then, and a level that swings rises in half of them; needs "
                 "memory events, or an NVTX counter of what is allocated, in bytes",
    .remedy = "free what the iteration allocated; in PyTorch, do not keep a tensor with its graph "
              "(loss.item() or .detach() instead of loss)",
    .helped = "In PyTorch: losses appended as numbers, hidden states detached between batches, no "
              "list of outputs that grows, del of large tensors before the next forward pass. "
              "memory_at_peak shows the ranges that allocated what is kept.",
    .confused = "A cache that fills grows at first and then stays level. Longer and longer "
                "sequences need more memory without a leak. Held memory: the allocator reserves "
                "more than is in use, without growth.",
    .show = "stats -r memory_at_peak",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_LEVELS | NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .look = find_memory,
};
