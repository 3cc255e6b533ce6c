/*
 * collectives: communication between devices and ranks, by what it was and how large: how often, how
 * long, and how fast. A row is a collective of a size: of PyTorch's profiles by what they say of NCCL's
 * and RCCL's kernels; elsewhere by the range of NCCL's that launched the kernel, with the size in its
 * payload, else by the kernel's name, whose size nobody knows. Copies between devices are a row each size.
 *
 * The size is that by which NCCL's tests reckon (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md and
 * src/): of an all-gather, a reduce-scatter, a gather and a scatter what all ranks have together, of an
 * all-to-all what one rank gives, else the message. Bandwidth is that size by time; bus bandwidth that
 * times what of it crosses the slowest link: 2(n-1)/n of an all-reduce over n ranks, (n-1)/n of an
 * all-gather, a reduce-scatter, a gather, a scatter and an all-to-all, else all. Times are those of kernels, which wait for the rank that comes last: the
 * shortest one is nearest to what the link can do.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../device/communication.h"
#include "../model/cuda_names.h"
#include "../model/groups.h"
#include "../device/project.h"
#include "report.h"

enum { NAME, TYPE, RANKS, SIZE, CALLS, TOTAL, AVG, MED, MIN, MAX, STD, BANDWIDTH, BUS, BUS_BEST };

static const struct nvt_column_spec columns[] = {
    [NAME] = {"Collective", "", NVT_TEXT, 0, 0},
    [TYPE] = {"Type", "", NVT_TEXT, 0, 0},
    [RANKS] = {"Ranks", "", NVT_INT, 0, 0},
    [SIZE] = {"Size (B)", "B", NVT_INT, 0, 0},
    [CALLS] = {"Calls", "", NVT_INT, 0, 0},
    [TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [AVG] = {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    [MED] = {"Med (ns)", "ns", NVT_REAL, 1, 0},
    [MIN] = {"Min (ns)", "ns", NVT_INT, 0, 0},
    [MAX] = {"Max (ns)", "ns", NVT_INT, 0, 0},
    [STD] = {"StdDev (ns)", "ns", NVT_REAL, 1, 0},
    [BANDWIDTH] = {"Bandwidth Med (GB/s)", "GB/s", NVT_REAL, 2, 0},
    [BUS] = {"Bus Med (GB/s)", "GB/s", NVT_REAL, 2, 0},
    [BUS_BEST] = {"Bus Best (GB/s)", "GB/s", NVT_REAL, 2, 0},
};

#define UNKNOWN UINT64_MAX

/* What the rows tell apart. */
struct message {
    char name[128], type[32];
    uint32_t ranks; /* 0: unknown */
    uint64_t bytes; /* or UNKNOWN */
};

struct collectives {
    struct nvt_groups groups; /* by the text of the message */
    struct message *items;    /* of each group */
    uint32_t capacity;
    const struct nvt_trace *trace;
    uint32_t *range_of; /* operations of the trace -> NCCL's range around them, or what follows */
};

/* Instead of a range: no communication, and none that was found. */
#define NO_MESSAGE (NVT_NONE - 1)
#define NO_RANGE   NVT_NONE

/* Bytes of an element, by PyTorch's names of types; 0: unknown. */
static unsigned bytes_of_type(const char *type)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"Byte", 1},   {"Char", 1},         {"Bool", 1},          {"QInt8", 1},
                 {"QUInt8", 1}, {"Short", 2},        {"Half", 2},          {"BFloat16", 2},
                 {"UInt16", 2}, {"Int", 4},          {"Float", 4},         {"UInt32", 4},
                 {"QInt32", 4}, {"ComplexHalf", 4},  {"Long", 8},          {"Double", 8},
                 {"UInt64", 8}, {"ComplexFloat", 8}, {"ComplexDouble", 16}};
    if (!strncmp(type, "Float8", 6))
        return 1;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(types[i].name, type))
            return types[i].bytes;
    return 0;
}

/* What of the size crosses the slowest link. */
static double bus_factor(const char *name, uint32_t ranks)
{
    double others = ranks ? (double)(ranks - 1) / ranks : NAN;
    if (nvt_names_word(name, "allreduce"))
        return 2 * others;
    if (nvt_names_word(name, "gather") || nvt_names_word(name, "scatter") ||
        nvt_names_word(name, "alltoall"))
        return others;
    return 1;
}

/* Elements of a collective's size. What all ranks have together is given or taken by one of them; of a gather and a
 * scatter a rank may tell its own part alone. */
