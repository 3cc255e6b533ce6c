/*
 * osrt_locks: waits for locks, queues, events and the like (studies/lock_waits.h).
 *
 * A wait for a lock means that another thread held it. Other waits mostly mean idle workers, and there is much of that: so
 * locks come first, whatever they took.
 */
#include <stdio.h>

#include "../model/os_names.h"
#include "../studies/lock_waits.h"
#include "../studies/waits.h"
#include "osrt.h"

static uint32_t count_of(const struct nvt_pairs *pairs, uint32_t lock)
{
    return pairs->first[lock + 1] - pairs->first[lock];
}

static const char *name_of(const struct nvt_lock_waits *locks, enum nvt_lock_by by, uint32_t lock)
{
    const struct nvt_pair *most = nvt_pairs_most(&locks->by[by], lock);
    return most ? nvt_groups_name(&locks->groups, most->part) : "";
}

static void put_lock(struct nvt_table *table, const struct nvt_input *input,
                     struct nvt_lock_waits *locks, uint32_t lock)
{
    const struct nvt_group *group = &locks->groups.groups[lock];
    const struct nvt_lock_first *first = nvt_groups_item(&locks->groups, lock);
    const struct nvt_trace *trace = input->traces[group->key[NVT_LOCK_TRACE]].trace;
    const struct nvt_summary times = nvt_groups_summary(&locks->groups, lock);
    const struct nvt_pair *holder = nvt_pairs_most(&locks->by[NVT_LOCK_BY_HOLDER], lock);
    const uint32_t objects = count_of(&locks->by[NVT_LOCK_BY_OBJECT], lock);
    char call[100], address[NVT_ADDRESS_TEXT];
    snprintf(call, sizeof(call), "%.80s%s", name_of(locks, NVT_LOCK_BY_CALL, lock),
             count_of(&locks->by[NVT_LOCK_BY_CALL], lock) > 1 ? ", …" : "");
    nvt_table_put(table, trace->processes.pid[group->key[NVT_LOCK_PROCESS]],
                  objects == 1 ? nvt_osrt_address(first->address, address) : NULL, call,
                  nvt_os_kind_name(group->key[NVT_LOCK_KIND]),
                  count_of(&locks->by[NVT_LOCK_BY_THREAD], lock), group->count, group->total,
                  &times, nvt_text_if_any(name_of(locks, NVT_LOCK_BY_CALLER, lock)),
                  nvt_text_if_any(name_of(locks, NVT_LOCK_BY_RANGE, lock)),
                  nvt_text_if_any(nvt_wait_text((enum nvt_wait)group->key[NVT_LOCK_WHAT])),
                  nvt_text_if_any(nvt_groups_part(&locks->groups, lock, NVT_LOCK_SITE)), objects,
                  NVT_IF(holder, holder->part),
                  nvt_text_if_any(name_of(locks, NVT_LOCK_BY_HELD_IN, lock)));
}

static int put_osrt_locks(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    struct nvt_lock_waits locks = nvt_lock_waits_init();
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = nvt_lock_waits_add(&locks, input->traces[i].trace, (uint32_t)i, making->err);
    if (!status)
        status = nvt_lock_waits_finish(&locks, making->err);
    for (uint32_t i = 0; i < locks.groups.count && !status; i++)
        put_lock(table, input, &locks, i);
    nvt_lock_waits_free(&locks);
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
