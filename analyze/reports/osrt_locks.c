/*
 * osrt_locks: waits for locks, queues, events and the like.
 *
 * Waits are put together by the function of the program that waits, where stacks say which (waits.h): what threads of a server
 * wait for is new with every request, and the line is the same. Without a stack, what is waited for is known by its address in
 * its process; what Python waits for so is one row, as its locks are many and short-lived.
 *
 * A wait for a lock means that another thread held it. Other waits mostly mean idle workers, and there is much of that: so
 * locks come first, whatever they took. A range has the time of the calls that it is the innermost one to hold
 * (calls_by_range.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "../studies/lock_holders.h"
#include "osrt.h"

/* A group is of a call site, or of an address: trace, process, kind, what is waited for, the name of the site (of none, that of
 * ""), and the address, 0 where that says nothing. */
enum { OF_TRACE, OF_PROCESS, OF_KIND, OF_WHAT, OF_SITE, OF_HIGH, OF_LOW, KEY_PARTS };

/* Time of each group's waits by one more thing. */
enum by { BY_CALL, BY_RANGE, BY_THREAD, BY_CALLER, BY_OBJECT, BY_HOLDER, BY_HELD_IN, BYS };

/* The first wait of a group. */
struct first {
    uint64_t address;
};

struct locks {
    struct nvt_groups groups; /* which carry a struct first */
    struct nvt_pairs by[BYS];
    struct nvt_map objects; /* process and address -> number */
    uint32_t object_count;
};

/* One trace while it is added. */
struct adding {
    struct locks *locks;
    const struct nvt_trace *trace;
    uint32_t number;
    struct nvt_thread_ranges ranges;
    struct nvt_waits waits;
    struct nvt_lock_holders holders;
    struct nvt_os_names names;
    struct nvt_pairs held; /* whole 0: rows of call_frames, of one wait */
};

/* NVT_NONE when out of memory. */
static uint32_t object_of(struct locks *locks, uint32_t process, uint64_t address)
{
    return nvt_map_number(&locks->objects, address ^ (uint64_t)process << 48, &locks->object_count);
}

/* The group of a wait; NVT_NONE when out of memory. */
static uint32_t group_of(struct adding *adding, uint32_t call, enum nvt_os_kind kind)
{
    struct locks *locks = adding->locks;
    const struct nvt_trace *trace = adding->trace;
    uint64_t address = trace->os_calls.address[call];
    uint32_t site = nvt_wait_site(trace, adding->waits.frame[call]);
    int has_address = !site && adding->waits.what[call] != NVT_WAIT_PYTHON;
    const uint32_t key[KEY_PARTS] = {
        [OF_TRACE] = adding->number,
        [OF_PROCESS] = trace->threads.process[trace->os_calls.thread[call]],
        [OF_KIND] = kind,
        [OF_WHAT] = adding->waits.what[call],
        [OF_SITE] = site ? nvt_groups_string(&locks->groups, trace->call_frames.name[site - 1])
                         : nvt_groups_text(&locks->groups, ""),
        [OF_HIGH] = has_address ? (uint32_t)(address >> 32) : 0,
        [OF_LOW] = has_address ? (uint32_t)address : 0};
    uint32_t group = nvt_groups_key(&locks->groups, key, KEY_PARTS);
    struct first *first = nvt_groups_item(&locks->groups, group);
    if (first && !first->address)
        first->address = address;
    return group;
}

/* 0, or -1 when out of memory. */
static int add_holder(struct adding *adding, uint32_t call, uint32_t group, int64_t ns)
{
    struct locks *locks = adding->locks;
    uint32_t holder = nvt_holder_tid(&adding->waits, call);
    if (!holder)
        return 0;
    if (nvt_pairs_add(&locks->by[BY_HOLDER], group, holder, ns) ||
        nvt_lock_held_in(&adding->holders, call, 0, &adding->held))
        return -1;
    int failed = 0;
    for (uint32_t i = 0; i < adding->held.count && !failed; i++)
        failed = nvt_pairs_add(
            &locks->by[BY_HELD_IN], group,
            nvt_groups_string(&locks->groups,
                              adding->trace->call_frames.name[adding->held.items[i].part]),
            adding->held.items[i].weight);
    nvt_pairs_free(&adding->held);
    return failed;
}

static int add_wait(struct adding *adding, uint32_t call, enum nvt_os_kind kind)
{
    struct locks *locks = adding->locks;
    const struct nvt_os_calls *calls = &adding->trace->os_calls;
    const uint32_t thread = calls->thread[call];
    int64_t ns = calls->end[call] - calls->start[call];
    uint32_t range = nvt_holder_of(&adding->ranges, thread, calls->start[call], calls->end[call]);
    uint32_t group = group_of(adding, call, kind);
    if (group == NVT_NONE)
        return -1;
    nvt_groups_add(&locks->groups, group, ns);
    const uint32_t parts[BYS] = {
        [BY_CALL] = nvt_groups_string(&locks->groups, calls->name[call]),
        [BY_RANGE] = range == NVT_NONE ? nvt_groups_text(&locks->groups, "")
                                       : nvt_groups_range(&locks->groups, range),
        [BY_THREAD] = thread,
        [BY_CALLER] = nvt_groups_string(&locks->groups, calls->caller[call]),
        [BY_OBJECT] =
            object_of(locks, adding->trace->threads.process[thread], calls->address[call])};
    for (int by = 0; by < BY_HOLDER; by++)
        if (nvt_pairs_add(&locks->by[by], group, parts[by], ns))
            return -1;
    return add_holder(adding, call, group, ns);
}

