/*
 * osrt_trace, nvtx_osrt_sum, osrt_files: calls of the operating system's libraries one by one, by the ranges that hold them
 * (which those are says calls_by_range.h), and by file. (osrt_sum, by name, is cuda_sum.c's; by thread and by lock,
 * osrt_waits.c's.) What kind of call a name is, and what it returns, is in lib/os_calls.def. A call that never ended lasts
 * until what is last on record. A megabyte is 10^6 bytes.
 */
#include "osrt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/grow.h"
#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "report.h"

#define MEGABYTE 1e6

void nvt_osrt_put_address(struct nvt_table *table, size_t row, size_t column, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    if (address)
        nvt_table_set_text(table, row, column, text);
}

/* --- one by one --------------------------------------------------------------------------------- */

enum { T_START, T_DURATION, T_NAME, T_KIND, T_RESULT, T_PID, T_TID, T_FILE, T_ADDRESS, T_BYTES };
enum { T_CALLER = T_BYTES + 1, T_UNFINISHED };

static const struct nvt_column_spec trace_columns[] = {
    [T_START] = {"Start (ns)", "ns", NVT_INT, 0, 0},
    [T_DURATION] = {"Duration (ns)", "ns", NVT_INT, 0, 0},
    [T_NAME] = {"Name", "", NVT_TEXT, 0, 0},
    [T_KIND] = {"Kind", "", NVT_TEXT, 0, 0},
    [T_RESULT] = {"Result", "", NVT_INT, 0, NVT_PLAIN},
    [T_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [T_TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [T_FILE] = {"File", "", NVT_TEXT, 0, 0},
    [T_ADDRESS] = {"Address", "", NVT_TEXT, 0, 0},
    [T_BYTES] = {"Bytes", "", NVT_INT, 0, 0},
    [T_CALLER] = {"Caller", "", NVT_TEXT, 0, 0},
    [T_UNFINISHED] = {"Unfinished", "", NVT_BOOL, 0, 0},
};

/* What an unfinished call returns is not known. */
static void put_call(struct nvt_table *table, struct nvt_os_names *names,
                     const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t thread = calls->thread[call];
    int is_unfinished = calls->flags[call] & NVT_RANGE_UNCLOSED;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, T_START, calls->start[call]);
    nvt_table_set_int(table, row, T_DURATION, calls->end[call] - calls->start[call]);
    nvt_table_set_text(table, row, T_NAME, nvt_name(trace, calls->name[call]));
    nvt_table_set_text(table, row, T_KIND,
                       nvt_os_kind_name(nvt_os_names_kind(names, trace, calls->name[call])));
    if (!is_unfinished)
        nvt_table_set_int(table, row, T_RESULT, calls->result[call]);
    nvt_table_set_int(table, row, T_PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, T_TID, trace->threads.tid[thread]);
    nvt_table_set_name(table, row, T_FILE, nvt_name(trace, calls->file[call]));
    nvt_osrt_put_address(table, row, T_ADDRESS, calls->address[call]);
    if (calls->bytes[call])
        nvt_table_set_int(table, row, T_BYTES, (int64_t)calls->bytes[call]);
    nvt_table_set_name(table, row, T_CALLER, nvt_name(trace, calls->caller[call]));
    if (is_unfinished)
        nvt_table_set_bool(table, row, T_UNFINISHED, 1);
}

static int make_trace(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_os_names names = {{0}};
        struct nvt_table *table =
            nvt_report_trace_table(&nvt_report_osrt_trace, input, trace, "OS runtime trace", err);
        if (!table)
            return -1;
        for (uint32_t call = 0; call < trace->os_calls.count; call++)
            put_call(table, &names, trace, call);
        nvt_os_names_free(&names);
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    return 0;
}

/* --- by range ----------------------------------------------------------------------------------- */

enum { R_CALL = 1, R_KIND, R_COUNT, R_SHARE = R_COUNT + 7, R_READ, R_WRITTEN };

static const struct nvt_column_spec range_columns[] = {
    {"NVTX Range", "", NVT_TEXT, 0, 0},
    {"Call", "", NVT_TEXT, 0, 0},
    {"Kind", "", NVT_TEXT, 0, 0},
    NVT_CALLS_COLUMNS,
    [R_SHARE] = {"Of Range (%)", "%", NVT_REAL, 1, 0},
    [R_READ] = {"Read (MB)", "MB", NVT_REAL, 3, 0},
    [R_WRITTEN] = {"Written (MB)", "MB", NVT_REAL, 3, 0},
};

/* Written, read. */
static void add_bytes(void *names, const struct nvt_trace *trace, uint32_t call, double sums[2])
{
    uint64_t bytes;
    if (nvt_os_has_written(names, trace, call, &bytes))
        sums[0] += (double)bytes;
    if (nvt_os_has_read(names, trace, call, &bytes))
        sums[1] += (double)bytes;
}

static int collect_ranges(struct nvt_calls_by_range *all, const struct nvt_trace *trace,
                          struct nvt_error *err)
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
    int status = nvt_calls_by_range_add(all, trace, &held, err);
    nvt_os_names_free(&names);
    return status;
}

