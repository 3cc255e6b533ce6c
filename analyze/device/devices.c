#include "devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../model/cuda_names.h"
#include "../../lib/map.h"

/* How devices are told apart. */
enum apart { BY_PROCESS, BY_GPU, BY_GPU_OR_NUMBER };

struct grouping {
    struct nvt_used_devices *devices;
    const struct nvt_trace *trace;
    enum apart apart;
    struct nvt_map items; /* process << 32 | device -> item */
    struct nvt_map gpus;  /* 0 | name of the GPU, or 1 << 32 | device of no known GPU -> item */
};

uint32_t nvt_device_gpu(const struct nvt_trace *trace, uint32_t process, uint32_t device)
{
    const struct nvt_devices *devices = &trace->devices;
    for (uint32_t i = 0; i < devices->count; i++)
        if (devices->process[i] == process && devices->device[i] == device)
            return devices->gpu[i];
    return 0;
}

static uint32_t add_item(struct nvt_used_devices *devices, uint32_t process, uint32_t device)
{
    if (nvt_grow(&devices->items, devices->count, sizeof(*devices->items)))
        return NVT_NONE;
    devices->items[devices->count] = (struct nvt_used_device){.process = process, .device = device};
    return devices->count++;
}

/* The item of a device that was not seen so far. NVT_NONE when out of memory. */
static uint32_t find_item(struct grouping *grouping, uint32_t process, uint32_t device)
{
    struct nvt_used_devices *devices = grouping->devices;
    if (grouping->apart == BY_PROCESS)
        return add_item(devices, process, device);
    uint32_t gpu = nvt_device_gpu(grouping->trace, process, device);
    uint32_t *at = nvt_map_at(&grouping->gpus, gpu ? gpu : UINT64_C(1) << 32 | device);
    if (!at)
        return NVT_NONE;
    int known = *at != NVT_MAP_NONE;
    if (known && (gpu || grouping->apart == BY_GPU_OR_NUMBER))
        return *at;
    devices->doubtful += (uint32_t)known;
    uint32_t item = add_item(devices, process, device);
    *at = known ? *at : item;
    return item;
}

static struct nvt_used_device *device_at(struct grouping *grouping, uint32_t process,
                                         uint32_t device)
{
    uint32_t *at = nvt_map_at(&grouping->items, (uint64_t)process << 32 | device);
    if (!at)
        return NULL;
    if (*at == NVT_MAP_NONE) {
        uint32_t item = find_item(grouping, process, device);
        if (item == NVT_NONE)
            return NULL;
        grouping->devices->items[item].users++;
        *at = item;
    }
    return &grouping->devices->items[*at];
}

/* Behind the last of the operations from `from` on that are of the same process and device. */
static uint32_t run_end(const struct nvt_ops *ops, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < ops->count && ops->process[end] == ops->process[from] &&
           ops->device[end] == ops->device[from])
        end++;
    return end;
}

static int count_used_devices(struct nvt_used_devices *devices, const struct nvt_trace *trace,
                              enum apart apart, struct nvt_error *err)
{
    const struct nvt_ops *ops = &trace->ops;
    struct grouping grouping = {.devices = devices, .trace = trace, .apart = apart};
    int failed = 0;
    devices->rows = malloc(((size_t)ops->count + 1) * sizeof(*devices->rows));
    for (uint32_t i = 0, end; devices->rows && i < ops->count && !failed; i = end) {
        struct nvt_used_device *device = device_at(&grouping, ops->process[i], ops->device[i]);
        failed = !device;
        end = run_end(ops, i);
        if (device)
            device->count += end - i;
    }
    uint32_t *next = devices->rows;
    for (uint32_t i = 0; i < devices->count && !failed; i++) {
        devices->items[i].ops = next;
        next += devices->items[i].count;
        devices->items[i].count = 0;
    }
    for (uint32_t i = 0, end; devices->rows && i < ops->count && !failed; i = end) {
        uint64_t key = (uint64_t)ops->process[i] << 32 | ops->device[i];
        struct nvt_used_device *device = &devices->items[nvt_map_get(&grouping.items, key)];
        end = run_end(ops, i);
        for (uint32_t op = i; op < end; op++)
            device->ops[device->count++] = op;
    }
    nvt_map_free(&grouping.items);
    nvt_map_free(&grouping.gpus);
    return devices->rows && !failed ? 0 : nvt_fail_at(err, trace->path, -1, "out of memory");
}

