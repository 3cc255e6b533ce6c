/*
 * um_sum, um_total_sum, um_cpu_page_faults_sum: managed memory, with nsys's headings and definitions (Nsight Systems User
 * Guide, "Statistical Reports": Unified Memory Analysis, Totals and CPU Page Faults Summary): a row for each address of a
 * page that faulted or at which pages began that moved; the sums; and the host's instructions that faulted.
 *
 * GPU Page Faults are as many as the driver found of a page, and CPU Page Faults as many as there are records. Copies from
 * device to device are in none of the three. A megabyte is 10^6 bytes; the throughput is that of the copies' own time. nsys
 * prints ten addresses unless it is told otherwise, these are all of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"
#include "../model/cuda_names.h"
#include "../model/groups.h"
#include "report.h"

#define NOTHING "no page faults or migrations of managed memory in the input (record --trace um)"

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

/* 0: it was not recorded. */
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

static double megabytes(uint64_t bytes, uint64_t copies)
{
    return copies ? (double)bytes / NVT_MEGABYTE : NAN;
}

/* Sums of hostile files come round. */
static int64_t count_of(uint64_t count)
{
    return (int64_t)(count & INT64_MAX);
}

/* As nsys writes it; NULL where it is not known. */
static const char *address_text(uint64_t address, char text[24])
{
    snprintf(text, 24, "0x%llX", (unsigned long long)address);
    return address ? text : NULL;
}

/* --- by address ------------------------------------------------------------------------------------ */

struct addresses {
    struct pages *items;
    uint32_t count;
    struct nvt_map rows; /* address -> item */
};

/* NULL when out of memory. */
static struct pages *pages_at(struct addresses *addresses, uint64_t address)
{
    struct pages *pages = nvt_map_item(&addresses->rows, address, &addresses->items,
                                       &addresses->count, sizeof(*pages));
    if (pages)
        pages->address = address;
    return pages;
}

static int collect_um_sum(struct addresses *addresses, const struct nvt_trace *trace)
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

static void put_addresses(struct nvt_table *table, struct addresses *addresses)
{
    char address[24];
    if (addresses->count)
        qsort(addresses->items, addresses->count, sizeof(*addresses->items), by_address);
    for (uint32_t i = 0; i < addresses->count; i++) {
        const struct pages *pages = &addresses->items[i];
        const double moved = (double)pages->to_device + (double)pages->to_host;
        nvt_table_put(table, address_text(pages->address, address),
                      megabytes(pages->to_device, pages->copies_to_device),
                      megabytes(pages->to_host, pages->copies_to_host),
                      NVT_IF(pages->host_faults, count_of(pages->host_faults)),
                      NVT_IF(pages->fault_rows, count_of(pages->device_faults)),
                      /* bytes a ns, of 10^9 bytes: 10^3 MB/s */
                      pages->ns > 0 ? moved / pages->ns * 1e3 : NAN);
    }
}

/* Addresses of one trace are not those of another. */
static int put_um_sum_trace(struct nvt_table *table, const struct nvt_trace *trace,
                            const struct nvt_making *making)
{
    struct addresses addresses = {0};
    int status = collect_um_sum(&addresses, trace);
    (void)making;
    if (!status)
        put_addresses(table, &addresses);
    free(addresses.items);
    nvt_map_free(&addresses.rows);
    return status;
}

const struct nvt_report nvt_report_um_sum = {
    .name = "um_sum",
    .about = "managed memory by address: migrations, page faults of CPUs and GPUs",
    .columns = {{"Virtual Address", NVT_NAMES},
                {"HtoD Migration size (MB)", NVT_MB},
                {"DtoH Migration size (MB)", NVT_MB},
                {"CPU Page Faults", NVT_COUNTS},
                {"GPU Page Faults", NVT_COUNTS},
                {"Migration Throughput (MB/s)", NVT_REALS("MB/s", 3)}},
    .title = "Managed memory by address",
    .order = {"-Migration Throughput (MB/s)"},
    .nothing = NOTHING,
    .each_trace = put_um_sum_trace,
};

