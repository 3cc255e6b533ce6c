#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/version.h"
#include "../device/devices.h"
#include "../model/cuda_names.h"
#include "export.h"
#include "sqlite.h"

/* The version of the schema that sqlite_schema.c has the tables of. */
#define SCHEMA "3.25.0"

static int put_process(struct nvt_sql *sql, uint32_t i)
{
    nvt_sql_more(sql, nvt_sql_process(sql, i), sql->trace->processes.pid[i]);
    nvt_sql_name(sql, sql->trace->processes.name[i]);
    const uint32_t rank = sql->trace->processes.rank[i];
    return nvt_sql_put(sql, NVT_IF(rank != NVT_NONE, rank), NVT_IF(sql->launchers[i], 1));
}

static int put_thread(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_threads *threads = &sql->trace->threads;
    if (!threads->name[i])
        return 0;
    return nvt_sql_put(sql, nvt_sql_string(sql, threads->name[i]),
                       NVT_IF(threads->has_priority[i], threads->priority[i]),
                       nvt_sql_thread(sql, i));
}

/* Numbers of devices: nsys's reports take that of an operation for that of a GPU, so the first
 * device of a number keeps it. */
static int64_t gpu_number(const struct nvt_devices *devices, uint32_t device)
{
    for (uint32_t i = 0; i < device; i++)
        if (devices->device[i] == devices->device[device])
            return (INT64_C(1) << 16) + device;
    return devices->device[device];
}

static int put_gpu(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_devices *devices = &sql->trace->devices;
    const char *uuid = nvt_name(sql->trace, devices->gpu[i]);
    const uint32_t capability = devices->capability[i];
    nvt_sql_more(sql, 0, gpu_number(devices, i));
    nvt_sql_name(sql, devices->name[i]);
    nvt_sql_more(sql, devices->memory_bytes[i], devices->multiprocessors[i],
                 NVT_IF(capability, capability / 10), NVT_IF(capability, capability % 10));
    if (!devices->gpu[i])
        return nvt_sql_put(sql, NVT_NULL);
    /* nsys has no "GPU-" before it. */
    if (!strncmp(uuid, "GPU-", 4) && nvt_is_bare_uuid(uuid + 4))
        return nvt_sql_put(sql, uuid + 4);
    nvt_sql_name(sql, devices->gpu[i]);
    return nvt_sql_row(sql);
}

static int put_cuda_device(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_devices *devices = &sql->trace->devices;
    if (devices->process[i] == NVT_NONE)
        return 0;
    return nvt_sql_put(sql, gpu_number(devices, i), devices->device[i],
                       sql->trace->processes.pid[devices->process[i]], NVT_NULL,
                       devices->multiprocessors[i]);
}

/* A table of so many columns: of the fourth to the last but one only the process, the fourth, is known. */
static int put_resource(struct nvt_sql *sql, uint32_t i, int columns)
{
    const struct nvt_resources *resources = &sql->trace->resources;
    uint32_t process = resources->process[i];
    nvt_sql_name(sql, resources->name[i]);
    nvt_sql_more(sql, 0, 0);
    if (columns > 4)
        nvt_sql_more(sql, process == NVT_NONE ? 0 : sql->trace->processes.pid[process]);
    for (int column = 5; column < columns; column++)
        nvt_sql_more(sql, 0);
    return nvt_sql_put(sql, resources->handle[i]);
}

static int put_resources(struct nvt_sql *sql)
{
    static const struct {
        const char *type, *table;
        int columns;
    } kinds[] = {{"device", "TARGET_INFO_NVTX_CUDA_DEVICE", 4},
                 {"context", "TARGET_INFO_NVTX_CUDA_CONTEXT", 6},
                 {"stream", "TARGET_INFO_NVTX_CUDA_STREAM", 7}};
    const struct nvt_resources *resources = &sql->trace->resources;
    for (size_t kind = 0; kind < NVT_COUNT_OF(kinds); kind++) {
        if (nvt_sql_prepare(sql, kinds[kind].table, kinds[kind].columns))
            return -1;
        for (uint32_t i = 0; i < resources->count; i++)
            if (!strcmp(nvt_name(sql->trace, resources->type[i]), kinds[kind].type) &&
                put_resource(sql, i, kinds[kind].columns))
                return -1;
    }
    return 0;
}

static int put_session(struct nvt_sql *sql)
{
    const struct nvt_trace *trace = sql->trace;
    return nvt_sql_prepare(sql, "TARGET_INFO_SESSION_START_TIME", 4) ||
                   nvt_sql_put(sql, trace->origin_ns, nvt_trace_meta(trace, "date"), NVT_NULL,
                               NVT_NULL) ||
                   nvt_sql_prepare(sql, "ANALYSIS_DETAILS", 4) ||
                   nvt_sql_put(sql, INT64_C(1) << 48, trace->last_ns - trace->first_ns,
                               trace->first_ns, trace->last_ns)
               ? -1
               : 0;
}

static int put_facts(struct nvt_sql *sql)
{
    const struct nvt_meta *facts = &sql->trace->meta;
    static const char *const ours[][2] = {
        {"EXPORT_PRODUCT_NAME", NVT_EXPORT_PRODUCT}, {"EXPORT_PRODUCT_VERSION", NVT_VERSION},
        {"EXPORT_SCHEMA_VERSION", SCHEMA},           {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
        {"EXPORT_SCHEMA_VERSION_MINOR", "25"},       {"EXPORT_SCHEMA_VERSION_MICRO", "0"}};
    if (nvt_sql_prepare(sql, "META_DATA_EXPORT", 2))
        return -1;
    for (size_t i = 0; i < NVT_COUNT_OF(ours); i++)
        if (nvt_sql_put(sql, ours[i][0], ours[i][1]))
            return -1;
    if (nvt_sql_put(sql, NVT_EXPORT_FORMAT, sql->trace->format))
        return -1;
    for (uint32_t i = 0; i < facts->count; i++) {
        struct nvt_buffer name = {0};
        int status =
            nvt_buffer_printf(&name, NVT_EXPORT_FACT "%s", nvt_name(sql->trace, facts->key[i])) ||
            nvt_buffer_append(&name, "", 1);
        if (status)
            nvt_fail_at(sql->err, sql->path, -1, "out of memory");
        else
            status =
                nvt_sql_put(sql, (const char *)name.data, nvt_name(sql->trace, facts->value[i]));
        nvt_buffer_free(&name);
        if (status)
            return -1;
    }
    return 0;
}

int nvt_sql_facts(struct nvt_sql *sql)
{
    static const char gpus[] = "TARGET_INFO_GPU (vmId, id, name, totalMemory, smCount, "
                               "computeMajor, computeMinor, uuid)";
    const struct nvt_trace *trace = sql->trace;
    return nvt_sql_rows(sql, "PROCESSES", 5, trace->processes.count, put_process) ||
                   nvt_sql_rows(sql, "ThreadNames", 3, trace->threads.count, put_thread) ||
                   nvt_sql_rows(sql, gpus, 8, trace->devices.count, put_gpu) ||
                   nvt_sql_rows(sql, "TARGET_INFO_CUDA_DEVICE", 5, trace->devices.count,
                                put_cuda_device) ||
                   put_resources(sql) || put_session(sql) || put_facts(sql)
               ? -1
               : 0;
}
#endif
