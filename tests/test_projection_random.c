/*
 * The projection of device operations onto ranges, the nesting and the sums, over random traces,
 * against implementations that compare every operation with every range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/launches.h"
#include "../analyze/model/nesting.h"
#include "../analyze/device/project.h"
#include "../analyze/reports/report.h"
#include "random_kit.h"
#include "small_trace.h"

/* --- random traces --- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(next_random(state) % limit);
}

/* Properly nested ranges of one thread, of any depth, within [from, to]. */
static void nest(struct nvt_trace *trace, uint32_t thread, int64_t from, int64_t to, int depth,
                 uint64_t *state)
{
    static const char *const domains[] = {"", "", "app", "NCCL"};
    char name[16];
    int64_t at = from;
    for (uint32_t i = below(state, 4); depth && i > 0 && at <= to; i--) {
        int64_t start = at + below(state, 3), end = start + below(state, 12);
        if (end > to)
            end = to;
        if (start > end)
            return;
        snprintf(name, sizeof(name), "r%u", below(state, 5));
        small_range(trace, thread, domains[below(state, 4)], name, start, end, NVT_PUSH_POP);
        nest(trace, thread, start, end, depth - 1, state);
        at = end;
    }
}

/* Times are small numbers on two devices, so that ties, zero lengths and equal boundaries are
 * common. */
static struct nvt_trace *random_trace(uint64_t seed)
{
    uint64_t random = seed, *state = &random;
    struct nvt_trace *trace = small_trace();
    uint32_t threads = 1 + below(state, 4);
    for (uint32_t i = 0; i < threads; i++)
        small_thread(trace, 1 + below(state, 2), 1 + i);
    for (uint32_t i = 0; i < threads; i++) {
        nest(trace, i, 0, 40, 4, state);
        for (uint32_t n = below(state, 3); n > 0; n--) {
            int64_t start = below(state, 40);
            /* Any overlap; one in four unclosed, up to the end of all. */
            int64_t end = below(state, 4) ? start + below(state, 20) : 60;
            small_range(trace, i, below(state, 3) ? "" : "cuBLAS", "s", start, end,
                        below(state, 2) ? NVT_START_END : NVT_PUSH_POP);
        }
    }
    for (uint32_t n = below(state, 30); n > 0; n--) {
        uint32_t thread = below(state, threads);
        int64_t start = below(state, 45), from = below(state, 100);
        uint64_t correlation = 1 + below(state, 40);
        if (below(state, 5))
            small_call(trace, thread, correlation, start, start + below(state, 3));
        if (below(state, 6))
            small_op(trace, trace->threads.process[thread], correlation, from,
                     from + below(state, 10), below(state, 3) ? NVT_NONE : thread,
                     below(state, 3) ? INT64_MIN : start);
    }
    small_trace_finish(trace);
    return trace;
}

/* Whether a range holds the call that launched an operation. */
static int holds(const struct nvt_trace *trace, uint32_t range, uint32_t op)
{
    uint32_t api = trace->ops.api[op];
    int64_t start = trace->ops.launch[op];
    int64_t end = api == NVT_NONE ? start : trace->apis.end[api];
    return start != INT64_MIN && trace->ranges.start[range] <= start &&
           trace->ranges.end[range] >= end;
}

static int is_library(const struct nvt_trace *trace, uint32_t range)
{
    return nvt_is_library_domain(nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]));
}

/* By definition, slowly: belongs[range] for one operation. */
static void project_slowly(const struct nvt_trace *trace, unsigned flags, uint32_t op,
                           uint8_t *belongs)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t thread = trace->ops.thread[op], last = NVT_NONE;
    int own = 0;
    memset(belongs, 0, ranges->count);
    if (thread == NVT_NONE)
        return;
    for (uint32_t i = 0; i < ranges->count; i++) {
        belongs[i] = ranges->thread[i] == thread && holds(trace, i, op);
        own |= belongs[i] && !is_library(trace, i);
    }
    if (!(flags & NVT_ACROSS_THREADS) || own)
        return;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->thread[i] != thread &&
            trace->threads.process[ranges->thread[i]] == trace->threads.process[thread] &&
            holds(trace, i, op) && !is_library(trace, i))
            last = i; /* rows are in the order of their starts */
    for (uint32_t i = 0; last != NVT_NONE && i <= last; i++)
        if (ranges->thread[i] == ranges->thread[last] && ranges->end[i] >= ranges->end[last] &&
            !is_library(trace, i))
            belongs[i] = 1;
}

struct check {
    const struct nvt_trace *trace;
    unsigned flags;
    uint8_t *belongs;
    uint8_t *visited;
    int64_t launch; /* of the operation before */
    uint64_t pairs;
};

static int compare(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct check *check = context;
    const struct nvt_trace *trace = check->trace;
    uint32_t expected = 0;
    project_slowly(trace, check->flags, op, check->belongs);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        expected += check->belongs[i];
    assert_int_equal(count, expected);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(check->belongs[ranges[i]]);
        assert_true(!i || ranges[i] > ranges[i - 1]);
    }
    assert_false(check->visited[op]++);
    assert_true(trace->ops.launch[op] >= check->launch);
    check->launch = trace->ops.launch[op];
    check->pairs += count;
    return 0;
}

