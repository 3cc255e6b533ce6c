#include "named_iterations.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"

#include "loop_names.h"
#include "workload_ranges.h"

/* --- which they are --------------------------------------------------------------------------- */

enum naming { OF_WORKLOADS, OF_ANY_DOMAIN, OF_PYTORCH, OF_RECORDER, OF_LOOP, NAMINGS };

/* How the steps of PyTorch's profiler begin. */
#define STEP "ProfilerStep#"

/* Whether a name is that of `length` letters, or begins so where they end in *. */
static int is_like(const char *name, const char *wanted, size_t length)
{
    if (strlen(name) == length && !memcmp(name, wanted, length))
        return 1;
    return length > 1 && wanted[length - 1] == '*' && !strncmp(name, wanted, length - 1);
}

/* Whether a range is one of those that the user says. */
static int is_said(const struct nvt_trace *trace, uint32_t range)
{
    const char *wanted = trace->iteration, *at = strrchr(wanted, '@');
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    const char *domain = nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]);
    const size_t length = strlen(domain);
    if (is_like(name, wanted, strlen(wanted)))
        return 1;
    if (!strncmp(wanted, domain, length) && wanted[length] == ':' &&
        is_like(name, wanted + length + 1, strlen(wanted + length + 1)))
        return 1;
    return at && is_like(name, wanted, (size_t)(at - wanted)) &&
           (!strcmp(at + 1, "*") || !strcmp(at + 1, domain));
}

int nvt_iterations_set(struct nvt_trace *trace, const char *name, struct nvt_error *err)
{
    trace->iteration = name;
    for (uint32_t i = 0; name && i < trace->ranges.count; i++)
        if (is_said(trace, i) && !(trace->ranges.flags[i] & NVT_RANGE_PARTIAL))
            return 0;
    return name ? nvt_fail_at(err, trace->path, -1, "has no range '%.200s' (--iteration)", name)
                : 0;
}

int nvt_iterations_recognize(struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t name = nvt_strings_find(trace->strings, "iteration", strlen("iteration"));
    trace->loop = 0;
    if (trace->step_name)
        return 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!(ranges->flags[i] & NVT_RANGE_PARTIAL) &&
            (ranges->name[i] == name ||
             !strncmp(nvt_name(trace, ranges->name[i]), STEP, strlen(STEP))))
            return 0;
    return nvt_loop_find(trace, &trace->loop);
}

int nvt_is_called_iteration(const struct nvt_trace *trace, uint32_t range)
{
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    if (trace->iteration)
        return is_said(trace, range);
    if (trace->step_name)
        return trace->ranges.name[range] == trace->step_name;
    return trace->loop ? nvt_is_of_loop(trace, trace->loop, range) : !strcmp(name, "iteration");
}

int nvt_has_own_iterations(const struct nvt_trace *trace)
{
    return trace->iteration || trace->loop || trace->step_name;
}

/* What is asked of the name of each of many ranges: `known` has 1 for a name that is one and 2 for one that is none, 0 where it was not
 * looked at. */
struct question {
    const struct nvt_trace *trace;
    uint32_t iteration; /* the string */
    enum naming naming;
    uint8_t *known;
};

static int is_name(const struct question *question, uint32_t name)
{
    const struct nvt_trace *trace = question->trace;
    uint8_t *known = &question->known[name];
    if (!*known) {
        const char *text = nvt_name(trace, name);
        const int is = question->naming == OF_PYTORCH
                           ? !strncmp(text, STEP, strlen(STEP))
                           : trace->loop && nvt_is_loop_name(text, trace->loop);
        *known = is ? 1 : 2;
    }
    return *known == 1;
}

static int is_named(const struct question *question, uint32_t range)
{
    const struct nvt_trace *trace = question->trace;
    const uint32_t name = trace->ranges.name[range];
    if (trace->iteration)
        return is_said(trace, range);
    if (question->naming == OF_LOOP)
        return is_name(question, name) && nvt_is_of_loop(trace, trace->loop, range);
    if (question->naming == OF_PYTORCH)
        return is_name(question, name);
    if (question->naming == OF_RECORDER)
        return trace->step_name && name == trace->step_name;
    return name == question->iteration &&
           (question->naming == OF_ANY_DOMAIN ||
            nvt_is_workloads_domain(trace, trace->ranges.domain[range]));
}

