/* What rows of rocpd's tables refer to. */
#ifdef HAVE_SQLITE
#include "rocpd.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

uint32_t nvt_rocpd_found(const struct nvt_map *map, struct nvt_nsys_table *table, int column)
{
    const int64_t id = nvt_nsys_int(table, column, -1);
    /* -1 stands for rows without an id. */
    return id == -1 ? NVT_MAP_NONE : nvt_map_get(map, (uint64_t)id);
}

uint32_t nvt_rocpd_string(const struct nvt_map *map, struct nvt_nsys_table *table, int column)
{
    const uint32_t id = nvt_rocpd_found(map, table, column);
    return id == NVT_MAP_NONE ? 0 : id;
}

enum { ID, TEXT };

static int take_string(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const uint32_t text = nvt_nsys_text(reader, table, TEXT);
    return text == NVT_NO_STRING ? -1
                                 : nvt_map_set(&nvt_rocpd_of(reader)->strings,
                                               (uint64_t)nvt_nsys_int(table, ID, -1), text);
}

enum { PROCESS_PID = 1, PROCESS_PARENT, PROCESS_COMMAND };

static int take_process(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_process process = {.pid = nvt_nsys_int(table, PROCESS_PID, -1),
                                        .parent_pid = nvt_nsys_int(table, PROCESS_PARENT, -1),
                                        .name = nvt_nsys_text(reader, table, PROCESS_COMMAND),
                                        .rank = NVT_NONE};
    const uint32_t row =
        process.name == NVT_NO_STRING ? NVT_NONE : nvt_process_add(reader->trace, &process);
    return row == NVT_NONE ? -1
                           : nvt_map_set(&nvt_rocpd_of(reader)->processes,
                                         (uint64_t)nvt_nsys_int(table, ID, -1), row);
}

enum { THREAD_PROCESS = 1, THREAD_TID, THREAD_NAME };

static int take_thread(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    const uint32_t process = nvt_rocpd_found(&rocpd->processes, table, THREAD_PROCESS);
    if (process == NVT_MAP_NONE)
        return 0;
    const struct nvt_thread thread = {.process = process,
                                      .tid = nvt_nsys_int(table, THREAD_TID, -1),
                                      .name = nvt_nsys_text(reader, table, THREAD_NAME)};
    const uint32_t row =
        thread.name == NVT_NO_STRING ? NVT_NONE : nvt_thread_add(reader->trace, &thread);
    return row == NVT_NONE
               ? -1
               : nvt_map_set(&rocpd->threads, (uint64_t)nvt_nsys_int(table, ID, -1), row);
}

enum { AGENT_TYPE = 1, AGENT_INDEX, AGENT_PRODUCT, AGENT_NAME, AGENT_PROCESS, AGENT_GENERIC };

static int take_agent(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    const char *type = nvt_nsys_plain_text(table, AGENT_TYPE);
    const int is_gpu = type && !strcmp(type, "GPU");
    const uint32_t process = nvt_rocpd_found(&rocpd->processes, table, AGENT_PROCESS);
    struct nvt_rocm_agent *agent =
        nvt_map_item(&rocpd->agents, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->agent,
                     &rocpd->agent_count, sizeof(*rocpd->agent));
    if (!agent)
        return -1;
    *agent = (struct nvt_rocm_agent){nvt_nsys_u32(table, AGENT_INDEX, 0), (uint32_t)is_gpu};
    if (!is_gpu)
        return 0;
    const uint32_t product = nvt_nsys_text(reader, table, AGENT_PRODUCT);
    const int named = nvt_nsys_is_null(table, AGENT_NAME) ? AGENT_GENERIC : AGENT_NAME;
    const uint32_t name = nvt_nsys_text(reader, table, named);
    const struct nvt_device device = {.process = process == NVT_MAP_NONE ? NVT_NONE : process,
                                      .device = agent->device,
                                      .name = product ? product : name};
    return product == NVT_NO_STRING || name == NVT_NO_STRING ||
                   nvt_device_add(reader->trace, &device) == NVT_NONE
               ? -1
               : 0;
}

enum { SYMBOL_DISPLAY = 1, SYMBOL_NAME, SYMBOL_REGISTERS, SYMBOL_LDS };

static int take_symbol(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    const uint32_t display = nvt_nsys_text(reader, table, SYMBOL_DISPLAY);
    const uint32_t mangled = nvt_nsys_text(reader, table, SYMBOL_NAME);
    struct nvt_rocpd_kernel *kernel =
        nvt_map_item(&rocpd->kernels, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->kernel,
                     &rocpd->kernel_count, sizeof(*rocpd->kernel));
    if (!kernel || display == NVT_NO_STRING || mangled == NVT_NO_STRING)
        return -1;
    kernel->name = display ? display : mangled;
    kernel->short_name = nvt_rocm_short_name(reader->trace, kernel->name);
    kernel->registers = nvt_nsys_u32(table, SYMBOL_REGISTERS, 0);
    kernel->lds = nvt_nsys_u32(table, SYMBOL_LDS, 0);
    return kernel->short_name == NVT_NO_STRING ? -1 : 0;
}

static int take_category(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const uint32_t text = nvt_nsys_text(reader, table, TEXT);
    return text == NVT_NO_STRING ? -1
                                 : nvt_map_set(&nvt_rocpd_of(reader)->categories,
                                               (uint64_t)nvt_nsys_int(table, ID, -1), text);
}

/* --- schema 4: tracks and times --- */

