#include "serial.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../studies/waits.h"
#include "blocking.h"
#include "../model/recorded_parts.h"

/* Stretches of work from which on a thread is one of a team. */
#define LEAST_STRETCHES 3
/* Of the others' work, so much has to end with the one going on: of threads that work ahead next to nothing does. A team may end
 * with the one itself, and is torn apart where processors are few; but where ranges alone are known much ends
 * together by chance. */
#define LEAST_JOINED           0.25
#define LEAST_JOINED_BY_RANGES 0.75
/* Threads at once that are counted; that are looked at for what they wait in. */
#define MOST_AT_ONCE 64
#define MOST_LOOKED  64
/* Ranges of a stretch that are told apart. */
#define MOST_RANGES 64
/* Where samples tell who works, so many one after the other, on average: a thread that takes no processor time may want
 * it, and get it when its turn comes. */
#define LEAST_SAMPLES 3
/* What a thread takes to wake up, at most. */
#define WAKE_NS 100000

/* Who an edge is of, besides threads. */
enum { INSIDE = -1, DEVICE = -2 };

struct edge {
    int64_t time;
    int32_t who; /* a thread, or one of the above */
    int32_t delta;
};

struct sweep {
    struct nvt_serial *serial;
    const struct nvt_view *view;
    struct nvt_thread_work work;
    struct nvt_thread_ranges ranges;
    struct edge *edges;
    size_t count;
    uint32_t *stretches; /* of each thread */
    double *alone_ns;    /* of each thread */
    double at_once_ns[MOST_AT_ONCE + 1];
    double phases_ns, joined_ns; /* in which others work; those behind which the one goes on */
};

/* --- edges -------------------------------------------------------------------------------------- */

static int add_edges(struct sweep *sweep, int64_t start, int64_t end, int32_t who)
{
    for (int i = 0; i < 2; i++) {
        if (nvt_grow(&sweep->edges, sweep->count, sizeof(*sweep->edges)))
            return -1;
        sweep->edges[sweep->count++] = (struct edge){i ? end : start, who, i ? -1 : 1};
    }
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->delta - b->delta; /* ends come first */
}

/* Without what lies between parts of the recording. 0, or -1 when out of memory. */
static int add_steady_part(struct sweep *sweep)
{
    const struct nvt_view *view = sweep->view;
    const struct nvt_parts *parts = &view->trace->parts;
    const uint32_t first = nvt_part_at(view->trace, view->from),
                   last = nvt_part_at(view->trace, view->to);
    int64_t from = view->from;
    for (uint32_t i = first; i < last; i++) {
        if (i && add_edges(sweep, from, parts->end[i - 1], INSIDE))
            return -1;
        from = parts->start[i] > from ? parts->start[i] : from;
    }
    return add_edges(sweep, from, view->to, INSIDE);
}

/* 0, or -1 when out of memory. */
static int add_iterations(struct sweep *sweep, uint32_t process)
{
    const struct nvt_view *view = sweep->view;
    const struct nvt_ranges *ranges = &view->trace->ranges;
    for (uint32_t i = 0; i < view->iteration_count; i++) {
        uint32_t row = view->iterations[i];
        if (view->trace->threads.process[ranges->thread[row]] == process &&
            nvt_is_steady(view, ranges->start[row]) &&
            add_edges(sweep, ranges->start[row], ranges->end[row], INSIDE))
            return -1;
    }
    return view->iteration_count ? 0 : add_steady_part(sweep);
}

/* 0, or -1 when out of memory. */
static int make_edges(struct sweep *sweep, uint32_t process)
{
    struct nvt_span *device = NULL;
    size_t count = 0;
    int failed =
        add_iterations(sweep, process) || nvt_device_work(sweep->view, process, &device, &count);
    for (size_t i = 0; i < count && !failed; i++)
        failed = add_edges(sweep, device[i].start, device[i].end, DEVICE);
    for (size_t i = 0; i < sweep->work.count && !failed; i++) {
        const struct nvt_thread_stretch *item = &sweep->work.items[i];
        sweep->stretches[item->thread]++;
        failed = add_edges(sweep, item->start, item->end, (int32_t)item->thread);
    }
    free(device);
    if (!failed && sweep->count)
        qsort(sweep->edges, sweep->count, sizeof(*sweep->edges), by_time);
    return failed ? -1 : 0;
}

/* --- the sweep ---------------------------------------------------------------------------------- */

/* Who works at a moment. */
struct state {
    /* threads; the exclusive or of their numbers: that of one if it is alone */
    uint32_t active, which;
    int32_t inside, device;
    uint32_t others;        /* of the team */
    int64_t phase, resumed; /* when others, the one began to work; INT64_MIN: never */
    /* when others had last done work that the one waits for, and how much later it may go on */
    int64_t done, most;
    double waited_ns; /* all such work since it began to wait */
    int is_working;   /* the one */
};