int nvt_used_devices_make(struct nvt_used_devices *devices, const struct nvt_trace *trace,
                          struct nvt_error *err)
{
    return count_used_devices(devices, trace, BY_PROCESS, err);
}

int nvt_used_gpus_make(struct nvt_used_devices *devices, const struct nvt_trace *trace, int alike,
                       struct nvt_error *err)
{
    return count_used_devices(devices, trace, alike ? BY_GPU_OR_NUMBER : BY_GPU, err);
}

void nvt_used_devices_free(struct nvt_used_devices *devices)
{
    for (uint32_t i = 0; i < devices->count; i++)
        free(devices->items[i].elsewhere);
    free(devices->items);
    free(devices->rows);
    *devices = (struct nvt_used_devices){0};
}

/* What all devices are called, "" where they differ: ROCm's events count devices otherwise than its list
 * of them, so that number 9 is one of eight of the same name. */
static const char *common_name(const struct nvt_trace *trace, uint32_t process)
{
    const struct nvt_devices *devices = &trace->devices;
    const char *common = NULL;
    for (uint32_t i = 0; i < devices->count; i++) {
        const char *name = nvt_name(trace, devices->name[i]);
        if (devices->process[i] != process && devices->process[i] != NVT_NONE)
            continue;
        if (common && strcmp(common, name) != 0)
            return "";
        common = name;
    }
    return common ? common : "";
}

uint32_t nvt_device_row(const struct nvt_trace *trace, uint32_t process, uint32_t device)
{
    const struct nvt_devices *devices = &trace->devices;
    uint32_t of_any = NVT_NONE;
    for (uint32_t i = 0; i < devices->count; i++) {
        if (devices->device[i] != device)
            continue;
        if (devices->process[i] == process)
            return i;
        if (devices->process[i] == NVT_NONE)
            of_any = i;
    }
    return of_any;
}

const char *nvt_device_name(const struct nvt_trace *trace, uint32_t process, uint32_t device)
{
    const uint32_t row = nvt_device_row(trace, process, device);
    if (row != NVT_NONE)
        return nvt_name(trace, trace->devices.name[row]);
    return device == NVT_NONE ? "" : common_name(trace, process);
}

const char *nvt_device_text(const struct nvt_trace *trace, uint32_t process, uint32_t device,
                            char *out, size_t size)
{
    const char *name = device == NVT_NONE ? "" : nvt_device_name(trace, process, device);
    if (device == NVT_NONE)
        snprintf(out, size, "host");
    else
        snprintf(out, size, "%.200s%s(%u)", name, *name ? " " : "", device);
    return out;
}

const char *nvt_device_words(const struct nvt_trace *trace, uint32_t process, uint32_t device,
                             char *out, size_t size)
{
    nvt_device_text(trace, process, device, out, size);
    if (*out == '(')
        snprintf(out, size, "GPU %u", device);
    return out;
}

void nvt_each_alone(const struct nvt_trace *trace, const struct nvt_used_device *device,
                    int64_t from, int64_t to,
                    void (*each)(void *context, uint32_t op, int64_t alone_ns), void *context)
{
    const struct nvt_ops *ops = &trace->ops;
    int64_t until = from;
    for (uint32_t i = 0; i < device->count; i++) {
        const uint32_t op = device->ops[i];
        uint32_t next = i + 1;
        if (ops->kind[op] != NVT_OP_KERNEL)
            continue;
        while (next < device->count && ops->kind[device->ops[next]] != NVT_OP_KERNEL)
            next++;
        const int64_t begin = ops->start[op] > until ? ops->start[op] : until;
        int64_t end = ops->end[op] < to ? ops->end[op] : to;
        if (next < device->count && ops->start[device->ops[next]] < end)
            end = ops->start[device->ops[next]];
        if (end > begin)
            each(context, op, end - begin);
        until = ops->end[op] > until ? ops->end[op] : until;
    }
}
