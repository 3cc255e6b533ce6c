/*
 * um_sum, um_total_sum, um_cpu_page_faults_sum: managed memory, with nsys's headings and definitions (Nsight Systems User
 * Guide, "Statistical Reports": Unified Memory Analysis, Totals and CPU Page Faults Summary): a row for each address of a
 * page that faulted or at which pages began that moved; the sums; and the host's instructions that faulted.
 *
 * GPU Page Faults are as many as the driver found of a page, and CPU Page Faults as many as there are records. Copies from
 * device to device are in none of the three. A megabyte is 10^6 bytes; the throughput is that of the copies' own time. nsys
 * prints ten addresses unless it is told otherwise, these are all of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/map.h"
#include "../../lib/grow.h"
#include "../model/cuda_names.h"
#include "../model/groups.h"
#include "report.h"

#define MEGABYTE 1e6

/* What there is of an address, or of all. */
struct pages {
    uint64_t address;
    uint64_t to_device, to_host, copies_to_device, copies_to_host; /* bytes, how many */
    uint64_t host_faults, device_faults;
    uint64_t fault_rows; /* of devices: of pages that faulted */
    double ns;           /* of the copies */
};

static int is_to_host(const struct nvt_ops *ops, uint32_t op)
{
    return ops->copy_kind[op] == NVT_COPY_UNIFIED_DTOH;
}

static int is_counted(const struct nvt_ops *ops, uint32_t op)
{
    return ops->kind[op] == NVT_OP_MEMCPY &&
           (ops->copy_kind[op] == NVT_COPY_UNIFIED_HTOD || is_to_host(ops, op));
}

/* 0: it is not on record. */
static uint64_t address_of(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t row = trace->ops.detail[op];
    return row == NVT_NONE ? 0 : trace->migrations.address[row];
}

static void add_copy(struct pages *pages, const struct nvt_ops *ops, uint32_t op)
{
    *(is_to_host(ops, op) ? &pages->to_host : &pages->to_device) += ops->bytes[op];
    ++*(is_to_host(ops, op) ? &pages->copies_to_host : &pages->copies_to_device);
    pages->ns += (double)(ops->end[op] - ops->start[op]);
}

static void add_fault(struct pages *pages, const struct nvt_um_events *events, uint32_t i)
{
    if (events->kind[i] == NVT_UM_CPU_FAULT)
        pages->host_faults++;
    else {
        pages->device_faults += events->faults[i];
        pages->fault_rows++;
    }
}

static int is_fault(const struct nvt_um_events *events, uint32_t i)
{
    return events->kind[i] == NVT_UM_CPU_FAULT || events->kind[i] == NVT_UM_GPU_FAULT;
}

static void put_bytes(struct nvt_table *table, size_t row, size_t column, uint64_t bytes,
                      uint64_t copies)
{
    if (copies)
        nvt_table_set_real(table, row, column, (double)bytes / MEGABYTE);
}

/* Sums of hostile files come round. */
static void put_count(struct nvt_table *table, size_t row, size_t column, uint64_t count, int given)
{
    if (given)
        nvt_table_set_int(table, row, column, (int64_t)(count & INT64_MAX));
}

/* As nsys writes it. */
static void put_address(struct nvt_table *table, size_t row, size_t column, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%llX", (unsigned long long)address);
    nvt_table_set_text(table, row, column, text);
}

static const char *const nothing =
    "note: no page faults or migrations of managed memory are on record (record --trace um)";

/* --- by address ------------------------------------------------------------------------------------ */

struct addresses {
    struct pages *items;
    uint32_t count;
    struct nvt_map rows; /* address -> item */
};

/* NULL when out of memory. */
static struct pages *pages_at(struct addresses *addresses, uint64_t address)
{
    uint32_t *row = nvt_map_at(&addresses->rows, address), count = addresses->count;
    if (!row)
        return NULL;
    if (*row != NVT_MAP_NONE)
        return &addresses->items[*row];
    if (nvt_grow(&addresses->items, count, sizeof(*addresses->items)))
        return NULL;
    *row = addresses->count++;
    addresses->items[*row] = (struct pages){.address = address};
    return &addresses->items[*row];
}

static int collect(struct addresses *addresses, const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        if (!is_counted(&trace->ops, i))
            continue;
        struct pages *pages = pages_at(addresses, address_of(trace, i));
        if (!pages)
            return -1;
        add_copy(pages, &trace->ops, i);
    }
    for (uint32_t i = 0; i < trace->um_events.count; i++) {
        if (!is_fault(&trace->um_events, i))
            continue;
        struct pages *pages = pages_at(addresses, trace->um_events.address[i]);
        if (!pages)
            return -1;
        add_fault(pages, &trace->um_events, i);
    }
    return 0;
}