static void put_kinds(struct nvt_table *table)
{
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        const struct nvt_os_call_info *call = nvt_os_call_find(nvt_table_text(table, row, R_CALL));
        nvt_table_set_text(table, row, R_KIND, nvt_os_kind_name(call ? call->kind : NVT_OS_OTHER));
    }
}

static int make_ranges(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_calls_by_range all = {.capacity = 0};
    struct nvt_table *table =
        nvt_report_table(&nvt_report_nvtx_osrt_sum, input, "OS runtime calls by range", err);
    int status = table ? 0 : -1;
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = collect_ranges(&all, input->traces[i].trace, err);
    if (!status)
        status = nvt_calls_by_range_put(table, &all, R_COUNT, R_WRITTEN, R_READ, err);
    nvt_calls_by_range_free(&all);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    put_kinds(table);
    return nvt_report_add(tables, table, err);
}

/* --- by file ------------------------------------------------------------------------------------ */

enum { F_FILE, F_CALLS, F_TOTAL, F_READ, F_READ_TIME, F_READ_RATE, F_WRITTEN, F_WRITE_TIME };
enum { F_WRITE_RATE = F_WRITE_TIME + 1, F_MAX };

static const struct nvt_column_spec file_columns[] = {
    [F_FILE] = {"File", "", NVT_TEXT, 0, 0},
    [F_CALLS] = {"Num Calls", "", NVT_INT, 0, 0},
    [F_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [F_READ] = {"Read (MB)", "MB", NVT_REAL, 3, 0},
    [F_READ_TIME] = {"Read Time (ns)", "ns", NVT_INT, 0, 0},
    [F_READ_RATE] = {"Read (MB/s)", "MB/s", NVT_REAL, 1, 0},
    [F_WRITTEN] = {"Written (MB)", "MB", NVT_REAL, 3, 0},
    [F_WRITE_TIME] = {"Write Time (ns)", "ns", NVT_INT, 0, 0},
    [F_WRITE_RATE] = {"Write (MB/s)", "MB/s", NVT_REAL, 1, 0},
    [F_MAX] = {"Max (ns)", "ns", NVT_INT, 0, 0},
};

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

/* Files of all traces, by the numbers that `names` has for theirs. */
struct files {
    struct nvt_groups names;
    struct file *items;
    uint32_t count;
};

static struct file *file_of(struct files *files, uint32_t string)
{
    uint32_t name = nvt_groups_string(&files->names, string);
    while (name != NVT_NO_STRING && files->count <= name) {
        if (nvt_grow(&files->items, files->count, sizeof(*files->items)))
            return NULL;
        files->items[files->count++] = (struct file){0};
    }
    return name == NVT_NO_STRING ? NULL : &files->items[name];
}

static int add_files(struct files *files, const struct nvt_trace *trace)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_os_names names = {{0}};
    int status = 0;
    nvt_groups_trace(&files->names, trace);
    for (uint32_t i = 0; i < calls->count && !status; i++) {
        int64_t ns = calls->end[i] - calls->start[i];
        uint64_t bytes = 0;
        struct file *file = calls->file[i] ? file_of(files, calls->file[i]) : NULL;
        struct moved *moved = !file                                          ? NULL
                              : nvt_os_has_written(&names, trace, i, &bytes) ? &file->written
                              : nvt_os_has_read(&names, trace, i, &bytes)    ? &file->read
                                                                             : NULL;
        if (file) {
            file->calls++;
            file->ns += ns;
            file->longest = ns > file->longest ? ns : file->longest;
        }
        if (moved) {
            moved->bytes += (double)bytes;
            moved->ns += ns;
        }
        status = calls->file[i] && !file ? -1 : 0;
    }
    nvt_os_names_free(&names);
    return status || nvt_groups_failed(&files->names) ? -1 : 0;
}

