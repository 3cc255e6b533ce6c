#include "project.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/column.h"
#include "../model/sort.h"

int nvt_is_library_domain(const char *name)
{
    static const char *const libraries[] = {"NCCL",
                                            "cuBLAS",
                                            "cuBLASLt",
                                            "cuDNN",
                                            "CUDNN",
                                            "CCCL",
                                            "CUB",
                                            "Thrust",
                                            "cuFFT",
                                            "cuSPARSE",
                                            "cuSOLVER",
                                            "TensorRT",
                                            "NVSHMEM",
                                            "UCX",
                                            "MPI",
                                            "libcudf",
                                            "cpu_op",
                                            "python_function",
                                            "cuda_profiler_range"};
    for (size_t i = 0; i < NVT_COUNT_OF(libraries); i++)
        if (!strcasecmp(name, libraries[i]))
            return 1;
    return 0;
}

uint8_t *nvt_library_domains(const struct nvt_trace *trace)
{
    uint8_t *domains = calloc((size_t)trace->domains.count + 1, 1);
    for (uint32_t i = 0; domains && i < trace->domains.count; i++)
        domains[i] = (uint8_t)nvt_is_library_domain(nvt_name(trace, trace->domains.name[i]));
    return domains;
}

/* emit_nvtx writes operators into the default domain; PyTorch annotates its collectives, and the names of NCCL's own ranges are
 * those of its functions. */
static int is_operator_name(const char *name)
{
    return !strncmp(name, "aten::", 6) || !strncmp(name, "nccl", 4);
}

int nvt_is_operator(const struct nvt_trace *trace, const uint8_t *libraries, uint32_t range)
{
    return libraries[trace->ranges.domain[range]] ||
           is_operator_name(nvt_name(trace, trace->ranges.name[range]));
}

int nvt_is_operator_of(const struct nvt_trace *trace, uint32_t domain, uint32_t name)
{
    return (domain < trace->domains.count &&
            nvt_is_library_domain(nvt_domain_name(trace, domain))) ||
           is_operator_name(nvt_name(trace, name));
}

/* nvt_is_operator of all ranges, of which many have one name. 0, or -1 when out of memory. */
static int find_operators(const struct nvt_trace *trace, const uint8_t *libraries, uint8_t *out)
{
    enum { UNKNOWN, IS_NONE, IS_ONE };
    uint8_t *names = calloc((size_t)nvt_strings_count(trace->strings) + 1, 1);
    if (!names)
        return -1;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const uint32_t name = trace->ranges.name[i];
        if (names[name] == UNKNOWN)
            names[name] = is_operator_name(nvt_name(trace, name)) ? IS_ONE : IS_NONE;
        out[i] = libraries[trace->ranges.domain[i]] || names[name] == IS_ONE;
    }
    free(names);
    return 0;
}

/* Ranges that are open, in the order of their rows. */
struct open {
    uint32_t *rows;
    uint32_t count;
    size_t capacity;
};

struct sweep {
    const struct nvt_trace *trace;
    unsigned flags;
    uint8_t *is_library;  /* of every domain */
    uint8_t *is_operator; /* across threads: of every range, whether it is no part of the program */
    struct open *threads;
    struct open *processes; /* across threads: of all of them, without libraries' */
    uint8_t *is_waited_for; /* of every thread: its operations are lent; NULL: all are */
    uint32_t next;          /* range to be opened */
    uint32_t *found;        /* rows of the current operation */
    size_t capacity;
};

static int push(struct sweep *sweep, struct open *open, uint32_t row)
{
    const int64_t *end = sweep->trace->ranges.end, start = sweep->trace->ranges.start[row];
    /* Launches come after `start` from now on, so what has ended is done with. */
    while (open->count && end[open->rows[open->count - 1]] < start)
        open->count--;
    if (nvt_reserve(&open->rows, &open->capacity, open->count + (size_t)1, sizeof(*open->rows)))
        return -1;
    open->rows[open->count++] = row;
    return 0;
}

/* Drop what ended before a time from anywhere in the list, keeping the order. */
static void drop_ended(const struct sweep *sweep, struct open *open, int64_t time)
{
    const int64_t *end = sweep->trace->ranges.end;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < open->count; i++)
        if (end[open->rows[i]] >= time)
            open->rows[kept++] = open->rows[i];
    open->count = kept;
}