static uint64_t check_trace(const struct nvt_trace *trace, unsigned flags)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct check check = {
        trace,     flags, calloc(trace->ranges.count + 1, 1), calloc(trace->ops.count + 1, 1),
        INT64_MIN, 0};
    assert_int_equal(nvt_project(trace, flags, compare, &check, &err), 0);
    for (uint32_t i = 0; i < trace->ops.count; i++)
        assert_true(check.visited[i]);
    free(check.belongs);
    free(check.visited);
    return check.pairs;
}

static void agrees_with_the_slow_one(void **state)
{
    (void)state;
    uint64_t own = 0, across = 0;
    for (uint64_t seed = kit_seed(1), last = seed + 9999; seed <= last; seed++) {
        struct nvt_trace *trace = random_trace(seed);
        own += check_trace(trace, 0);
        across += check_trace(trace, NVT_ACROSS_THREADS);
        nvt_trace_free(trace);
    }
    /* The traces are such that there is something to find, and more of it across threads. */
    assert_true(own > 10000);
    assert_true(across > own + 10000);
}

/* --- nesting and sums, against the same --- */

/* The latest range before it that encloses it, of the same thread; of the same domain if asked for.
 */
static uint32_t parent_slowly(const struct nvt_trace *trace, uint32_t range, int same_domain)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    if (ranges->style[range] != NVT_PUSH_POP)
        return NVT_NONE;
    for (uint32_t i = range; i-- > 0;)
        if (ranges->thread[i] == ranges->thread[range] && ranges->style[i] == NVT_PUSH_POP &&
            (!same_domain || ranges->domain[i] == ranges->domain[range]) &&
            ranges->end[i] >= ranges->end[range] &&
            (ranges->end[i] > ranges->start[range] || ranges->end[i] == ranges->start[i]))
            return i;
    return NVT_NONE;
}

static void nests_like_the_slow_one(void **state)
{
    (void)state;
    uint64_t nested = 0;
    for (uint64_t seed = kit_seed(1), last = seed + 9999; seed <= last; seed++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_nesting nesting = {0};
        struct nvt_trace *trace = random_trace(seed);
        const struct nvt_ranges *ranges = &trace->ranges;
        assert_int_equal(nvt_nesting_make(&nesting, trace, &err), 0);
        uint32_t *children = calloc(ranges->count + 1, sizeof(*children));
        for (uint32_t i = 0; i < ranges->count; i++) {
            uint32_t parent = parent_slowly(trace, i, 0);
            assert_int_equal(nesting.parent[i], parent);
            assert_int_equal(ranges->parent[i], parent_slowly(trace, i, 1));
            assert_int_equal(nesting.level[i], parent == NVT_NONE ? 0 : nesting.level[parent] + 1);
            if (parent != NVT_NONE)
                children[parent]++;
            nested += parent != NVT_NONE;
        }
        for (uint32_t i = 0; i < ranges->count; i++)
            assert_int_equal(nesting.children[i], children[i]);
        free(children);
        nvt_nesting_free(&nesting);
        nvt_trace_free(trace);
    }
    assert_true(nested > 10000);
}

/* Whether range i is of the name and style in a row of a report. */
static int is_of(const struct nvt_trace *trace, uint32_t i, const char *name, const char *style)
{
    char full[64];
    snprintf(full, sizeof(full), "%s:%s",
             nvt_name(trace, trace->domains.name[trace->ranges.domain[i]]),
             nvt_name(trace, trace->ranges.name[i]));
    return !strcmp(full, name) &&
           !strcmp(trace->ranges.style[i] == NVT_PUSH_POP ? "PushPop" : "StartEnd", style);
}

struct sums {
    int64_t ranges, count, total, least, most;
};

/* What a row of nvtx_kern_sum should say. */
static struct sums sum_slowly(const struct nvt_trace *trace, const uint8_t *belongs,
                              const struct nvt_table *table, size_t row)
{
    struct sums sums = {0, 0, 0, INT64_MAX, 0};
    const char *kernel = nvt_table_text(table, row, nvt_table_find(table, "Kernel Name"));
    int64_t tid = nvt_table_int(table, row, nvt_table_find(table, "TID"));
    int64_t pid = nvt_table_int(table, row, nvt_table_find(table, "PID"));
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        uint32_t thread = trace->ranges.thread[i];
        int64_t before = sums.count;
        if (trace->threads.tid[thread] != tid ||
            trace->processes.pid[trace->threads.process[thread]] != pid ||
            !is_of(trace, i, nvt_table_text(table, row, 0), nvt_table_text(table, row, 1)))
            continue;
        for (uint32_t op = 0; op < trace->ops.count; op++) {
            int64_t time = trace->ops.end[op] - trace->ops.start[op];
            if (!belongs[op * trace->ranges.count + i] || trace->ops.kind[op] != NVT_OP_KERNEL ||
                strcmp(nvt_name(trace, trace->ops.name[op]), kernel))
                continue;
            sums.count++;
            sums.total += time;
            sums.least = time < sums.least ? time : sums.least;
            sums.most = time > sums.most ? time : sums.most;
        }
        sums.ranges += sums.count > before;
    }
    return sums;
}