static uint64_t elements_of(const char *name, uint32_t ranks, uint64_t given, uint64_t taken)
{
    int gathers = nvt_names_word(name, "gather"), scatters = nvt_names_word(name, "scatter");
    uint64_t part = gathers ? given : taken, all = given > taken ? given : taken;
    if (!gathers && !scatters)
        return given ? given : taken;
    if (nvt_names_word(name, "allgather") || nvt_names_word(name, "reducescatter") || !ranks ||
        part > UINT64_MAX / ranks)
        return all;
    return part * ranks > all ? part * ranks : all;
}

/* --- what an operation is ---------------------------------------------------------------------- */

/* As PyTorch says. */
static struct message told(const struct nvt_trace *trace, uint32_t row)
{
    const struct nvt_collectives *rows = &trace->collectives;
    struct message message = {.ranks = rows->ranks[row], .bytes = UNKNOWN};
    const char *name = nvt_name(trace, rows->name[row]), *type = nvt_name(trace, rows->type[row]);
    uint64_t bytes = bytes_of_type(type);
    uint64_t elements = elements_of(name, rows->ranks[row], rows->given[row], rows->taken[row]);
    snprintf(message.name, sizeof(message.name), "%s", name);
    snprintf(message.type, sizeof(message.type), "%s", type);
    if (bytes && elements <= UINT64_MAX / 2 / bytes)
        message.bytes = elements * bytes;
    return message;
}

/* As NCCL's range around the launch says (collectives.cc): of an all-gather, a reduce-scatter, a gather and a scatter one
 * rank's part, of an all-to-all what goes to one rank, as the arguments are. How many there are, it does not say. */
static struct message ranged(const struct nvt_trace *trace, uint32_t range)
{
    static const char size[] = "\"Message size [bytes]\":";
    struct message message = {.bytes = UNKNOWN};
    const char *payload = trace->ranges.flags[range] & NVT_RANGE_HAS_PAYLOAD
                              ? nvt_name(trace, trace->ranges.payload[range])
                              : "";
    const char *found = strstr(payload, size);
    snprintf(message.name, sizeof(message.name), "%s", nvt_name(trace, trace->ranges.name[range]));
    if (found && found[sizeof(size) - 1] >= '0' && found[sizeof(size) - 1] <= '9')
        message.bytes = strtoull(found + sizeof(size) - 1, NULL, 10);
    if (message.bytes > INT64_MAX)
        message.bytes = UNKNOWN;
    return message;
}

/* The row of what PyTorch says and 1, 0 where it says nothing. */
static uint32_t told_row(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t detail = trace->ops.detail[op];
    return trace->ops.kind[op] == NVT_OP_KERNEL && detail != NVT_NONE
               ? trace->kernels.collective[detail]
               : 0;
}

static struct message message_of(const struct collectives *all, uint32_t op)
{
    const struct nvt_ops *ops = &all->trace->ops;
    uint32_t row = told_row(all->trace, op);
    if (row)
        return told(all->trace, row - 1);
    if (all->range_of[op] != NO_RANGE)
        return ranged(all->trace, all->range_of[op]);
    struct message message = {.bytes = UNKNOWN};
    snprintf(message.name, sizeof(message.name), "%s", nvt_name(all->trace, ops->short_name[op]));
    if (ops->kind[op] != NVT_OP_KERNEL)
        message.bytes = ops->bytes[op] <= INT64_MAX ? ops->bytes[op] : UNKNOWN;
    return message;
}

/* --- all of them ------------------------------------------------------------------------------- */

static int keep_range(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct collectives *all = context;
    const struct nvt_trace *trace = all->trace;
    for (uint32_t i = 0; i < count && all->range_of[op] != NO_MESSAGE; i++)
        if (!strcmp(nvt_name(trace, trace->domains.name[trace->ranges.domain[ranges[i]]]),
                    "NCCL") &&
            strncmp(nvt_name(trace, trace->ranges.name[ranges[i]]), "ncclGroup", 9) != 0)
            all->range_of[op] = ranges[i];
    return 0;
}

/* The group of a message, new or old; NVT_NONE: out of memory. */
static uint32_t group_of(struct collectives *all, const struct message *message)
{
    char text[256];
    uint32_t before = all->groups.count;
    snprintf(text, sizeof(text), "%s|%s|%" PRIu32 "|%" PRIu64, message->name, message->type,
             message->ranks, message->bytes);
    uint32_t key = nvt_groups_text(&all->groups, text);
    uint32_t group = nvt_groups_key(&all->groups, &key, 1);
    if (group == NVT_NONE || group < before)
        return group;
    if (group == all->capacity) {
        uint32_t capacity = all->capacity ? all->capacity * 2 : 32;
        struct message *items = realloc(all->items, capacity * sizeof(*items));
        if (!items)
            return NVT_NONE;
        all->items = items;
        all->capacity = capacity;
    }
    all->items[group] = *message;
    return group;
}

