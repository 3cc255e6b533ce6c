#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "column.h"
#include "extent.h"
#include "../../lib/map.h"
#include "nesting.h"
#include "parallel.h"
#include "sort.h"

struct nvt_trace *nvt_trace_new(const char *path, const char *format)
{
    struct nvt_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return NULL;
    trace->strings = nvt_strings_new();
    trace->path = strdup(path);
    trace->format = format;
    struct nvt_domain everywhere = {.process = NVT_NONE, .name = 0};
    if (!trace->strings || !trace->path || nvt_domain_add(trace, &everywhere) == NVT_NONE) {
        nvt_trace_free(trace);
        return NULL;
    }
    return trace;
}

void nvt_trace_set_format(struct nvt_trace *trace, const char *name)
{
    static const char *const formats[] = {"nvt", "nsys", "kineto", "snapshot"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(formats[i], name))
            trace->format = formats[i];
}

#define FREE_COLUMN(type, field) nvt_column_free(table->field);

void nvt_trace_free(struct nvt_trace *trace)
{
    if (!trace)
        return;
#define FREE_TABLE(member, row, columns)                                                           \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        columns(FREE_COLUMN)                                                                       \
    }
    NVT_TABLES(FREE_TABLE)
    nvt_strings_free(trace->strings);
    free(trace->path);
    free(trace->recent_kernels);
    free(trace->warning);
    free(trace->notes);
    free(trace);
}

#define GROW_COLUMN(type, field)                                                                   \
    {                                                                                              \
        type *grown = nvt_column_grow(table->field, capacity * sizeof(type));                      \
        if (!grown)                                                                                \
            return -1;                                                                             \
        table->field = grown;                                                                      \
    }
/* A zero is there already, and writing it would take memory for it. */
#define STORE_FIELD(type, field)                                                                   \
    if (values->field != 0)                                                                        \
        table->field[table->count] = values->field;

/* Columns grow together; when one cannot, capacity stays and the others merely have spare room. */
#define DEFINE_RESERVE(member, row, columns)                                                       \
    int nvt_##row##_reserve(struct nvt_trace *trace, uint64_t rows)                                \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        if (rows <= table->capacity)                                                               \
            return 0;                                                                              \
        if (rows > UINT32_MAX - 1)                                                                 \
            return -1;                                                                             \
        uint64_t twice = table->capacity < UINT32_MAX / 2 ? (uint64_t)table->capacity * 2 : rows;  \
        size_t capacity = (size_t)(rows > twice ? rows : twice);                                   \
        columns(GROW_COLUMN) table->capacity = (uint32_t)capacity;                                 \
        return 0;                                                                                  \
    }
NVT_TABLES(DEFINE_RESERVE)