/* Whether a range lies in the last one that its thread was found to have. */
static int is_inner(const struct nvt_ranges *ranges, uint32_t range, uint32_t last)
{
    return last != NVT_NONE && ranges->end[range] <= ranges->end[last];
}

/* Whether any name can be one: of most ways of naming none is, which is quicker to see than by ranges. */
static int has_name(const struct question *question)
{
    const uint32_t count = nvt_strings_count(question->trace->strings);
    if (question->trace->iteration)
        return 1;
    if (question->naming == OF_WORKLOADS || question->naming == OF_ANY_DOMAIN)
        return question->iteration != NVT_NO_STRING;
    if (question->naming == OF_LOOP)
        return question->trace->loop != 0;
    if (question->naming == OF_RECORDER)
        return question->trace->step_name != 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_name(question, i))
            return 1;
    return 0;
}

/* Those that a window cuts are counted in *cut, and are no rows. 0, or -1 when out of memory: then there are no rows. */
static int find_iterations(struct question *question, uint32_t *rows, uint32_t *count,
                           uint32_t *cut)
{
    const struct nvt_trace *trace = question->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *last = malloc(((size_t)trace->threads.count + 1) * sizeof(*last));
    for (enum naming naming = 0; last && naming < NAMINGS && !*count && !*cut; naming++) {
        question->naming = naming;
        memset(question->known, 0, nvt_strings_count(trace->strings));
        if (!has_name(question))
            continue;
        memset(last, 0xFF, ((size_t)trace->threads.count + 1) * sizeof(*last));
        for (uint32_t i = 0; i < ranges->count; i++) {
            const uint32_t thread = ranges->thread[i];
            if (ranges->flags[i] & NVT_RANGE_PARTIAL || !is_named(question, i) ||
                is_inner(ranges, i, last[thread]))
                continue;
            last[thread] = i;
            if (ranges->flags[i] & NVT_RANGE_CUT)
                (*cut)++;
            else
                rows[(*count)++] = i;
        }
    }
    free(last);
    return last ? 0 : -1;
}

uint32_t *nvt_whole_iterations(const struct nvt_trace *trace, uint32_t *count, uint32_t *cut)
{
    struct question question = {
        .trace = trace,
        .iteration = nvt_strings_find(trace->strings, "iteration", strlen("iteration")),
        .known = malloc((size_t)nvt_strings_count(trace->strings) + 1)};
    uint32_t *rows = malloc(((size_t)trace->ranges.count + 1) * sizeof(*rows));
    *count = *cut = 0;
    const int failed = !rows || !question.known || find_iterations(&question, rows, count, cut);
    free(question.known);
    if (!failed)
        return rows;
    free(rows);
    return NULL;
}

uint32_t *nvt_iterations(const struct nvt_trace *trace, uint32_t *count)
{
    uint32_t cut;
    return nvt_whole_iterations(trace, count, &cut);
}

/* --- which one holds a moment ----------------------------------------------------------------- */

static void free_lane(struct nvt_iteration_lane *lane)
{
    free(lane->items);
    free(lane->until);
    free(lane->first);
    *lane = (struct nvt_iteration_lane){0};
}

/* The lane of an iteration: its thread, that one's process, or the only one; `count` where it has none. */
static uint32_t lane_of(const struct nvt_named_iterations *iterations,
                        const struct nvt_iteration_lane *lane, uint32_t item)
{
    const struct nvt_trace *trace = iterations->trace;
    uint32_t thread = trace->ranges.thread[iterations->rows[item]];
    if (lane == &iterations->all)
        return 0;
    return lane == &iterations->threads ? thread : trace->threads.process[thread];
}

