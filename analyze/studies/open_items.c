#include "open_items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/mpi_payload.h"
#include "../../lib/text.h"
#include "../../lib/quantity_text.h"
#include "hot_functions.h"
#include "waits.h"
#include "../model/buckets.h"
#include "../model/recorded_parts.h"

/* Ranges on either side of a deep stack that are named, and characters of a name. */
enum { OUTERMOST = 2, INNERMOST = 4, NAME = 100 };

int nvt_is_left_open(const struct nvt_trace *trace, uint32_t range)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const int64_t ended = trace->threads.ended_ns[ranges->thread[range]];
    if (!(ranges->flags[range] & NVT_RANGE_UNCLOSED))
        return 0;
    return !nvt_trace_meta(trace, "recorded") ||
           (ended && nvt_part_at(trace, ranges->start[range]) == nvt_part_at(trace, ended));
}

/* Whether what a thread began at a moment and never ended was open when all that is known of it ends. */
static int is_known_open(const struct nvt_open_items *open, uint32_t thread, int64_t start)
{
    const struct nvt_trace *trace = open->trace;
    const int64_t until =
        open->at_stop ? nvt_known_until(trace, thread) : trace->threads.ended_ns[thread];
    return !nvt_trace_meta(trace, "recorded") ||
           (until && nvt_part_at(trace, start) == nvt_part_at(trace, until));
}

static int is_open(const struct nvt_open_items *open, uint32_t i)
{
    const struct nvt_ranges *ranges = &open->trace->ranges;
    return ranges->style[i] == NVT_PUSH_POP && ranges->flags[i] & NVT_RANGE_UNCLOSED &&
           is_known_open(open, ranges->thread[i], ranges->start[i]);
}

static int is_open_call(const struct nvt_open_items *open, uint32_t i)
{
    const struct nvt_mpi_calls *calls = &open->trace->mpi_calls;
    return calls->flags[i] & NVT_RANGE_UNCLOSED &&
           is_known_open(open, calls->thread[i], calls->start[i]);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct nvt_trace *trace = context;
    const struct nvt_open_item *a = left, *b = right;
    uint32_t own = trace->threads.process[a->thread], others = trace->threads.process[b->thread];
    if (own != others)
        return own < others ? -1 : 1;
    if (nvt_is_main_thread(trace, a->thread) != nvt_is_main_thread(trace, b->thread))
        return nvt_is_main_thread(trace, a->thread) ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begun != b->begun)
        return a->begun < b->begun ? -1 : 1;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Rows of `carried`, by thread, and which of them are some item's. */
struct carried {
    struct nvt_buckets threads;
    uint8_t *taken;
};

static int is_of(const struct nvt_trace *trace, const struct nvt_open_item *item, uint32_t row)
{
    uint32_t domain = trace->carried.domain[row];
    if (trace->carried.name[row] != item->name)
        return 0;
    return item->what == NVT_OPEN_MPI
               ? !strcmp(nvt_name(trace, trace->domains.name[domain]), NVT_MPI_DOMAIN)
               : domain == trace->ranges.domain[item->row];
}

/* Of what began before what the trace has. */
static int64_t carried_since(const struct nvt_trace *trace, struct carried *carried,
                             const struct nvt_open_item *item, int64_t start)
{
    const uint32_t *first = carried->threads.first;
    for (uint32_t i = first[item->thread]; i < first[item->thread + 1]; i++) {
        uint32_t row = carried->threads.rows[i];
        if (carried->taken[row] || !is_of(trace, item, row))
            continue;
        carried->taken[row] = 1;
        return trace->carried.begun[row];
    }
    return start;
}

static void add_range(struct nvt_open_items *open, struct carried *carried, uint32_t i)
{
    const struct nvt_ranges *ranges = &open->trace->ranges;
    struct nvt_open_item *item = &open->items[open->count++];
    *item = (struct nvt_open_item){ranges->thread[i], ranges->name[i], i, NVT_OPEN_RANGE,
                                   ranges->start[i]};
    if (ranges->flags[i] & NVT_RANGE_CARRIED)
        item->begun = carried_since(open->trace, carried, item, item->begun);
}