/* Which operations communicate, and the ranges of those that nobody tells of. 0, or -1 when out of
 * memory. */
static int find_ranges(struct collectives *all)
{
    const struct nvt_trace *trace = all->trace;
    int has_untold = 0;
    all->range_of = malloc(((size_t)trace->ops.count + 1) * sizeof(*all->range_of));
    if (!all->range_of)
        return -1;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        int is_told = told_row(trace, i) != 0;
        int is_message = is_told || nvt_is_communication(trace, i);
        all->range_of[i] = is_message ? NO_RANGE : NO_MESSAGE;
        has_untold |= is_message && !is_told;
    }
    return has_untold ? nvt_project(trace, 0, keep_range, all, NULL) : 0;
}

static int add_trace(struct collectives *all, const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    all->trace = trace;
    int status = find_ranges(all);
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        if (all->range_of[i] == NO_MESSAGE)
            continue;
        struct message message = message_of(all, i);
        uint32_t group = group_of(all, &message);
        status = group == NVT_NONE ? -1 : 0;
        nvt_groups_add(&all->groups, group, ops->end[i] - ops->start[i]);
    }
    free(all->range_of);
    return status;
}

static int by_total(const void *left, const void *right, void *context)
{
    const struct nvt_group *groups = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (groups[a].total != groups[b].total)
        return groups[a].total < groups[b].total ? 1 : -1;
    return a < b ? -1 : a > b;
}

static void put_row(struct nvt_table *table, struct collectives *all, uint32_t group)
{
    size_t row = nvt_table_add_row(table);
    const struct message *message = &all->items[group];
    struct nvt_summary summary = nvt_groups_summary(&all->groups, group);
    double factor = bus_factor(message->name, message->ranks);
    nvt_table_set_text(table, row, NAME, message->name);
    nvt_table_set_text(table, row, TYPE, message->type);
    if (message->ranks)
        nvt_table_set_int(table, row, RANKS, message->ranks);
    nvt_table_set_int(table, row, CALLS, (int64_t)all->groups.groups[group].count);
    nvt_table_set_int(table, row, TOTAL, all->groups.groups[group].total);
    nvt_put_summary(table, row, AVG, &summary, 1);
    if (message->bytes == UNKNOWN)
        return;
    nvt_table_set_int(table, row, SIZE, (int64_t)message->bytes);
    if (summary.median > 0)
        nvt_table_set_real(table, row, BANDWIDTH, (double)message->bytes / summary.median);
    if (summary.median > 0 && !isnan(factor))
        nvt_table_set_real(table, row, BUS, factor * (double)message->bytes / summary.median);
    if (summary.min > 0 && !isnan(factor))
        nvt_table_set_real(table, row, BUS_BEST, factor * (double)message->bytes / summary.min);
}

static int put_rows(struct nvt_table *table, struct collectives *all, struct nvt_error *err)
{
    uint32_t count = all->groups.count;
    uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));
    if (!order)
        return nvt_fail(err, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    if (count)
        qsort_r(order, count, sizeof(*order), by_total, all->groups.groups);
    for (uint32_t i = 0; i < count; i++)
        put_row(table, all, order[i]);
    free(order);
    return 0;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct collectives all = {0};
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (add_trace(&all, input->traces[i].trace))
            status = nvt_fail_at(err, input->traces[i].trace->path, -1, "out of memory");
    if (!status)
        status = nvt_groups_finish(&all.groups, err);
    struct nvt_table *table = status ? NULL
                                     : nvt_report_table(&nvt_report_collectives, input,
                                                        "Communication by kind and size", err);
    if (!status && (!table || put_rows(table, &all, err)))
        status = -1;
    if (!status) {
        if (!all.groups.count)
            nvt_note(input, "note: no communication in the input");
        status = nvt_report_add(tables, table, err);
    } else {
        nvt_table_free(table);
    }
    nvt_groups_free(&all.groups);
    free(all.items);
    return status;
}

const struct nvt_report nvt_report_collectives = {
    .name = "collectives",
    .about = "communication by kind and size: calls, times, bandwidth as NCCL's tests define it",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