static int by_address(const void *left, const void *right)
{
    const struct pages *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

enum { ADDRESS, TO_DEVICE, TO_HOST, HOST_FAULTS, DEVICE_FAULTS, THROUGHPUT };

static const struct nvt_column_spec address_columns[] = {
    [ADDRESS] = {"Virtual Address", "", NVT_TEXT, 0, 0},
    [TO_DEVICE] = {"HtoD Migration size (MB)", "MB", NVT_REAL, 3, 0},
    [TO_HOST] = {"DtoH Migration size (MB)", "MB", NVT_REAL, 3, 0},
    [HOST_FAULTS] = {"CPU Page Faults", "", NVT_INT, 0, 0},
    [DEVICE_FAULTS] = {"GPU Page Faults", "", NVT_INT, 0, 0},
    [THROUGHPUT] = {"Migration Throughput (MB/s)", "MB/s", NVT_REAL, 3, 0},
};

static void fill_addresses(struct nvt_table *table, struct addresses *addresses)
{
    if (addresses->count)
        qsort(addresses->items, addresses->count, sizeof(*addresses->items), by_address);
    for (uint32_t i = 0; i < addresses->count; i++) {
        const struct pages *pages = &addresses->items[i];
        size_t row = nvt_table_add_row(table);
        if (pages->address)
            put_address(table, row, ADDRESS, pages->address);
        put_bytes(table, row, TO_DEVICE, pages->to_device, pages->copies_to_device);
        put_bytes(table, row, TO_HOST, pages->to_host, pages->copies_to_host);
        put_count(table, row, HOST_FAULTS, pages->host_faults, pages->host_faults > 0);
        put_count(table, row, DEVICE_FAULTS, pages->device_faults, pages->fault_rows > 0);
        if (pages->ns > 0) /* bytes a ns, of 10^9 bytes: 10^3 MB/s */
            nvt_table_set_real(table, row, THROUGHPUT,
                               ((double)pages->to_device + (double)pages->to_host) / pages->ns *
                                   1e3);
    }
    nvt_table_sort(table, THROUGHPUT, 1);
}

/* Addresses of one trace are not those of another. */
static int make_addresses(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    size_t shown = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct addresses addresses = {0};
        struct nvt_table *table = nvt_report_trace_table(&nvt_report_um_sum, input, trace,
                                                         "Unified memory by address", err);
        int status = table ? 0 : -1;
        if (!status && collect(&addresses, trace))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        if (!status)
            fill_addresses(table, &addresses);
        shown += addresses.count;
        free(addresses.items);
        nvt_map_free(&addresses.rows);
        if (status) {
            nvt_table_free(table);
            return -1;
        }
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    if (!shown)
        nvt_note(input, "%s", nothing);
    return 0;
}

const struct nvt_report nvt_report_um_sum = {
    .name = "um_sum",
    .about = "managed memory by address: migrations, and page faults of host and devices",
    .needs = NVT_NEEDS_TRACES,
    .columns = address_columns,
    .column_count = sizeof(address_columns) / sizeof(address_columns[0]),
    .make = make_addresses,
};

/* --- in all ---------------------------------------------------------------------------------------- */

enum { ALL_TO_DEVICE, ALL_TO_HOST, ALL_HOST_FAULTS, ALL_DEVICE_FAULTS, LOWEST, HIGHEST };

static const struct nvt_column_spec total_columns[] = {
    [ALL_TO_DEVICE] = {"Total HtoD Migration Size (MB)", "MB", NVT_REAL, 3, 0},
    [ALL_TO_HOST] = {"Total DtoH Migration Size (MB)", "MB", NVT_REAL, 3, 0},
    [ALL_HOST_FAULTS] = {"Total CPU Page Faults", "", NVT_INT, 0, 0},
    [ALL_DEVICE_FAULTS] = {"Total GPU PageFaults", "", NVT_INT, 0, 0},
    [LOWEST] = {"Minimum Virtual Address", "", NVT_TEXT, 0, 0},
    [HIGHEST] = {"Maximum Virtual Address", "", NVT_TEXT, 0, 0},
};

struct total {
    struct pages pages;
    uint64_t lowest, highest; /* highest 0: no address is on record */
};

static void widen(struct total *total, uint64_t address)
{
    if (!address)
        return;
    total->lowest = total->highest && total->lowest < address ? total->lowest : address;
    total->highest = total->highest > address ? total->highest : address;
}

static void add_trace(struct total *total, const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (is_counted(&trace->ops, i)) {
            add_copy(&total->pages, &trace->ops, i);
            widen(total, address_of(trace, i));
        }
    for (uint32_t i = 0; i < trace->um_events.count; i++)
        if (is_fault(&trace->um_events, i)) {
            add_fault(&total->pages, &trace->um_events, i);
            widen(total, trace->um_events.address[i]);
        }
}

static int make_total(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table =
        nvt_report_table(&nvt_report_um_total_sum, input, "Unified memory in all", err);
    struct total total = {.lowest = 0};
    const struct pages *pages = &total.pages;
    if (!table)
        return -1;
    for (size_t i = 0; i < input->trace_count; i++)
        add_trace(&total, input->traces[i].trace);
    if (pages->copies_to_device || pages->copies_to_host || pages->host_faults ||
        pages->fault_rows) {
        size_t row = nvt_table_add_row(table);
        put_bytes(table, row, ALL_TO_DEVICE, pages->to_device, pages->copies_to_device);
        put_bytes(table, row, ALL_TO_HOST, pages->to_host, pages->copies_to_host);
        put_count(table, row, ALL_HOST_FAULTS, pages->host_faults, 1);
        put_count(table, row, ALL_DEVICE_FAULTS, pages->device_faults, pages->fault_rows > 0);
        if (total.highest) {
            put_address(table, row, LOWEST, total.lowest);
            put_address(table, row, HIGHEST, total.highest);
        }
    } else
        nvt_note(input, "%s", nothing);
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_um_total_sum = {
    .name = "um_total_sum",
    .about = "managed memory in all: migrations, and page faults of host and devices",
    .needs = NVT_NEEDS_TRACES,
    .columns = total_columns,
    .column_count = sizeof(total_columns) / sizeof(total_columns[0]),
    .make = make_total,
};

/* --- faults of the host ---------------------------------------------------------------------------- */

enum { FAULTS, INSTRUCTION, SOURCE, LINE };

static const struct nvt_column_spec instruction_columns[] = {
    [FAULTS] = {"CPU Page Faults", "", NVT_INT, 0, 0},
    [INSTRUCTION] = {"CPU Instruction Address", "", NVT_TEXT, 0, 0},
    [SOURCE] = {"Source File", "", NVT_TEXT, 0, 0},
    [LINE] = {"Source Line", "", NVT_INT, 0, NVT_PLAIN},
};

/* Of the same instruction, file and line. */
static void collect_instructions(struct nvt_groups *groups, const struct nvt_trace *trace)
{
    const struct nvt_um_events *events = &trace->um_events;
    nvt_groups_trace(groups, trace);
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->kind[i] != NVT_UM_CPU_FAULT)
            continue;
        const uint32_t key[] = {nvt_groups_string(groups, events->instruction[i]),
                                nvt_groups_string(groups, events->source[i]), events->line[i]};
        nvt_groups_add(groups, nvt_groups_key(groups, key, 3), 1);
    }
}

