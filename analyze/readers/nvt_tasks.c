/* Tasks of Python that take turns on a thread, as threads of the model. */
#include <stdlib.h>

#include "../../lib/grow.h"
#include "nvt.h"

/* Tasks have numbers where threads have those of the system, which ends at 2^22. */
#define FIRST_TID 10000000

/* Lanes of a file at most: of further tasks the ranges are their threads'. */
#define LANES_MOST 65536u

static uint64_t key_of(uint32_t thread, uint32_t task)
{
    return (uint64_t)thread << 32 | task;
}

int nvt_file_define_task(struct nvt_file_reader *reader, uint64_t thread, uint64_t task,
                         uint32_t name)
{
    struct nvt_file_tasks *tasks = &reader->tasks;
    if (thread >= UINT32_MAX || task >= UINT32_MAX)
        return 0;
    return nvt_map_set(&tasks->threads, thread, 1) ||
           nvt_map_set(&tasks->names, key_of((uint32_t)thread, (uint32_t)task), name);
}

int nvt_file_has_tasks(const struct nvt_file_reader *reader, uint32_t thread)
{
    return nvt_map_get(&reader->tasks.threads, thread) != NVT_MAP_NONE;
}

/* The lane of a task that has none yet: a nameless one shares it with those that have nothing open. NVT_NONE: there is none. */
static uint32_t find_lane(const struct nvt_file_tasks *tasks, uint32_t thread, uint32_t name)
{
    for (uint32_t i = 0; name == NVT_MAP_NONE && i < tasks->count; i++)
        if (tasks->lanes[i]->is_shared && tasks->lanes[i]->base == thread &&
            !tasks->lanes[i]->thread.depth)
            return i;
    return NVT_NONE;
}

static uint32_t add_lane(struct nvt_file_reader *reader, uint32_t thread, uint32_t task,
                         uint32_t name)
{
    struct nvt_file_tasks *tasks = &reader->tasks;
    const struct nvt_file_thread *base = &reader->threads[thread];
    struct nvt_thread row = {.process = reader->processes[base->process].row,
                             .tid = (int64_t)FIRST_TID + task,
                             .name = name == NVT_MAP_NONE
                                         ? nvt_strings_add_text(reader->trace->strings, "tasks")
                                         : name};
    if (nvt_grow(&tasks->lanes, tasks->count, sizeof(*tasks->lanes)))
        return NVT_NONE;
    struct nvt_file_task_lane *lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NVT_NONE;
    lane->thread = (struct nvt_file_thread){
        .row = nvt_thread_add(reader->trace, &row), .process = base->process, .ended = base->ended};
    lane->base = thread;
    lane->is_shared = name == NVT_MAP_NONE;
    if (lane->thread.row == NVT_NONE) {
        free(lane);
        return NVT_NONE;
    }
    tasks->lanes[tasks->count] = lane;
    return tasks->count++;
}

struct nvt_file_thread *nvt_file_task(struct nvt_file_reader *reader, uint32_t thread,
                                      uint32_t task)
{
    struct nvt_file_tasks *tasks = &reader->tasks;
    if (!task)
        return &reader->threads[thread];
    uint32_t at = nvt_map_get(&tasks->known, key_of(thread, task));
    if (at != NVT_MAP_NONE && tasks->lanes[at]->task == task)
        return &tasks->lanes[at]->thread;
    uint32_t name = nvt_map_get(&tasks->names, key_of(thread, task));
    at = find_lane(tasks, thread, name);
    if (at == NVT_NONE && tasks->count >= LANES_MOST) {
        tasks->are_too_many = 1;
        return &reader->threads[thread];
    }
    if (at == NVT_NONE)
        at = add_lane(reader, thread, task, name);
    if (at == NVT_NONE || nvt_map_set(&tasks->known, key_of(thread, task), at))
        return NULL;
    tasks->lanes[at]->task = task;
    return &tasks->lanes[at]->thread;
}

