/*
 * nsys's tables and enumerations. Source: NVIDIA, Nsight Systems Analysis Guide, "SQLite Schema
 * Reference", schema 3.25; column order is that of the export_sqlite_*.c. Only tables that the
 * model can fill are there: nsys's own exports leave out empty ones too.
 */
#ifdef HAVE_SQLITE
#include "../model/cuda_names.h"
#include "sqlite.h"

static const char tables[] =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,"
    " rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,"
    " endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,"
    " int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,"
    " floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER,"
    " callchainId INTEGER);"
    "CREATE TABLE CUBLAS_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,"
    " launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,"
    " gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,"
    " blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,"
    " staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,"
    " localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,"
    " gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,"
    " sharedMemoryLimitConfig INTEGER, graphId INTEGER, nvtallyCollective INTEGER,"
    " nvtallySequence INTEGER);"
    "CREATE TABLE NVTALLY_COLLECTIVES (id INTEGER NOT NULL PRIMARY KEY, name TEXT, type TEXT,"
    " groupName TEXT, purpose TEXT, members TEXT, ranks INTEGER, given INTEGER, taken INTEGER,"
    " peer INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL,"
    " end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,"
    " globalPid INTEGER, graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER,"
    " srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER,"
    " dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER,"
    " virtualAddress INTEGER, copyCount INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,"
    " correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, eventSyncId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL,"
    " end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,"
    " globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL,"
    " eventId INTEGER NOT NULL, eventSyncId INTEGER);"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL,"
    " globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL, name TEXT,"
    " correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER,"
    " localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER,"
    " localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER,"
    " importedMemoryPoolProcessId INTEGER, globalTid INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER,"
    " overheadType INTEGER NOT NULL);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT, nvtallyRank INTEGER,"
    " nvtallyLauncher INTEGER);"
    "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,"
    " busLocation TEXT, isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER,"
    " memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT,"
    " luid INTEGER, chipName TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER);"
    "CREATE TABLE TARGET_INFO_NVTX_CUDA_DEVICE (name TEXT NOT NULL, hwId INTEGER NOT NULL,"
    " vmId INTEGER NOT NULL, deviceId INTEGER NOT NULL);"
    "CREATE TABLE TARGET_INFO_NVTX_CUDA_CONTEXT (name TEXT NOT NULL, hwId INTEGER NOT NULL,"
    " vmId INTEGER NOT NULL, processId INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL);"
    "CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (name TEXT NOT NULL, hwId INTEGER NOT NULL,"
    " vmId INTEGER NOT NULL, processId INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT,"
    " localTime TEXT, systemClockNs INTEGER);"
    "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL,"
    " name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);"
    "CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER NOT NULL, duration INTEGER NOT NULL,"
    " startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL);"
    "CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
    "CREATE TABLE ENUM_NSYS_EVENT_CLASS (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
    "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
    "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
    "CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);"
    "CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);"
    "CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
    "CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);";

static const char enumerations[] =
    "INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (33, 'NvtxCategory', 'NvtxCategory'),"
    " (34, 'NvtxMark', 'NvtxMark'), (39, 'NvtxThread', 'NvtxThread'),"
    " (59, 'NvtxPushPopRange', 'NvtxPushPopRange'),"
    " (60, 'NvtxStartEndRange', 'NvtxStartEndRange'),"
    " (75, 'NvtxDomainCreate', 'NvtxDomainCreate');"
    "INSERT INTO ENUM_NSYS_EVENT_CLASS VALUES"
    " (0, 'TRACE_PROCESS_EVENT_CUDA_RUNTIME', 'CUDA runtime'),"
    " (1, 'TRACE_PROCESS_EVENT_CUDA_DRIVER', 'CUDA driver'),"
    " (27, 'TRACE_PROCESS_EVENT_OS_RUNTIME', 'OS runtime'),"
    " (29, 'TRACE_PROCESS_EVENT_CUBLAS', 'cuBLAS'),"
    " (103, 'TRACE_PROCESS_EVENT_CUPTI_OVERHEAD', 'CUPTI overhead');"
    "INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES"
    " (0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),"
    " (1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');"
    "INSERT INTO ENUM_CUDA_KERNEL_LAUNCH_TYPE VALUES"
    " (0, 'CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN', 'Unknown'),"
    " (1, 'CUDA_KERNEL_LAUNCH_TYPE_REGULAR', 'Regular');";

