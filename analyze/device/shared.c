#include "shared.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../input/clocks.h"

/* Whether moments of both traces can be compared. */
static int have_clocks(const struct nvt_trace *a, const struct nvt_trace *b)
{
    return nvt_has_realtime(a) && nvt_has_realtime(b);
}

static int overlap(const struct nvt_trace *a, const struct nvt_trace *b)
{
    int64_t shift = nvt_realtime_shift(a, b);
    return nvt_clock_sum(shift, a->first_ns) <= b->last_ns &&
           nvt_clock_sum(shift, a->last_ns) >= b->first_ns;
}

/* "0000:01:00.0" is none. */
static int is_uuid(const char *gpu)
{
    return *gpu && !strchr(gpu, ':');
}

static const char *gpu_of(const struct nvt_trace *trace, const struct nvt_used_device *device)
{
    return nvt_name(trace, nvt_device_gpu(trace, device->process, device->device));
}

/* --- which traces share one --- */

/* A device that a trace has work on. */
struct used {
    const struct nvt_trace *trace;
    const char *gpu;
    uint32_t device;
};

struct list {
    struct used *items;
    size_t count;
};

static void compare(struct nvt_shared *shared, const struct used *a, const struct used *b)
{
    int has_times = have_clocks(a->trace, b->trace);
    if (a->trace == b->trace || (has_times && !overlap(a->trace, b->trace)))
        return;
    shared->is_any_seen |= has_times && is_uuid(a->gpu) && !strcmp(a->gpu, b->gpu);
    if (*a->gpu && !strcmp(a->gpu, b->gpu) && !shared->certain[0]) {
        shared->certain[0] = a->trace;
        shared->certain[1] = b->trace;
        shared->is_seen = has_times && is_uuid(a->gpu);
    }
    if ((!*a->gpu || !*b->gpu) && has_times && a->device == b->device && !shared->possible[0]) {
        shared->possible[0] = a->trace;
        shared->possible[1] = b->trace;
    }
}

/* A device of a trace. */
static void add_device(struct list *list, struct nvt_shared *shared, const struct nvt_trace *trace,
                       uint32_t process, uint32_t number)
{
    const struct nvt_used_device device = {.process = process, .device = number};
    const struct used next = {trace, gpu_of(trace, &device), number};
    for (size_t k = 0; k < list->count; k++)
        compare(shared, &list->items[k], &next);
    list->items[list->count++] = next;
}

static int add_trace(struct list *list, struct nvt_shared *shared,
                     const struct nvt_input_trace *from, struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, trace, err);
    if (!status && nvt_resize(&list->items, list->count + devices.count + from->worked_on_count,
                              sizeof(*list->items)))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < devices.count && !status; i++)
        add_device(list, shared, trace, devices.items[i].process, devices.items[i].device);
    for (uint32_t i = 0; i < from->worked_on_count && !status; i++)
        add_device(list, shared, trace, from->worked_on[i][0], from->worked_on[i][1]);
    nvt_used_devices_free(&devices);
    return status;
}

int nvt_shared_find(struct nvt_shared *shared, const struct nvt_input *input, struct nvt_error *err)
{
    struct list list = {0};
    int status = 0;
    *shared = (struct nvt_shared){.certain = {NULL}, .possible = {NULL}};
    for (size_t i = 0; i < input->trace_count && input->trace_count > 1 && !status; i++)
        status = add_trace(&list, shared, &input->traces[i], err);
    free(list.items);
    return status;
}

void nvt_shared_note(struct nvt_input *input, const struct nvt_trace *const pair[2])
{
    nvt_note(input,
             "note: %s and %s have work on the same device: when it is idle in one, it may have "
             "work from the other",
             pair[0]->path, pair[1]->path);
}

/* --- when others have work on one --- */

static int by_start(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (a[0] > b[0]) - (a[0] < b[0]);
}

/* What a process of a trace did on a device, moved by `shift`. 0, or -1 when out of memory. */
static int add_work(struct nvt_used_device *device, const struct nvt_trace *from, uint32_t process,
                    uint32_t number, int64_t shift)
{
    const struct nvt_ops *ops = &from->ops;
    size_t count = 0;
    for (uint32_t i = 0; i < ops->count; i++)
        count += ops->process[i] == process && ops->device[i] == number;
    if (!count)
        return 0;
    if (nvt_resize(&device->elsewhere, device->elsewhere_count + count, sizeof(*device->elsewhere)))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++)
        if (ops->process[i] == process && ops->device[i] == number) {
            device->elsewhere[device->elsewhere_count][0] = nvt_clock_sum(ops->start[i], shift);
            device->elsewhere[device->elsewhere_count++][1] = nvt_clock_sum(ops->end[i], shift);
        }
    return 0;
}

static int add_trace_work(struct nvt_used_device *device, const char *gpu,
                          const struct nvt_trace *from, int64_t shift)
{
    const struct nvt_devices *rows = &from->devices;
    int failed = 0;
    for (uint32_t i = 0; i < rows->count && !failed; i++)
        if (!strcmp(nvt_name(from, rows->gpu[i]), gpu))
            failed = add_work(device, from, rows->process[i], rows->device[i], shift);
    return failed;
}

int nvt_shared_work(struct nvt_used_devices *devices, const struct nvt_trace *trace,
                    const struct nvt_input *input, struct nvt_error *err)
{
    for (uint32_t i = 0; i < devices->count; i++) {
        struct nvt_used_device *device = &devices->items[i];
        const char *gpu = gpu_of(trace, device);
        for (size_t k = 0; k < input->trace_count && is_uuid(gpu); k++) {
            const struct nvt_trace *other = input->traces[k].trace;
            if (other != trace && have_clocks(other, trace) && overlap(other, trace) &&
                add_trace_work(device, gpu, other, nvt_realtime_shift(other, trace)))
                return nvt_fail_at(err, trace->path, -1, "out of memory");
        }
        if (device->elsewhere_count)
            qsort(device->elsewhere, device->elsewhere_count, sizeof(*device->elsewhere), by_start);
    }
    return 0;
}
