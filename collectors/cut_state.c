#include "cut_state.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/event_columns.h"
#include "../lib/grow.h"
#include "../lib/map.h"
#include "cut_state_device.h"
#include "cut_state_heaps.h"
#include "cut_state_pace.h"

struct thread {
    uint32_t process;
    int given; /* its pushes */
    int ended; /* before the cut, and with it what it had pushed */
    struct nvt_kept_list pushes;
};

/* Start and end of a range may be in chunks of two threads, in any order: both are found by the range's id. */
struct process {
    struct nvt_kept_list events; /* starts and ends; what has found its counterpart is a mark */
    uint32_t unused;             /* of them */
    struct nvt_map starts, ends; /* id -> event */
    struct nvt_cut_state_heaps heaps;
    struct nvt_cut_pace pace;
};

struct nvt_cut_state {
    struct thread *threads;
    uint32_t thread_count;
    struct process *processes;
    uint32_t process_count;
    struct nvt_cut_state_device *devices;
    uint32_t device_count;
    uint64_t kept_first; /* ticks of the first event that stays */
};

struct nvt_cut_state *nvt_cut_state_new(void)
{
    struct nvt_cut_state *state = calloc(1, sizeof(*state));
    if (state)
        state->kept_first = UINT64_MAX;
    return state;
}

void nvt_cut_state_free(struct nvt_cut_state *state)
{
    if (!state)
        return;
    for (uint32_t i = 0; i < state->thread_count; i++)
        nvt_kept_list_free(&state->threads[i].pushes);
    for (uint32_t i = 0; i < state->process_count; i++) {
        nvt_kept_list_free(&state->processes[i].events);
        nvt_map_free(&state->processes[i].starts);
        nvt_map_free(&state->processes[i].ends);
        nvt_cut_state_heaps_free(&state->processes[i].heaps);
        nvt_cut_pace_free(&state->processes[i].pace);
    }
    for (uint32_t i = 0; i < state->device_count; i++)
        nvt_cut_state_device_free(&state->devices[i]);
    free(state->threads);
    free(state->processes);
    free(state->devices);
    free(state);
}

/* Room for item `index` of an array of zeroed ones. The item, or NULL when out of memory. */
static void *item_at(void *array, uint32_t *count, uint32_t index, size_t width)
{
    char *items;
    size_t capacity = *count;
    if (index >= UINT32_MAX / 2 || nvt_reserve_zeroed(array, &capacity, index + (size_t)1, width))
        return NULL;
    *count = (uint32_t)capacity;
    memcpy(&items, array, sizeof(items));
    return items + index * width;
}

/* --- taking ----------------------------------------------------------------------------------------- */

static void forget(struct nvt_kept_list *list, uint32_t at)
{
    free(list->items[at].attributes);
    memmove(&list->items[at], &list->items[at + 1], (list->count - at - 1) * sizeof(*list->items));
    list->count--;
}

/* The push that a pop ends: the innermost of its domain and task. Without one there is nothing to do. 0, or -1 when out of memory. */
static int pop(struct nvt_cut_pace *pace, struct thread *thread, const struct nvt_kept *event)
{
    for (uint32_t i = thread->pushes.count; i-- > 0;) {
        const struct nvt_kept push = thread->pushes.items[i];
        if (push.domain != event->domain || push.task != event->task)
            continue;
        forget(&thread->pushes, i);
        return nvt_cut_pace_range(pace, push.domain, push.token >> 3,
                                  event->ticks > push.ticks ? event->ticks - push.ticks : 0);
    }
    return 0;
}

/* What stays of the events, where most are of no use any more. Their places in the maps are new ones. */
static int sweep(struct process *process)
{
    struct nvt_kept_list *events = &process->events;
    uint32_t count = 0;
    if (process->unused < 1024 || process->unused < events->count / 2)
        return 0;
    nvt_map_free(&process->starts);
    nvt_map_free(&process->ends);
    for (uint32_t i = 0; i < events->count; i++) {
        struct nvt_kept *event = &events->items[i];
        unsigned kind = event->token & 7;
        if (kind == NVT_TOKEN_MARK)
            continue;
        uint32_t *place =
            nvt_map_at(kind == NVT_TOKEN_START ? &process->starts : &process->ends, event->range);
        if (!place)
            return -1;
        *place = count;
        events->items[count++] = *event;
    }
    events->count = count;
    process->unused = 0;
    return 0;
}

