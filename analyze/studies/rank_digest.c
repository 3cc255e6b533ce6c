/* Digests of the devices of a job. */
#include "rank_digest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../lib/grow.h"
#include "../device/communication.h"
#include "../device/devices.h"
#include "../device/machine_load.h"
#include "../device/messages.h"
#include "../device/project.h"
#include "../input/ranks.h"
#include "../memory/levels.h"
#include "../../lib/collective_payload.h"
#include "../model/batches.h"
#include "../model/garbage.h"
#include "../model/named_iterations.h"
#include "../model/nccl.h"
#include "../model/payload.h"
#include "../model/sequences.h"
#include "rank_steps.h"
#include "spent.h"

/* --- groups --- */

uint32_t nvt_ranks_group(struct nvt_ranks *ranks, const char *key,
                         const struct nvt_rank_group *group)
{
    const uint32_t id = nvt_strings_add_text(ranks->names, key);
    const uint32_t row = id == NVT_NO_STRING
                             ? NVT_MAP_NONE
                             : nvt_map_row(&ranks->group_of, id, &ranks->groups,
                                           &ranks->group_count, sizeof(*ranks->groups));
    if (row == NVT_MAP_NONE)
        return NVT_NONE;
    ranks->groups[row].key = id;
    ranks->groups[row].name = group->name;
    ranks->groups[row].members = group->members;
    ranks->groups[row].flags = group->flags;
    if (group->size)
        ranks->groups[row].size = group->size;
    return row;
}

const char *nvt_rank_group_text(const struct nvt_ranks *ranks, uint32_t group, char *out,
                                size_t size)
{
    const struct nvt_rank_group *of = &ranks->groups[group];
    const char *name = nvt_strings_get(ranks->names, of->name, NULL);
    const char *members = nvt_strings_get(ranks->names, of->members, NULL);
    if (*name && *members)
        snprintf(out, size, "%.60s (%.60s%s)", name, members, strlen(members) > 60 ? "..." : "");
    else
        snprintf(out, size, "%.120s",
                 *name                        ? name
                 : *members                   ? members
                 : of->flags & NVT_GROUP_PAIR ? "messages of all ranks"
                                              : "all ranks");
    return out;
}

/* --- what ranges around launches say --- */

/* Of each operation the range that says what its communication is, and 1; 0: none does. NULL: none says any. */
struct sayings {
    const struct nvt_trace *trace;
    uint32_t *ranges; /* owned */
};

/* Whether a range is one of NCCL's own with its communicator, or (2) one of a collective by record --pytorch. */
static int says_group(const struct nvt_trace *trace, uint32_t range)
{
    const char *domain = nvt_domain_name(trace, trace->ranges.domain[range]);
    if (!strcmp(domain, NVT_COLLECTIVE_DOMAIN))
        return strncmp(nvt_range_payload(trace, range), "{\"group\":\"", 10) != 0 ? 0 : 2;
    return !strcmp(domain, "NCCL") && nvt_nccl_communicator(trace, range);
}

/* The innermost one; PyTorch's names of groups go before NCCL's numbers. */
static int note_saying(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    const struct sayings *all = context;
    int best = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int says = says_group(all->trace, ranges[i]);
        if (says && says >= best) {
            best = says;
            all->ranges[op] = ranges[i] + 1;
        }
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int find_sayings(struct sayings *all)
{
    const struct nvt_trace *trace = all->trace;
    for (uint32_t i = 0; i < trace->domains.count; i++) {
        const char *domain = nvt_domain_name(trace, i);
        if (strcmp(domain, "NCCL") != 0 && strcmp(domain, NVT_COLLECTIVE_DOMAIN) != 0)
            continue;
        all->ranges = calloc((size_t)trace->ops.count + 1, sizeof(*all->ranges));
        return all->ranges ? nvt_project(trace, 0, note_saying, all, NULL) : -1;
    }
    return 0;
}

/* --- what a device had done until a moment --- */

/* Ranges of a trace in which threads wait for batches. */
struct batch_waits {
    uint32_t *ranges; /* owned */
    uint32_t count;
};

/* 0, or -1 when out of memory. */
static int find_batch_waits(struct batch_waits *waits, const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        if (!nvt_is_batch_wait(trace, i))
            continue;
        if (nvt_grow(&waits->ranges, waits->count, sizeof(*waits->ranges)))
            return -1;
        waits->ranges[waits->count++] = i;
    }
    return 0;
}

