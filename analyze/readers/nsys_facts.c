#ifdef HAVE_SQLITE
#include "nsys.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/shell.h"
#include "../model/cuda_names.h"
#include "../model/interchange.h"
#include "reader.h"

/* --- devices --- */

enum { GPU_ID, GPU_NAME, GPU_MEMORY, GPU_MULTIPROCESSORS, GPU_UUID, GPU_BUS, GPU_MAJOR, GPU_MINOR };

/* What a GPU is, its UUID as other traces have it. NVT_NO_STRING when out of memory. */
static uint32_t identity(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const int column = nvt_nsys_is_null(table, GPU_UUID) ? GPU_BUS : GPU_UUID;
    const uint32_t id = nvt_nsys_text(reader, table, column);
    char text[64];
    if (id == NVT_NO_STRING || !nvt_is_bare_uuid(nvt_name(reader->trace, id)))
        return id;
    snprintf(text, sizeof(text), "GPU-%s", nvt_name(reader->trace, id));
    return nvt_strings_add_text(reader->trace->strings, text);
}

static int gpu(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_device device = {.process = NVT_NONE,
                                      .device = nvt_nsys_u32(table, GPU_ID, 0),
                                      .name = nvt_nsys_text(reader, table, GPU_NAME),
                                      .memory_bytes = nvt_nsys_size(table, GPU_MEMORY),
                                      .multiprocessors =
                                          nvt_nsys_u32(table, GPU_MULTIPROCESSORS, 0),
                                      .capability = nvt_nsys_u32(table, GPU_MAJOR, 0) % 1000 * 10 +
                                                    nvt_nsys_u32(table, GPU_MINOR, 0) % 10,
                                      .gpu = identity(reader, table)};
    uint32_t *row = nvt_map_at(&reader->gpus, device.device);
    if (!row || device.name == NVT_NO_STRING || device.gpu == NVT_NO_STRING)
        return -1;
    *row = nvt_device_add(reader->trace, &device);
    return *row == NVT_NONE ? -1 : 0;
}

enum { CUDA_GPU, CUDA_ID, CUDA_PID };

/* A process numbers the devices that it may see; the numbers of its operations are these. */
static int cuda_device(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_devices *devices = &reader->trace->devices;
    uint32_t at = nvt_map_get(&reader->gpus, nvt_nsys_u32(table, CUDA_GPU, 0));
    uint32_t process =
        nvt_trace_process(reader->trace, nvt_nsys_u32(table, CUDA_PID, 0) & 0xFFFFFF);
    if (process == NVT_NONE)
        return -1;
    if (at == NVT_MAP_NONE)
        return 0;
    const struct nvt_device device = {.process = process,
                                      .device = nvt_nsys_u32(table, CUDA_ID, 0),
                                      .name = devices->name[at],
                                      .memory_bytes = devices->memory_bytes[at],
                                      .multiprocessors = devices->multiprocessors[at],
                                      .capability = devices->capability[at],
                                      .gpu = devices->gpu[at]};
    return nvt_device_add(reader->trace, &device) == NVT_NONE ? -1 : 0;
}

enum { NAMED_TEXT, NAMED_HANDLE, NAMED_PID };

static int named(struct nvt_nsys *reader, struct nvt_nsys_table *table, const char *type)
{
    struct nvt_resource resource = {.process = NVT_NONE,
                                    .type = nvt_strings_add_text(reader->trace->strings, type),
                                    .handle = (uint64_t)nvt_nsys_int(table, NAMED_HANDLE, 0),
                                    .name = nvt_nsys_text(reader, table, NAMED_TEXT)};
    if (!nvt_nsys_is_null(table, NAMED_PID)) {
        resource.process =
            nvt_trace_process(reader->trace, nvt_nsys_u32(table, NAMED_PID, 0) & 0xFFFFFF);
        if (resource.process == NVT_NONE)
            return -1;
    }
    if (resource.type == NVT_NO_STRING || resource.name == NVT_NO_STRING)
        return -1;
    return nvt_resource_add(reader->trace, &resource) == NVT_NONE ? -1 : 0;
}

static int named_device(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return named(reader, table, "device");
}

static int named_context(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return named(reader, table, "context");
}

static int named_stream(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return named(reader, table, "stream");
}

/* --- facts --- */

enum { NAME, VALUE };

/* Properties of the system, of the capture and of the export, by what we call them. */
static const struct {
    const char *name, *fact;
} facts[] = {
    {"Hostname", "host"},
    {"KernelVersion", "kernel"},
    {"OsDescription", "system"},
    {"CpuArchitecture", "machine"},
    {"NvDriverVersion", "driver"},
    {"EXPORT_PRODUCT_VERSION", "nsys"},
    {"EXPORT_SCHEMA_VERSION", "nsys_schema"},
};

static const char *value_of(struct nvt_nsys_table *table)
{
    const char *value = nvt_nsys_plain_text(table, VALUE);
    return value ? value : "";
}