/* The event of that range has found its counterpart. Whether there was one. */
static int forget_range(struct process *process, struct nvt_map *map, uint64_t range)
{
    uint32_t at = nvt_map_get(map, range);
    if (at == NVT_MAP_NONE)
        return 0;
    struct nvt_kept *event = &process->events.items[at];
    free(event->attributes);
    *event = (struct nvt_kept){.token = NVT_TOKEN_MARK};
    *nvt_map_at(map, range) = NVT_MAP_NONE;
    process->unused++;
    return 1;
}

/* Any thread of a process may end a range, and the end may stand before the start in the file. */
static int start_or_end(struct process *process, const struct nvt_kept *event)
{
    int is_start = (event->token & 7) == NVT_TOKEN_START;
    if (forget_range(process, is_start ? &process->ends : &process->starts, event->range))
        return sweep(process);
    uint32_t *place = nvt_map_at(is_start ? &process->starts : &process->ends, event->range);
    if (!place || nvt_kept_add(&process->events, event))
        return -1;
    *place = process->events.count - 1;
    return 0;
}

/* `is_new`: no cut has taken it before. */
static int apply(struct process *process, struct thread *thread, const struct nvt_kept *event,
                 int is_new)
{
    if (is_new && !event->is_sample)
        nvt_cut_pace_take(&process->pace, event);
    switch (event->token & 7) {
    case NVT_TOKEN_PUSH:
        return nvt_kept_add(&thread->pushes, event);
    case NVT_TOKEN_POP:
        return pop(&process->pace, thread, event);
    case NVT_TOKEN_START:
    case NVT_TOKEN_END:
        return start_or_end(process, event);
    default: /* marks and samples */
        return 0;
    }
}

/* The attributes of a range, if it was just kept. */
static int keep_attributes(struct nvt_cut_state *state, struct thread *thread,
                           const struct nvt_kept *event, const struct nvt_event_attributes *from)
{
    unsigned kind = event->token & 7;
    if (kind == NVT_TOKEN_START && thread->process >= state->process_count)
        return 0;
    struct nvt_kept_list *list =
        kind == NVT_TOKEN_START ? &state->processes[thread->process].events : &thread->pushes;
    struct nvt_kept *kept = list->count ? &list->items[list->count - 1] : NULL;
    if (!kept || (kind != NVT_TOKEN_PUSH && kind != NVT_TOKEN_START) || kept->attributes ||
        kept->ticks != event->ticks || kept->token != event->token || kept->range != event->range)
        return 0;
    kept->size = (uint32_t)(from->to - from->from);
    kept->attributes = malloc(kept->size);
    if (!kept->attributes)
        return -1;
    memcpy(kept->attributes, from->from, kept->size);
    return 0;
}

/* The next event and what it has besides. */
static int next_event(struct nvt_event_columns *columns, uint32_t number, struct nvt_kept *event,
                      struct nvt_event_attributes *attributes)
{
    struct nvt_event_sample sample = {0};
    event->token = nvt_cursor_varint(&columns->tokens);
    columns->ticks += nvt_cursor_varint(&columns->times);
    if (!columns->tokens.at || !columns->times.at ||
        (!columns->domain_run && nvt_event_run(columns)))
        return -1;
    columns->domain_run--;
    while (columns->next_task <= number)
        if (nvt_event_task(columns))
            return -1;
    event->ticks = columns->ticks;
    event->domain = (uint32_t)columns->domain;
    event->task = (uint32_t)columns->task;
    unsigned kind = event->token & 7;
    if ((kind == NVT_TOKEN_START || kind == NVT_TOKEN_END) &&
        nvt_event_range(columns, &event->range))
        return -1;
    event->is_sample = columns->next_sample == number;
    if (event->is_sample && nvt_event_sample(columns, &sample))
        return -1;
    event->is_of_heap = sample.counter == NVT_SAMPLE_OF_HEAP;
    if (event->is_of_heap && sample.clock == NVT_SAMPLE_TICKS)
        event->ticks = (uint64_t)sample.time;
    attributes->from = NULL;
    return columns->next_attribute == number ? nvt_event_attributes(columns, attributes) : 0;
}