/* A device while its digest is made. */
struct device {
    struct nvt_ranks *ranks;
    struct nvt_rank *rank;
    const struct nvt_used_device *from;
    const struct sayings *sayings;
    const struct nvt_map *sequences;
    const struct batch_waits *waits;
    const uint8_t *garbage; /* nvt_garbage_frames */
    const struct nvt_counter_courses *courses;
    const uint32_t *iterations; /* rows of ranges */
    uint32_t iteration_count;
    const struct nvt_stage_step *steps; /* of the trace */
    uint32_t step_count;
    struct nvt_spent work, busy, loading, collecting;
    int64_t *kernels; /* starts of kernels that compute */
    uint32_t kernel_count;
};

static uint32_t kernels_until(const struct device *device, int64_t moment)
{
    uint32_t low = 0, high = device->kernel_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (device->kernels[middle] < moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct nvt_rank_done done_until(const struct device *device, int64_t moment)
{
    const int64_t first =
        device->from->count ? device->rank->from->trace->ops.start[device->from->ops[0]] : moment;
    return (struct nvt_rank_done){.work = nvt_spent_until(&device->work, moment),
                                  .idle = moment - first - nvt_spent_until(&device->busy, moment),
                                  .loading = nvt_spent_until(&device->loading, moment),
                                  .collecting = nvt_spent_until(&device->collecting, moment),
                                  .kernels = kernels_until(device, moment)};
}

/* CPU time of its process in which garbage was collected: a sample stands for what was before it. 0, or -1 when out of memory. */
static int find_collecting(struct device *device)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    int failed = 0;
    for (uint32_t i = 0; i < samples->count && !failed; i++)
        if (samples->frame[i] && device->garbage[samples->frame[i] - 1] && samples->cpu_ns[i] > 0 &&
            trace->threads.process[samples->thread[i]] == device->from->process)
            failed = nvt_spent_add(&device->collecting,
                                   nvt_clock_since(samples->time[i], samples->cpu_ns[i]),
                                   samples->time[i]);
    return failed;
}

/* The mean clock of its multiprocessors while it worked. */
static double clock_of(const struct device *device)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const uint32_t gpu = nvt_device_gpu(trace, device->from->process, device->from->device);
    struct nvt_machine_sum sum = {0};
    nvt_machine_add_work(trace, device->from, device->courses,
                         nvt_machine_gpu_counter(trace, gpu, NVT_MACHINE_SM_CLOCK), trace->first_ns,
                         trace->last_ns, &sum);
    return nvt_machine_average(&sum);
}

/* 0, or -1 when out of memory. */
static int find_levels(struct device *device)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const struct nvt_ops *ops = &trace->ops;
    int64_t end = INT64_MIN;
    device->kernels = malloc(((size_t)device->from->count + 1) * sizeof(*device->kernels));
    int failed = !device->kernels;
    for (uint32_t i = 0; i < device->from->count && !failed; i++) {
        const uint32_t op = device->from->ops[i];
        failed = nvt_spent_add(&device->busy, ops->start[op], ops->end[op]);
        end = ops->end[op] > end ? ops->end[op] : end;
        if (failed || ops->kind[op] != NVT_OP_KERNEL || nvt_is_communication(trace, op))
            continue;
        device->kernels[device->kernel_count++] = ops->start[op];
        failed = nvt_spent_add(&device->work, ops->start[op], ops->end[op]);
    }
    for (uint32_t i = 0; i < device->waits->count && !failed; i++) {
        const uint32_t range = device->waits->ranges[i];
        if (trace->threads.process[trace->ranges.thread[range]] == device->from->process)
            failed = nvt_spent_add(&device->loading, trace->ranges.start[range],
                                   trace->ranges.end[range]);
    }
    if (!failed && device->from->count) {
        device->rank->first = ops->start[device->from->ops[0]];
        device->rank->span = end - device->rank->first;
        device->rank->idle = device->rank->span - nvt_spent_until(&device->busy, end);
        device->rank->compute = nvt_spent_until(&device->work, end);
        device->rank->kernels = device->kernel_count;
    }
    return failed ? -1 : 0;
}

/* --- collectives --- */

static int is_message(const char *name)
{
    return !strcasecmp(name, "send") || !strcasecmp(name, "recv") || !strcasecmp(name, "isend") ||
           !strcasecmp(name, "irecv");
}