static int make_instructions(struct nvt_input *input, struct nvt_tables *tables,
                             struct nvt_error *err)
{
    struct nvt_groups groups = {0};
    for (size_t i = 0; i < input->trace_count; i++)
        collect_instructions(&groups, input->traces[i].trace);
    int status = nvt_groups_finish(&groups, err);
    struct nvt_table *table = status ? NULL
                                     : nvt_report_table(&nvt_report_um_cpu_page_faults_sum, input,
                                                        "Page faults of the host", err);
    for (uint32_t i = 0; table && i < groups.count; i++) {
        const struct nvt_group *group = &groups.groups[i];
        size_t row = nvt_table_add_row(table);
        nvt_table_set_int(table, row, FAULTS, (int64_t)group->count);
        nvt_table_set_name(table, row, INSTRUCTION, nvt_groups_name(&groups, group->key[0]));
        nvt_table_set_name(table, row, SOURCE, nvt_groups_name(&groups, group->key[1]));
        if (group->key[2])
            nvt_table_set_int(table, row, LINE, group->key[2]);
    }
    if (table) {
        if (!groups.count)
            nvt_note(input, "note: no page faults of the host are on record (record --trace um)");
        nvt_table_sort(table, INSTRUCTION, 0);
        nvt_table_sort(table, FAULTS, 1);
    }
    nvt_groups_free(&groups);
    return table ? nvt_report_add(tables, table, err) : -1;
}

const struct nvt_report nvt_report_um_cpu_page_faults_sum = {
    .name = "um_cpu_page_faults_sum",
    .about = "page faults of the host in managed memory, by instruction",
    .needs = NVT_NEEDS_TRACES,
    .columns = instruction_columns,
    .column_count = sizeof(instruction_columns) / sizeof(instruction_columns[0]),
    .make = make_instructions,
};
