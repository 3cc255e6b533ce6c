/*
 * Managed memory in nsys's schema: CUDA_UM_CPU_PAGE_FAULT_EVENTS and CUDA_UM_GPU_PAGE_FAULT_EVENTS, and the words for their
 * numbers and for causes of migrations. Only where there is something of it, as nsys takes the tables for a sign that it was
 * recorded. It has no table of thrashing, throttling and remote maps: they are left out.
 */
#ifdef HAVE_SQLITE
#include "../model/cuda_names.h"
#include "sqlite.h"

static const char tables[] =
    "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL,"
    " globalPid INTEGER NOT NULL, address INTEGER NOT NULL, originalFaultPc INTEGER,"
    " CpuInstruction INTEGER NOT NULL, module INTEGER, unresolvedFaultPc INTEGER,"
    " sourceFile INTEGER, sourceLine INTEGER);"
    "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, address INTEGER NOT NULL,"
    " numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL);"
    "CREATE TABLE ENUM_CUDA_UNIF_MEM_MIGRATION (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);"
    "CREATE TABLE ENUM_CUDA_UNIF_MEM_ACCESS_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);";

static void put_optional(struct nvt_sql *sql, uint32_t string)
{
    if (string)
        nvt_sql_string(sql, string);
    else
        nvt_sql_null(sql);
}

static int put_host_faults(struct nvt_sql *sql)
{
    const struct nvt_um_events *events = &sql->trace->um_events;
    if (nvt_sql_prepare(sql, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", 9))
        return -1;
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->kind[i] != NVT_UM_CPU_FAULT)
            continue;
        nvt_sql_int(sql, events->start[i]);
        nvt_sql_process(sql, events->process[i]);
        nvt_sql_int(sql, (int64_t)events->address[i]);
        nvt_sql_int(sql, (int64_t)events->pc[i]);
        nvt_sql_string(sql, events->instruction[i]);
        put_optional(sql, events->module[i]);
        nvt_sql_null(sql);
        put_optional(sql, events->source[i]);
        if (events->line[i])
            nvt_sql_int(sql, events->line[i]);
        else
            nvt_sql_null(sql);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static int put_device_faults(struct nvt_sql *sql)
{
    const struct nvt_um_events *events = &sql->trace->um_events;
    if (nvt_sql_prepare(sql, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", 7))
        return -1;
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->kind[i] != NVT_UM_GPU_FAULT)
            continue;
        nvt_sql_int(sql, events->start[i]);
        nvt_sql_int(sql, events->end[i]);
        nvt_sql_process(sql, events->process[i]);
        nvt_sql_int(sql, events->device[i]);
        nvt_sql_int(sql, (int64_t)events->address[i]);
        nvt_sql_int(sql, (int64_t)events->faults[i]);
        nvt_sql_int(sql, events->reason[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

int nvt_sql_um(struct nvt_sql *sql)
{
    static const char *const moves[NVT_UM_MOVES] = {
        "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN",
        "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_USER",
        "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE",
        "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH",
        "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION",
        "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS",
    };
    static const char *const accesses[NVT_UM_ACCESSES] = {
        "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN",
        "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ",
        "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE",
        "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC",
        "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH",
    };
    if (!sql->trace->um_events.count && !sql->trace->migrations.count)
        return 0;
    return nvt_sql_run(sql, tables) || put_host_faults(sql) || put_device_faults(sql) ||
                   nvt_sql_labels(sql, "ENUM_CUDA_UNIF_MEM_MIGRATION", NVT_UM_MOVES,
                                  nvt_um_move_label, moves) ||
                   nvt_sql_labels(sql, "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE", NVT_UM_ACCESSES,
                                  nvt_um_access_label, accesses)
               ? -1
               : 0;
}
#endif