/* Messages between two ranks, by what a framework says: the group of these two; NVT_NONE: they are not known, or (*failed) out
 * of memory. */
static uint32_t pair_of(struct device *device, uint32_t row, int *failed)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const struct nvt_collectives *rows = &trace->collectives;
    const char *name = nvt_name(trace, rows->name[row]);
    char key[256], text[64];
    if (!rows->peer[row] || device->rank->number < 0)
        return NVT_NONE;
    const int64_t peer = (int64_t)rows->peer[row] - 1, own = device->rank->number;
    const int sends = strcasestr(name, "send") != NULL;
    snprintf(text, sizeof(text), "%" PRId64 " to %" PRId64, sends ? own : peer, sends ? peer : own);
    snprintf(key, sizeof(key), "pair %.150s %s", nvt_name(trace, rows->group[row]), text);
    const struct nvt_rank_group group = {.name = nvt_strings_add_text(device->ranks->names, text),
                                         .size = 2,
                                         .flags = NVT_GROUP_PAIR};
    const uint32_t found =
        group.name == NVT_NO_STRING ? NVT_NONE : nvt_ranks_group(device->ranks, key, &group);
    *failed = found == NVT_NONE;
    return found;
}

/* The group that a framework names. NVT_NONE when out of memory. */
static uint32_t told_group(struct device *device, uint32_t row)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const struct nvt_collectives *rows = &trace->collectives;
    const char *name = nvt_name(trace, rows->group[row]),
               *members = nvt_name(trace, rows->members[row]);
    const struct nvt_rank_group group = {.name = nvt_strings_add_text(device->ranks->names, name),
                                         .members =
                                             nvt_strings_add_text(device->ranks->names, members),
                                         .size = rows->ranks[row],
                                         .flags = *name || *members ? 0 : NVT_GROUP_ASSUMED};
    struct nvt_buffer key = {0};
    uint32_t found = NVT_NONE;
    if (group.name != NVT_NO_STRING && group.members != NVT_NO_STRING &&
        !nvt_buffer_printf(&key, "group %s %s %" PRIu32, name, members, rows->ranks[row]) &&
        !nvt_buffer_append(&key, "", 1))
        found = nvt_ranks_group(device->ranks, (const char *)key.data, &group);
    nvt_buffer_free(&key);
    return found;
}

/* The range that says what the communication of an operation is, NVT_NONE: none does. */
static uint32_t saying_of(const struct device *device, uint32_t op)
{
    const uint32_t *ranges = device->sayings->ranges;
    return ranges && ranges[op] ? ranges[op] - 1 : NVT_NONE;
}

/* The group that the range around the launch names. NVT_NONE when out of memory. */
static uint32_t said_group(struct device *device, uint32_t range)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const char *payload = nvt_range_payload(trace, range);
    const double size = nvt_member_number(payload, "\"ranks\"");
    struct nvt_rank_group group = {.size = size >= 1 && size < NVT_NONE ? (uint32_t)size : 0};
    char key[128];
    if (says_group(trace, range) == 2) {
        snprintf(key, sizeof(key), "%.100s", payload + 10);
        key[strcspn(key, "\"")] = 0;
    } else
        snprintf(key, sizeof(key), "NCCL %" PRIx64, nvt_nccl_communicator(trace, range));
    group.name = nvt_strings_add_text(device->ranks->names, key);
    return group.name == NVT_NO_STRING ? NVT_NONE : nvt_ranks_group(device->ranks, key, &group);
}

/* NVT_NONE when out of memory. */
static uint32_t group_of(struct device *device, uint32_t op)
{
    static const struct nvt_rank_group assumed = {.flags = NVT_GROUP_ASSUMED},
                                       messages = {.flags = NVT_GROUP_ASSUMED | NVT_GROUP_PAIR};
    const struct nvt_trace *trace = device->rank->from->trace;
    const uint32_t detail = trace->ops.detail[op], said = saying_of(device, op);
    const uint32_t row = detail == NVT_NONE ? 0 : trace->kernels.collective[detail];
    const int sends = strcasestr(nvt_name(trace, trace->ops.short_name[op]), "sendrecv") != NULL;
    int failed = 0;
    if (row && is_message(nvt_name(trace, trace->collectives.name[row - 1]))) {
        const uint32_t pair = pair_of(device, row - 1, &failed);
        if (pair != NVT_NONE || failed)
            return pair;
    } else if (row && (trace->collectives.group[row - 1] || trace->collectives.members[row - 1]))
        return told_group(device, row - 1);
    if (said != NVT_NONE && !sends)
        return said_group(device, said);
    return sends ? nvt_ranks_group(device->ranks, "messages", &messages)
                 : nvt_ranks_group(device->ranks, "", &assumed);
}

