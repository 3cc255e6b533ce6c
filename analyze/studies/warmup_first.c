#include "warmup_first.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/buffer.h"
#include "../../lib/map.h"
#include "../model/nesting.h"
#include "phases.h"

/* Iterations that were looked at. */
struct seen {
    double first, later;       /* how many */
    double first_ns, later_ns; /* what they took */
};

struct work {
    struct nvt_first *first;
    struct nvt_map by_key; /* name and kind, to the part */
    struct seen seen;
    size_t slow; /* iterations before this are neither */
};

void nvt_first_free(struct nvt_first *first)
{
    nvt_strings_free(first->names);
    free(first->parts);
    *first = (struct nvt_first){0};
}

static struct nvt_first_part *part_of(struct work *work, const char *name, enum nvt_first_kind kind)
{
    struct nvt_first *first = work->first;
    uint32_t id = nvt_strings_add_text(first->names, name);
    struct nvt_first_part *part =
        id == NVT_NO_STRING ? NULL
                            : nvt_map_item(&work->by_key, (uint64_t)id * NVT_FIRST_KINDS + kind,
                                           &first->parts, &first->count, sizeof(*part));
    if (part) {
        part->name = nvt_strings_get(first->names, id, NULL);
        part->kind = kind;
    }
    return part;
}

/* Count time to the first iteration or to the later ones. 0 or -1. */
static int add(struct work *work, const char *name, enum nvt_first_kind kind, size_t iteration,
               double ns)
{
    if (iteration && iteration < work->slow)
        return 0;
    struct nvt_first_part *part = part_of(work, name, kind);
    if (!part)
        return -1;
    *(iteration ? &part->later : &part->first) += ns;
    return 0;
}

/* Add page faults, and the time that they take, to a part. */
static int add_fault(struct work *work, const char *name, enum nvt_first_kind kind,
                     size_t iteration, double faults, double ns)
{
    if (add(work, name, kind, iteration, kind == NVT_FIRST_CAUSE ? ns : 0))
        return -1;
    if (iteration && iteration < work->slow)
        return 0;
    struct nvt_first_part *part = part_of(work, name, kind);
    if (!part)
        return -1;
    *(iteration ? &part->faults_later : &part->faults_first) += faults;
    part->faults_ns += iteration ? 0 : ns;
    return 0;
}

static void see(struct seen *seen, const struct nvt_warmup_series *series, size_t slow)
{
    for (size_t i = 0; i < series->count; i++) {
        if (i && i < slow)
            continue;
        *(i ? &seen->later : &seen->first) += 1;
        *(i ? &seen->later_ns : &seen->first_ns) += series->ns[i];
    }
}

/* "forward/attention" of a range within an iteration of the series; `within` as add_ranges leaves it. */
static int path_of(const struct nvt_trace *trace, const struct nvt_nesting *nesting, uint32_t row,
                   uint32_t iteration, const uint32_t *within, struct nvt_buffer *path)
{
    uint32_t chain[32];
    int depth = 0;
    for (; row != iteration && row != NVT_NONE && within[row]; row = nesting->parent[row])
        if (depth < 32)
            chain[depth++] = row;
    path->size = 0;
    int status = 0;
    while (depth && !status) {
        status = nvt_buffer_printf(path, "%s%s", path->size ? "/" : "",
                                   nvt_name(trace, trace->ranges.name[chain[--depth]]));
    }
    return status || nvt_buffer_append(path, "", 1) ? -1 : 0;
}

/* The iteration that a time of a thread lies in, or SIZE_MAX; those of a process do not overlap. */
static size_t iteration_at(const struct nvt_warmup_series *series, uint32_t thread, int64_t time)
{
    if (nvt_warmup_process(series->trace, thread) != series->process)
        return SIZE_MAX;
    const struct nvt_ranges *ranges = &series->trace->ranges;
    size_t low = 0;
    NVT_BISECT(low, series->count, ranges->end[series->rows[low]] < time);
    return low < series->count && ranges->start[series->rows[low]] <= time ? low : SIZE_MAX;
}