/* What a row of nvtx_gpu_proj_sum should say; count: of operations. */
static struct sums project_sum_slowly(const struct nvt_trace *trace, const uint8_t *belongs,
                                      const struct nvt_table *table, size_t row)
{
    struct sums sums = {0, 0, 0, INT64_MAX, 0};
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        int64_t first = INT64_MAX, last = INT64_MIN, before = sums.count;
        if (!is_of(trace, i, nvt_table_text(table, row, 0), nvt_table_text(table, row, 1)))
            continue;
        for (uint32_t op = 0; op < trace->ops.count; op++) {
            if (!belongs[op * trace->ranges.count + i])
                continue;
            sums.count++;
            first = trace->ops.start[op] < first ? trace->ops.start[op] : first;
            last = trace->ops.end[op] > last ? trace->ops.end[op] : last;
        }
        if (sums.count == before)
            continue;
        sums.ranges++;
        sums.total += last - first;
        sums.least = last - first < sums.least ? last - first : sums.least;
        sums.most = last - first > sums.most ? last - first : sums.most;
    }
    return sums;
}

/* Compare the rows of a report; the number of pairs of operations and ranges that they stand for.
 */
static int64_t check_rows(const struct nvt_trace *trace, unsigned flags, const uint8_t *belongs,
                          const char *name, const char *const headings[5],
                          struct sums (*slowly)(const struct nvt_trace *, const uint8_t *,
                                                const struct nvt_table *, size_t))
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace inputs = {.trace = (struct nvt_trace *)trace};
    struct nvt_input input = {.traces = &inputs, .trace_count = 1, .project_flags = flags};
    struct nvt_tables tables = {0};
    int64_t pairs = 0;
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    const struct nvt_table *table = tables.items[0];
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        if (nvt_table_is_null(table, row, 1)) /* kernels of no range */
            continue;
        struct sums sums = slowly(trace, belongs, table, row);
        const int64_t expected[5] = {sums.ranges, sums.count, sums.total, sums.least, sums.most};
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(nvt_table_int(table, row, nvt_table_find(table, headings[i])),
                             expected[i]);
        pairs += sums.count;
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    return pairs;
}

/* Whether the way for simple traces can be gone, and leads to something. */
static int is_simple(const struct nvt_trace *trace)
{
    struct nvt_launches launches;
    struct nvt_error err = NVT_ERROR_INIT;
    int status = nvt_launches_make(&launches, trace, 0, &err);
    assert_true(status >= 0);
    uint32_t ranges = 0;
    for (uint32_t i = 0; i < launches.lane_count; i++)
        for (uint32_t class = 0; class < launches.lanes[i].class_count; class ++)
            ranges += launches.lanes[i].classes[class].times.count;
    nvt_launches_free(&launches);
    return !status && ranges > 2;
}

static void sums_like_the_slow_one(void **state)
{
    (void)state;
    uint32_t simple = 0;
    static const char *const kernels[] = {"NVTX Inst", "Kern Inst", "Total Time (ns)", "Min (ns)",
                                          "Max (ns)"};
    static const char *const projected[] = {"Range Instances", "Total GPU Ops",
                                            "Total Proj Time (ns)", "Proj Min (ns)",
                                            "Proj Max (ns)"};
    for (uint64_t seed = kit_seed(1), last = seed + 9999; seed <= last; seed++) {
        struct nvt_trace *trace = random_trace(seed);
        unsigned flags = seed % 2 ? 0 : NVT_ACROSS_THREADS;
        uint8_t *belongs = calloc((size_t)trace->ops.count * trace->ranges.count + 1, 1);
        int64_t pairs = 0, of_kernels = 0;
        for (uint32_t op = 0; op < trace->ops.count; op++) {
            uint8_t *of_op = belongs + (size_t)op * trace->ranges.count;
            project_slowly(trace, flags, op, of_op);
            for (uint32_t i = 0; i < trace->ranges.count; i++) {
                pairs += of_op[i];
                of_kernels += of_op[i] && trace->ops.kind[op] == NVT_OP_KERNEL;
            }
        }
        /* No pair is missing from the rows, because their sum is that of all. */
        assert_int_equal(check_rows(trace, flags, belongs, "nvtx_kern_sum", kernels, sum_slowly),
                         of_kernels);
        assert_int_equal(
            check_rows(trace, flags, belongs, "nvtx_gpu_proj_sum", projected, project_sum_slowly),
            pairs);
        simple += !flags && is_simple(trace);
        free(belongs);
        nvt_trace_free(trace);
    }
    /* Both ways have been gone, many times. */
    assert_in_range(simple, 500, 4500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_slow_one),
        cmocka_unit_test(nests_like_the_slow_one),
        cmocka_unit_test(sums_like_the_slow_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