static int is_of_team(const struct sweep *sweep, uint32_t thread)
{
    double least = sweep->view->units / 2;
    return thread != sweep->serial->thread && sweep->stretches[thread] >= LEAST_STRETCHES &&
           sweep->stretches[thread] >= least;
}

/* How much later, or earlier, the one may go on than others have done their work. */
static int64_t tolerance(const struct sweep *sweep, int64_t phase)
{
    double step = 0.05 * sweep->view->span_ns / sweep->view->units, half = (double)phase / 2;
    return (int64_t)(step < half ? step : half) + WAKE_NS + sweep->work.slack_ns;
}

/* Whether the one is in a range that has the others' work in it and ends with it; or, of one of which only ranges are known, in
 * none but the iteration, and that ends or a range begins then. */
static int ends_range(const struct sweep *sweep, int64_t from, int64_t to, int64_t most)
{
    const struct nvt_trace *trace = sweep->view->trace;
    const uint32_t thread = sweep->serial->thread;
    int64_t until;
    uint32_t row = nvt_thread_ranges_innermost(&sweep->ranges, thread, to, &until);
    int by_ranges = sweep->work.known[thread] == NVT_KNOWN_BY_RANGES;
    if (row == NVT_NONE || nvt_is_called_iteration(trace, row))
        return by_ranges && until <= to + most;
    if (by_ranges && trace->ranges.start[row] >= to - WAKE_NS)
        return 1;
    return trace->ranges.end[row] <= to + most && trace->ranges.start[row] <= from + most;
}

/* Others have done their work. What takes less than 1 % of an iteration is no work: they woke up. */
static void end_phase(struct sweep *sweep, struct state *state, int64_t now)
{
    const int64_t ns = now - state->phase, most = tolerance(sweep, ns);
    if ((double)ns < 0.01 * sweep->view->span_ns / sweep->view->units)
        return;
    sweep->phases_ns += (double)ns;
    if (ends_range(sweep, state->phase, now, most) ||
        (state->is_working && state->resumed > state->phase && now - state->resumed <= most)) {
        sweep->joined_ns += (double)ns;
    } else if (!state->is_working) {
        state->done = now;
        state->most = most;
        state->waited_ns += (double)ns;
    }
}

static void change_thread(struct sweep *sweep, struct state *state, const struct edge *edge)
{
    const uint32_t thread = (uint32_t)edge->who;
    state->active += (uint32_t)edge->delta;
    state->which ^= thread;
    if (sweep->serial->thread == NVT_NONE)
        return;
    if (thread == sweep->serial->thread) {
        state->is_working = edge->delta > 0;
        if (state->is_working) {
            if (state->waited_ns > 0 && edge->time - state->done <= state->most)
                sweep->joined_ns += state->waited_ns;
            state->waited_ns = 0;
            state->resumed = edge->time;
        }
    } else if (is_of_team(sweep, thread)) {
        if (edge->delta > 0 && !state->others++)
            state->phase = edge->time;
        else if (edge->delta < 0 && !--state->others)
            end_phase(sweep, state, edge->time);
    }
}

/* One thread alone, from one moment to another. 0, or -1 when out of memory. */
static int add_serial(struct sweep *sweep, int64_t start, int64_t end)
{
    struct nvt_serial *serial = sweep->serial;
    struct nvt_span *last = serial->count ? &serial->items[serial->count - 1] : NULL;
    serial->ns += (double)(end - start);
    if (last && last->end == start) {
        last->end = end;
        return 0;
    }
    if (nvt_grow(&serial->items, serial->count, sizeof(*serial->items)))
        return -1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made at 0, grown at powers of two */
    serial->items[serial->count++] = (struct nvt_span){start, end};
    return 0;
}

/* Look at who works from one edge to the next. is_first: only at how long each thread is alone. 0, or -1 when out of memory. */
static int run(struct sweep *sweep, int is_first)
{
    struct state state = {.resumed = INT64_MIN, .phase = INT64_MIN};
    for (size_t i = 0; i + 1 < sweep->count; i++) {
        const struct edge *edge = &sweep->edges[i];
        const int64_t start = edge->time, end = edge[1].time;
        if (edge->who == INSIDE)
            state.inside += edge->delta;
        else if (edge->who == DEVICE)
            state.device += edge->delta;
        else
            change_thread(sweep, &state, edge);
        if (end == start || !state.inside)
            continue;
        const double ns = (double)(end - start);
        const int is_alone = state.active == 1 && !state.device;
        if (is_first) {
            if (is_alone)
                sweep->alone_ns[state.which] += ns;
            continue;
        }
        sweep->serial->inside_ns += ns;
        sweep->at_once_ns[state.active < MOST_AT_ONCE ? state.active : MOST_AT_ONCE] += ns;
        if (is_alone && state.which == sweep->serial->thread && add_serial(sweep, start, end))
            return -1;
    }
    return 0;
}

