#include "messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/collective_payload.h"
#include "../../lib/count_of.h"
#include "../../lib/nccl_payload.h"
#include "../model/payload.h"
#include "communication.h"

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

double nvt_bus_factor(const char *name, uint32_t ranks)
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

struct nvt_message nvt_message_told(const struct nvt_trace *trace, uint32_t row)
{
    const struct nvt_collectives *rows = &trace->collectives;
    struct nvt_message message = {.ranks = rows->ranks[row], .bytes = NVT_MESSAGE_UNKNOWN};
    const char *name = nvt_name(trace, rows->name[row]), *type = nvt_name(trace, rows->type[row]);
    uint64_t bytes = bytes_of_type(type);
    uint64_t elements = elements_of(name, rows->ranks[row], rows->given[row], rows->taken[row]);
    snprintf(message.name, sizeof(message.name), "%s", name);
    snprintf(message.type, sizeof(message.type), "%s", type);
    if (bytes && elements <= UINT64_MAX / 2 / bytes)
        message.bytes = elements * bytes;
    return message;
}

/* The number behind a name in the text of a payload, NVT_MESSAGE_UNKNOWN where there is none. */
static uint64_t number_in(const char *payload, const char *name)
{
    const char *found = strstr(payload, name);
    found = found ? found + strlen(name) : NULL;
    return found && *found >= '0' && *found <= '9' ? strtoull(found, NULL, 10)
                                                   : NVT_MESSAGE_UNKNOWN;
}

struct nvt_message nvt_message_ranged(const struct nvt_trace *trace, uint32_t range)
{
    struct nvt_message message = {
        .bytes = number_in(nvt_range_payload(trace, range), "\"Message size [bytes]\":")};
    snprintf(message.name, sizeof(message.name), "%s", nvt_name(trace, trace->ranges.name[range]));
    if (message.bytes > INT64_MAX)
        message.bytes = NVT_MESSAGE_UNKNOWN;
    return message;
}

/* Whether a range is that of a collective from its launch, or its first channel's begin, until it is done. */
static int lasts_until_done(const struct nvt_trace *trace, uint32_t range)
{
    const char *domain = nvt_domain_name(trace, trace->ranges.domain[range]);
    return !strcmp(domain, NVT_COLLECTIVE_DOMAIN) ||
           (!strcmp(domain, NVT_NCCL_DOMAIN) &&
            number_in(nvt_range_payload(trace, range), "\"until done\":") == 1);
}

int nvt_message_launched(const struct nvt_trace *trace, uint32_t range, struct nvt_message *message)
{
    static const char type[] = "\"type\":\"";
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *payload = nvt_range_payload(trace, range);
    const uint64_t members = number_in(payload, "\"ranks\":");
    const uint64_t given = number_in(payload, "\"bytes given\":");
    const uint64_t taken = number_in(payload, "\"bytes taken\":");
    const char *found = strstr(payload, type);
    if (given == NVT_MESSAGE_UNKNOWN || taken == NVT_MESSAGE_UNKNOWN ||
        members == NVT_MESSAGE_UNKNOWN || !members || !lasts_until_done(trace, range))
        return 0;
    *message = (struct nvt_message){.ranks = members < UINT32_MAX ? (uint32_t)members : 0};
    snprintf(message->name, sizeof(message->name), "%s", nvt_name(trace, ranges->name[range]));
    if (found)
        snprintf(message->type, sizeof(message->type), "%.*s",
                 (int)strcspn(found + sizeof(type) - 1, "\""), found + sizeof(type) - 1);
    message->bytes = elements_of(message->name, message->ranks, given, taken);
    return 1;
}
