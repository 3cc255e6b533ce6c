#include "counters.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/count_of.h"

/* Samples of every counter in one place each; they are in order in the trace already. */
static void distribute(const struct nvt_trace *trace, struct nvt_counter_courses *courses)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    uint32_t first = 0;
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->counter[i] < courses->count)
            courses->items[samples->counter[i]].count++;
    for (uint32_t i = 0; i < courses->count; i++) {
        struct nvt_counter_course *course = &courses->items[i];
        *course = (struct nvt_counter_course){.counter = i,
                                              .count = course->count,
                                              .time = courses->times + first,
                                              .value = courses->values + first,
                                              .level = courses->levels + first,
                                              .integral = courses->integrals + first};
        first += course->count;
        course->count = 0;
    }
    for (uint32_t i = 0; i < samples->count; i++) {
        if (samples->counter[i] >= courses->count)
            continue;
        struct nvt_counter_course *course = &courses->items[samples->counter[i]];
        size_t at = (size_t)(course->time - courses->times) + course->count++;
        courses->times[at] = samples->time[i];
        courses->values[at] = samples->value[i];
    }
}

static void find_levels(const struct nvt_trace *trace, struct nvt_counter_courses *courses)
{
    double *blocks = courses->blocks;
    for (uint32_t i = 0; i < courses->count; i++) {
        struct nvt_counter_course *course = &courses->items[i];
        double *levels = courses->levels + (course->time - courses->times), level = 0;
        double *integrals = courses->integrals + (course->time - courses->times);
        uint32_t count = (course->count + NVT_COURSE_BLOCK - 1) / NVT_COURSE_BLOCK;
        double *lowest = blocks, *highest = blocks + count;
        blocks += 2 * (size_t)count;
        for (uint32_t k = 0; k < course->count; k++) {
            uint32_t block = k / NVT_COURSE_BLOCK;
            level = nvt_counter_level(trace->counters.values[i], level, course->value[k]);
            integrals[k] = k ? integrals[k - 1] +
                                   levels[k - 1] * (double)(course->time[k] - course->time[k - 1])
                             : 0;
            levels[k] = level;
            if (k % NVT_COURSE_BLOCK == 0 || levels[k] < lowest[block])
                lowest[block] = levels[k];
            if (k % NVT_COURSE_BLOCK == 0 || levels[k] > highest[block])
                highest[block] = levels[k];
        }
        course->lowest = lowest;
        course->highest = highest;
    }
}

int nvt_counter_courses(const struct nvt_trace *trace, struct nvt_counter_courses *courses)
{
    size_t samples = trace->counter_samples.count, counters = trace->counters.count;
    *courses = (struct nvt_counter_courses){
        .items = calloc(counters + 1, sizeof(*courses->items)),
        .count = trace->counters.count,
        .times = malloc((samples + 1) * sizeof(*courses->times)),
        .values = malloc((samples + 1) * sizeof(*courses->values)),
        .levels = malloc((samples + 1) * sizeof(*courses->levels)),
        .integrals = malloc((samples + 1) * sizeof(*courses->integrals)),
        .blocks = malloc(2 * (samples / NVT_COURSE_BLOCK + counters + 1) * sizeof(double)),
    };
    if (!courses->items || !courses->times || !courses->values || !courses->levels ||
        !courses->integrals || !courses->blocks)
        return -1;
    distribute(trace, courses);
    find_levels(trace, courses);
    return 0;
}

void nvt_counter_courses_free(struct nvt_counter_courses *courses)
{
    free(courses->items);
    free(courses->times);
    free(courses->values);
    free(courses->levels);
    free(courses->blocks);
    free(courses->integrals);
}

uint32_t nvt_course_until(const struct nvt_counter_course *course, int64_t time)
{
    uint32_t low = 0;
    NVT_BISECT(low, course->count, course->time[low] <= time);
    return low;
}

static void widen(double low, double high, double *lowest, double *highest)
{
    *lowest = low < *lowest ? low : *lowest;
    *highest = high > *highest ? high : *highest;
}

void nvt_course_bounds(const struct nvt_counter_course *course, uint32_t from, uint32_t to,
                       double *lowest, double *highest)
{
    *lowest = *highest = course->level[from];
    while (from < to) {
        uint32_t block = from / NVT_COURSE_BLOCK;
        if (from % NVT_COURSE_BLOCK == 0 && to - from >= NVT_COURSE_BLOCK) {
            widen(course->lowest[block], course->highest[block], lowest, highest);
            from += NVT_COURSE_BLOCK;
        } else {
            widen(course->level[from], course->level[from], lowest, highest);
            from++;
        }
    }
}

/* The integral of a course from its first sample to a time within it. */
static double integral_to(const struct nvt_counter_course *course, int64_t time)
{
    uint32_t at = nvt_course_until(course, time) - 1;
    return course->integral[at] + course->level[at] * (double)(time - course->time[at]);
}

double nvt_course_integral(const struct nvt_counter_course *course, int64_t from, int64_t to,
                           double *known)
{
    if (!course->count)
        return 0;
    int64_t first = course->time[0], last = course->time[course->count - 1];
    from = from > first ? from : first;
    to = to < last ? to : last;
    if (to <= from)
        return 0;
    *known += (double)(to - from);
    return integral_to(course, to) - integral_to(course, from);
}

uint32_t nvt_machine_counters(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->counters.count; i++)
        count += trace->counters.is_of_machine[i] != 0;
    return count;
}

int nvt_has_machine_samples(const struct nvt_trace *trace)
{
    return trace->counter_samples.count && nvt_machine_counters(trace);
}

static int is_resident(const struct nvt_trace *trace, uint32_t counter)
{
    return trace->counters.is_of_process[counter] &&
           !strcmp(nvt_name(trace, trace->counters.name[counter]),
                   nvt_machine_process_quantity(NVT_MACHINE_RESIDENT)->name);
}

uint32_t nvt_processes_sampled(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->counters.count; i++)
        count += (uint32_t)is_resident(trace, i);
    return count;
}

uint32_t nvt_process_counter(const struct nvt_trace *trace, uint32_t process,
                             enum nvt_machine_process id)
{
    const char *name = nvt_machine_process_quantity(id)->name;
    const uint32_t known = nvt_strings_find(trace->strings, name, strlen(name));
    for (uint32_t i = 0; known != NVT_NO_STRING && i < trace->counters.count; i++)
        if (trace->counters.is_of_process[i] && trace->counters.name[i] == known &&
            trace->counters.process[i] == process)
            return i;
    return NVT_NONE;
}

int nvt_is_memory_counter(const struct nvt_trace *trace, uint32_t counter)
{
    static const char *const others[] = {"high", "peak", "max"};
    const char *name = nvt_name(trace, trace->counters.name[counter]);
    const char *unit = nvt_name(trace, trace->counters.unit[counter]);
    int is_level = trace->counters.values[counter] == NVT_COUNTER_ABSOLUTE &&
                   strcasestr(name, "alloc") && (!strcasecmp(unit, "bytes") || !strcmp(unit, "B"));
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++)
        is_level = is_level && !strcasestr(name, others[i]);
    return is_level;
}

int nvt_counts_memory(const struct nvt_trace *trace)
{
    uint32_t i = 0;
    while (i < trace->counters.count && !nvt_is_memory_counter(trace, i))
        i++;
    return i < trace->counters.count;
}