/* A start/end iteration is nobody's parent: what lies in it in time and in nothing else that does, on its thread, is taken off its
 * own time. 0 or -1. */
static int adopt(struct work *work, const struct nvt_warmup_series *series, uint32_t row,
                 uint32_t *iteration)
{
    const struct nvt_ranges *ranges = &series->trace->ranges;
    const size_t at = ranges->style[row] == NVT_PUSH_POP
                          ? iteration_at(series, ranges->thread[row], ranges->start[row])
                          : SIZE_MAX;
    const uint32_t around = at == SIZE_MAX ? NVT_NONE : series->rows[at];
    if (around == NVT_NONE || ranges->style[around] == NVT_PUSH_POP ||
        ranges->thread[around] != ranges->thread[row] || ranges->end[row] > ranges->end[around])
        return 0;
    iteration[row] = (uint32_t)at + 1;
    return add(work, "", NVT_FIRST_RANGE, at, -(double)(ranges->end[row] - ranges->start[row]));
}

/* iteration[i]: which iteration of the series a range lies in, plus one; 0: none. */
static int add_ranges(struct work *work, const struct nvt_warmup_series *series,
                      const struct nvt_nesting *nesting, uint32_t *iteration)
{
    const struct nvt_trace *trace = series->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_buffer path = {0};
    int status = 0;
    for (size_t i = 0; i < series->count; i++)
        iteration[series->rows[i]] = (uint32_t)i + 1;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        if (!iteration[i] && nesting->parent[i] != NVT_NONE)
            iteration[i] = iteration[nesting->parent[i]];
        if (!iteration[i] && !(ranges->flags[i] & NVT_RANGE_PARTIAL))
            status = adopt(work, series, i, iteration);
        if (!iteration[i] || ranges->flags[i] & NVT_RANGE_PARTIAL || status)
            continue;
        const size_t at = iteration[i] - 1;
        status = path_of(trace, nesting, i, series->rows[at], iteration, &path) ||
                 add(work, (const char *)path.data, NVT_FIRST_RANGE, at,
                     (double)(ranges->end[i] - ranges->start[i] - nesting->children_ns[i]));
    }
    nvt_buffer_free(&path);
    return status;
}

static int add_calls(struct work *work, const struct nvt_warmup_series *series)
{
    const struct nvt_apis *apis = &series->trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        const size_t at = iteration_at(series, apis->thread[i], apis->start[i]);
        if (at != SIZE_MAX && add(work, nvt_name(series->trace, apis->name[i]), NVT_FIRST_CALL, at,
                                  (double)(apis->end[i] - apis->start[i])))
            return -1;
    }
    return 0;
}

/* What a process did before its first iteration; calls come in the order of their starts. 0 or -1. */
static int add_before(struct work *work, const struct nvt_warmup_series *series)
{
    const struct nvt_apis *apis = &series->trace->apis;
    const size_t threads = series->trace->threads.count;
    const int64_t begin = series->trace->ranges.start[series->rows[0]];
    int64_t *until = malloc((threads + 1) * sizeof(*until));
    if (!until)
        return -1;
    for (size_t i = 0; i < threads; i++)
        until[i] = INT64_MIN;
    for (uint32_t i = 0; i < apis->count && apis->start[i] < begin; i++) {
        const uint32_t thread = apis->thread[i];
        if (thread >= threads || apis->end[i] > begin || apis->start[i] < until[thread] ||
            nvt_warmup_process(series->trace, thread) != series->process)
            continue;
        until[thread] = apis->end[i];
        work->first->before_ns += (double)(apis->end[i] - apis->start[i]);
        work->first->before++;
    }
    free(until);
    return 0;
}

/* --- page faults --- */

static int tells_faults(const struct nvt_trace *trace, uint32_t mark)
{
    const struct nvt_marks *marks = &trace->marks;
    return !strcmp(nvt_name(trace, marks->name[mark]), "page faults") &&
           nvt_is_workloads_domain(trace, marks->domain[mark]);
}

