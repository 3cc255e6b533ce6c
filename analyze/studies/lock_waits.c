#include "lock_waits.h"

#include "../model/os_names.h"
#include "calls_by_range.h"
#include "lock_holders.h"

/* One trace while it is added. */
struct adding {
    struct nvt_lock_waits *locks;
    const struct nvt_trace *trace;
    uint32_t number;
    struct nvt_thread_ranges ranges;
    struct nvt_waits waits;
    struct nvt_lock_holders holders;
    struct nvt_os_names names;
    struct nvt_pairs held; /* whole 0: rows of call_frames, of one wait */
};

struct nvt_lock_waits nvt_lock_waits_init(void)
{
    return (struct nvt_lock_waits){.groups = {.item_size = sizeof(struct nvt_lock_first)}};
}

/* NVT_NONE when out of memory. */
static uint32_t object_of(struct nvt_lock_waits *locks, uint32_t process, uint64_t address)
{
    return nvt_map_number(&locks->objects, address ^ (uint64_t)process << 48, &locks->object_count);
}

/* The group of a wait; NVT_NONE when out of memory. */
static uint32_t group_of(struct adding *adding, uint32_t call, enum nvt_os_kind kind)
{
    struct nvt_lock_waits *locks = adding->locks;
    const struct nvt_trace *trace = adding->trace;
    uint64_t address = trace->os_calls.address[call];
    uint32_t site = nvt_wait_site(trace, adding->waits.frame[call]);
    int has_address = !site && adding->waits.what[call] != NVT_WAIT_PYTHON;
    const uint32_t key[NVT_LOCK_PARTS] = {
        [NVT_LOCK_TRACE] = adding->number,
        [NVT_LOCK_PROCESS] = trace->threads.process[trace->os_calls.thread[call]],
        [NVT_LOCK_KIND] = kind,
        [NVT_LOCK_WHAT] = adding->waits.what[call],
        [NVT_LOCK_SITE] = site
                              ? nvt_groups_string(&locks->groups, trace->call_frames.name[site - 1])
                              : nvt_groups_text(&locks->groups, ""),
        [NVT_LOCK_HIGH] = has_address ? (uint32_t)(address >> 32) : 0,
        [NVT_LOCK_LOW] = has_address ? (uint32_t)address : 0};
    uint32_t group = nvt_groups_key(&locks->groups, key, NVT_LOCK_PARTS);
    struct nvt_lock_first *first = nvt_groups_item(&locks->groups, group);
    if (first && !first->address)
        first->address = address;
    return group;
}

/* 0, or -1 when out of memory. */
static int add_holder(struct adding *adding, uint32_t call, uint32_t group, int64_t ns)
{
    struct nvt_lock_waits *locks = adding->locks;
    uint32_t holder = nvt_holder_tid(&adding->waits, call);
    if (!holder)
        return 0;
    if (nvt_pairs_add(&locks->by[NVT_LOCK_BY_HOLDER], group, holder, ns) ||
        nvt_lock_held_in(&adding->holders, call, 0, &adding->held))
        return -1;
    int failed = 0;
    for (uint32_t i = 0; i < adding->held.count && !failed; i++)
        failed = nvt_pairs_add(
            &locks->by[NVT_LOCK_BY_HELD_IN], group,
            nvt_groups_string(&locks->groups,
                              adding->trace->call_frames.name[adding->held.items[i].part]),
            adding->held.items[i].weight);
    nvt_pairs_free(&adding->held);
    return failed;
}

static int add_wait(struct adding *adding, uint32_t call, enum nvt_os_kind kind)
{
    struct nvt_lock_waits *locks = adding->locks;
    const struct nvt_os_calls *calls = &adding->trace->os_calls;
    const uint32_t thread = calls->thread[call];
    int64_t ns = calls->end[call] - calls->start[call];
    uint32_t range = nvt_holder_of(&adding->ranges, thread, calls->start[call], calls->end[call]);
    uint32_t group = group_of(adding, call, kind);
    if (group == NVT_NONE)
        return -1;
    nvt_groups_add(&locks->groups, group, ns);
    const uint32_t parts[NVT_LOCK_BYS] = {
        [NVT_LOCK_BY_CALL] = nvt_groups_string(&locks->groups, calls->name[call]),
        [NVT_LOCK_BY_RANGE] = range == NVT_NONE ? nvt_groups_text(&locks->groups, "")
                                                : nvt_groups_range(&locks->groups, range),
        [NVT_LOCK_BY_THREAD] = thread,
        [NVT_LOCK_BY_CALLER] = nvt_groups_string(&locks->groups, calls->caller[call]),
        [NVT_LOCK_BY_OBJECT] =
            object_of(locks, adding->trace->threads.process[thread], calls->address[call])};
    for (int by = 0; by < NVT_LOCK_BY_HOLDER; by++)
        if (nvt_pairs_add(&locks->by[by], group, parts[by], ns))
            return -1;
    return add_holder(adding, call, group, ns);
}

int nvt_lock_waits_add(struct nvt_lock_waits *locks, const struct nvt_trace *trace, uint32_t number,
                       struct nvt_error *err)
{
    struct adding adding = {.locks = locks, .trace = trace, .number = number};
    int status = nvt_thread_ranges_make(&adding.ranges, trace, err);
    if (!status)
        status = nvt_waits_make(&adding.waits, trace) ||
                 nvt_lock_holders_make(&adding.holders, &adding.waits);
    nvt_groups_trace(&locks->groups, trace);
    for (uint32_t i = 0; i < trace->os_calls.count && !status; i++) {
        enum nvt_os_kind kind = nvt_wait_kind(&adding.waits, &adding.names, i);
        int is_wait =
            trace->os_calls.address[i] && (kind == NVT_OS_LOCKS || kind == NVT_OS_THREADS);
        status = is_wait ? add_wait(&adding, i, kind) : 0;
    }
    nvt_lock_holders_free(&adding.holders);
    nvt_waits_free(&adding.waits);
    nvt_thread_ranges_free(&adding.ranges);
    nvt_os_names_free(&adding.names);
    nvt_pairs_free(&adding.held);
    return status;
}

int nvt_lock_waits_finish(struct nvt_lock_waits *locks, struct nvt_error *err)
{
    int status = nvt_groups_finish(&locks->groups, err);
    for (int by = 0; by < NVT_LOCK_BYS && !status; by++)
        status = nvt_pairs_sort(&locks->by[by], locks->groups.count);
    return status;
}

void nvt_lock_waits_free(struct nvt_lock_waits *locks)
{
    nvt_groups_free(&locks->groups);
    for (int by = 0; by < NVT_LOCK_BYS; by++)
        nvt_pairs_free(&locks->by[by]);
    nvt_map_free(&locks->objects);
}