#define DEFINE_ADD(member, row, columns)                                                           \
    uint32_t nvt_##row##_add(struct nvt_trace *trace, const struct nvt_##row *values)              \
    {                                                                                              \
        struct nvt_##member *table = &trace->member;                                               \
        if (table->count == table->capacity &&                                                     \
            nvt_##row##_reserve(trace, table->count < 16 ? 16 : (uint64_t)table->count + 1))       \
            return NVT_NONE;                                                                       \
        columns(STORE_FIELD) return table->count++;                                                \
    }
NVT_TABLES(DEFINE_ADD)

/* Places for kernels seen last, by what they are; a power of two. */
#define RECENT 1024

#define MIX_FIELD(type, field)                                                                     \
    hash = (hash ^ (uint64_t)values->field) * UINT64_C(0x9E3779B97F4A7C15);
#define SAME_FIELD(type, field) &&table->field[row] == values->field

uint32_t nvt_trace_kernel(struct nvt_trace *trace, const struct nvt_kernel *values)
{
    const struct nvt_kernels *table = &trace->kernels;
    uint64_t hash = 0;
    NVT_KERNEL_COLUMNS(MIX_FIELD)
    if (!trace->recent_kernels) {
        trace->recent_kernels = malloc(RECENT * sizeof(*trace->recent_kernels));
        if (!trace->recent_kernels)
            return NVT_NONE;
        memset(trace->recent_kernels, 0xff, RECENT * sizeof(*trace->recent_kernels));
    }
    uint32_t *recent = &trace->recent_kernels[hash >> 54], row = *recent;
    if (row == NVT_NONE || !(1 NVT_KERNEL_COLUMNS(SAME_FIELD)))
        *recent = nvt_kernel_add(trace, values);
    return *recent;
}

uint32_t nvt_trace_process(struct nvt_trace *trace, int64_t pid)
{
    for (uint32_t i = trace->processes.count; i-- > 0;)
        if (trace->processes.pid[i] == pid)
            return i;
    struct nvt_process row = {.pid = pid, .parent_pid = -1, .name = 0, .rank = NVT_NONE};
    return nvt_process_add(trace, &row);
}

uint32_t nvt_trace_thread(struct nvt_trace *trace, uint32_t process, int64_t tid)
{
    for (uint32_t i = trace->threads.count; i-- > 0;)
        if (trace->threads.process[i] == process && trace->threads.tid[i] == tid)
            return i;
    struct nvt_thread row = {.process = process, .tid = tid};
    return nvt_thread_add(trace, &row);
}

uint32_t nvt_trace_domain(struct nvt_trace *trace, uint32_t process, const char *name)
{
    if (!*name)
        return 0;
    uint32_t id = nvt_strings_add_text(trace->strings, name);
    if (id == NVT_NO_STRING)
        return NVT_NONE;
    for (uint32_t i = 0; i < trace->domains.count; i++)
        if (trace->domains.process[i] == process && trace->domains.name[i] == id)
            return i;
    struct nvt_domain row = {.process = process, .name = id};
    return nvt_domain_add(trace, &row);
}

uint32_t nvt_trace_any_thread(struct nvt_trace *trace)
{
    uint32_t process = trace->processes.count ? 0 : nvt_trace_process(trace, 0);
    if (process == NVT_NONE)
        return NVT_NONE;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.process[i] == process)
            return i;
    return nvt_trace_thread(trace, process, 0);
}

static uint32_t find_meta(const struct nvt_trace *trace, const char *key)
{
    uint32_t id = nvt_strings_find(trace->strings, key, strlen(key));
    for (uint32_t i = 0; id != NVT_NO_STRING && i < trace->meta.count; i++)
        if (trace->meta.key[i] == id)
            return i;
    return NVT_NONE;
}

const char *nvt_trace_meta(const struct nvt_trace *trace, const char *key)
{
    uint32_t row = find_meta(trace, key);
    return row == NVT_NONE ? NULL : nvt_name(trace, trace->meta.value[row]);
}

int nvt_trace_set_meta(struct nvt_trace *trace, const char *key, const char *value)
{
    struct nvt_fact row = {nvt_strings_add_text(trace->strings, key),
                           nvt_strings_add_text(trace->strings, value)};
    if (row.key == NVT_NO_STRING || row.value == NVT_NO_STRING)
        return -1;
    uint32_t at = find_meta(trace, key);
    if (at != NVT_NONE) {
        trace->meta.value[at] = row.value;
        return 0;
    }
    return nvt_fact_add(trace, &row) == NVT_NONE ? -1 : 0;
}

void nvt_trace_warn(struct nvt_trace *trace, const char *format, ...)
{
    if (trace->warning)
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    trace->warning = strdup(text);
}

void nvt_trace_note(struct nvt_trace *trace, const char *format, ...)
{
    char text[512], *notes = NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (asprintf(&notes, "%s%s\n", trace->notes ? trace->notes : "", text) < 0)
        return;
    free(trace->notes);
    trace->notes = notes;
}

#define APPLY_ORDER(type, field)                                                                   \
    status |= nvt_sort_column(&table->field, sizeof(type), order, table->count, scratch);

