/* What becomes of a trace when all its rows are there: checked, in order, and linked to each other. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/map.h"
#include "column.h"
#include "copy_names.h"
#include "extent.h"
#include "layout.h"
#include "name_facts.h"
#include "named_iterations.h"
#include "nesting.h"
#include "parallel.h"
#include "recorded_parts.h"

/* `before`: the range in the same parent before it, NVT_NONE for the first. */
static void set_parent(struct nvt_ranges *ranges, uint32_t i, uint32_t parent, uint32_t before)
{
    ranges->parent[i] = parent;
    if (parent == NVT_NONE)
        return;
    ranges->level[i] = (uint16_t)(ranges->level[parent] + (ranges->level[parent] < UINT16_MAX));
    ranges->children[parent]++;
    ranges->children_ns[parent] += nvt_nested_ns(ranges, i, parent, before);
}

/* Parents by nesting in time, a stack (threaded through `parent`) for each thread and domain; those
 * of the default domain, which most ranges are of, lie in an array. */
static int link_ranges(struct nvt_trace *trace)
{
    struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map open = {0};
    size_t stacks = (size_t)trace->threads.count * sizeof(uint32_t);
    uint32_t *plain = malloc(stacks + 1);
    int status = plain ? 0 : -1;
    if (plain)
        memset(plain, 0xff, stacks);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        ranges->parent[i] = NVT_NONE;
        if (ranges->style[i] != NVT_PUSH_POP)
            continue;
        uint32_t thread = ranges->thread[i], domain = ranges->domain[i];
        uint32_t *innermost =
            domain ? nvt_map_at(&open, (uint64_t)thread << 32 | domain) : &plain[thread];
        if (!innermost) {
            status = -1;
            break;
        }
        uint32_t top = *innermost, before = NVT_NONE;
        while (top != NVT_NONE && !nvt_nests_in(ranges, i, top)) {
            before = top;
            top = ranges->parent[top];
        }
        set_parent(ranges, i, top, before);
        *innermost = i;
    }
    nvt_map_free(&open);
    free(plain);
    return status;
}

static uint64_t launch_key(uint32_t process, uint64_t correlation)
{
    return correlation ^ ((uint64_t)process << 48);
}

/* Calls by process and correlation id: an array where the ids lie as close as they mostly do, else
 * a map. */
struct calls {
    uint64_t low, size; /* of the array's ids, for every process */
    uint32_t *rows;     /* [process][id - low]: row + 1, 0 none */
    struct nvt_map map;
};

static int prepare_calls(struct calls *calls, const struct nvt_trace *trace)
{
    const struct nvt_apis *apis = &trace->apis;
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < apis->count; i++)
        if (apis->correlation[i]) {
            low = apis->correlation[i] < low ? apis->correlation[i] : low;
            high = apis->correlation[i] > high ? apis->correlation[i] : high;
        }
    uint64_t most = ((uint64_t)apis->count * 8 + 1024) / ((uint64_t)trace->processes.count + 1);
    if (low > high || high - low >= most)
        return 0;
    calls->low = low;
    calls->size = high - low + 1;
    calls->rows =
        nvt_column_grow(NULL, (size_t)calls->size * trace->processes.count * sizeof(*calls->rows));
    return calls->rows ? 0 : -1;
}

static uint32_t find_call(const struct calls *calls, uint32_t process, uint64_t correlation)
{
    if (!calls->rows)
        return nvt_map_get(&calls->map, launch_key(process, correlation));
    return correlation - calls->low < calls->size
               ? calls->rows[process * calls->size + (correlation - calls->low)] - 1
               : NVT_NONE;
}

