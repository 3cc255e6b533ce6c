/*
 * um_sum, um_total_sum, um_cpu_page_faults_sum: managed memory, with nsys's headings and definitions (Nsight Systems User
 * Guide, "Statistical Reports": Unified Memory Analysis, Totals and CPU Page Faults Summary): a row for each address of a
 * page that faulted or at which pages began that moved; the sums; and the host's instructions that faulted.
 *
 * What counts is said in studies/managed_memory.h. A megabyte is 10^6 bytes; the throughput is that of the copies' own time. nsys
 * prints ten addresses unless it is told otherwise, these are all of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../model/cuda_names.h"
#include "../model/groups.h"
#include "../studies/managed_memory.h"
#include "report.h"

#define NOTHING "no page faults or migrations of managed memory in the input (record --trace um)"

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

static void put_pages(struct nvt_table *table, const struct nvt_managed_pages *pages)
{
    const double moved = (double)pages->to_device + (double)pages->to_host;
    char address[24];
    nvt_table_put(table, address_text(pages->address, address),
                  megabytes(pages->to_device, pages->copies_to_device),
                  megabytes(pages->to_host, pages->copies_to_host),
                  NVT_IF(pages->host_faults, count_of(pages->host_faults)),
                  NVT_IF(pages->fault_rows, count_of(pages->device_faults)),
                  /* bytes a ns, of 10^9 bytes: 10^3 MB/s */
                  pages->ns > 0 ? moved / pages->ns * 1e3 : NAN);
}

/* Addresses of one trace are not those of another. */
static int put_um_sum_trace(struct nvt_table *table, const struct nvt_trace *trace,
                            const struct nvt_making *making)
{
    uint32_t count = 0;
    struct nvt_managed_pages *pages = nvt_managed_by_address(trace, &count);
    (void)making;
    for (uint32_t i = 0; i < count; i++)
        put_pages(table, &pages[i]);
    free(pages);
    return pages ? 0 : -1;
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

/* --- in all ---------------------------------------------------------------------------------------- */

static int put_total(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_managed_total total = {.lowest = 0};
    const struct nvt_managed_pages *pages = &total.pages;
    char lowest[24], highest[24];
    for (size_t i = 0; i < making->input->trace_count; i++)
        nvt_managed_total_add(&total, making->input->traces[i].trace);
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