/* sort_<table>: the whole table by one of its columns. */
#define DEFINE_SORT(member, columns, key, tie)                                                     \
    static int sort_##member(struct nvt_##member *table, struct nvt_sort_scratch *scratch)         \
    {                                                                                              \
        uint32_t *order;                                                                           \
        if (nvt_sort_order(key, tie, table->count, &order))                                        \
            return -1;                                                                             \
        if (!order)                                                                                \
            return 0;                                                                              \
        int status = 0;                                                                            \
        table->capacity = table->count; /* of what was gathered */                                 \
        columns(APPLY_ORDER) free(order);                                                          \
        return status;                                                                             \
    }
DEFINE_SORT(ranges, NVT_RANGE_COLUMNS, table->start, table->end)
DEFINE_SORT(marks, NVT_MARK_COLUMNS, table->time, NULL)
DEFINE_SORT(counter_samples, NVT_COUNTER_SAMPLE_COLUMNS, table->time, NULL)
DEFINE_SORT(ops, NVT_OP_COLUMNS, table->start, NULL)
DEFINE_SORT(apis, NVT_API_COLUMNS, table->start, table->end)
DEFINE_SORT(os_calls, NVT_OS_CALL_COLUMNS, table->start, table->end)
DEFINE_SORT(mpi_calls, NVT_MPI_CALL_COLUMNS, table->start, table->end)
DEFINE_SORT(syncs, NVT_SYNC_COLUMNS, table->start, NULL)
DEFINE_SORT(um_events, NVT_UM_EVENT_COLUMNS, table->start, NULL)
DEFINE_SORT(cpu_samples, NVT_CPU_SAMPLE_COLUMNS, table->time, NULL)
DEFINE_SORT(memory, NVT_MEMORY_COLUMNS, table->time, NULL)
DEFINE_SORT(overheads, NVT_OVERHEAD_COLUMNS, table->start, NULL)

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
        uint32_t *innermost = !domain && thread < trace->threads.count
                                  ? &plain[thread]
                                  : nvt_map_at(&open, (uint64_t)thread << 32 | domain);
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
        if (!apis->correlation[i] || apis->thread[i] >= trace->threads.count)
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
        uint32_t call = is_told || !ops->correlation[i] || ops->process[i] >= trace->processes.count
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
    nvt_column_free(link.calls.rows);
    nvt_map_free(&link.calls.map);
    return status;
}

/* Parts of the work that touch different tables. */
enum { OPS, RANGES, CALLS, FINISH_PARTS };

struct finish {
    struct nvt_trace *trace;
    struct nvt_extent extents[FINISH_PARTS];
    int failed[FINISH_PARTS];
};

static int finish_ranges(struct nvt_trace *trace, struct nvt_extent *extent)
{
    struct nvt_sort_scratch scratch = {0};
    nvt_extent_cut_to_start(trace->ranges.start, trace->ranges.end, trace->ranges.count, extent);
    nvt_extent_widen(trace->marks.time, trace->marks.count, extent);
    int status = sort_ranges(&trace->ranges, &scratch) || sort_marks(&trace->marks, &scratch) ||
                 sort_counter_samples(&trace->counter_samples, &scratch);
    nvt_sort_free(&scratch);
    return status || link_ranges(trace) ? -1 : 0;
}

static int finish_ops(struct nvt_trace *trace, struct nvt_extent *extent)
{
    struct nvt_sort_scratch scratch = {0};
    nvt_extent_cut_to_start(trace->ops.start, trace->ops.end, trace->ops.count, extent);
    int status = sort_ops(&trace->ops, &scratch);
    nvt_sort_free(&scratch);
    return status;
}