static int collect_calls(struct calls *calls, const struct nvt_trace *trace)
{
    const struct nvt_apis *apis = &trace->apis;
    if (prepare_calls(calls, trace))
        return -1;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (!apis->correlation[i])
            continue;
        /* A runtime call and the driver call in it may share an id: the outer one launched it. */
        uint32_t process = trace->threads.process[apis->thread[i]];
        if (calls->rows) {
            uint32_t *call =
                &calls->rows[process * calls->size + (apis->correlation[i] - calls->low)];
            *call = *call ? *call : i + 1;
            continue;
        }
        uint32_t *call = nvt_map_at(&calls->map, launch_key(process, apis->correlation[i]));
        if (!call)
            return -1;
        if (*call == NVT_NONE)
            *call = i;
    }
    return 0;
}

/* Parts of the operations, at most, that are linked side by side. */
#define LINK_PARTS 16

struct link {
    struct nvt_trace *trace;
    struct calls calls;
    size_t parts;
};

/* An operation belongs to the API call of its process that has its correlation id. */
static void link_part(void *context, size_t part)
{
    const struct link *link = context;
    const struct nvt_trace *trace = link->trace;
    const struct nvt_ops *ops = &trace->ops;
    uint32_t end = (uint32_t)((uint64_t)ops->count * (part + 1) / link->parts);
    for (uint32_t i = (uint32_t)((uint64_t)ops->count * part / link->parts); i < end; i++) {
        /* What was launched by a call that is not there any more stays without. */
        int is_told =
            trace->was_finished && (ops->thread[i] != NVT_NONE || ops->launch[i] != INT64_MIN);
        uint32_t call = is_told || !ops->correlation[i]
                            ? NVT_NONE
                            : find_call(&link->calls, ops->process[i], ops->correlation[i]);
        ops->api[i] = call;
        if (call != NVT_NONE) {
            ops->thread[i] = trace->apis.thread[call];
            ops->launch[i] = trace->apis.start[call];
        } else if (trace->ops_unlinked) {
            ops->thread[i] = NVT_NONE;
            ops->launch[i] = INT64_MIN;
        }
    }
}

static int link_ops(struct nvt_trace *trace)
{
    struct link link = {.trace = trace,
                        .parts = trace->ops.count < NVT_BESIDE_FROM ? 1 : LINK_PARTS};
    int status = trace->ops.count ? collect_calls(&link.calls, trace) : 0;
    if (!status)
        nvt_parallel(link_part, &link, link.parts);
    trace->ops_unlinked = 0;
    nvt_column_free(link.calls.rows);
    nvt_map_free(&link.calls.map);
    return status;
}

/* --- tables --- */

struct finish {
    struct nvt_trace *trace;
    struct {
        struct nvt_extent extent;
        int failed;         /* out of memory */
        const char *column; /* that is wrong in `row`, or NULL */
        uint32_t row;
    } of[NVT_TABLE_COUNT];
};

/* No end before its start. */
static void cut_to_start(const int64_t *start, int64_t *end, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (end[i] < start[i])
            end[i] = start[i];
}

static void finish_table(void *context, size_t number)
{
    struct finish *finish = context;
    struct nvt_trace *trace = finish->trace;
    const struct nvt_layout_table *table = &nvt_layout()[number];
    const char *column;
    if (nvt_layout_check_table(trace, table, &column, &finish->of[number].row)) {
        finish->of[number].column = column;
        return;
    }
    if (table->times == NVT_TIMELESS)
        return;
    if (table->times != NVT_MOMENTARY)
        cut_to_start(nvt_layout_starts(trace, table), nvt_layout_ends(trace, table),
                     nvt_layout_rows(trace, table));
    nvt_extent_widen_by(trace, table, INT64_MIN, &finish->of[number].extent);
    finish->of[number].failed =
        nvt_layout_sort(trace, table) || (number == NVT_TABLE_ranges && link_ranges(trace));
}