static void add_call(struct nvt_open_items *open, struct carried *carried, uint32_t i)
{
    const struct nvt_mpi_calls *calls = &open->trace->mpi_calls;
    struct nvt_open_item *item = &open->items[open->count++];
    *item =
        (struct nvt_open_item){calls->thread[i], calls->name[i], i, NVT_OPEN_MPI, calls->start[i]};
    if (calls->flags[i] & NVT_RANGE_CARRIED)
        item->begun = carried_since(open->trace, carried, item, item->begun);
}

/* Of what a thread began after the last moment that is known of it, nothing was open then. */
static void find_calls(struct nvt_open_items *open)
{
    const struct nvt_trace *trace = open->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    const int is_limited = open->at_stop && nvt_trace_meta(trace, "recorded");
    for (uint32_t i = 0; i < trace->threads.count; i++)
        open->threads[i] = (struct nvt_open_thread){NVT_NONE, 0, INT64_MIN};
    for (uint32_t i = 0; i < calls->count; i++) {
        struct nvt_open_thread *thread = &open->threads[calls->thread[i]];
        if (!(calls->flags[i] & NVT_RANGE_UNCLOSED))
            thread->returned = calls->end[i] > thread->returned ? calls->end[i] : thread->returned;
        else if (!is_limited || calls->start[i] <= nvt_known_until(trace, calls->thread[i]))
            thread->call = i;
    }
}

const struct nvt_os_call_info *nvt_open_call(const struct nvt_open_items *open, uint32_t thread)
{
    const struct nvt_trace *trace = open->trace;
    const uint32_t call = open->threads[thread].call;
    return call == NVT_NONE ? NULL : nvt_os_call_find(nvt_name(trace, trace->os_calls.name[call]));
}

/* What is open in a process: what an item may be, and an OS call on its main thread. */
enum { HAS_ITEM = 1, HAS_MAIN = 2 };

/* Whether a thread's OS call is told: behind what else is open there; in a process that ended within something, on the
 * main thread, and on others that wait for a lock, or, where nothing else is open, for a file: so hangs look. */
static int tells_call(const struct nvt_open_items *open, uint32_t thread, uint8_t process)
{
    const struct nvt_os_call_info *info = nvt_open_call(open, thread);
    if (open->threads[thread].has_item)
        return 1;
    if (!process)
        return 0;
    return nvt_is_main_thread(open->trace, thread) ||
           (info &&
            (info->kind == NVT_OS_LOCKS || (info->kind == NVT_OS_FILES && !(process & HAS_ITEM))));
}

/* There is room for one of each thread. 0, or -1 when out of memory. */
static int add_os_calls(struct nvt_open_items *open)
{
    const struct nvt_trace *trace = open->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint8_t *processes = calloc((size_t)trace->processes.count + 1, 1);
    if (!processes)
        return -1;
    for (uint32_t i = 0; i < open->count; i++) {
        open->threads[open->items[i].thread].has_item = 1;
        processes[nvt_open_process(open, i)] |= HAS_ITEM;
    }
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (open->threads[i].call != NVT_NONE && nvt_is_main_thread(trace, i))
            processes[trace->threads.process[i]] |= HAS_MAIN;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        const uint32_t call = open->threads[i].call;
        if (call != NVT_NONE && tells_call(open, i, processes[trace->threads.process[i]]))
            open->items[open->count++] =
                (struct nvt_open_item){i, calls->name[call], call, NVT_OPEN_OS, calls->start[call]};
    }
    free(processes);
    return 0;
}

static int find(struct nvt_open_items *open, const struct nvt_trace *trace, int at_stop)
{
    struct carried carried = {.taken = calloc((size_t)trace->carried.count + 1, 1)};
    size_t count = trace->threads.count;
    *open = (struct nvt_open_items){.trace = trace, .at_stop = at_stop};
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += is_open(open, i) != 0;
    for (uint32_t i = 0; i < trace->mpi_calls.count; i++)
        count += is_open_call(open, i) != 0;
    open->items = calloc(count + 1, sizeof(*open->items));
    open->threads = calloc((size_t)trace->threads.count + 1, sizeof(*open->threads));
    int failed = !carried.taken || !open->items || !open->threads ||
                 nvt_buckets_make(&carried.threads, trace->carried.thread, trace->threads.count,
                                  NULL, trace->carried.count);
    for (uint32_t i = 0; i < trace->ranges.count && !failed; i++)
        if (is_open(open, i))
            add_range(open, &carried, i);
    for (uint32_t i = 0; i < trace->mpi_calls.count && !failed; i++)
        if (is_open_call(open, i))
            add_call(open, &carried, i);
    if (!failed)
        find_calls(open);
    failed = failed || add_os_calls(open);
    if (!failed)
        qsort_r(open->items, open->count, sizeof(*open->items), compare, (void *)trace);
    nvt_buckets_free(&carried.threads);
    free(carried.taken);
    return failed ? -1 : 0;
}