static int add_osrt_locks_trace(struct locks *locks, const struct nvt_trace *trace, uint32_t number,
                                const struct nvt_making *making)
{
    struct adding adding = {.locks = locks, .trace = trace, .number = number};
    int status = nvt_thread_ranges_make(&adding.ranges, trace, making->err);
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

/* --- the table ---------------------------------------------------------------------------------- */

static uint32_t count_of(const struct nvt_pairs *pairs, uint32_t lock)
{
    return pairs->first[lock + 1] - pairs->first[lock];
}

static const char *name_of(const struct locks *locks, enum by by, uint32_t lock)
{
    const struct nvt_pair *most = nvt_pairs_most(&locks->by[by], lock);
    return most ? nvt_groups_name(&locks->groups, most->part) : "";
}

static void put_lock(struct nvt_table *table, const struct nvt_input *input, struct locks *locks,
                     uint32_t lock)
{
    const struct nvt_group *group = &locks->groups.groups[lock];
    const struct first *first = nvt_groups_item(&locks->groups, lock);
    const struct nvt_trace *trace = input->traces[group->key[OF_TRACE]].trace;
    const struct nvt_summary times = nvt_groups_summary(&locks->groups, lock);
    const struct nvt_pair *holder = nvt_pairs_most(&locks->by[BY_HOLDER], lock);
    const uint32_t objects = count_of(&locks->by[BY_OBJECT], lock);
    char call[100], address[NVT_ADDRESS_TEXT];
    snprintf(call, sizeof(call), "%.80s%s", name_of(locks, BY_CALL, lock),
             count_of(&locks->by[BY_CALL], lock) > 1 ? ", …" : "");
    nvt_table_put(table, trace->processes.pid[group->key[OF_PROCESS]],
                  objects == 1 ? nvt_osrt_address(first->address, address) : NULL, call,
                  nvt_os_kind_name(group->key[OF_KIND]), count_of(&locks->by[BY_THREAD], lock),
                  group->count, group->total, &times,
                  nvt_text_if_any(name_of(locks, BY_CALLER, lock)),
                  nvt_text_if_any(name_of(locks, BY_RANGE, lock)),
                  nvt_text_if_any(nvt_wait_text((enum nvt_wait)group->key[OF_WHAT])),
                  nvt_text_if_any(nvt_groups_part(&locks->groups, lock, OF_SITE)), objects,
                  NVT_IF(holder, holder->part), nvt_text_if_any(name_of(locks, BY_HELD_IN, lock)));
}

static int put_locks(struct nvt_table *table, const struct nvt_input *input, struct locks *locks,
                     struct nvt_error *err)
{
    const uint32_t count = locks->groups.count;
    if (nvt_groups_finish(&locks->groups, err))
        return -1;
    for (int by = 0; by < BYS; by++)
        if (nvt_pairs_sort(&locks->by[by], count))
            return -1;
    for (uint32_t i = 0; i < count; i++)
        put_lock(table, input, locks, i);
    return 0;
}

static int put_osrt_locks(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    struct locks locks = {.groups = {.item_size = sizeof(struct first)}};
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_osrt_locks_trace(&locks, input->traces[i].trace, (uint32_t)i, making);
    if (!status)
        status = put_locks(table, input, &locks, making->err);
    nvt_groups_free(&locks.groups);
    for (int by = 0; by < BYS; by++)
        nvt_pairs_free(&locks.by[by]);
    nvt_map_free(&locks.objects);
    return status;
}

const struct nvt_report nvt_report_osrt_locks = {
    .name = "osrt_locks",
    .about = "what threads wait for: locks, then queues, events and the like, by call site",
    .columns = {{"PID", NVT_SPARE_IDS},
                {"Address", NVT_NAMES},
                {"Call", NVT_NAMES},
                {"Kind", NVT_NAMES},
                {"Threads", NVT_COUNTS},
                {"Num Waits", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                NVT_SUMMARY_COLUMNS(""),
                {"Caller", NVT_NAMES},
                {"Most In", NVT_NAMES},
                {"Waits For", NVT_NAMES},
                {"Call Site", NVT_NAMES},
                {"Objects", NVT_COUNTS},
                {"Held By (TID)", NVT_IDS},
                {"Held In", NVT_NAMES}},
    .title = "Waits by lock",
    .order = {"Kind", "-Total Time (ns)"}, /* "locks" before "threads" */
    NVT_OS_CALLS_MISSING,
    .nothing = "no OS call in the input names the lock it waited for (record --trace osrt does)",
    .of_input = put_osrt_locks,
};
