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

static int put_owners(struct nvt_sql *sql)
{
    const struct nvt_processes *processes = &sql->trace->processes;
    const struct nvt_threads *threads = &sql->trace->threads;
    if (nvt_sql_prepare(sql, "PROCESSES", 3))
        return -1;
    for (uint32_t i = 0; i < processes->count; i++) {
        nvt_sql_process(sql, i);
        nvt_sql_int(sql, processes->pid[i]);
        nvt_sql_name(sql, processes->name[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    if (nvt_sql_prepare(sql, "ThreadNames", 3))
        return -1;
    for (uint32_t i = 0; i < threads->count; i++) {
        if (!threads->name[i])
            continue;
        nvt_sql_string(sql, threads->name[i]);
        if (threads->has_priority[i])
            nvt_sql_int(sql, threads->priority[i]);
        else
            nvt_sql_null(sql);
        nvt_sql_thread(sql, i);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
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

/* nsys has no "GPU-" before it. */
static void put_uuid(struct nvt_sql *sql, uint32_t gpu)
{
    const char *text = nvt_name(sql->trace, gpu);
    if (!gpu)
        nvt_sql_null(sql);
    else if (!strncmp(text, "GPU-", 4) && nvt_is_bare_uuid(text + 4))
        nvt_sql_text(sql, text + 4);
    else
        nvt_sql_name(sql, gpu);
}

static void put_capability(struct nvt_sql *sql, uint32_t capability)
{
    if (capability) {
        nvt_sql_int(sql, capability / 10);
        nvt_sql_int(sql, capability % 10);
        return;
    }
    nvt_sql_null(sql);
    nvt_sql_null(sql);
}

static int put_devices(struct nvt_sql *sql)
{
    const struct nvt_devices *devices = &sql->trace->devices;
    if (nvt_sql_prepare(sql,
                        "TARGET_INFO_GPU (vmId, id, name, totalMemory, smCount, computeMajor, "
                        "computeMinor, uuid)",
                        8))
        return -1;
    for (uint32_t i = 0; i < devices->count; i++) {
        nvt_sql_int(sql, 0);
        nvt_sql_int(sql, gpu_number(devices, i));
        nvt_sql_name(sql, devices->name[i]);
        nvt_sql_int(sql, (int64_t)devices->memory_bytes[i]);
        nvt_sql_int(sql, devices->multiprocessors[i]);
        put_capability(sql, devices->capability[i]);
        put_uuid(sql, devices->gpu[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    if (nvt_sql_prepare(sql, "TARGET_INFO_CUDA_DEVICE", 5))
        return -1;
    for (uint32_t i = 0; i < devices->count; i++) {
        if (devices->process[i] == NVT_NONE)
            continue;
        nvt_sql_int(sql, gpu_number(devices, i));
        nvt_sql_int(sql, devices->device[i]);
        nvt_sql_int(sql, sql->trace->processes.pid[devices->process[i]]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, devices->multiprocessors[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static void put_resource(struct nvt_sql *sql, uint32_t i, int columns)
{
    const struct nvt_resources *resources = &sql->trace->resources;
    uint32_t process = resources->process[i];
    nvt_sql_name(sql, resources->name[i]);
    nvt_sql_int(sql, 0);
    nvt_sql_int(sql, 0);
    if (columns > 4)
        nvt_sql_int(sql, process == NVT_NONE ? 0 : sql->trace->processes.pid[process]);
    for (int column = 5; column < columns; column++)
        nvt_sql_int(sql, 0);
    nvt_sql_int(sql, (int64_t)resources->handle[i]);
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
        for (uint32_t i = 0; i < resources->count; i++) {
            if (strcmp(nvt_name(sql->trace, resources->type[i]), kinds[kind].type))
                continue;
            put_resource(sql, i, kinds[kind].columns);
            if (nvt_sql_row(sql))
                return -1;
        }
    }
    return 0;
}

static int put_session(struct nvt_sql *sql)
{
    const struct nvt_trace *trace = sql->trace;
    if (nvt_sql_prepare(sql, "TARGET_INFO_SESSION_START_TIME", 4))
        return -1;
    nvt_sql_int(sql, trace->origin_ns);
    nvt_sql_text(sql, nvt_trace_meta(trace, "date"));
    nvt_sql_null(sql);
    nvt_sql_null(sql);
    if (nvt_sql_row(sql) || nvt_sql_prepare(sql, "ANALYSIS_DETAILS", 4))
        return -1;
    nvt_sql_int(sql, INT64_C(1) << 48);
    nvt_sql_int(sql, trace->last_ns - trace->first_ns);
    nvt_sql_int(sql, trace->first_ns);
    nvt_sql_int(sql, trace->last_ns);
    return nvt_sql_row(sql);
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
        if (nvt_sql_pair(sql, ours[i][0], ours[i][1]))
            return -1;
    if (nvt_sql_pair(sql, NVT_EXPORT_FORMAT, sql->trace->format))
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
                nvt_sql_pair(sql, (const char *)name.data, nvt_name(sql->trace, facts->value[i]));
        nvt_buffer_free(&name);
        if (status)
            return -1;
    }
    return 0;
}

int nvt_sql_facts(struct nvt_sql *sql)
{
    return put_owners(sql) || put_devices(sql) || put_resources(sql) || put_session(sql) ||
                   put_facts(sql)
               ? -1
               : 0;
}
#endif