static int take_events(struct nvt_cut_state *state, const struct nvt_chunk *chunk,
                       const uint8_t *payload)
{
    struct nvt_event_columns columns;
    struct nvt_event_attributes attributes;
    struct thread *thread =
        item_at(&state->threads, &state->thread_count, chunk->thread, sizeof(*thread));
    struct process *process =
        item_at(&state->processes, &state->process_count, chunk->process, sizeof(*process));
    if (!thread || !process || nvt_event_columns_open(&columns, chunk, payload))
        return -1;
    thread->process = chunk->process;
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct nvt_kept event = {.thread = chunk->thread};
        if (next_event(&columns, i, &event, &attributes) ||
            apply(process, thread, &event, !(chunk->flags & NVT_CHUNK_CARRIED)) ||
            (attributes.from && keep_attributes(state, thread, &event, &attributes)) ||
            (event.is_of_heap && nvt_cut_state_heaps_take(&process->heaps, &event, &attributes)))
            return -1;
    }
    return 0;
}

int nvt_cut_state_thread_ended(struct nvt_cut_state *state, uint32_t index)
{
    struct thread *thread = item_at(&state->threads, &state->thread_count, index, sizeof(*thread));
    if (thread)
        thread->ended = 1;
    return thread ? 0 : -1;
}

int nvt_cut_state_take(struct nvt_cut_state *state, const struct nvt_chunk *chunk,
                       const uint8_t *payload)
{
    if (chunk->kind == NVT_CHUNK_EVENTS)
        return take_events(state, chunk, payload);
    struct process *process =
        item_at(&state->processes, &state->process_count, chunk->process, sizeof(*process));
    if (process && chunk->kind == NVT_CHUNK_PACE)
        return nvt_cut_pace_add(&process->pace, chunk, payload);
    struct nvt_cut_state_device *device =
        item_at(&state->devices, &state->device_count, chunk->process, sizeof(*device));
    if (!process || !device || nvt_cut_state_device_take(device, chunk, payload))
        return -1;
    if (device->has_operations && !(chunk->flags & NVT_CHUNK_CARRIED))
        nvt_cut_pace_moved(&process->pace, chunk->last);
    return 0;
}

/* --- giving ----------------------------------------------------------------------------------------- */

/* A chunk in the making, and where it goes. */
struct columns {
    struct nvt_buffer tokens, times, domains, attributes, ranges, samples, tasks, payload;
    struct nvt_chunk chunk;
    uint64_t range;
    uint32_t last_attribute, last_sample, last_task; /* numbers of events */
    nvt_cut_state_put *put;
    void *context;
};

/* What there is, if anything, and begin anew. */
static int put_columns(struct columns *columns)
{
    struct nvt_buffer *out = &columns->payload;
    struct nvt_chunk chunk = columns->chunk;
    if (!chunk.count)
        return 0;
    out->size = 0;
    columns->chunk.count = 0;
    columns->range = 0;
    columns->last_attribute = columns->last_sample = columns->last_task = 0;
    int failed = nvt_event_column_put(out, NVT_COLUMN_TOKENS, &columns->tokens) ||
                 nvt_event_column_put(out, NVT_COLUMN_TIMES, &columns->times) ||
                 nvt_event_column_put(out, NVT_COLUMN_DOMAINS, &columns->domains) ||
                 nvt_event_column_put(out, NVT_COLUMN_ATTRIBUTES, &columns->attributes) ||
                 nvt_event_column_put(out, NVT_COLUMN_RANGE_IDS, &columns->ranges) ||
                 nvt_event_column_put(out, NVT_COLUMN_SAMPLES, &columns->samples) ||
                 nvt_event_column_put(out, NVT_COLUMN_TASKS, &columns->tasks) ||
                 columns->put(columns->context, &chunk, out->data, out->size);
    columns->tokens.size = columns->times.size = columns->domains.size = 0;
    columns->attributes.size = columns->ranges.size = columns->tasks.size = 0;
    columns->samples.size = 0;
    return failed ? -1 : 0;
}