/* What our own exports say beyond nsys: 1 where a row is of that, else 0, or -1 when out of memory. */
static int own_fact(struct nvt_nsys *reader, struct nvt_nsys_table *table, const char *name)
{
    const size_t prefix = sizeof(NVT_EXPORT_FACT) - 1;
    if (!strncmp(name, NVT_EXPORT_FACT, prefix))
        return nvt_trace_set_meta(reader->trace, name + prefix, value_of(table)) ? -1 : 1;
    if (!strcmp(name, NVT_EXPORT_FORMAT)) {
        nvt_reader_state(reader->trace, value_of(table));
        return 1;
    }
    if (!strcmp(name, "EXPORT_PRODUCT_NAME"))
        reader->is_ours = !strcmp(value_of(table), NVT_EXPORT_PRODUCT);
    /* The versions are not nsys's then. */
    return reader->is_ours && !strncmp(name, "EXPORT_", 7);
}

static int fact(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const char *name = nvt_nsys_plain_text(table, NAME);
    int own = name ? own_fact(reader, table, name) : 1;
    if (own)
        return own < 0 ? -1 : 0;
    for (size_t i = 0; i < NVT_COUNT_OF(facts); i++) {
        if (strcmp(name, facts[i].name))
            continue;
        uint32_t value = nvt_nsys_text(reader, table, VALUE);
        if (value == NVT_NO_STRING)
            return -1;
        return nvt_trace_set_meta(reader->trace, facts[i].fact, nvt_name(reader->trace, value));
    }
    return 0;
}

/* The longest command line that is kept. */
enum { COMMAND_BYTES_MAX = 4095 };

/* A word more of the command, quoted as a shell wants it. 0 or -1. */
static int add_word(struct nvt_trace *trace, const char *value)
{
    char word[COMMAND_BYTES_MAX + 1];
    char *const argv[] = {word, NULL};
    const char *before = nvt_trace_meta(trace, "command");
    struct nvt_buffer line = {0};
    snprintf(word, sizeof(word), "%s", value);
    int failed = (before && nvt_buffer_printf(&line, "%s ", before)) || nvt_shell_join(&line, argv);
    line.size = line.size < COMMAND_BYTES_MAX ? line.size : COMMAND_BYTES_MAX;
    failed = failed || nvt_buffer_append(&line, "", 1) ||
             nvt_trace_set_meta(trace, "command", (const char *)line.data);
    nvt_buffer_free(&line);
    return failed ? -1 : 0;
}

/* The command that nsys launched, PROCESS_0:COMMAND and its arguments in their order, each a row. */
static int command(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const char *name = nvt_nsys_plain_text(table, NAME);
    const char *value = nvt_nsys_plain_text(table, VALUE);
    if (!name || !value || strncmp(name, "PROCESS_0:", 10) ||
        (strcmp(name + 10, "COMMAND") && strncmp(name + 10, "ARGUMENT_", 9)))
        return fact(reader, table);
    return add_word(reader->trace, value);
}

enum { EPOCH, UTC };

static int session(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    reader->trace->origin_ns = nvt_nsys_int(table, EPOCH, 0);
    uint32_t date = nvt_nsys_text(reader, table, UTC);
    if (date == NVT_NO_STRING)
        return -1;
    return date ? nvt_trace_set_meta(reader->trace, "date", nvt_name(reader->trace, date)) : 0;
}

static const struct nvt_nsys_spec tables[] = {
    {"TARGET_INFO_GPU",
     NULL,
     2,
     {"id", "name", "totalMemory", "smCount", "uuid", "busLocation", "computeMajor",
      "computeMinor"},
     gpu},
    {"TARGET_INFO_CUDA_DEVICE", NULL, 3, {"gpuId", "cudaId", "pid"}, cuda_device},
    {"TARGET_INFO_NVTX_CUDA_DEVICE", NULL, 2, {"name", "deviceId"}, named_device},
    {"TARGET_INFO_NVTX_CUDA_CONTEXT", NULL, 2, {"name", "contextId", "processId"}, named_context},
    {"TARGET_INFO_NVTX_CUDA_STREAM", NULL, 2, {"name", "streamId", "processId"}, named_stream},
    {"TARGET_INFO_SYSTEM_ENV", NULL, 2, {"name", "value"}, fact},
    {"TARGET_INFO_SESSION_START_TIME", NULL, 1, {"utcEpochNs", "utcTime"}, session},
    {"META_DATA_CAPTURE", NULL, 2, {"name", "value"}, command},
    {"META_DATA_EXPORT", NULL, 2, {"name", "value"}, fact},
};

int nvt_nsys_read_facts(struct nvt_nsys *reader)
{
    struct nvt_trace *trace = reader->trace;
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        if (nvt_nsys_read(reader, &tables[i]))
            return -1;
    if (trace->ops.count && !nvt_trace_meta(trace, "backend") &&
        nvt_trace_set_meta(trace, "backend", "cuda"))
        return -1;
    if (trace->devices.count && !nvt_trace_meta(trace, "device") &&
        nvt_trace_set_meta(trace, "device", nvt_name(trace, trace->devices.name[0])))
        return -1;
    return 0;
}
#endif
