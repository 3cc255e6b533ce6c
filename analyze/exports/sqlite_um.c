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

static struct nvt_cell string_if_any(struct nvt_sql *sql, uint32_t string)
{
    return string ? nvt_sql_string(sql, string) : NVT_NULL;
}

static int put_host_fault(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_um_events *events = &sql->trace->um_events;
    if (events->kind[i] != NVT_UM_CPU_FAULT)
        return 0;
    return nvt_sql_put(
        sql, events->start[i], nvt_sql_process(sql, events->process[i]), events->address[i],
        events->pc[i], nvt_sql_string(sql, events->instruction[i]),
        string_if_any(sql, events->module[i]), NVT_NULL, string_if_any(sql, events->source[i]),
        NVT_IF(events->line[i], events->line[i]));
}

static int put_device_fault(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_um_events *events = &sql->trace->um_events;
    if (events->kind[i] != NVT_UM_GPU_FAULT)
        return 0;
    return nvt_sql_put(sql, events->start[i], events->end[i],
                       nvt_sql_process(sql, events->process[i]), events->device[i],
                       events->address[i], events->faults[i], events->reason[i]);
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
    const uint32_t count = sql->trace->um_events.count;
    if (!count && !sql->trace->migrations.count)
        return 0;
    return nvt_sql_run(sql, tables) ||
                   nvt_sql_rows(sql, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", 9, count, put_host_fault) ||
                   nvt_sql_rows(sql, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", 7, count, put_device_fault) ||
                   nvt_sql_labels(sql, "ENUM_CUDA_UNIF_MEM_MIGRATION", NVT_UM_MOVES,
                                  nvt_um_move_label, moves) ||
                   nvt_sql_labels(sql, "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE", NVT_UM_ACCESSES,
                                  nvt_um_access_label, accesses)
               ? -1
               : 0;
}
#endif
