#include "process_memory.h"

#include <math.h>
#include <stdlib.h>

#include "../model/named_iterations.h"

int nvt_processes_memory_make(struct nvt_processes_memory *all, const struct nvt_trace *trace)
{
    if (!nvt_processes_sampled(trace))
        return 0;
    all->items = calloc((size_t)trace->processes.count + 1, sizeof(*all->items));
    if (!all->items || nvt_counter_courses(trace, &all->courses))
        return -1;
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        struct nvt_process_memory memory = {.process = i};
        for (int id = 0; id < NVT_MACHINE_PROCESS_COUNT; id++) {
            const uint32_t counter = nvt_process_counter(trace, i, (enum nvt_machine_process)id);
            if (counter != NVT_NONE && all->courses.items[counter].count)
                memory.courses[id] = &all->courses.items[counter];
        }
        if (memory.courses[NVT_MACHINE_RESIDENT])
            all->items[all->count++] = memory;
    }
    return 0;
}

void nvt_processes_memory_free(struct nvt_processes_memory *all)
{
    nvt_counter_courses_free(&all->courses);
    free(all->items);
    *all = (struct nvt_processes_memory){.count = 0};
}

double nvt_process_memory_last(const struct nvt_process_memory *memory, enum nvt_machine_process id)
{
    const struct nvt_counter_course *course = memory->courses[id];
    return course ? course->level[course->count - 1] : NAN;
}

double nvt_process_memory_highest(const struct nvt_process_memory *memory,
                                  enum nvt_machine_process id)
{
    double lowest, highest = NAN;
    if (memory->courses[id])
        nvt_course_bounds(memory->courses[id], 0, memory->courses[id]->count, &lowest, &highest);
    return highest;
}

double nvt_course_level_at(const struct nvt_counter_course *course, int64_t time)
{
    const uint32_t until = nvt_course_until(course, time);
    return course->level[until ? until - 1 : 0];
}

/* --- loops -------------------------------------------------------------------------------------- */

/* The process that started another one, NVT_NONE: it is not in the trace, or not known. */
static uint32_t parent_of(const struct nvt_trace *trace, uint32_t process)
{
    const struct nvt_processes *processes = &trace->processes;
    for (uint32_t i = 0; i < processes->count; i++)
        if (i != process && processes->pid[i] == processes->parent_pid[process])
            return i;
    return NVT_NONE;
}

/* counts: iterations of each process. */
static uint32_t loop_process(const struct nvt_trace *trace, uint32_t process,
                             const uint32_t *counts)
{
    uint32_t only = NVT_NONE, with = 0, at = process;
    for (uint32_t depth = 0; at != NVT_NONE && depth <= trace->processes.count; depth++) {
        if (counts[at])
            return at;
        at = parent_of(trace, at);
    }
    for (uint32_t i = 0; i < trace->processes.count; i++)
        if (counts[i]) {
            only = i;
            with++;
        }
    return with == 1 ? only : NVT_NONE;
}

/* Those of `rows` that are of the loop's process. */
static void take_iterations(struct nvt_memory_loop *loop, const struct nvt_trace *trace,
                            const uint32_t *rows, uint32_t count)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < count && loop->process != NVT_NONE; i++) {
        if (trace->threads.process[ranges->thread[rows[i]]] != loop->process)
            continue;
        loop->rows[loop->count] = rows[i];
        loop->starts[loop->count++] = ranges->start[rows[i]];
        loop->end = ranges->end[rows[i]] > loop->end ? ranges->end[rows[i]] : loop->end;
    }
}

int nvt_memory_loop_make(struct nvt_memory_loop *loop, const struct nvt_trace *trace,
                         uint32_t process)
{
    uint32_t count = 0, *rows = nvt_iterations(trace, &count);
    uint32_t *counts = calloc((size_t)trace->processes.count + 1, sizeof(*counts));
    *loop = (struct nvt_memory_loop){.starts = malloc(((size_t)count + 1) * sizeof(int64_t)),
                                     .rows = malloc(((size_t)count + 1) * sizeof(uint32_t)),
                                     .end = INT64_MIN};
    int failed = !rows || !counts || !loop->starts || !loop->rows;
    if (!failed) {
        for (uint32_t i = 0; i < count; i++)
            counts[trace->threads.process[trace->ranges.thread[rows[i]]]]++;
        loop->process = loop_process(trace, process, counts);
        take_iterations(loop, trace, rows, count);
    }
    free(rows);
    free(counts);
    return failed ? -1 : 0;
}

void nvt_memory_loop_free(struct nvt_memory_loop *loop)
{
    free(loop->starts);
    free(loop->rows);
    *loop = (struct nvt_memory_loop){.count = 0};
}

/* --- growth ------------------------------------------------------------------------------------- */

/* The highest level in [from, to), 0 where there is no sample. */
static double highest_in(const struct nvt_counter_course *course, int64_t from, int64_t to)
{
    const uint32_t first = nvt_course_until(course, from - 1);
    const uint32_t end = nvt_course_until(course, to - 1);
    double lowest, highest = 0;
    if (first < end)
        nvt_course_bounds(course, first, end, &lowest, &highest);
    return highest;
}

/* When the level was highest in the last tenth. */
static int64_t highest_at_end(const struct nvt_counter_course *course, int64_t from, int64_t to)
{
    uint32_t highest = course->count - 1;
    for (uint32_t i = course->count; i-- > 0 && course->time[i] >= to - (to - from) / 10;)
        if (course->level[i] > course->level[highest])
            highest = i;
    return course->time[highest];
}

int nvt_process_growth_find(struct nvt_process_growth *found,
                            const struct nvt_process_memory *memory,
                            const struct nvt_memory_loop *loop)
{
    const struct nvt_counter_course *course = memory->courses[NVT_MACHINE_RESIDENT];
    const int64_t first = course->time[0], last = course->time[course->count - 1];
    int64_t before = first + (last - first) / 8, from = first + (last - first) / 4;
    const int64_t end_of_loop = loop->end < last ? loop->end : last;
    const int64_t to = loop->count ? end_of_loop : highest_at_end(course, first, last);
    *found = (struct nvt_process_growth){.from = 0};
    if (loop->count && first <= loop->starts[loop->count / 8]) {
        before = loop->starts[loop->count / 8];
        from = loop->starts[loop->count / 4];
    }
    for (uint32_t i = 0; i < loop->count; i++)
        found->iterations += loop->starts[i] >= from && loop->starts[i] < to;
    found->from = from;
    found->to = to;
    if (loop->count && found->iterations < NVT_GROWTH_ITERATIONS)
        return 0;
    const uint32_t begin = nvt_course_until(course, from - 1), end = nvt_course_until(course, to);
    if (end < begin + 2)
        return 0;
    if (nvt_steady_growth_find(&found->level, course->time + begin, course->level + begin,
                               end - begin, highest_in(course, before, from)))
        return -1;
    /* Samples do not begin and end where the part does. */
    found->level.growth *=
        (double)(to - from) / (double)(course->time[end - 1] - course->time[begin]);
    return 0;
}