/* --- what there is to tell ---------------------------------------------------------------------- */

/* The loop's thread that is alone for longest; NVT_NONE: none is. */
static uint32_t find_thread(const struct sweep *sweep)
{
    uint32_t most = NVT_NONE;
    for (uint32_t i = 0; i < sweep->view->trace->threads.count; i++)
        if (sweep->work.is_loop[i] && sweep->alone_ns[i] > 0 &&
            (most == NVT_NONE || sweep->alone_ns[i] > sweep->alone_ns[most]))
            most = i;
    return most;
}

/* Leave out what is too short to be told by samples. */
static void leave_out_short(struct sweep *sweep)
{
    struct nvt_serial *serial = sweep->serial;
    const double least = LEAST_SAMPLES * sweep->work.sampled_ns / sweep->work.samples;
    uint32_t kept = 0;
    serial->ns = 0;
    for (uint32_t i = 0; i < serial->count; i++) {
        const struct nvt_span span = serial->items[i];
        if ((double)(span.end - span.start) < least)
            continue;
        serial->items[kept++] = span;
        serial->ns += (double)(span.end - span.start);
    }
    serial->count = kept;
}

static void count_threads(struct sweep *sweep)
{
    struct nvt_serial *serial = sweep->serial;
    double ns = 0;
    for (uint32_t i = 0; i < sweep->view->trace->threads.count; i++)
        serial->others += is_of_team(sweep, i) ? 1 : 0;
    serial->at_once = 1;
    for (uint32_t n = MOST_AT_ONCE; n > 1; n--) {
        ns += sweep->at_once_ns[n];
        if (serial->at_once == 1 && ns >= 0.05 * serial->inside_ns)
            serial->at_once = n;
    }
    serial->parallel_ns = ns;
    for (uint32_t i = 0; i < serial->count; i++)
        nvt_longest_add(&serial->longest, serial->items[i].start,
                        (double)(serial->items[i].end - serial->items[i].start));
}

static int is_told(const struct sweep *sweep)
{
    const struct nvt_serial *serial = sweep->serial;
    double joined = sweep->work.known[serial->thread] == NVT_KNOWN_BY_RANGES
                        ? LEAST_JOINED_BY_RANGES
                        : LEAST_JOINED;
    double usual =
        nvt_usual_time(serial->ns, serial->count, serial->longest.ns[0], serial->longest.ns[1]);
    return serial->others && serial->at_once > 1 && sweep->joined_ns >= joined * sweep->phases_ns &&
           serial->parallel_ns >= NVT_SERIAL_PARALLEL * serial->inside_ns &&
           usual * (1 - 1.0 / serial->at_once) >= NVT_SERIAL_SHARE * serial->inside_ns;
}

/* 0, or -1 when out of memory. */
static int find_ranges(struct sweep *sweep)
{
    struct nvt_serial *serial = sweep->serial;
    for (uint32_t i = 0; i < serial->count; i++) {
        int64_t at = serial->items[i].start, until;
        for (int k = 0; k < MOST_RANGES && at < serial->items[i].end; k++, at = until) {
            uint32_t row = nvt_thread_ranges_innermost(&sweep->ranges, serial->thread, at, &until);
            until = until < serial->items[i].end ? until : serial->items[i].end;
            uint32_t name = row == NVT_NONE ? 0 : sweep->view->trace->ranges.name[row];
            if (nvt_pairs_add(&serial->ranges, 0, name, until - at))
                return -1;
        }
    }
    return nvt_pairs_sort(&serial->ranges, 1);
}