int nvt_open_items_find(struct nvt_open_items *open, const struct nvt_trace *trace)
{
    return find(open, trace, 0);
}

int nvt_open_items_find_known(struct nvt_open_items *open, const struct nvt_trace *trace)
{
    return find(open, trace, 1);
}

/* A name, long ones cut between two characters, with "…". */
static int put_name(const char *name, struct nvt_buffer *text)
{
    const char *at = name;
    size_t kept = 0;
    for (size_t count = 0; *at && count < NAME; count++) {
        kept = (size_t)(at - name);
        (void)nvt_utf8_next(&at);
    }
    return *at ? nvt_buffer_printf(text, "%.*s…", (int)kept, name)
               : nvt_buffer_printf(text, "%s", name);
}

/* What a call of the system works with: " /data/a", " 0x7f12"; nothing where that is not known. */
static int put_object(const struct nvt_trace *trace, uint32_t call, struct nvt_buffer *text)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    if (calls->file[call])
        return nvt_buffer_printf(text, " ") || put_name(nvt_name(trace, calls->file[call]), text);
    return calls->address[call] ? nvt_buffer_printf(text, " 0x%" PRIx64, calls->address[call]) : 0;
}

/* Who called, where that is known: " by save (model.py:12) < main (train.py:80)". */
static int put_callers(const struct nvt_trace *trace, uint32_t call, struct nvt_buffer *text)
{
    struct nvt_buffer callers = {0};
    int failed =
        nvt_put_own_callers(trace, nvt_wait_site(trace, trace->os_calls.frame[call]), &callers);
    if (!failed && callers.size)
        failed = nvt_buffer_printf(text, " by %.*s", (int)callers.size, (char *)callers.data);
    nvt_buffer_free(&callers);
    return failed;
}

/* "name (5.2 s)": how long it had been open when its thread ended, where that is known. */
static int put_item(const struct nvt_open_items *open, const struct nvt_open_item *item,
                    struct nvt_buffer *text)
{
    const struct nvt_trace *trace = open->trace;
    int64_t ended = open->at_stop ? nvt_known_until(trace, item->thread)
                                  : trace->threads.ended_ns[item->thread];
    if (!ended && item->what == NVT_OPEN_OS)
        ended = trace->os_calls.end[item->row];
    if (put_name(nvt_name(trace, item->name), text) ||
        (item->what == NVT_OPEN_OS && put_object(trace, item->row, text)))
        return -1;
    if (ended > item->begun &&
        nvt_buffer_printf(text, " (%s)", NVT_TIME((double)(ended - item->begun))))
        return -1;
    return item->what == NVT_OPEN_OS ? put_callers(trace, item->row, text) : 0;
}

int nvt_open_put_stack(const struct nvt_open_items *open, uint32_t from, uint32_t to,
                       struct nvt_buffer *text)
{
    int failed = 0;
    for (uint32_t i = from; i < to && !failed; i++) {
        if (i - from >= OUTERMOST && to - from > OUTERMOST + INNERMOST + 1 && to - i > INNERMOST) {
            failed = i - from == OUTERMOST && nvt_buffer_printf(text, " > …");
            continue;
        }
        failed = nvt_buffer_printf(text, "%s", i > from ? " > " : "") ||
                 put_item(open, &open->items[i], text);
    }
    return failed;
}

uint32_t nvt_open_thread_end(const struct nvt_open_items *open, uint32_t from)
{
    uint32_t end = from;
    while (end < open->count && open->items[end].thread == open->items[from].thread)
        end++;
    return end;
}

void nvt_open_items_free(struct nvt_open_items *open)
{
    free(open->items);
    free(open->threads);
    *open = (struct nvt_open_items){0};
}
