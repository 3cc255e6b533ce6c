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

#include "../../lib/grow.h"
#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "../studies/lock_holders.h"
#include "osrt.h"

enum { L_PID, L_ADDRESS, L_CALL, L_KIND, L_THREADS, L_WAITS, L_TOTAL, L_AVG, L_CALLER = L_AVG + 5 };
enum { L_IN = L_CALLER + 1, L_FOR, L_SITE, L_LOCKS, L_HOLDER, L_HELD_IN };

static const struct nvt_column_spec columns[] = {
    [L_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [L_ADDRESS] = {"Address", "", NVT_TEXT, 0, 0},
    [L_CALL] = {"Call", "", NVT_TEXT, 0, 0},
    [L_KIND] = {"Kind", "", NVT_TEXT, 0, 0},
    [L_THREADS] = {"Threads", "", NVT_INT, 0, 0},
    [L_WAITS] = {"Num Waits", "", NVT_INT, 0, 0},
    [L_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    {"Med (ns)", "ns", NVT_REAL, 1, 0},
    {"Min (ns)", "ns", NVT_INT, 0, 0},
    {"Max (ns)", "ns", NVT_INT, 0, 0},
    {"StdDev (ns)", "ns", NVT_REAL, 1, 0},
    [L_CALLER] = {"Caller", "", NVT_TEXT, 0, 0},
    [L_IN] = {"Most In", "", NVT_TEXT, 0, 0},
    [L_FOR] = {"Waits For", "", NVT_TEXT, 0, 0},
    [L_SITE] = {"Call Site", "", NVT_TEXT, 0, 0},
    [L_LOCKS] = {"Objects", "", NVT_INT, 0, 0},
    [L_HOLDER] = {"Held By (TID)", "", NVT_INT, 0, NVT_PLAIN},
    [L_HELD_IN] = {"Held In", "", NVT_TEXT, 0, 0},
};

/* A group is of a call site, or of an address: trace, process, kind, what is waited for, the name of the site (of none, that of
 * ""), and the address, 0 where that says nothing. */
enum { OF_TRACE, OF_PROCESS, OF_KIND, OF_WHAT, OF_SITE, OF_HIGH, OF_LOW, KEY_PARTS };

/* Time of each group's waits by one more thing. */
enum by { BY_CALL, BY_RANGE, BY_THREAD, BY_CALLER, BY_OBJECT, BY_HOLDER, BY_HELD_IN, BYS };

struct locks {
    struct nvt_groups groups;
    struct nvt_pairs by[BYS];
    struct nvt_map objects; /* process and address -> number */
    uint32_t object_count;
    uint64_t *addresses; /* of each group: of its first wait */
    uint32_t address_count;
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
    uint32_t *number = nvt_map_at(&locks->objects, address ^ (uint64_t)process << 48);
    if (number && *number == NVT_MAP_NONE)
        *number = locks->object_count++;
    return number ? *number : NVT_NONE;
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
    if (group == locks->address_count && group != NVT_NONE) {
        if (nvt_grow(&locks->addresses, locks->address_count, sizeof(*locks->addresses)))
            return NVT_NONE;
        locks->addresses[locks->address_count++] = address;
    }
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

static int add_trace(struct locks *locks, const struct nvt_trace *trace, uint32_t number,
                     struct nvt_error *err)
{
    struct adding adding = {.locks = locks, .trace = trace, .number = number};
    int status = nvt_thread_ranges_make(&adding.ranges, trace, err);
    if (!status && (nvt_waits_make(&adding.waits, trace) ||
                    nvt_lock_holders_make(&adding.holders, &adding.waits)))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_groups_trace(&locks->groups, trace);
    for (uint32_t i = 0; i < trace->os_calls.count && !status; i++) {
        enum nvt_os_kind kind = nvt_wait_kind(&adding.waits, &adding.names, i);
        int is_wait =
            trace->os_calls.address[i] && (kind == NVT_OS_LOCKS || kind == NVT_OS_THREADS);
        if (is_wait && add_wait(&adding, i, kind))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
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

/* Where it is, and who has it. */
static void put_place(struct nvt_table *table, size_t row, const struct locks *locks, uint32_t lock)
{
    const struct nvt_group *group = &locks->groups.groups[lock];
    const struct nvt_pair *holder = nvt_pairs_most(&locks->by[BY_HOLDER], lock);
    uint32_t objects = count_of(&locks->by[BY_OBJECT], lock);
    if (objects == 1)
        nvt_osrt_put_address(table, row, L_ADDRESS, locks->addresses[lock]);
    nvt_table_set_name(table, row, L_FOR, nvt_wait_text((enum nvt_wait)group->key[OF_WHAT]));
    nvt_table_set_name(table, row, L_SITE, nvt_groups_name(&locks->groups, group->key[OF_SITE]));
    nvt_table_set_int(table, row, L_LOCKS, objects);
    if (holder)
        nvt_table_set_int(table, row, L_HOLDER, holder->part);
    nvt_table_set_name(table, row, L_HELD_IN, name_of(locks, BY_HELD_IN, lock));
}

static void put_lock(struct nvt_table *table, const struct nvt_input *input, struct locks *locks,
                     uint32_t lock)
{
    const struct nvt_group *group = &locks->groups.groups[lock];
    const struct nvt_trace *trace = input->traces[group->key[OF_TRACE]].trace;
    struct nvt_summary summary = nvt_groups_summary(&locks->groups, lock);
    char call[100];
    size_t row = nvt_table_add_row(table);
    snprintf(call, sizeof(call), "%.80s%s", name_of(locks, BY_CALL, lock),
             count_of(&locks->by[BY_CALL], lock) > 1 ? ", …" : "");
    nvt_table_set_int(table, row, L_PID, trace->processes.pid[group->key[OF_PROCESS]]);
    nvt_table_set_text(table, row, L_CALL, call);
    nvt_table_set_text(table, row, L_KIND, nvt_os_kind_name(group->key[OF_KIND]));
    nvt_table_set_int(table, row, L_THREADS, count_of(&locks->by[BY_THREAD], lock));
    nvt_table_set_int(table, row, L_WAITS, (int64_t)group->count);
    nvt_table_set_int(table, row, L_TOTAL, group->total);
    nvt_put_summary(table, row, L_AVG, &summary, 1);
    nvt_table_set_name(table, row, L_CALLER, name_of(locks, BY_CALLER, lock));
    nvt_table_set_name(table, row, L_IN, name_of(locks, BY_RANGE, lock));
    put_place(table, row, locks, lock);
}

static int put_locks(struct nvt_table *table, const struct nvt_input *input, struct locks *locks,
                     struct nvt_error *err)
{
    const uint32_t count = locks->groups.count;
    if (nvt_groups_finish(&locks->groups, err))
        return -1;
    for (int by = 0; by < BYS; by++)
        if (nvt_pairs_sort(&locks->by[by], count))
            return nvt_fail(err, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        put_lock(table, input, locks, i);
    nvt_table_sort(table, L_TOTAL, 1);
    nvt_table_sort(table, L_KIND, 0); /* "locks" before "threads" */
    return 0;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_osrt_locks, input, "Waits by lock", err);
    struct locks locks = {.object_count = 0};
    int status = table ? 0 : -1;
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&locks, input->traces[i].trace, (uint32_t)i, err);
    if (!status)
        status = put_locks(table, input, &locks, err);
    nvt_groups_free(&locks.groups);
    for (int by = 0; by < BYS; by++)
        nvt_pairs_free(&locks.by[by]);
    nvt_map_free(&locks.objects);
    free(locks.addresses);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    if (!nvt_table_rows(table) && nvt_input_has_os_calls(input))
        nvt_note(input, "note: no OS runtime call of the input says which lock it waited for "
                        "(record --trace osrt does)");
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_osrt_locks = {
    .name = "osrt_locks",
    .about = "what threads wait for: locks, then queues, events and the like, by call site",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