static int put_kept(struct columns *columns, const struct nvt_kept *event)
{
    struct nvt_chunk *chunk = &columns->chunk;
    unsigned kind = event->token & 7;
    /* However much is open, and whatever payloads it has, a chunk is not too large. */
    if (columns->attributes.size + event->size + columns->tokens.size > NVT_CHUNK_MAX / 4 &&
        put_columns(columns))
        return -1;
    if (!chunk->count)
        chunk->first = chunk->last = event->ticks;
    int failed = nvt_buffer_varint(&columns->tokens, event->token) ||
                 nvt_buffer_varint(&columns->times, event->ticks - chunk->last) ||
                 nvt_buffer_varint(&columns->domains, event->domain) ||
                 nvt_buffer_varint(&columns->domains, 1);
    if (event->task || columns->tasks.size) {
        failed |= nvt_buffer_varint(&columns->tasks, chunk->count - columns->last_task) ||
                  nvt_buffer_varint(&columns->tasks, event->task);
        columns->last_task = chunk->count;
    }
    if (kind == NVT_TOKEN_START || kind == NVT_TOKEN_END) {
        failed |= nvt_buffer_varint(&columns->ranges,
                                    nvt_zigzag((int64_t)(event->range - columns->range)));
        columns->range = event->range;
    }
    if (event->is_of_heap) {
        failed |= nvt_buffer_varint(&columns->samples, chunk->count - columns->last_sample) ||
                  nvt_buffer_varint(&columns->samples, NVT_SAMPLE_OF_HEAP) ||
                  nvt_buffer_varint(&columns->samples, NVT_SAMPLE_EVENT);
        columns->last_sample = chunk->count;
    }
    if (event->size) {
        failed |= nvt_buffer_varint(&columns->attributes, chunk->count - columns->last_attribute) ||
                  nvt_buffer_append(&columns->attributes, event->attributes, event->size);
        columns->last_attribute = chunk->count;
    }
    chunk->last = event->ticks;
    chunk->count++;
    return failed ? -1 : 0;
}

static void free_columns(struct columns *columns)
{
    nvt_buffer_free(&columns->tokens);
    nvt_buffer_free(&columns->times);
    nvt_buffer_free(&columns->domains);
    nvt_buffer_free(&columns->attributes);
    nvt_buffer_free(&columns->ranges);
    nvt_buffer_free(&columns->samples);
    nvt_buffer_free(&columns->tasks);
    nvt_buffer_free(&columns->payload);
}

static struct nvt_chunk chunk_of(uint32_t process, uint32_t thread)
{
    return (struct nvt_chunk){
        .kind = NVT_CHUNK_EVENTS, .flags = NVT_CHUNK_CARRIED, .process = process, .thread = thread};
}

static int give_pushes_once(struct nvt_cut_state *state, uint32_t index, nvt_cut_state_put *put,
                            void *context)
{
    /* Of a thread that is not known nothing was cut off, and nothing will be: its times ascend. */
    struct thread *thread = index < state->thread_count ? &state->threads[index] : NULL;
    if (!thread || thread->given)
        return 0;
    struct columns columns = {
        .chunk = chunk_of(thread->process, index), .put = put, .context = context};
    int failed = 0;
    thread->given = 1;
    for (uint32_t i = 0; i < thread->pushes.count && !thread->ended && !failed; i++)
        failed = put_kept(&columns, &thread->pushes.items[i]);
    failed = failed || put_columns(&columns);
    free_columns(&columns);
    return failed ? -1 : 0;
}