/* The innermost push/pop range of a mark's thread around it, or NVT_NONE. */
static uint32_t range_around(const struct nvt_trace *trace, const struct nvt_nesting *nesting,
                             uint32_t mark)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const int64_t time = trace->marks.time[mark];
    uint32_t low = 0;
    NVT_BISECT(low, (uint32_t)ranges->count, ranges->start[low] <= time);
    while (low && (ranges->thread[low - 1] != trace->marks.thread[mark] ||
                   ranges->style[low - 1] != NVT_PUSH_POP))
        low--;
    uint32_t row = low ? low - 1 : NVT_NONE;
    while (row != NVT_NONE && ranges->end[row] < time)
        row = nesting->parent[row];
    return row;
}

/* iteration as add_ranges left it; NULL: only the sums are wanted. */
static int add_faults(struct work *work, const struct nvt_warmup_series *series,
                      const struct nvt_nesting *nesting, const uint32_t *iteration)
{
    const struct nvt_trace *trace = series->trace;
    struct nvt_buffer path = {0};
    int status = 0, found = 0;
    for (uint32_t i = 0; i < trace->marks.count && !status; i++) {
        const size_t at = tells_faults(trace, i)
                              ? iteration_at(series, trace->marks.thread[i], trace->marks.time[i])
                              : SIZE_MAX;
        if (at == SIZE_MAX)
            continue;
        const char *payload = nvt_name(trace, trace->marks.payload[i]);
        double faults = nvt_declared_number(payload, "\"faults\"");
        double ns = nvt_declared_number(payload, "\"cost_ns\"");
        if (isnan(faults) || isnan(ns))
            continue;
        found = 1;
        status = add_fault(work, NVT_FIRST_FAULTS, NVT_FIRST_CAUSE, at, faults, ns);
        uint32_t row = iteration ? range_around(trace, nesting, i) : NVT_NONE;
        if (row != NVT_NONE && iteration[row] == at + 1 && !status)
            status = path_of(trace, nesting, row, series->rows[at], iteration, &path) ||
                     add_fault(work, (const char *)path.data, NVT_FIRST_RANGE, at, faults, ns);
    }
    nvt_buffer_free(&path);
    work->first->has_faults |= found;
    return status;
}

static int add_series(struct work *work, const struct nvt_warmup_series *series,
                      struct nvt_error *err)
{
    struct nvt_nesting nesting = {0};
    int status = 0;
    if (!series->warmups) {
        uint32_t *iteration = calloc((size_t)series->trace->ranges.count + 1, sizeof(*iteration));
        status = iteration ? nvt_nesting_make(&nesting, series->trace, err)
                           : nvt_fail(err, "out of memory");
        if (!status && (add_ranges(work, series, &nesting, iteration) ||
                        add_faults(work, series, &nesting, iteration)))
            status = nvt_fail(err, "out of memory");
        nvt_nesting_free(&nesting);
        free(iteration);
    } else if (add_faults(work, series, NULL, NULL)) {
        status = nvt_fail(err, "out of memory");
    }
    if (!status && (add_calls(work, series) || add_before(work, series)))
        status = nvt_fail(err, "out of memory");
    see(&work->seen, series, work->slow);
    work->first->processes++;
    return status;
}

static int by_excess(const void *a, const void *b)
{
    const struct nvt_first_part *left = a, *right = b;
    double x = left->first - left->later, y = right->first - right->later;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return (x < y) - (x > y);
}