static int open_until(struct sweep *sweep, int64_t time)
{
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    for (; sweep->next < ranges->count && ranges->start[sweep->next] <= time; sweep->next++) {
        uint32_t row = sweep->next, thread = ranges->thread[row];
        if (push(sweep, &sweep->threads[thread], row))
            return -1;
        if (sweep->processes && !sweep->is_operator[row] &&
            push(sweep, &sweep->processes[sweep->trace->threads.process[thread]], row))
            return -1;
    }
    return 0;
}

static int room(struct sweep *sweep, uint32_t count)
{
    return nvt_reserve(&sweep->found, &sweep->capacity, count, sizeof(*sweep->found));
}

/* The interval of the call that launched an operation. */
struct call {
    int64_t start, end;
    uint32_t thread;
};

static struct call call_of(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t api = trace->ops.api[op];
    struct call call = {trace->ops.launch[op], trace->ops.launch[op], trace->ops.thread[op]};
    if (api != NVT_NONE)
        call.end = trace->apis.end[api];
    return call;
}

/* Rows of the launching thread; *own gets, across threads, whether one of them is the program's. */
static uint32_t find_own(struct sweep *sweep, const struct call *call, int *own)
{
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    struct open *open = &sweep->threads[call->thread];
    uint32_t count = 0;
    drop_ended(sweep, open, call->start);
    for (uint32_t i = 0; i < open->count; i++) {
        uint32_t row = open->rows[i];
        if (ranges->end[row] < call->end)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): grew with what is open */
        sweep->found[count++] = row;
        *own |= sweep->is_operator && !sweep->is_operator[row];
    }
    return count;
}

/* The range opened last on another thread, and those around it, behind the first `count`. */
static uint32_t find_across(struct sweep *sweep, const struct call *call, uint32_t count)
{
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    struct open *open = &sweep->processes[sweep->trace->threads.process[call->thread]];
    uint32_t last = NVT_NONE;
    drop_ended(sweep, open, call->start);
    for (uint32_t i = open->count; i-- > 0 && last == NVT_NONE;)
        if (ranges->thread[open->rows[i]] != call->thread &&
            ranges->end[open->rows[i]] >= call->end)
            last = open->rows[i];
    for (uint32_t i = 0; last != NVT_NONE && i < open->count && open->rows[i] <= last; i++)
        if (ranges->thread[open->rows[i]] == ranges->thread[last] &&
            ranges->end[open->rows[i]] >= ranges->end[last])
            sweep->found[count++] = open->rows[i];
    return count;
}

static int compare_rows(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The ranges of a call into found; how many, or -1 when out of memory. Calls come by their starts. */
static int64_t find(struct sweep *sweep, const struct call *call)
{
    int own = 0;
    if (call->thread == NVT_NONE || call->start == INT64_MIN)
        return 0;
    if (open_until(sweep, call->start))
        return -1;
    uint32_t process = sweep->trace->threads.process[call->thread];
    if (room(sweep, sweep->threads[call->thread].count +
                        (sweep->processes ? sweep->processes[process].count : 0)))
        return -1;
    uint32_t count = find_own(sweep, call, &own), of_thread = count;
    if (sweep->processes && !own && (!sweep->is_waited_for || sweep->is_waited_for[call->thread])) {
        count = find_across(sweep, call, count);
        if (of_thread && count > of_thread)
            qsort(sweep->found, count, sizeof(*sweep->found), compare_rows);
    }
    return count;
}

static int prepare(struct sweep *sweep)
{
    const struct nvt_trace *trace = sweep->trace;
    sweep->is_library = nvt_library_domains(trace);
    sweep->threads = calloc((size_t)trace->threads.count + 1, sizeof(*sweep->threads));
    if (sweep->flags & NVT_ACROSS_THREADS) {
        sweep->processes = calloc((size_t)trace->processes.count + 1, sizeof(*sweep->processes));
        sweep->is_operator = calloc((size_t)trace->ranges.count + 1, 1);
        if (!sweep->processes || !sweep->is_operator || !sweep->is_library ||
            find_operators(trace, sweep->is_library, sweep->is_operator))
            return -1;
    }
    return sweep->is_library && sweep->threads ? 0 : -1;
}

static void release(struct sweep *sweep)
{
    for (uint32_t i = 0; sweep->threads && i < sweep->trace->threads.count; i++)
        free(sweep->threads[i].rows);
    for (uint32_t i = 0; sweep->processes && i < sweep->trace->processes.count; i++)
        free(sweep->processes[i].rows);
    free(sweep->threads);
    free(sweep->processes);
    free(sweep->is_library);
    free(sweep->is_operator);
    free(sweep->is_waited_for);
    free(sweep->found);
}

/* Where all of them have a call on record, those are sorted already, and counting does it. */
/* Operations in the order of their launches, those whose launch is unknown first. *order as
 * nvt_sort_order gives it. 0, or -1 when out of memory. */
static int launch_order(const struct nvt_trace *trace, uint32_t **order)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t i = 0;
    while (i < ops->count && ops->api[i] != NVT_NONE)
        i++;
    if (i < ops->count)
        return nvt_sort_order(ops->launch, NULL, ops->count, order);
    uint32_t *next = nvt_column_grow(NULL, ((size_t)trace->apis.count + 1) * sizeof(*next));
    *order = nvt_large_alloc(((size_t)ops->count + 1) * sizeof(**order));
    if (!next || !*order) {
        nvt_column_free(next);
        free(*order);
        *order = NULL;
        return -1;
    }
    for (i = 0; i < ops->count; i++)
        next[ops->api[i] + 1]++;
    for (i = 0; i < trace->apis.count; i++)
        next[i + 1] += next[i];
    for (i = 0; i < ops->count; i++)
        (*order)[next[ops->api[i]]++] = i;
    nvt_column_free(next);
    return 0;
}