/* Which of its group's an operation is. UINT64_MAX: not recorded. */
static uint64_t sequence_of(const struct device *device, uint32_t op)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const uint64_t number = nvt_sequence_of(device->sequences, trace, op);
    const uint32_t said = saying_of(device, op);
    if (number != UINT64_MAX || said == NVT_NONE || says_group(trace, said) != 2)
        return number;
    const double of_range = nvt_member_number(nvt_range_payload(trace, said), "\"sequence\"");
    return of_range >= 0 && of_range < UINT32_MAX ? (uint64_t)of_range : UINT64_MAX;
}

/* NaN: unknown. */
static double bus_bytes_of(const struct device *device, uint32_t op)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const uint32_t detail = trace->ops.detail[op], said = saying_of(device, op);
    const uint32_t row = detail == NVT_NONE ? 0 : trace->kernels.collective[detail];
    struct nvt_message message = {.bytes = NVT_MESSAGE_UNKNOWN};
    if (row)
        message = nvt_message_told(trace, row - 1);
    else if (said != NVT_NONE && says_group(trace, said) == 2)
        nvt_message_launched(trace, said, &message);
    return message.bytes == NVT_MESSAGE_UNKNOWN
               ? NAN
               : (double)message.bytes * nvt_bus_factor(message.name, message.ranks);
}

static int add_collective(struct device *device, uint32_t op)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_rank_part part = {
        .name = nvt_strings_add_text(device->ranks->names, nvt_name(trace, ops->short_name[op])),
        .group = group_of(device, op),
        .sequence = sequence_of(device, op),
        .bus_bytes = bus_bytes_of(device, op),
        .start = ops->start[op],
        .end = ops->end[op],
        .before = done_until(device, ops->start[op]),
        .after = done_until(device, ops->end[op])};
    return part.name == NVT_NO_STRING || part.group == NVT_NONE ||
           nvt_rank_add_part(device->rank, &part);
}

int nvt_rank_add_part(struct nvt_rank *rank, const struct nvt_rank_part *part)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is one of those that were added */
    if (nvt_grow(&rank->parts, rank->part_count, sizeof(*rank->parts)))
        return -1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made at 0, grown at powers of two */
    rank->parts[rank->part_count++] = *part;
    return 0;
}

/* The iterations of its process. 0, or -1 when out of memory. */
static int find_turns(struct device *device)
{
    const struct nvt_trace *trace = device->rank->from->trace;
    struct nvt_rank *rank = device->rank;
    for (uint32_t i = 0; i < device->iteration_count; i++) {
        const uint32_t range = device->iterations[i];
        const int64_t start = trace->ranges.start[range], end = trace->ranges.end[range];
        if (trace->threads.process[trace->ranges.thread[range]] != rank->process)
            continue;
        if (nvt_grow(&rank->turns, rank->iterations, sizeof(*rank->turns)))
            return -1;
        const struct nvt_rank_done before = done_until(device, start),
                                   after = done_until(device, end);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made at 0, grown at powers of two */
        rank->turns[rank->iterations++] = (struct nvt_rank_turn){
            end - start, after.work - before.work + after.idle - before.idle};
    }
    return 0;
}

static int digest(struct device *device)
{
    const struct nvt_ops *ops = &device->rank->from->trace->ops;
    struct nvt_spent communication = {0};
    int failed = find_levels(device) || find_collecting(device) || find_turns(device) ||
                 nvt_rank_add_steps(device->rank, device->from, device->steps, device->step_count);
    device->rank->clock = clock_of(device);
    for (uint32_t i = 0; i < device->from->count && !failed; i++) {
        const uint32_t op = device->from->ops[i];
        if (!nvt_is_communication(device->rank->from->trace, op))
            continue;
        failed = nvt_spent_add(&communication, ops->start[op], ops->end[op]) ||
                 (ops->kind[op] == NVT_OP_KERNEL && add_collective(device, op));
    }
    for (uint32_t i = 0; i < communication.count && !failed; i++)
        device->rank->communication += communication.spans[i][1] - communication.spans[i][0] -
                                       (nvt_spent_until(&device->work, communication.spans[i][1]) -
                                        nvt_spent_until(&device->work, communication.spans[i][0]));
    nvt_spent_free(&communication);
    nvt_spent_free(&device->work);
    nvt_spent_free(&device->busy);
    nvt_spent_free(&device->loading);
    nvt_spent_free(&device->collecting);
    free(device->kernels);
    return failed ? -1 : 0;
}

