/*
 * collectives: communication between devices and ranks, by what it was and how large: how often, how
 * long, and how fast. A row is a collective of a size: of PyTorch's profiles by what they say of NCCL's
 * and RCCL's kernels; elsewhere by the range of NCCL's that launched the kernel, with the size in its
 * payload, else by the kernel's name, whose size nobody knows. Copies between devices are a row each size.
 * Of a trace in which no device communicates they are the ranges that record --pytorch makes of torch.distributed's collectives,
 * from their launch until they are done.
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

#include "../../lib/collective_payload.h"
#include "../../lib/count_of.h"
#include "../device/communication.h"
#include "../model/cuda_names.h"
#include "../model/groups.h"
#include "../device/project.h"
#include "report.h"

#define UNKNOWN UINT64_MAX

/* What the rows tell apart. */
struct message {
    char name[128], type[32];
    uint32_t ranks; /* 0: unknown */
    uint64_t bytes; /* or UNKNOWN */
};

struct collectives {
    struct nvt_groups *groups; /* by the text of the message, which they carry */
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
    for (size_t i = 0; i < NVT_COUNT_OF(types); i++)
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

static const char *payload_of(const struct nvt_trace *trace, uint32_t range)
{
    return trace->ranges.flags[range] & NVT_RANGE_HAS_PAYLOAD
               ? nvt_name(trace, trace->ranges.payload[range])
               : "";
}

/* The number behind a name in the text of a payload, UNKNOWN where there is none. */
static uint64_t number_in(const char *payload, const char *name)
{
    const char *found = strstr(payload, name);
    found = found ? found + strlen(name) : NULL;
    return found && *found >= '0' && *found <= '9' ? strtoull(found, NULL, 10) : UNKNOWN;
}

/* As NCCL's range around the launch says (collectives.cc): of an all-gather, a reduce-scatter, a gather and a scatter one
 * rank's part, of an all-to-all what goes to one rank, as the arguments are. How many there are, it does not say. */
static struct message ranged(const struct nvt_trace *trace, uint32_t range)
{
    struct message message = {.bytes =
                                  number_in(payload_of(trace, range), "\"Message size [bytes]\":")};
    snprintf(message.name, sizeof(message.name), "%s", nvt_name(trace, trace->ranges.name[range]));
    if (message.bytes > INT64_MAX)
        message.bytes = UNKNOWN;
    return message;
}

/* As a range of torch.distributed says (lib/collective_payload.h). Whether a range is one. */
static int launched(const struct nvt_trace *trace, uint32_t range, struct message *message)
{
    static const char type[] = "\"type\":\"";
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *payload = payload_of(trace, range);
    const uint64_t members = number_in(payload, "\"ranks\":");
    const uint64_t given = number_in(payload, "\"bytes given\":");
    const uint64_t taken = number_in(payload, "\"bytes taken\":");
    const char *found = strstr(payload, type);
    if (given == UNKNOWN || taken == UNKNOWN || members == UNKNOWN || !members ||
        strcmp(nvt_domain_name(trace, ranges->domain[range]), NVT_COLLECTIVE_DOMAIN) != 0)
        return 0;
    *message = (struct message){.ranks = members < UINT32_MAX ? (uint32_t)members : 0};
    snprintf(message->name, sizeof(message->name), "%s", nvt_name(trace, ranges->name[range]));
    if (found)
        snprintf(message->type, sizeof(message->type), "%.*s",
                 (int)strcspn(found + sizeof(type) - 1, "\""), found + sizeof(type) - 1);
    message->bytes = elements_of(message->name, message->ranks, given, taken);
    return 1;
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

/* The group of a message, new or old. */
static uint32_t group_of(struct nvt_groups *groups, const struct message *message)
{
    char text[256];
    snprintf(text, sizeof(text), "%s|%s|%" PRIu32 "|%" PRIu64, message->name, message->type,
             message->ranks, message->bytes);
    uint32_t key = nvt_groups_text(groups, text);
    uint32_t group = nvt_groups_key(groups, &key, 1);
    struct message *kept = nvt_groups_item(groups, group);
    if (kept)
        *kept = *message;
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

static int group_collectives(struct nvt_groups *groups, const struct nvt_trace *trace,
                             const struct nvt_making *making)
{
    struct collectives all = {groups, trace, NULL};
    const struct nvt_ops *ops = &trace->ops;
    int status = find_ranges(&all), found = 0;
    (void)making;
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        if (all.range_of[i] == NO_MESSAGE)
            continue;
        struct message message = message_of(&all, i);
        found = 1;
        nvt_groups_add(groups, group_of(groups, &message), ops->end[i] - ops->start[i]);
    }
    free(all.range_of);
    for (uint32_t i = 0; i < trace->ranges.count && !status && !found; i++) {
        struct message message;
        if (launched(trace, i, &message) && !(trace->ranges.flags[i] & NVT_RANGE_PARTIAL))
            nvt_groups_add(groups, group_of(groups, &message),
                           trace->ranges.end[i] - trace->ranges.start[i]);
    }
    return status;
}

static void put_collectives_group(struct nvt_table *table, struct nvt_groups *groups,
                                  uint32_t number)
{
    const struct nvt_group *of = &groups->groups[number];
    const struct message *message = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    const double factor = bus_factor(message->name, message->ranks);
    const int has_size = message->bytes != UNKNOWN;
    const double bytes = has_size ? (double)message->bytes : NAN;
    nvt_table_put(table, message->name, message->type, NVT_IF(message->ranks, message->ranks),
                  NVT_IF(has_size, message->bytes), of->count, of->total, &times,
                  times.median > 0 ? bytes / times.median : NAN,
                  times.median > 0 ? factor * bytes / times.median : NAN,
                  times.min > 0 ? factor * bytes / times.min : NAN);
}

const struct nvt_report nvt_report_collectives = {
    .name = "collectives",
    .about = "communication by kind and size: calls, times, bandwidth as NCCL's tests define it",
    .columns = {{"Collective", NVT_NAMES},
                {"Type", NVT_NAMES},
                {"Ranks", NVT_COUNTS},
                {"Size (B)", "B", NVT_INT, 0, 0},
                {"Calls", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                NVT_SUMMARY_COLUMNS(""),
                {"Bandwidth Med (GB/s)", NVT_REALS("GB/s", 2)},
                {"Bus Med (GB/s)", NVT_REALS("GB/s", 2)},
                {"Bus Best (GB/s)", NVT_REALS("GB/s", 2)}},
    .title = "Communication by kind and size",
    .order = {"-Total Time (ns)"},
    .nothing = "no communication in the input",
    .group = group_collectives,
    .put_group = put_collectives_group,
    .group_size = sizeof(struct message),
};
