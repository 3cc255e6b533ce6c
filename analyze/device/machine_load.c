#include "machine_load.h"

#include <math.h>
#include <string.h>

int nvt_machine_courses(const struct nvt_trace *trace, struct nvt_counter_courses *courses,
                        struct nvt_error *err)
{
    *courses = (struct nvt_counter_courses){0};
    if (!trace->counter_samples.count)
        return 0;
    return nvt_counter_courses(trace, courses) ? nvt_fail_at(err, trace->path, -1, "out of memory")
                                               : 1;
}

static uint32_t find(const struct nvt_trace *trace, const char *name, uint32_t gpu)
{
    const struct nvt_counters *counters = &trace->counters;
    uint32_t id = nvt_strings_find(trace->strings, name, strlen(name));
    for (uint32_t i = 0; id != NVT_NO_STRING && i < counters->count; i++)
        if (counters->is_of_machine[i] && counters->name[i] == id && counters->gpu[i] == gpu)
            return i;
    return NVT_NONE;
}

uint32_t nvt_machine_host_counter(const struct nvt_trace *trace, enum nvt_machine_host id)
{
    return find(trace, nvt_machine_host_quantity(id)->name, 0);
}

uint32_t nvt_machine_gpu_counter(const struct nvt_trace *trace, uint32_t gpu,
                                 enum nvt_machine_gpu id)
{
    return gpu ? find(trace, nvt_machine_gpu_quantity(id)->name, gpu) : NVT_NONE;
}

void nvt_machine_add(const struct nvt_counter_courses *courses, uint32_t counter, int64_t from,
                     int64_t to, struct nvt_machine_sum *sum)
{
    if (counter < courses->count && courses->items[counter].count && from < to)
        sum->integral += nvt_course_integral(&courses->items[counter], from, to, &sum->ns);
}

void nvt_machine_add_work(const struct nvt_trace *trace, const struct nvt_used_device *device,
                          const struct nvt_counter_courses *courses, uint32_t counter, int64_t from,
                          int64_t to, struct nvt_machine_sum *sum)
{
    const struct nvt_ops *ops = &trace->ops;
    int64_t until = from, since = from; /* what is at work: [since, until) */
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        if (ops->start[op] < from || ops->start[op] > to)
            continue;
        if (ops->start[op] > until) {
            nvt_machine_add(courses, counter, since, until, sum);
            since = ops->start[op];
        }
        until = ops->end[op] > until ? ops->end[op] : until;
    }
    nvt_machine_add(courses, counter, since, until, sum);
}

double nvt_machine_average(const struct nvt_machine_sum *sum)
{
    return sum->ns > 0 ? sum->integral / sum->ns : NAN;
}

double nvt_machine_host_average(const struct nvt_trace *trace,
                                const struct nvt_counter_courses *courses, enum nvt_machine_host id,
                                int64_t from, int64_t to)
{
    struct nvt_machine_sum sum = {0, 0};
    nvt_machine_add(courses, nvt_machine_host_counter(trace, id), from, to, &sum);
    return nvt_machine_average(&sum);
}
