/*
 * osrt_trace, nvtx_osrt_sum, osrt_files: calls of the operating system's libraries one by one, by the ranges that hold them
 * (which those are says calls_by_range.h), and by file. (osrt_sum, by name, is cuda_sum.c's; by thread and by lock,
 * osrt_waits.c's.) What kind of call a name is, and what it returns, is in lib/os_calls.def. A call that never ended lasts
 * until what is last on record. A megabyte is 10^6 bytes.
 */
#include "osrt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "report.h"

const char *nvt_osrt_address(uint64_t address, char text[NVT_ADDRESS_TEXT])
{
    snprintf(text, NVT_ADDRESS_TEXT, "0x%" PRIx64, address);
    return address ? text : NULL;
}

/* --- one by one --------------------------------------------------------------------------------- */

/* What an unfinished call returns is not known. */
static void put_osrt_call(struct nvt_table *table, struct nvt_os_names *names,
                          const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t thread = calls->thread[call];
    int is_unfinished = calls->flags[call] & NVT_RANGE_UNCLOSED;
    char address[NVT_ADDRESS_TEXT];
    nvt_table_put(table, calls->start[call], calls->end[call] - calls->start[call],
                  nvt_name(trace, calls->name[call]),
                  nvt_os_kind_name(nvt_os_names_kind(names, trace, calls->name[call])),
                  NVT_IF(!is_unfinished, calls->result[call]),
                  trace->processes.pid[trace->threads.process[thread]], trace->threads.tid[thread],
                  nvt_text_if_any(nvt_name(trace, calls->file[call])),
                  nvt_osrt_address(calls->address[call], address),
                  NVT_IF(calls->bytes[call], calls->bytes[call]),
                  nvt_text_if_any(nvt_name(trace, calls->caller[call])), NVT_IF(is_unfinished, 1));
}

static int put_osrt_calls(struct nvt_table *table, const struct nvt_trace *trace,
                          const struct nvt_making *making)
{
    struct nvt_os_names names = {{0}};
    (void)making;
    for (uint32_t call = 0; call < trace->os_calls.count; call++)
        put_osrt_call(table, &names, trace, call);
    nvt_os_names_free(&names);
    return 0;
}

/* --- by range ----------------------------------------------------------------------------------- */

/* Read, written. */
static void add_bytes(void *names, const struct nvt_trace *trace, uint32_t call, double sums[2])
{
    uint64_t bytes;
    if (nvt_os_has_read(names, trace, call, &bytes))
        sums[0] += (double)bytes;
    if (nvt_os_has_written(names, trace, call, &bytes))
        sums[1] += (double)bytes;
}

static int group_by_range(struct nvt_groups *groups, const struct nvt_trace *trace,
                          const struct nvt_making *making)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_os_names names = {{0}};
    const struct nvt_held_calls held = {.count = calls->count,
                                        .start = calls->start,
                                        .end = calls->end,
                                        .thread = calls->thread,
                                        .name = calls->name,
                                        .bytes = add_bytes,
                                        .context = &names};
    int status = nvt_calls_by_range_add(groups, trace, &held, making->err);
    nvt_os_names_free(&names);
    return status;
}

static void put_osrt_range(struct nvt_table *table, struct nvt_groups *groups, uint32_t group)
{
    const struct nvt_os_call_info *call = nvt_os_call_find(nvt_calls_by_range_call(groups, group));
    nvt_calls_by_range_put(table, groups, group,
                           nvt_os_kind_name(call ? call->kind : NVT_OS_OTHER));
}

/* --- by file ------------------------------------------------------------------------------------ */

/* What was moved one way, and the time of the calls that do. */
struct moved {
    double bytes;
    int64_t ns;
};

struct file {
    uint64_t calls;
    int64_t ns, longest;
    struct moved read, written;
};