/* 0, or -1 with err. */
static int finish_tables(struct nvt_trace *trace, struct nvt_extent *all, struct nvt_error *err)
{
    struct finish finish = {.trace = trace};
    int failed = 0;
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        finish.of[i].extent = *all;
    if (trace->ranges.count + (uint64_t)trace->ops.count + trace->apis.count < NVT_BESIDE_FROM)
        for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
            finish_table(&finish, i);
    else
        nvt_parallel(finish_table, &finish, NVT_TABLE_COUNT);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        if (finish.of[i].column)
            return nvt_fail_at(err, trace->path, -1, "is malformed: %s of row %u of %s",
                               finish.of[i].column, finish.of[i].row, nvt_layout()[i].name);
        failed |= finish.of[i].failed;
        nvt_extent_widen(all, finish.of[i].extent.first, finish.of[i].extent.last);
    }
    return failed || link_ops(trace)
               ? nvt_fail_at(err, trace->path, -1, "out of memory while sorting the trace")
               : 0;
}

/* --- what is to be said of it --- */

static void note_lost(struct nvt_trace *trace)
{
    const uint64_t lost = nvt_trace_lost(trace);
    if (lost)
        nvt_trace_note(trace,
                       "%llu event%s lost: at full buffers, in signal handlers, or because "
                       "they could not be written",
                       (unsigned long long)lost,
                       lost == 1 ? " or device record was" : "s and device records were");
}

/* The host's clock and the device's as its driver puts it on the host's are some microseconds apart. */
#define CLOCKS_APART_NS 1000000
#define DAY_NS          INT64_C(86400000000000)

/* Nothing begins before it was launched, or days later: where it does, a device's times are of another clock. */
static void note_other_clock(struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t early = 0, late = 0;
    int64_t most = 0;
    for (uint32_t i = 0; i < ops->count; i++) {
        int64_t ns =
            ops->launch[i] == INT64_MIN ? 0 : nvt_clock_since(ops->launch[i], ops->start[i]);
        early += ns > CLOCKS_APART_NS;
        late += ns < -DAY_NS;
        most = ns > most ? ns : most;
    }
    if (early)
        nvt_trace_note(trace,
                       "%u device operation%s before the call that launched it, by up to "
                       "%.1f ms: such times cannot be relied on",
                       early, early == 1 ? " begins" : "s begin, each", (double)most / 1e6);
    if (late)
        nvt_trace_note(trace,
                       "%u device operation%s days after the call that launched it: such times "
                       "come from another clock",
                       late, late == 1 ? " begins" : "s begin, each");
}

/* A window that was cut out of a trace begins behind samples that stay of it. Nothing else may lie outside. */
static void keep_extent(struct nvt_trace *trace, const struct nvt_extent *all)
{
    trace->first_ns = all->first < trace->first_ns ? all->first : trace->first_ns;
    trace->last_ns = all->last > trace->last_ns ? all->last : trace->last_ns;
    if (trace->last_ns < trace->first_ns)
        trace->last_ns = trace->first_ns;
    trace->levels_ns = trace->levels_ns < trace->last_ns ? trace->levels_ns : trace->last_ns;
}

static void set_extent(struct nvt_trace *trace, struct nvt_extent *all)
{
    nvt_extent_settle(trace, all);
    trace->first_ns = all->first;
    trace->last_ns = all->last;
    trace->levels_ns = all->last;
}

int nvt_trace_keep_name_facts(struct nvt_trace *trace)
{
    free((void *)trace->name_facts);
    trace->name_fact_count = nvt_strings_count(trace->strings);
    trace->name_facts = calloc((size_t)trace->name_fact_count + 1, sizeof(*trace->name_facts));
    return trace->name_facts ? 0 : -1;
}

int nvt_trace_finish(struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_extent all = {INT64_MAX, INT64_MIN};
    if (finish_tables(trace, &all, err))
        return -1;
    if (trace->has_extent)
        keep_extent(trace, &all);
    else
        set_extent(trace, &all);
    if (nvt_parts_settle(trace) || nvt_copies_rename(trace) || nvt_iterations_recognize(trace) ||
        nvt_trace_keep_name_facts(trace))
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    if (trace->was_finished)
        return 0;
    note_lost(trace);
    note_other_clock(trace);
    return 0;
}