/* Into three columns: how much, how long, how fast. */
static void put_moved(struct nvt_table *table, size_t row, size_t column, const struct moved *moved)
{
    nvt_table_set_real(table, row, column, moved->bytes / MEGABYTE);
    nvt_table_set_int(table, row, column + 1, moved->ns);
    if (moved->ns > 0)
        nvt_table_set_real(table, row, column + 2,
                           moved->bytes / MEGABYTE / ((double)moved->ns / 1e9));
}

static void put_files(struct nvt_table *table, const struct files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct file *file = &files->items[i];
        if (!file->calls)
            continue;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, F_FILE, nvt_groups_name(&files->names, i));
        nvt_table_set_int(table, row, F_CALLS, (int64_t)file->calls);
        nvt_table_set_int(table, row, F_TOTAL, file->ns);
        put_moved(table, row, F_READ, &file->read);
        put_moved(table, row, F_WRITTEN, &file->written);
        nvt_table_set_int(table, row, F_MAX, file->longest);
    }
    nvt_table_sort(table, F_FILE, 0);
    nvt_table_sort(table, F_TOTAL, 1);
}

static int make_files(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table =
        nvt_report_table(&nvt_report_osrt_files, input, "OS runtime calls by file", err);
    struct files files = {.count = 0};
    int status = table ? 0 : -1;
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (add_files(&files, input->traces[i].trace))
            status = nvt_fail_at(err, input->traces[i].trace->path, -1, "out of memory");
    if (!status)
        put_files(table, &files);
    nvt_groups_free(&files.names);
    free(files.items);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    if (!nvt_table_rows(table) && nvt_input_has_os_calls(input))
        nvt_note(input, "note: no OS runtime call of the input says which file it is of (record "
                        "--trace osrt does)");
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_osrt_trace = {
    .name = "osrt_trace",
    .about = "every call of the operating system's libraries, with its file or lock and bytes",
    .needs = NVT_NEEDS_TRACES,
    .columns = trace_columns,
    .column_count = sizeof(trace_columns) / sizeof(trace_columns[0]),
    .make = make_trace,
};

const struct nvt_report nvt_report_nvtx_osrt_sum = {
    .name = "nvtx_osrt_sum",
    .about = "calls of the operating system's libraries by the ranges that hold them",
    .needs = NVT_NEEDS_TRACES,
    .columns = range_columns,
    .column_count = sizeof(range_columns) / sizeof(range_columns[0]),
    .make = make_ranges,
};

const struct nvt_report nvt_report_osrt_files = {
    .name = "osrt_files",
    .about = "files, pipes and sockets by the time in calls: bytes read and written, how fast",
    .needs = NVT_NEEDS_TRACES,
    .columns = file_columns,
    .column_count = sizeof(file_columns) / sizeof(file_columns[0]),
    .make = make_files,
};