/* Chrome's and Perfetto's traces have migrations, but no page faults that are read: none there is not 0. */
static int may_have_faults(const struct nvt_trace *trace)
{
    return trace->um_events.count ||
           (strcmp(trace->format, "kineto") != 0 && strcmp(trace->format, "perfetto") != 0);
}

/* --- in all ---------------------------------------------------------------------------------------- */

struct total {
    struct pages pages;
    uint64_t lowest, highest; /* highest 0: no address is on record */
    int has_faults;           /* a trace has them, or its format could have */
};

static void widen(struct total *total, uint64_t address)
{
    if (!address)
        return;
    total->lowest = total->highest && total->lowest < address ? total->lowest : address;
    total->highest = total->highest > address ? total->highest : address;
}

static void add_um_sum_trace(struct total *total, const struct nvt_trace *trace)
{
    total->has_faults |= may_have_faults(trace);
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

static int put_total(struct nvt_table *table, const struct nvt_making *making)
{
    struct total total = {.lowest = 0};
    const struct pages *pages = &total.pages;
    char lowest[24], highest[24];
    for (size_t i = 0; i < making->input->trace_count; i++)
        add_um_sum_trace(&total, making->input->traces[i].trace);
    if (pages->copies_to_device || pages->copies_to_host || pages->host_faults || pages->fault_rows)
        nvt_table_put(table, megabytes(pages->to_device, pages->copies_to_device),
                      megabytes(pages->to_host, pages->copies_to_host),
                      NVT_IF(total.has_faults, count_of(pages->host_faults)),
                      NVT_IF(pages->fault_rows, count_of(pages->device_faults)),
                      total.highest ? address_text(total.lowest, lowest) : NULL,
                      address_text(total.highest, highest));
    return 0;
}

const struct nvt_report nvt_report_um_total_sum = {
    .name = "um_total_sum",
    .about = "managed memory, total: migrations, page faults of CPUs and GPUs",
    .columns = {{"Total HtoD Migration Size (MB)", NVT_MB},
                {"Total DtoH Migration Size (MB)", NVT_MB},
                {"Total CPU Page Faults", NVT_COUNTS},
                {"Total GPU PageFaults", NVT_COUNTS},
                {"Minimum Virtual Address", NVT_NAMES},
                {"Maximum Virtual Address", NVT_NAMES}},
    .title = "Managed memory, total",
    .nothing = NOTHING,
    .of_input = put_total,
};

/* --- faults of the host ---------------------------------------------------------------------------- */

/* Count faults of the same instruction, file and line. */
static int group_um_sum(struct nvt_groups *groups, const struct nvt_trace *trace,
                        const struct nvt_making *making)
{
    const struct nvt_um_events *events = &trace->um_events;
    (void)making;
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->kind[i] != NVT_UM_CPU_FAULT)
            continue;
        const uint32_t key[] = {nvt_groups_string(groups, events->instruction[i]),
                                nvt_groups_string(groups, events->source[i]), events->line[i]};
        nvt_groups_add(groups, nvt_groups_key(groups, key, 3), 1);
    }
    return 0;
}

static void put_um_sum_group(struct nvt_table *table, struct nvt_groups *groups, uint32_t number)
{
    const struct nvt_group *of = &groups->groups[number];
    nvt_table_put(table, of->count, nvt_text_if_any(nvt_groups_part(groups, number, 0)),
                  nvt_text_if_any(nvt_groups_part(groups, number, 1)),
                  NVT_IF(of->key[2], of->key[2]));
}

const struct nvt_report nvt_report_um_cpu_page_faults_sum = {
    .name = "um_cpu_page_faults_sum",
    .about = "CPU page faults in managed memory, by instruction",
    .columns = {{"CPU Page Faults", NVT_COUNTS},
                {"CPU Instruction Address", NVT_NAMES},
                {"Source File", NVT_NAMES},
                {"Source Line", NVT_IDS}},
    .title = "CPU page faults in managed memory",
    .order = {"-CPU Page Faults", "CPU Instruction Address"},
    .nothing = "no CPU page faults in the input (record --trace um)",
    .group = group_um_sum,
    .put_group = put_um_sum_group,
};
