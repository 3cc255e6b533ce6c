/*
 * NVTX for nvtally_pytorch.py: ranges of the domain "PyTorch", whose names are registered once, and counters. A
 * library of its own, as Python's standard library can call C and has no NVTX. It goes by the same
 * variables as any program that uses NVTX, so that other tools can take its ranges, too.
 */
#include <stdint.h>
#include <stdio.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>

#include "../../lib/collective_payload.h"
#include "../../lib/count_of.h"

#define NVT_EXPORT __attribute__((visibility("default")))

static nvtxDomainHandle_t domain;

/* Before the others; again in a process makes the same domain. Whether a tool listens. */
NVT_EXPORT int nvtally_pytorch_begin(void);
/* A name to push; owned by the tool, for as long as the process lives. */
NVT_EXPORT void *nvtally_pytorch_name(const char *text);
/* Begin a range on this thread; end the one that was begun last. */
NVT_EXPORT void nvtally_pytorch_push(void *name);
NVT_EXPORT void nvtally_pytorch_pop(void);
/* Begin a range that any thread may end, by what this returns. */
NVT_EXPORT uint64_t nvtally_pytorch_start(void *name);
NVT_EXPORT void nvtally_pytorch_end(uint64_t range);
/* Two at once, as each call from Python takes time: pop, and push; pop, end a range, and start one. */
NVT_EXPORT void nvtally_pytorch_turn(void *name);
NVT_EXPORT uint64_t nvtally_pytorch_next(uint64_t range, void *name);
NVT_EXPORT void nvtally_pytorch_mark(void *name);
/* What a device's allocator says, bytes. The first call registers the counters; one thread at a time, as Python has it. */
NVT_EXPORT void nvtally_pytorch_memory(int64_t allocated, int64_t highest, int64_t reserved);

int nvtally_pytorch_begin(void)
{
    domain = nvtxDomainCreateA("PyTorch");
    return domain != NULL;
}

void *nvtally_pytorch_name(const char *text)
{
    return nvtxDomainRegisterStringA(domain, text);
}

static nvtxEventAttributes_t event_of(void *name)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message = {.registered = name}};
}

void nvtally_pytorch_push(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainRangePushEx(domain, &event);
}

void nvtally_pytorch_pop(void)
{
    nvtxDomainRangePop(domain);
}

uint64_t nvtally_pytorch_start(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    return nvtxDomainRangeStartEx(domain, &event);
}

void nvtally_pytorch_end(uint64_t range)
{
    nvtxDomainRangeEnd(domain, range);
}

void nvtally_pytorch_turn(void *name)
{
    nvtally_pytorch_pop();
    nvtally_pytorch_push(name);
}

uint64_t nvtally_pytorch_next(uint64_t range, void *name)
{
    nvtally_pytorch_pop();
    nvtally_pytorch_end(range);
    return nvtally_pytorch_start(name);
}

void nvtally_pytorch_mark(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainMarkEx(domain, &event);
}

/* --- the domain "Python" -------------------------------------------------------------------------- */

static nvtxDomainHandle_t python;

/* As those above. The first name makes the domain; one thread at a time, as Python has it. */
NVT_EXPORT void *nvtally_python_name(const char *text);
NVT_EXPORT void nvtally_python_push(void *name);
NVT_EXPORT void nvtally_python_pop(void);

void *nvtally_python_name(const char *text)
{
    if (!python)
        python = nvtxDomainCreateA("Python");
    return nvtxDomainRegisterStringA(python, text);
}

void nvtally_python_push(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainRangePushEx(python, &event);
}

void nvtally_python_pop(void)
{
    nvtxDomainRangePop(python);
}

/* --- counters ------------------------------------------------------------------------------------- */

static uint64_t counter(const char *name, const char *description)
{
    static const nvtxSemanticsCounter_t bytes = {
        .header = {.structSize = sizeof(bytes),
                   .semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1,
                   .version = NVTX_COUNTER_SEMANTIC_VERSION},
        .unit = "bytes",
        .unitScaleNumerator = 1,
        .unitScaleDenominator = 1};
    const nvtxCounterAttr_t attributes = {.structSize = sizeof(attributes),
                                          .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
                                          .name = name,
                                          .description = description,
                                          .semantics = &bytes.header};
    return nvtxCounterRegister(domain, &attributes);
}

void nvtally_pytorch_memory(int64_t allocated, int64_t highest, int64_t reserved)
{
    static uint64_t counters[3];
    if (!counters[0]) {
        counters[0] = counter("allocated", "allocated by PyTorch's allocator");
        counters[1] = counter("highest allocated", "peak of allocated since it was last reset");
        counters[2] = counter("reserved", "reserved by PyTorch's allocator");
    }
    nvtxCounterSampleInt64(domain, counters[0], allocated);
    nvtxCounterSampleInt64(domain, counters[1], highest);
    nvtxCounterSampleInt64(domain, counters[2], reserved);
}

/* --- collectives --------------------------------------------------------------------------------- */

/* What does not change in a group: a slot is the group's until the process ends. */
#define GROUPS_MOST 256
static struct nvt_collective_said groups[GROUPS_MOST];
static int group_count;

/* A group of ranks, by its name; its number for the function below, 0 for one too many. One thread at a time, as Python has it. */
NVT_EXPORT int nvtally_pytorch_group(const char *name, int ranks, int rank, int world,
                                     int world_rank);
/* Begin a collective of a group, as nvtally_pytorch_start does a range. type: "float32". */
NVT_EXPORT uint64_t nvtally_pytorch_collective(void *name, int group, const char *type,
                                               uint64_t sequence, uint64_t given, uint64_t taken,
                                               int root, unsigned flags);

static uint64_t register_schema(void)
{
#define CHARACTERS(name, count)                                                                    \
    {                                                                                              \
        NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, name, NULL,     \
            count, 0, NULL, NULL                                                                   \
    }
    static const nvtxPayloadSchemaEntry_t entries[] = {
        CHARACTERS("group", sizeof(groups->group)),
        CHARACTERS("type", sizeof(groups->type)),
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "sequence", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes given", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes taken", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "ranks", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank in group", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "ranks in all", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "root", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "flags", NULL, 0, 0, NULL, NULL},
    };
#undef CHARACTERS
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = NVT_COLLECTIVE_SCHEMA,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = NVT_COUNT_OF(entries),
        .payloadStaticSize = sizeof(struct nvt_collective_said)};
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

int nvtally_pytorch_group(const char *name, int ranks, int rank, int world, int world_rank)
{
    if (group_count + 1 >= GROUPS_MOST)
        return 0;
    struct nvt_collective_said *group = &groups[++group_count];
    snprintf(group->group, sizeof(group->group), "%s", name);
    group->ranks = ranks;
    group->rank = rank;
    group->world = world;
    group->world_rank = world_rank;
    return group_count;
}

uint64_t nvtally_pytorch_collective(void *name, int group, const char *type, uint64_t sequence,
                                    uint64_t given, uint64_t taken, int root, unsigned flags)
{
    static uint64_t schema;
    struct nvt_collective_said said = groups[group > 0 && group <= group_count ? group : 0];
    nvtxPayloadData_t payload = {0, sizeof(said), &said};
    nvtxEventAttributes_t event = event_of(name);
    if (!schema)
        schema = register_schema();
    payload.schemaId = schema;
    snprintf(said.type, sizeof(said.type), "%s", type);
    said.sequence = sequence;
    said.given = given;
    said.taken = taken;
    said.root = root;
    said.flags = flags;
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    return nvtxDomainRangeStartEx(domain, &event);
}