/* Those of a lane stand together, behind them those of none. 0, or -1 when out of memory. */
static int fill_lane(const struct nvt_named_iterations *iterations, struct nvt_iteration_lane *lane,
                     uint32_t count)
{
    lane->count = count;
    lane->items = malloc(((size_t)iterations->count + 1) * sizeof(*lane->items));
    lane->until = malloc(((size_t)iterations->count + 1) * sizeof(*lane->until));
    lane->first = calloc((size_t)count + 2, sizeof(*lane->first));
    if (!lane->items || !lane->until || !lane->first)
        return -1;
    /* first[k + 1] counts those of lane k, then is where it begins, and at last where it ends. */
    for (uint32_t i = 0; i < iterations->count; i++)
        lane->first[lane_of(iterations, lane, i) + 1]++;
    for (uint32_t k = 0, before = 0; k <= count; k++) {
        uint32_t here = lane->first[k + 1];
        lane->first[k + 1] = before;
        before += here;
    }
    for (uint32_t i = 0; i < iterations->count; i++) {
        uint32_t k = lane_of(iterations, lane, i);
        lane->items[lane->first[k + 1]++] = i;
    }
    for (uint32_t k = 0; k <= count; k++) {
        int64_t latest = INT64_MIN;
        for (uint32_t at = lane->first[k]; at < lane->first[k + 1]; at++) {
            int64_t end = iterations->trace->ranges.end[iterations->rows[lane->items[at]]];
            latest = end > latest ? end : latest;
            lane->until[at] = latest;
        }
    }
    return 0;
}

int nvt_named_iterations_of(struct nvt_named_iterations *iterations, const struct nvt_trace *trace)
{
    iterations->trace = trace;
    iterations->rows = nvt_iterations(trace, &iterations->count);
    return iterations->rows && !fill_lane(iterations, &iterations->all, 1) &&
                   !fill_lane(iterations, &iterations->threads, trace->threads.count) &&
                   !fill_lane(iterations, &iterations->processes, trace->processes.count)
               ? 0
               : -1;
}

void nvt_named_iterations_free(struct nvt_named_iterations *iterations)
{
    free_lane(&iterations->threads);
    free_lane(&iterations->processes);
    free_lane(&iterations->all);
    free(iterations->rows);
    *iterations = (struct nvt_named_iterations){0};
}

/* Whether a lane is known and has any. */
static int has(const struct nvt_iteration_lane *lane, uint32_t which)
{
    return which < lane->count && lane->first[which] < lane->first[which + 1];
}

static uint32_t find(const struct nvt_named_iterations *iterations,
                     const struct nvt_iteration_lane *lane, uint32_t which, int64_t moment)
{
    const struct nvt_ranges *ranges = &iterations->trace->ranges;
    uint32_t first = lane->first[which], low = first;
    NVT_BISECT(low, lane->first[which + 1],
               ranges->start[iterations->rows[lane->items[low]]] <= moment);
    for (; low > first && lane->until[low - 1] >= moment; low--)
        if (ranges->end[iterations->rows[lane->items[low - 1]]] >= moment)
            return lane->items[low - 1];
    return NVT_NONE;
}

uint32_t nvt_iteration_at(const struct nvt_named_iterations *iterations, uint32_t thread,
                          uint32_t process, int64_t moment)
{
    const struct nvt_threads *threads = &iterations->trace->threads;
    if (has(&iterations->threads, thread))
        return find(iterations, &iterations->threads, thread, moment);
    if (thread < threads->count)
        process = threads->process[thread];
    if (has(&iterations->processes, process))
        return find(iterations, &iterations->processes, process, moment);
    return find(iterations, &iterations->all, 0, moment);
}

/* Whether a range is one of a process's; NVT_NONE: any is. */
static int is_of(const struct nvt_trace *trace, uint32_t process, uint32_t range)
{
    const uint32_t thread = trace->ranges.thread[range];
    return process == NVT_NONE ||
           (thread == NVT_NONE ? NVT_NONE : trace->threads.process[thread]) == process;
}

uint32_t nvt_steady_iterations(const struct nvt_trace *trace, uint32_t process,
                               const uint32_t *iterations, uint32_t count, int64_t *from,
                               int64_t *to)
{
    uint32_t own = 0, seen = 0, taken = 0;
    for (uint32_t i = 0; i < count; i++)
        own += (uint32_t)is_of(trace, process, iterations[i]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t range = iterations[i];
        if (!is_of(trace, process, range) || seen++ < own / 2)
            continue;
        if (!taken++)
            *from = *to = trace->ranges.start[range];
        if (trace->ranges.end[range] > *to)
            *to = trace->ranges.end[range];
    }
    return taken;
}