/* Sums become means an iteration. */
static void finish(struct work *work)
{
    const struct seen *seen = &work->seen;
    const double excess = seen->first_ns / seen->first - seen->later_ns / seen->later;
    work->first->first_ns = seen->first_ns / seen->first;
    work->first->later_ns = seen->later_ns / seen->later;
    work->first->before_ns /= seen->first;
    for (size_t i = 0; i < work->first->count; i++) {
        struct nvt_first_part *part = &work->first->parts[i];
        int tells = work->first->has_faults && part->kind != NVT_FIRST_CALL;
        part->first /= seen->first;
        part->later /= seen->later;
        part->faults_first = tells ? part->faults_first / seen->first : NAN;
        part->faults_later = tells ? part->faults_later / seen->later : NAN;
        part->faults_ns = tells ? part->faults_ns / seen->first : NAN;
        part->share = excess > 0 ? (part->first - part->later) / excess : NAN;
    }
    if (work->first->count)
        qsort(work->first->parts, work->first->count, sizeof(*work->first->parts), by_excess);
}

/* Whether a process has a first iteration and some behind the change-point. */
static int can_tell(const struct nvt_warmup_study *study, size_t s)
{
    return study->series[s].count > 1 && study->series[s].count > study->slow;
}

int nvt_first_make(struct nvt_first *first, const struct nvt_warmup_study *study,
                   struct nvt_error *err)
{
    struct work work = {.first = first, .slow = study->slow};
    first->names = nvt_strings_new();
    int status = first->names ? 0 : nvt_fail(err, "out of memory");
    for (size_t s = 0; s < study->count; s++) {
        first->is_timed |= can_tell(study, s) && !study->series[s].warmups;
        first->leaves_out |= study->series[s].warmups > 0;
    }
    first->leaves_out &= first->is_timed;
    for (size_t s = 0; s < study->count && !status; s++)
        if (can_tell(study, s) && (!first->is_timed || !study->series[s].warmups))
            status = add_series(&work, &study->series[s], err);
    if (!status)
        finish(&work);
    nvt_map_free(&work.by_key);
    return status;
}

/* --- the small ones together --- */

static void add_part(struct nvt_first_part *sum, const struct nvt_first_part *part)
{
    sum->first += part->first;
    sum->later += part->later;
    sum->faults_first += part->faults_first;
    sum->faults_later += part->faults_later;
    sum->faults_ns += part->faults_ns;
    sum->share += part->share;
}

/* Put parts [from, to) of a kind that ends before `end` together, behind the others of it. */
static int put_together(struct nvt_first *first, size_t from, size_t to, size_t end,
                        struct nvt_error *err)
{
    struct nvt_first_part sum = {.kind = first->parts[from].kind};
    size_t faster = 0;
    char name[80];
    for (size_t i = from; i < to; i++) {
        add_part(&sum, &first->parts[i]);
        faster += first->parts[i].first < first->parts[i].later;
    }
    int length = snprintf(name, sizeof(name), "(%zu others", to - from);
    snprintf(name + length, sizeof(name) - (size_t)length,
             faster ? ", %zu of them faster at first)" : ")", faster);
    uint32_t id = nvt_strings_add_text(first->names, name);
    if (id == NVT_NO_STRING)
        return nvt_fail(err, "out of memory");
    sum.name = nvt_strings_get(first->names, id, NULL);
    memmove(&first->parts[from], &first->parts[to], (end - to) * sizeof(sum));
    first->parts[from + end - to] = sum;
    memmove(&first->parts[from + end - to + 1], &first->parts[end],
            (first->count - end) * sizeof(sum));
    first->count -= (uint32_t)(to - from - 1);
    return 0;
}

static double size_of(const struct nvt_first_part *part)
{
    return fabs(part->first - part->later);
}

int nvt_first_fold(struct nvt_first *first, size_t most, struct nvt_error *err)
{
    int status = 0;
    for (size_t begin = 0, end; begin < first->count && !status; begin = end) {
        for (end = begin; end < first->count && first->parts[end].kind == first->parts[begin].kind;)
            end++;
        /* They are in order, so what differs most is at both ends. */
        size_t from = begin, to = end;
        for (size_t kept = 0; kept < most && from < to; kept++)
            if (size_of(&first->parts[from]) >= size_of(&first->parts[to - 1]))
                from++;
            else
                to--;
        if (to - from < 2)
            continue;
        status = put_together(first, from, to, end, err);
        end -= to - from - 1;
    }
    return status;
}