/* --- the ranks of a trace --- */

struct nvt_rank *nvt_ranks_add(struct nvt_ranks *ranks, const struct nvt_input_trace *from,
                               uint32_t process, uint32_t device)
{
    const uint32_t rank = nvt_input_rank(from, process);
    if (nvt_grow(&ranks->items, ranks->count, sizeof(*ranks->items)))
        return NULL;
    ranks->items[ranks->count] = (struct nvt_rank){.from = from,
                                                   .process = process,
                                                   .device = device,
                                                   .peak = -1,
                                                   .clock = NAN,
                                                   .number = rank == NVT_NONE ? -1 : (int64_t)rank};
    nvt_rank_places(from->trace, ranks->items[ranks->count].number,
                    ranks->items[ranks->count].places);
    return &ranks->items[ranks->count++];
}

/* 0, or -1 when out of memory. */
static int find_peaks(struct nvt_ranks *ranks, const struct nvt_trace *trace)
{
    struct nvt_levels levels = {0};
    const int failed = trace->memory.count && nvt_levels_make(&levels, trace);
    for (uint32_t i = 0; i < levels.count && !failed; i++)
        for (uint32_t k = 0; k < ranks->count; k++)
            if (ranks->items[k].process == levels.series[i].process &&
                ranks->items[k].device == levels.series[i].device)
                ranks->items[k].peak = nvt_level_most(&levels.series[i], NULL);
    nvt_levels_free(&levels);
    return failed ? -1 : 0;
}

static int add_devices(struct nvt_ranks *ranks, const struct nvt_input_trace *from,
                       struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    struct sayings sayings = {.trace = from->trace};
    struct nvt_map sequences = {0};
    struct batch_waits waits = {0};
    struct nvt_counter_courses courses = {0};
    struct nvt_stage_step *steps = NULL;
    uint32_t step_count = 0;
    uint8_t *garbage = nvt_garbage_frames(from->trace);
    int status = nvt_used_devices_make(&devices, from->trace, err);
    uint32_t iteration_count = 0, *iterations = nvt_iterations(from->trace, &iteration_count);
    if (!status && (!iterations || !garbage || find_sayings(&sayings) ||
                    nvt_sequences_map(&sequences, from->trace) ||
                    (devices.count && (find_batch_waits(&waits, from->trace) ||
                                       nvt_stage_steps_find(&steps, &step_count, from->trace)))))
        status = nvt_fail_at(err, from->trace->path, -1, "out of memory");
    if (!status && nvt_machine_courses(from->trace, &courses, err) < 0)
        status = -1;
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct device device = {.ranks = ranks,
                                .from = &devices.items[i],
                                .sayings = &sayings,
                                .sequences = &sequences,
                                .waits = &waits,
                                .garbage = garbage,
                                .courses = &courses,
                                .iterations = iterations,
                                .iteration_count = iteration_count,
                                .steps = steps,
                                .step_count = step_count};
        device.rank = nvt_ranks_add(ranks, from, devices.items[i].process, devices.items[i].device);
        if (!device.rank || digest(&device))
            status = nvt_fail_at(err, from->trace->path, -1, "out of memory");
    }
    if (!status && find_peaks(ranks, from->trace))
        status = nvt_fail_at(err, from->trace->path, -1, "out of memory");
    free(iterations);
    nvt_used_devices_free(&devices);
    nvt_map_free(&sequences);
    nvt_counter_courses_free(&courses);
    free(garbage);
    free(steps);
    free(sayings.ranges);
    free(waits.ranges);
    return status;
}

int nvt_ranks_of_trace(struct nvt_ranks *digest, const struct nvt_input_trace *from,
                       struct nvt_error *err)
{
    digest->names = nvt_strings_new();
    if (!digest->names || (!from->trace->ops.count && nvt_ranks_of_nccl(digest, from)))
        return nvt_fail(err, "out of memory");
    return add_devices(digest, from, err);
}