int nvt_file_begin_turn(struct nvt_file_reader *reader, uint32_t thread, uint32_t row,
                        uint64_t from)
{
    struct nvt_file_tasks *tasks = &reader->tasks;
    struct nvt_file_thread *base = &reader->threads[thread];
    if (base->turn && tasks->turns[base->turn - 1].row == row)
        return 0;
    if (nvt_grow(&tasks->turns, tasks->turn_count, sizeof(*tasks->turns)))
        return -1;
    tasks->turns[tasks->turn_count++] =
        (struct nvt_file_turn){(int64_t)from, (int64_t)from, base->row, row};
    base->turn = tasks->turn_count;
    return 0;
}

void nvt_file_end_turn(struct nvt_file_reader *reader, uint32_t thread, uint64_t to)
{
    const struct nvt_file_thread *base = &reader->threads[thread];
    if (base->turn)
        reader->tasks.turns[base->turn - 1].to = (int64_t)to;
}

static int by_thread_and_time(const void *left, const void *right)
{
    const struct nvt_file_turn *a = left, *b = right;
    if (a->base != b->base)
        return a->base < b->base ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

/* The last turn of a thread that has begun by then, NULL: there is none. */
static const struct nvt_file_turn *turn_at(const struct nvt_file_tasks *tasks, uint32_t base,
                                           int64_t time)
{
    uint32_t low = 0, high = tasks->turn_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct nvt_file_turn *turn = &tasks->turns[middle];
        if (turn->base < base || (turn->base == base && turn->from <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low && tasks->turns[low - 1].base == base ? &tasks->turns[low - 1] : NULL;
}

void nvt_file_take_turns(struct nvt_file_reader *reader)
{
    const struct nvt_file_tasks *tasks = &reader->tasks;
    struct nvt_apis *apis = &reader->trace->apis;
    if (!tasks->turn_count || !reader->sample_count)
        return;
    for (uint32_t i = 0; i < tasks->turn_count; i++) {
        tasks->turns[i].from = nvt_file_time(reader, (uint64_t)tasks->turns[i].from);
        tasks->turns[i].to = nvt_file_time(reader, (uint64_t)tasks->turns[i].to);
    }
    qsort(tasks->turns, tasks->turn_count, sizeof(*tasks->turns), by_thread_and_time);
    for (uint32_t i = 0; i < apis->count; i++) {
        const struct nvt_file_turn *turn = turn_at(tasks, apis->thread[i], apis->start[i]);
        if (turn && apis->end[i] <= turn->to)
            apis->thread[i] = turn->row;
    }
}

uint32_t nvt_file_thread_count(const struct nvt_file_reader *reader)
{
    return reader->thread_count + reader->tasks.count;
}

struct nvt_file_thread *nvt_file_thread_at(const struct nvt_file_reader *reader, uint32_t i)
{
    return i < reader->thread_count ? &reader->threads[i]
                                    : &reader->tasks.lanes[i - reader->thread_count]->thread;
}

void nvt_file_note_tasks(const struct nvt_file_reader *reader)
{
    const struct nvt_file_tasks *tasks = &reader->tasks;
    if (!tasks->count)
        return;
    nvt_trace_note(
        reader->trace,
        "tasks of Python take turns on a thread: the ranges of each are shown as a thread of "
        "its own%s",
        reader->device_rows.rows ? ", with what it launched between two events of the task" : "");
    if (tasks->are_too_many)
        nvt_trace_warn(reader->trace,
                       "more than %u tasks of Python: ranges of the others may have "
                       "exchanged their ends",
                       LANES_MOST);
}

void nvt_file_tasks_free(struct nvt_file_tasks *tasks)
{
    for (uint32_t i = 0; i < tasks->count; i++) {
        free(tasks->lanes[i]->thread.open);
        free(tasks->lanes[i]);
    }
    free(tasks->lanes);
    free(tasks->turns);
    nvt_map_free(&tasks->names);
    nvt_map_free(&tasks->threads);
    nvt_map_free(&tasks->known);
}
