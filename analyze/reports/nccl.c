/*
 * nccl: what NCCL's profiler plugin said (record --trace nccl, lib/nccl_payload.h): collectives and messages by communicator,
 * function, size, algorithm, protocol and channels. What was open when the recording ended is counted apart and has no time, nor has
 * one of which the launch alone is known (NCCL before 2.27). Sizes and bandwidths are those of messages.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/nccl_payload.h"
#include "../device/messages.h"
#include "../model/groups.h"
#include "../model/payload.h"
#include "report.h"

/* One row. */
struct kind {
    char communicator[64], algorithm[32], protocol[32];
    struct nvt_message message;
    uint32_t channels;
    uint64_t calls, open;
};

/* The text behind a key, which is given with all up to its quotation mark. Cut where out ends; "" where there is none. */
static void read_text(const char *payload, const char *key, char *out, size_t size)
{
    const char *found = strstr(payload, key);
    found = found ? found + strlen(key) : "";
    snprintf(out, size, "%.*s", (int)strcspn(found, "\""), found);
}

/* Whether a range is a collective or a message; *kind says of which kind, calls apart. */
static int read_kind(const struct nvt_trace *trace, uint32_t range, struct kind *kind)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *payload = nvt_range_payload(trace, range);
    *kind = (struct kind){.message.bytes = NVT_MESSAGE_UNKNOWN};
    if (strcmp(nvt_domain_name(trace, ranges->domain[range]), NVT_NCCL_DOMAIN) != 0 ||
        strncmp(payload, "{\"group\":\"", 10) != 0)
        return 0;
    read_text(payload, "{\"group\":\"", kind->communicator, sizeof(kind->communicator));
    read_text(payload, "\"algorithm\":\"", kind->algorithm, sizeof(kind->algorithm));
    read_text(payload, "\"protocol\":\"", kind->protocol, sizeof(kind->protocol));
    const double channels = nvt_member_number(payload, "\"channels\"");
    kind->channels = channels >= 0 && channels < 65536 ? (uint32_t)channels : 0;
    if (!nvt_message_launched(trace, range, &kind->message)) {
        read_text(payload, "\"type\":\"", kind->message.type, sizeof(kind->message.type));
        snprintf(kind->message.name, sizeof(kind->message.name), "%s",
                 nvt_name(trace, ranges->name[range]));
    }
    return 1;
}

/* The row of a kind, new or old. */
static uint32_t row_of(struct nvt_groups *groups, const struct kind *kind)
{
    const struct nvt_message *message = &kind->message;
    char text[512];
    snprintf(text, sizeof(text), "%s|%s|%s|%s|%s|%" PRIu32 "|%" PRIu64 "|%" PRIu32,
             kind->communicator, message->name, message->type, kind->algorithm, kind->protocol,
             message->ranks, message->bytes, kind->channels);
    uint32_t key = nvt_groups_text(groups, text);
    const uint32_t row = nvt_groups_key(groups, &key, 1);
    struct kind *kept = nvt_groups_item(groups, row);
    if (kept && !kept->calls)
        *kept = *kind;
    return row;
}

static int group_calls(struct nvt_groups *groups, const struct nvt_trace *trace,
                       const struct nvt_making *making)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    (void)making;
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct kind kind;
        struct nvt_message message;
        if (!read_kind(trace, i, &kind))
            continue;
        const uint32_t row = row_of(groups, &kind);
        struct kind *kept = nvt_groups_item(groups, row);
        const int is_open = (ranges->flags[i] & NVT_RANGE_UNCLOSED) != 0;
        if (kept) {
            kept->calls++;
            kept->open += (uint64_t)is_open;
        }
        if (!(ranges->flags[i] & NVT_RANGE_PARTIAL) && !is_open &&
            nvt_message_launched(trace, i, &message))
            nvt_groups_add(groups, row, ranges->end[i] - ranges->start[i]);
    }
    return 0;
}

static void put_row(struct nvt_table *table, struct nvt_groups *groups, uint32_t number)
{
    const struct nvt_group *of = &groups->groups[number];
    const struct kind *kind = nvt_groups_item(groups, number);
    const struct nvt_message *message = &kind->message;
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    const int has_size = message->bytes != NVT_MESSAGE_UNKNOWN;
    const double bus =
        has_size ? (double)message->bytes * nvt_bus_factor(message->name, message->ranks) : NAN;
    nvt_table_put(table, kind->communicator, message->name, message->type,
                  NVT_IF(message->ranks, message->ranks), NVT_IF(has_size, message->bytes),
                  *kind->algorithm ? kind->algorithm : NULL,
                  *kind->protocol ? kind->protocol : NULL, NVT_IF(kind->channels, kind->channels),
                  kind->calls, kind->open, NVT_IF(of->count, of->total), &times,
                  of->count && times.median > 0 ? bus / times.median : NAN);
}

const struct nvt_report nvt_report_nccl = {
    .name = "nccl",
    .about = "NCCL's collectives by communicator, size, algorithm, protocol and channels",
    .columns = {{"Communicator", NVT_NAMES},
                {"Function", NVT_NAMES},
                {"Type", NVT_NAMES},
                {"Ranks", NVT_COUNTS},
                {"Size (B)", "B", NVT_INT, 0, 0},
                {"Algorithm", NVT_NAMES},
                {"Protocol", NVT_NAMES},
                {"Channels", NVT_COUNTS},
                {"Calls", NVT_COUNTS},
                {"Open", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                NVT_SUMMARY_COLUMNS(""),
                {"Bus Med (GB/s)", NVT_REALS("GB/s", 2)}},
    .title = "What NCCL says of its collectives",
    .order = {"-Total Time (ns)"},
    .nothing = "nothing of NCCL's profiler plugin in the input (record --trace nccl)",
    .group = group_calls,
    .put_group = put_row,
    .group_size = sizeof(struct kind),
};