static int finish_calls(struct nvt_trace *trace, struct nvt_extent *extent)
{
    struct nvt_sort_scratch scratch = {0};
    struct nvt_extent nobody = *extent; /* waits are within calls; other calls are of no interest */
    nvt_extent_cut_to_start(trace->apis.start, trace->apis.end, trace->apis.count, extent);
    nvt_extent_cut_to_start(trace->syncs.start, trace->syncs.end, trace->syncs.count, &nobody);
    nvt_extent_cut_to_start(trace->os_calls.start, trace->os_calls.end, trace->os_calls.count,
                            &nobody);
    nvt_extent_cut_to_start(trace->mpi_calls.start, trace->mpi_calls.end, trace->mpi_calls.count,
                            &nobody);
    nvt_extent_widen_by_calls(trace, extent);
    nvt_extent_widen_by_cpu_samples(trace, extent);
    nvt_extent_cut_to_start(trace->um_events.start, trace->um_events.end, trace->um_events.count,
                            extent);
    nvt_extent_widen(trace->memory.time, trace->memory.count, extent);
    int status =
        sort_apis(&trace->apis, &scratch) || sort_syncs(&trace->syncs, &scratch) ||
        sort_os_calls(&trace->os_calls, &scratch) || sort_mpi_calls(&trace->mpi_calls, &scratch) ||
        sort_um_events(&trace->um_events, &scratch) ||
        sort_cpu_samples(&trace->cpu_samples, &scratch) || sort_memory(&trace->memory, &scratch) ||
        sort_overheads(&trace->overheads, &scratch);
    nvt_sort_free(&scratch);
    return status ? -1 : 0;
}

static void finish_part(void *context, size_t part)
{
    static int (*const parts[])(struct nvt_trace *, struct nvt_extent *) = {
        [OPS] = finish_ops, [RANGES] = finish_ranges, [CALLS] = finish_calls};
    struct finish *finish = context;
    finish->failed[part] = parts[part](finish->trace, &finish->extents[part]);
}

/* Sums come round: of a hostile file they say nothing anyway. */
uint64_t nvt_trace_lost(const struct nvt_trace *trace)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        lost += trace->threads.dropped[i];
    return lost;
}

static void note_lost(struct nvt_trace *trace)
{
    const uint64_t lost = nvt_trace_lost(trace);
    if (lost)
        nvt_trace_note(trace,
                       "%llu events and device records were lost: at full buffers, in signal "
                       "handlers, or because they could not be written",
                       (unsigned long long)lost);
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
                       "%u device operations begin before the calls that launched them, by up to "
                       "%.1f ms: their times cannot be relied on",
                       early, (double)most / 1e6);
    if (late)
        nvt_trace_note(trace,
                       "%u device operations begin days after the calls that launched them: their "
                       "times come from another clock",
                       late);
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
    nvt_extent_widen_by_samples(trace, all);
    if (all->first > all->last) /* there is nothing else */
        nvt_extent_widen(trace->counter_samples.time, trace->counter_samples.count, all);
    if (all->first > all->last) {
        nvt_extent_widen(trace->mpi_calls.start, trace->mpi_calls.count, all);
        nvt_extent_widen(trace->mpi_calls.end, trace->mpi_calls.count, all);
    }
    if (all->first > all->last)
        all->first = all->last = 0;
    trace->first_ns = all->first;
    trace->last_ns = all->last;
    trace->levels_ns = all->last;
}

int nvt_trace_finish(struct nvt_trace *trace, struct nvt_error *err)
{
    struct finish finish = {.trace = trace};
    struct nvt_extent all = {INT64_MAX, INT64_MIN};
    int failed = 0;
    for (size_t part = 0; part < FINISH_PARTS; part++)
        finish.extents[part] = all;
    if (trace->ranges.count + (uint64_t)trace->ops.count + trace->apis.count < NVT_BESIDE_FROM)
        for (size_t part = 0; part < FINISH_PARTS; part++)
            finish_part(&finish, part);
    else
        nvt_parallel(finish_part, &finish, FINISH_PARTS);
    for (size_t part = 0; part < FINISH_PARTS; part++) {
        failed |= finish.failed[part];
        all.first = finish.extents[part].first < all.first ? finish.extents[part].first : all.first;
        all.last = finish.extents[part].last > all.last ? finish.extents[part].last : all.last;
    }
    if (failed || link_ops(trace))
        return nvt_fail_at(err, trace->path, -1, "out of memory while sorting the trace");
    if (trace->has_extent)
        keep_extent(trace, &all);
    else
        set_extent(trace, &all);
    if (trace->was_finished)
        return 0;
    note_lost(trace);
    note_other_clock(trace);
    return 0;
}