static int group_by_file(struct nvt_groups *groups, const struct nvt_trace *trace,
                         const struct nvt_making *making)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_os_names names = {{0}};
    (void)making;
    for (uint32_t i = 0; i < calls->count; i++) {
        int64_t ns = calls->end[i] - calls->start[i];
        uint64_t bytes = 0;
        uint32_t name = nvt_groups_string(groups, calls->file[i]);
        struct file *file =
            calls->file[i] ? nvt_groups_item(groups, nvt_groups_key(groups, &name, 1)) : NULL;
        if (!file)
            continue;
        struct moved *moved = nvt_os_has_written(&names, trace, i, &bytes) ? &file->written
                              : nvt_os_has_read(&names, trace, i, &bytes)  ? &file->read
                                                                           : NULL;
        file->calls++;
        file->ns += ns;
        file->longest = ns > file->longest ? ns : file->longest;
        if (moved) {
            moved->bytes += (double)bytes;
            moved->ns += ns;
        }
    }
    nvt_os_names_free(&names);
    return 0;
}

/* In MB/s. */
static double rate_of(const struct moved *moved)
{
    return moved->ns > 0 ? moved->bytes / NVT_MEGABYTE / ((double)moved->ns / 1e9) : NAN;
}

static void put_file(struct nvt_table *table, struct nvt_groups *groups, uint32_t group)
{
    const struct file *file = nvt_groups_item(groups, group);
    nvt_table_put(table, nvt_groups_part(groups, group, 0), file->calls, file->ns,
                  file->read.bytes / NVT_MEGABYTE, file->read.ns, rate_of(&file->read),
                  file->written.bytes / NVT_MEGABYTE, file->written.ns, rate_of(&file->written),
                  file->longest);
}

const struct nvt_report nvt_report_osrt_trace = {
    .name = "osrt_trace",
    .about = "every OS call, with its file or lock and bytes",
    .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                {"Duration (ns)", NVT_NS},
                {"Name", NVT_NAMES},
                {"Kind", NVT_NAMES},
                {"Result", NVT_IDS},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"File", NVT_NAMES},
                {"Address", NVT_NAMES},
                {"Bytes", NVT_COUNTS},
                {"Caller", NVT_NAMES},
                {"Unfinished", "", NVT_BOOL, 0, 0}},
    .title = "OS runtime trace",
    NVT_OS_CALLS_MISSING,
    .each_trace = put_osrt_calls,
};

const struct nvt_report nvt_report_nvtx_osrt_sum = {
    .name = "nvtx_osrt_sum",
    .about = "OS calls by the range that encloses them",
    .columns = {{"NVTX Range", NVT_RANGES},
                {"Call", NVT_NAMES},
                {"Kind", NVT_NAMES},
                NVT_CALLS_COLUMNS,
                {"Of Range (%)", NVT_PERCENT},
                {"Read (MB)", NVT_MB},
                {"Written (MB)", NVT_MB}},
    .title = "OS calls by range",
    .order = NVT_CALLS_BY_RANGE_ORDER("Call"),
    NVT_OS_CALLS_MISSING,
    .group = group_by_range,
    .put_group = put_osrt_range,
    .group_size = sizeof(struct nvt_held_sums),
};

const struct nvt_report nvt_report_osrt_files = {
    .name = "osrt_files",
    .about = "files, pipes and sockets by time in OS calls: bytes read and written, throughput",
    .columns = {{"File", NVT_NAMES},
                {"Num Calls", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                {"Read (MB)", NVT_MB},
                {"Read Time (ns)", NVT_NS},
                {"Read (MB/s)", NVT_REALS("MB/s", 1)},
                {"Written (MB)", NVT_MB},
                {"Write Time (ns)", NVT_NS},
                {"Write (MB/s)", NVT_REALS("MB/s", 1)},
                {"Max (ns)", NVT_NS}},
    .title = "OS calls by file",
    .order = {"-Total Time (ns)", "File"},
    NVT_OS_CALLS_MISSING,
    .nothing = "no OS call in the input names its file (record --trace osrt does)",
    .group = group_by_file,
    .put_group = put_file,
    .group_size = sizeof(struct file),
};