/* What a thread of the team waits in. 0, or -1 when out of memory. */
static int add_calls(struct sweep *sweep, const struct nvt_buckets *by_thread, uint32_t thread,
                     struct nvt_map *kinds, const struct nvt_waits *waits)
{
    struct nvt_serial *serial = sweep->serial;
    const struct nvt_os_calls *calls = &sweep->view->trace->os_calls;
    uint32_t item = 0;
    for (uint32_t i = by_thread->first[thread]; i < by_thread->first[thread + 1]; i++) {
        uint32_t call = by_thread->rows[i];
        int is_waiting = nvt_is_waiting_call(kinds, sweep->view->trace, call);
        if (is_waiting < 0)
            return -1;
        while (item < serial->count && serial->items[item].end <= calls->start[call])
            item++;
        for (uint32_t k = item; is_waiting && k < serial->count; k++) {
            const struct nvt_span *span = &serial->items[k];
            int64_t start = span->start > calls->start[call] ? span->start : calls->start[call];
            int64_t end = span->end < calls->end[call] ? span->end : calls->end[call];
            if (span->start >= calls->end[call])
                break;
            if (nvt_pairs_add(&serial->calls, 0, calls->name[call], end - start))
                return -1;
            serial->waiting_ns += (double)(end - start);
            if (nvt_is_lock_wait(waits->what[call]))
                serial->locked_ns += (double)(end - start);
            item = k;
        }
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int find_calls(struct sweep *sweep)
{
    const struct nvt_trace *trace = sweep->view->trace;
    struct nvt_buckets by_thread = {0};
    struct nvt_map kinds = {0};
    struct nvt_waits waits = {.trace = NULL};
    uint32_t looked = 0;
    int failed = nvt_waits_make(&waits, trace) ||
                 nvt_buckets_make(&by_thread, trace->os_calls.thread, trace->threads.count, NULL,
                                  trace->os_calls.count);
    for (uint32_t i = 0; i < trace->threads.count && looked < MOST_LOOKED && !failed; i++)
        if (is_of_team(sweep, i)) {
            looked++;
            failed = add_calls(sweep, &by_thread, i, &kinds, &waits);
        }
    nvt_buckets_free(&by_thread);
    nvt_map_free(&kinds);
    nvt_waits_free(&waits);
    return failed || nvt_pairs_sort(&sweep->serial->calls, 1) ? -1 : 0;
}

/* The serial part of a process: 1, 0 where there is none to tell, or -1 when out of memory. */
static int find_of(struct sweep *sweep, uint32_t process)
{
    const size_t threads = (size_t)sweep->view->trace->threads.count + 1;
    sweep->stretches = calloc(threads, sizeof(*sweep->stretches));
    sweep->alone_ns = calloc(threads, sizeof(*sweep->alone_ns));
    sweep->serial->process = process;
    sweep->serial->thread = NVT_NONE;
    if (!sweep->stretches || !sweep->alone_ns ||
        nvt_thread_ranges_make(&sweep->ranges, sweep->view->trace, NULL) ||
        nvt_thread_work_make(&sweep->work, sweep->view, process, &sweep->ranges) ||
        make_edges(sweep, process) || run(sweep, 1))
        return -1;
    sweep->serial->thread = find_thread(sweep);
    if (sweep->serial->thread == NVT_NONE)
        return 0;
    if (run(sweep, 0))
        return -1;
    if (sweep->work.known[sweep->serial->thread] == NVT_KNOWN_BY_SAMPLES && sweep->work.samples > 0)
        leave_out_short(sweep);
    count_threads(sweep);
    if (!is_told(sweep))
        return 0;
    if (find_ranges(sweep) || find_calls(sweep))
        return -1;
    return sweep->serial->locked_ns < 0.5 * sweep->serial->waiting_ns || !sweep->serial->locked_ns;
}

/* Mark processes with a thread beside another one. How many; -1 when out of memory. */
static int64_t mark_processes(const struct nvt_view *view, uint32_t *threads)
{
    const struct nvt_trace *trace = view->trace;
    int64_t count = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (nvt_is_viewed(view, trace->threads.process[i]))
            count += ++threads[trace->threads.process[i]] == 2;
    return count;
}

/* Processes of one view that are looked at: each takes as long as the trace is large. */
#define MOST_PROCESSES 16

int nvt_serial_find(struct nvt_serial *serial, const struct nvt_view *view)
{
    const uint32_t processes = view->trace->processes.count;
    uint32_t *threads = calloc((size_t)processes + 1, sizeof(*threads));
    int status = 0, found = 0;
    if (!threads)
        return -1;
    int64_t count = mark_processes(view, threads);
    for (uint32_t i = 0; i < processes && count <= MOST_PROCESSES && status >= 0; i++) {
        struct nvt_serial next = {0};
        struct sweep sweep = {.serial = &next, .view = view};
        if (threads[i] < 2)
            continue;
        status = find_of(&sweep, i);
        nvt_thread_work_free(&sweep.work);
        nvt_thread_ranges_free(&sweep.ranges);
        free(sweep.edges);
        free(sweep.stretches);
        free(sweep.alone_ns);
        if (status > 0 && nvt_serial_gain(&next) > nvt_serial_gain(serial)) {
            nvt_serial_free(serial);
            *serial = next;
            found = 1;
        } else {
            nvt_serial_free(&next);
        }
    }
    free(threads);
    return status < 0 ? -1 : found;
}

void nvt_serial_free(struct nvt_serial *serial)
{
    free(serial->items);
    nvt_pairs_free(&serial->ranges);
    nvt_pairs_free(&serial->calls);
    *serial = (struct nvt_serial){0};
}

double nvt_serial_gain(const struct nvt_serial *serial)
{
    return serial->at_once ? serial->ns * (1 - 1.0 / serial->at_once) : 0;
}