/* The same visit of all operations, which has no memory of its own. 0, -1 with err, or what the visitor returned. */
static int visit_ops(struct sweep *sweep, nvt_project_visit visit, void *context,
                     struct nvt_error *err)
{
    const struct nvt_trace *trace = sweep->trace;
    uint32_t *order = NULL;
    if (prepare(sweep) || launch_order(trace, &order))
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    int status = 0;
    for (uint32_t i = 0; i < trace->ops.count && !status; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): each place is taken once */
        uint32_t op = order ? order[i] : i;
        struct call call = call_of(trace, op);
        int64_t count = find(sweep, &call);
        if (count < 0)
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        else
            status = visit(context, op, sweep->found, (uint32_t)count);
    }
    free(order);
    return status;
}

/* --- threads that are waited for --- */

/* A thread is waited for if it launches so often in a row, on average, before a thread launches in a range of its own. */
enum { IN_A_ROW = 3 };

struct waits {
    const struct nvt_trace *trace;
    struct {
        /* launches in ranges of other threads; how often they began to be in a row */
        uint32_t lent, rows;
    } * threads;
    /* of each process: whether its last launch was in a range of another thread */
    uint8_t *is_lent;
};

static int note_launch(void *context, uint32_t op, const uint32_t *rows, uint32_t count)
{
    struct waits *waits = context;
    const struct nvt_ranges *ranges = &waits->trace->ranges;
    const uint32_t thread = waits->trace->ops.thread[op];
    int is_lent = 0;
    if (thread == NVT_NONE)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        is_lent |= ranges->thread[rows[i]] != thread;
    uint8_t *is_lent_last = &waits->is_lent[waits->trace->threads.process[thread]];
    if (is_lent) {
        waits->threads[thread].lent++;
        waits->threads[thread].rows += !*is_lent_last;
    }
    *is_lent_last = (uint8_t)is_lent;
    return 0;
}

/* The threads of *is_waited_for, malloc'ed, whose operations are lent. 0, or -1 with err. */
static int find_waits(const struct nvt_trace *trace, uint8_t **is_waited_for, struct nvt_error *err)
{
    struct sweep sweep = {.trace = trace, .flags = NVT_ACROSS_THREADS};
    struct waits waits = {.trace = trace,
                          .threads =
                              calloc((size_t)trace->threads.count + 1, sizeof(*waits.threads)),
                          .is_lent = calloc((size_t)trace->processes.count + 1, 1)};
    *is_waited_for = calloc((size_t)trace->threads.count + 1, 1);
    int status = waits.threads && waits.is_lent && *is_waited_for
                     ? visit_ops(&sweep, note_launch, &waits, err)
                     : nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < trace->threads.count && !status; i++)
        (*is_waited_for)[i] = waits.threads[i].lent > 0 &&
                              waits.threads[i].lent >= IN_A_ROW * (uint64_t)waits.threads[i].rows;
    release(&sweep);
    free(waits.threads);
    free(waits.is_lent);
    return status;
}