enum { TRACK_PROCESS = 1, TRACK_THREAD, TRACK_AGENT, TRACK_STREAM };

static int take_track(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    struct nvt_rocpd_track *track =
        nvt_map_item(&rocpd->tracks, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->track,
                     &rocpd->track_count, sizeof(*rocpd->track));
    if (!track)
        return -1;
    track->process = nvt_rocpd_found(&rocpd->processes, table, TRACK_PROCESS);
    track->thread = nvt_rocpd_found(&rocpd->threads, table, TRACK_THREAD);
    track->agent = nvt_rocpd_found(&rocpd->agents, table, TRACK_AGENT);
    track->stream = nvt_nsys_u32(table, TRACK_STREAM, 0);
    return 0;
}

enum { TIME_VALUE = 1 };

/* Of a row that has none. */
#define NO_TIME INT64_MIN

static int take_time(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    int64_t *time = nvt_map_item(&rocpd->times, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->time,
                                 &rocpd->time_count, sizeof(*rocpd->time));
    if (!time)
        return -1;
    *time = nvt_nsys_time(table, TIME_VALUE);
    if (table->bad)
        *time = NO_TIME;
    return 0;
}

static const struct nvt_rocpd_track *track_at(const struct nvt_rocpd *rocpd,
                                              struct nvt_nsys_table *table, int column)
{
    static const struct nvt_rocpd_track none = {NVT_MAP_NONE, NVT_MAP_NONE, NVT_MAP_NONE, 0};
    const uint32_t at = nvt_rocpd_found(&rocpd->tracks, table, column);
    return at == NVT_MAP_NONE ? &none : &rocpd->track[at];
}

/* --- where and when --- */

uint32_t nvt_rocpd_process(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column)
{
    return rocpd->has_tracks ? track_at(rocpd, table, column)->process
                             : nvt_rocpd_found(&rocpd->processes, table, column);
}

uint32_t nvt_rocpd_thread(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column)
{
    return rocpd->has_tracks ? track_at(rocpd, table, column)->thread
                             : nvt_rocpd_found(&rocpd->threads, table, column);
}

uint32_t nvt_rocpd_agent(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column)
{
    return rocpd->has_tracks ? track_at(rocpd, table, column)->agent
                             : nvt_rocpd_found(&rocpd->agents, table, column);
}

uint32_t nvt_rocpd_stream(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column)
{
    return rocpd->has_tracks ? track_at(rocpd, table, column)->stream
                             : nvt_nsys_u32(table, column, 0);
}

int nvt_rocpd_times(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column,
                    int64_t *start, int64_t *end)
{
    if (!rocpd->has_tracks) {
        const char *bad = table->bad;
        table->bad = NULL;
        *start = nvt_nsys_time(table, column);
        *end = nvt_nsys_time(table, column + 1);
        const int has_none = table->bad != NULL;
        table->bad = has_none ? table->bad : bad;
        return has_none || nvt_nsys_is_untimed(*start, *end);
    }
    const uint32_t first = nvt_rocpd_found(&rocpd->times, table, column),
                   last = nvt_rocpd_found(&rocpd->times, table, column + 1);
    if (first == NVT_MAP_NONE || last == NVT_MAP_NONE)
        return 1;
    *start = rocpd->time[first];
    *end = rocpd->time[last];
    return *start == NO_TIME || *end == NO_TIME || nvt_nsys_is_untimed(*start, *end);
}

/* --- a run --- */

/* In their order: what others refer to comes first. */
static const struct nvt_nsys_spec specs[] = {
    {"rocpd_string", NULL, 2, {"id", "string"}, take_string},
    {"rocpd_info_category", NULL, 2, {"id", "name"}, take_category},
    {"rocpd_info_process", NULL, 2, {"id", "pid", "ppid", "command"}, take_process},
    {"rocpd_info_thread", NULL, 3, {"id", "pid", "tid", "name"}, take_thread},
    {"rocpd_info_agent",
     NULL,
     2,
     {"id", "type", "type_index", "product_name", "name", "pid", "generic_name"},
     take_agent},
    {"rocpd_info_kernel_symbol",
     NULL,
     1,
     {"id", "display_name", "kernel_name", "arch_vgpr_count", "group_segment_size"},
     take_symbol},
};

static const struct nvt_nsys_spec tracks = {
    "rocpd_track", NULL, 1, {"id", "pid", "tid", "agent_id", "stream_id"}, take_track};
static const struct nvt_nsys_spec times = {"rocpd_timestamp", NULL, 2, {"id", "value"}, take_time};

int nvt_rocpd_read_table(struct nvt_rocpd *rocpd, const struct nvt_nsys_spec *spec,
                         const char *suffix)
{
    char name[NVT_ROCPD_SUFFIX + 40];
    struct nvt_nsys_spec copy = *spec;
    snprintf(name, sizeof(name), "%.38s%.79s", spec->name, suffix);
    copy.name = name;
    return nvt_nsys_read(&rocpd->nsys, &copy);
}

int nvt_rocpd_read_known(struct nvt_rocpd *rocpd, const char *suffix)
{
    int status = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(specs) && !status; i++)
        status = nvt_rocpd_read_table(rocpd, &specs[i], suffix);
    if (status || !rocpd->has_tracks)
        return status;
    status = nvt_rocpd_read_table(rocpd, &tracks, suffix);
    return status ? status : nvt_rocpd_read_table(rocpd, &times, suffix);
}
#endif