int nvt_sql_labels(struct nvt_sql *sql, const char *table, unsigned count,
                   const char *(*label)(unsigned id), const char *const *names)
{
    if (nvt_sql_prepare(sql, table, 3))
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (nvt_sql_put(sql, i, names[i], label(i)))
            return -1;
    return 0;
}

/* nsys counts from pageable, CUPTI and the model from unknown. */
static const char *memory_label(unsigned id)
{
    return nvt_memory_label(id + 1 < NVT_KINDS ? id + 1 : NVT_KIND_UNKNOWN);
}

int nvt_sql_schema(struct nvt_sql *sql)
{
    static const char *const copies[NVT_COPY_KINDS] = {
        "CUDA_MEMCPY_KIND_UNKNOWN",  "CUDA_MEMCPY_KIND_HTOD",     "CUDA_MEMCPY_KIND_DTOH",
        "CUDA_MEMCPY_KIND_HTOA",     "CUDA_MEMCPY_KIND_ATOH",     "CUDA_MEMCPY_KIND_ATOA",
        "CUDA_MEMCPY_KIND_ATOD",     "CUDA_MEMCPY_KIND_DTOA",     "CUDA_MEMCPY_KIND_DTOD",
        "CUDA_MEMCPY_KIND_HTOH",     "CUDA_MEMCPY_KIND_PTOP",     "CUDA_MEMCPY_KIND_UVM_HTOD",
        "CUDA_MEMCPY_KIND_UVM_DTOH", "CUDA_MEMCPY_KIND_UVM_DTOD",
    };
    static const char *const kinds[NVT_KINDS] = {
        "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE",       "CUDA_MEMOPR_MEMORY_KIND_PINNED",
        "CUDA_MEMOPR_MEMORY_KIND_DEVICE",         "CUDA_MEMOPR_MEMORY_KIND_ARRAY",
        "CUDA_MEMOPR_MEMORY_KIND_MANAGED",        "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC",
        "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN",
    };
    static const char *const syncs[NVT_SYNC_TYPES] = {
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN",
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE",
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE",
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE",
    };
    static const char *const overheads[NVT_OVERHEAD_TYPES] = {
        "OVERHEAD_UNDEFINED",
        "OVERHEAD_UNKNOWN",
        "OVERHEAD_DRIVER_COMPILER",
        "OVERHEAD_CUPTI_BUFFER_FLUSH",
        "OVERHEAD_CUPTI_INSTRUMENTATION",
        "OVERHEAD_CUPTI_RESOURCE",
        "OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING",
        "OVERHEAD_LAZY_FUNCTION_LOADING",
        "OVERHEAD_COMMAND_BUFFER_FULL",
    };
    if (nvt_sql_run(sql, tables) || nvt_sql_run(sql, enumerations) ||
        nvt_sql_labels(sql, "ENUM_CUDA_MEMCPY_OPER", NVT_COPY_KINDS, nvt_copy_label, copies) ||
        nvt_sql_labels(sql, "ENUM_CUDA_MEM_KIND", NVT_KINDS, memory_label, kinds) ||
        nvt_sql_labels(sql, "ENUM_CUPTI_SYNC_TYPE", NVT_SYNC_TYPES, nvt_sync_label, syncs) ||
        nvt_sql_labels(sql, "ENUM_CUPTI_OVERHEAD_TYPE", NVT_OVERHEAD_TYPES, nvt_overhead_label,
                       overheads))
        return -1;
    return 0;
}
#endif