/* Across waits, find who is waited for, and go on as across threads, or by thread where nobody is. 0, or -1 with err. */
static int resolve(struct sweep *sweep, struct nvt_error *err)
{
    if (sweep->flags & NVT_ACROSS_THREADS || !(sweep->flags & NVT_ACROSS_WAITS))
        return 0;
    const int may_lend = nvt_may_lend(sweep->trace);
    if (may_lend < 0)
        return nvt_fail_at(err, sweep->trace->path, -1, "out of memory");
    if (!may_lend)
        return 0;
    sweep->flags |= NVT_ACROSS_THREADS;
    return find_waits(sweep->trace, &sweep->is_waited_for, err);
}

int nvt_project(const struct nvt_trace *trace, unsigned flags, nvt_project_visit visit,
                void *context, struct nvt_error *err)
{
    struct sweep sweep = {.trace = trace, .flags = flags};
    int status = resolve(&sweep, err);
    if (!status)
        status = visit_ops(&sweep, visit, context, err);
    release(&sweep);
    return status;
}

int nvt_project_memory(const struct nvt_trace *trace, unsigned flags, const uint32_t *rows,
                       uint32_t count, nvt_project_visit visit, void *context,
                       struct nvt_error *err)
{
    struct sweep sweep = {.trace = trace, .flags = flags};
    const struct nvt_memory *memory = &trace->memory;
    /* Without operations nobody knows who is waited for: then all are. */
    if (flags & NVT_ACROSS_WAITS && !trace->ops.count)
        sweep.flags |= NVT_ACROSS_THREADS;
    int status = resolve(&sweep, err);
    if (status) {
        release(&sweep);
        return status;
    }
    status = prepare(&sweep);
    int no_memory = status;
    for (uint32_t i = 0; i < count && !status; i++) {
        struct call call = {memory->time[rows[i]], memory->time[rows[i]], memory->thread[rows[i]]};
        int64_t found = find(&sweep, &call);
        no_memory = found < 0;
        status = no_memory ? -1 : visit(context, rows[i], sweep.found, (uint32_t)found);
    }
    release(&sweep);
    return no_memory ? nvt_fail_at(err, trace->path, -1, "out of memory") : status;
}

struct lent_of {
    const struct nvt_trace *trace;
    struct nvt_lent *lent;
};

static int count_lent(void *context, uint32_t op, const uint32_t *rows, uint32_t count)
{
    const struct lent_of *of = context;
    const struct nvt_trace *trace = of->trace;
    uint32_t range = NVT_NONE;
    for (uint32_t i = 0; i < count; i++)
        range = trace->ranges.thread[rows[i]] != trace->ops.thread[op] ? rows[i] : range;
    if (range != NVT_NONE && !of->lent->ops++)
        of->lent->range = range;
    return 0;
}

int nvt_project_lent(const struct nvt_trace *trace, struct nvt_lent *lent, struct nvt_error *err)
{
    struct lent_of of = {trace, lent};
    *lent = (struct nvt_lent){0, NVT_NONE};
    const int may_lend = nvt_may_lend(trace);
    if (may_lend < 0)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    return may_lend ? nvt_project(trace, NVT_ACROSS_WAITS, count_lent, &of, err) : 0;
}

struct collected {
    const struct nvt_ops *ops;
    struct nvt_projected *ranges;
};

static int collect(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    const struct collected *collected = context;
    for (uint32_t i = 0; i < count; i++)
        nvt_projected_add(&collected->ranges[ranges[i]], collected->ops, op);
    return 0;
}

struct nvt_projected *nvt_project_ranges(const struct nvt_trace *trace, unsigned flags,
                                         struct nvt_error *err)
{
    struct collected collected = {
        .ops = &trace->ops,
        .ranges = calloc((size_t)trace->ranges.count + 1, sizeof(*collected.ranges))};
    if (!collected.ranges) {
        nvt_fail_at(err, trace->path, -1, "out of memory");
        return NULL;
    }
    if (nvt_project(trace, flags, collect, &collected, err)) {
        free(collected.ranges);
        return NULL;
    }
    return collected.ranges;
}

uint32_t *nvt_projected_children(const struct nvt_trace *trace, const struct nvt_projected *ranges,
                                 const uint32_t *parents, struct nvt_error *err)
{
    uint32_t *children = calloc((size_t)trace->ranges.count + 1, sizeof(*children));
    if (!children) {
        nvt_fail_at(err, trace->path, -1, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (ranges[i].ops && parents[i] != NVT_NONE)
            children[parents[i]]++;
    return children;
}