static int by_thread_and_time(const void *left, const void *right)
{
    const struct nvt_kept *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

/* Events of a process, by thread. */
static int give_list(struct nvt_kept_list *events, uint32_t number, nvt_cut_state_put *put,
                     void *context)
{
    struct columns columns = {.put = put, .context = context};
    int failed = 0;
    if (events->count)
        qsort(events->items, events->count, sizeof(*events->items), by_thread_and_time);
    for (uint32_t i = 0; i < events->count && !failed; i++) {
        const struct nvt_kept *event = &events->items[i];
        if (event->token == NVT_TOKEN_MARK && !event->is_of_heap)
            continue;
        if (columns.chunk.thread != event->thread || !columns.chunk.count) {
            failed = put_columns(&columns);
            columns.chunk = chunk_of(number, event->thread);
        }
        failed = failed || put_kept(&columns, event);
    }
    failed = failed || put_columns(&columns);
    free_columns(&columns);
    return failed ? -1 : 0;
}

/* Starts and ends of a process, whose maps know their places no more, and what is left of heaps. What ended before all that stays began
 * before it, too. */
static int give_ranges(struct nvt_cut_state *state, uint32_t number, nvt_cut_state_put *put,
                       void *context)
{
    struct nvt_kept_list *events = &state->processes[number].events;
    for (uint32_t i = 0; i < events->count; i++) {
        struct nvt_kept *event = &events->items[i];
        if ((event->token & 7) == NVT_TOKEN_END && event->ticks < state->kept_first)
            event->token = NVT_TOKEN_MARK;
    }
    return give_list(events, number, put, context) ||
                   give_list(
                       nvt_cut_state_heaps_left(&state->processes[number].heaps, state->kept_first),
                       number, put, context)
               ? -1
               : 0;
}

static int give_device_once(struct nvt_cut_state *state, uint32_t process, nvt_cut_state_put *put,
                            void *context)
{
    struct nvt_cut_state_device *device =
        process < state->device_count ? &state->devices[process] : NULL;
    if (!device || device->given)
        return 0;
    device->given = 1;
    return nvt_cut_state_device_give(device, process, put, context);
}

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int add_starts(struct nvt_buffer *ticks, const struct nvt_kept_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        unsigned kind = list->items[i].token & 7;
        if ((kind == NVT_TOKEN_PUSH || kind == NVT_TOKEN_START) &&
            nvt_buffer_append(ticks, &list->items[i].ticks, sizeof(list->items[i].ticks)))
            return -1;
    }
    return 0;
}

/* Captures in which something began that is open or in a chunk that stays: readers leave out what began in none. */
static int give_captures(struct nvt_cut_state *state, uint32_t process, nvt_cut_state_put *put,
                         void *context)
{
    struct nvt_buffer ticks = {0};
    int failed = 0;
    if (!state->devices[process].edges.size)
        return 0;
    for (uint32_t i = 0; i < state->thread_count && !failed; i++)
        if (state->threads[i].process == process && !state->threads[i].ended)
            failed = add_starts(&ticks, &state->threads[i].pushes);
    if (!failed && process < state->process_count)
        failed = add_starts(&ticks, &state->processes[process].events);
    if (ticks.size)
        qsort(ticks.data, ticks.size / sizeof(uint64_t), sizeof(uint64_t), by_value);
    const struct nvt_carried_starts starts = {(const uint64_t *)(const void *)ticks.data,
                                              ticks.size / sizeof(uint64_t), state->kept_first};
    failed = failed || nvt_cut_state_device_give_captures(&state->devices[process], process,
                                                          &starts, put, context);
    nvt_buffer_free(&ticks);
    return failed ? -1 : 0;
}

int nvt_cut_state_is_given(const struct nvt_cut_state *state, const struct nvt_chunk *chunk)
{
    if (chunk->kind == NVT_CHUNK_EVENTS)
        return chunk->thread < state->thread_count && state->threads[chunk->thread].given;
    return chunk->process < state->device_count && state->devices[chunk->process].given;
}

int nvt_cut_state_give(struct nvt_cut_state *state, const struct nvt_chunk *chunk,
                       nvt_cut_state_put *put, void *context)
{
    if (chunk->kind != NVT_CHUNK_EVENTS)
        return give_device_once(state, chunk->process, put, context);
    if (chunk->first < state->kept_first)
        state->kept_first = chunk->first;
    return give_pushes_once(state, chunk->thread, put, context);
}

int nvt_cut_state_give_all(struct nvt_cut_state *state, nvt_cut_state_put *put, void *context)
{
    int status = 0;
    for (uint32_t i = 0; i < state->thread_count && !status; i++)
        status = give_pushes_once(state, i, put, context);
    for (uint32_t i = 0; i < state->process_count && !status; i++)
        status = give_ranges(state, i, put, context) ||
                 nvt_cut_pace_give(&state->processes[i].pace, i, put, context);
    for (uint32_t i = 0; i < state->device_count && !status; i++)
        status = give_device_once(state, i, put, context) || give_captures(state, i, put, context);
    return status ? -1 : 0;
}
