#include "profiler.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "../../lib/count_of.h"
#include "../../lib/one_of.h"
#include "../../lib/nccl_payload.h"

static nvtxDomainHandle_t domain;
static uint64_t said_schema, moved_schema, begun_schema;

struct context {
    struct nvt_nccl_said said; /* what is the same for all of its collectives */
    _Atomic uint64_t collectives, messages;
};

/* What runs. A handle is the number of its turn, which has the place in its low bits. */
#define PLACES 8192u
static struct place {
    _Atomic uint64_t turn; /* of what is there, or was there last */
    uint64_t range;
    uint64_t communicator, sequence;
    uint64_t parent; /* of a channel: the turn of its collective, and it has no range; else 0 */
    _Atomic uint32_t pending; /* its launch, and channels that have not ended; 0: it is over */
    _Atomic int begins;       /* of a collective: none of its channels has begun yet */
} places[PLACES];
static _Atomic uint64_t turns;

/* A place for what begins; NULL: all are taken. *turn is its handle. Whoever takes it fills it before it hands out the handle. */
static struct place *take(uint64_t *turn)
{
    for (int i = 0; i < 64; i++) {
        uint32_t over = 0;
        *turn = atomic_fetch_add(&turns, 1) + PLACES; /* never 0 */
        struct place *place = &places[*turn % PLACES];
        if (!atomic_compare_exchange_strong(&place->pending, &over, 1))
            continue;
        atomic_store(&place->turn, *turn);
        return place;
    }
    return NULL;
}

/* Where what it stands for is, or was last. */
static struct place *place_of(const void *handle)
{
    const uint64_t turn = (uint64_t)(uintptr_t)handle;
    struct place *place = &places[turn % PLACES];
    return turn && atomic_load(&place->turn) == turn ? place : NULL;
}

static void *handle_of(uint64_t turn)
{
    /* NOLINT(performance-no-int-to-ptr): NCCL keeps it, and nobody follows it */
    return (void *)(uintptr_t)turn;
}

/* --- NVTX ----------------------------------------------------------------------------------------- */

#define TEXT(name, structure, member)                                                              \
    {                                                                                              \
        NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, name, NULL,     \
            sizeof(((struct structure *)0)->member), 0, NULL, NULL                                 \
    }
#define NUMBER(name, type)                                                                         \
    {                                                                                              \
        0, NVTX_PAYLOAD_ENTRY_TYPE_##type, name, NULL, 0, 0, NULL, NULL                            \
    }

static uint64_t register_schema(const char *name, const nvtxPayloadSchemaEntry_t *entries,
                                size_t count, size_t size)
{
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = name,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = size};
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void register_all(void)
{
    static const nvtxPayloadSchemaEntry_t said[] = {TEXT("group", nvt_nccl_said, group),
                                                    TEXT("type", nvt_nccl_said, type),
                                                    TEXT("algorithm", nvt_nccl_said, algorithm),
                                                    TEXT("protocol", nvt_nccl_said, protocol),
                                                    NUMBER("communicator", UINT64),
                                                    NUMBER("sequence", UINT64),
                                                    NUMBER("bytes given", UINT64),
                                                    NUMBER("bytes taken", UINT64),
                                                    NUMBER("ranks", INT32),
                                                    NUMBER("rank in group", INT32),
                                                    NUMBER("peer", INT32),
                                                    NUMBER("channels", UINT32),
                                                    NUMBER("until done", UINT32)};
    static const nvtxPayloadSchemaEntry_t moved[] = {
        NUMBER("communicator", UINT64), NUMBER("sequence", UINT64), NUMBER("channel", INT32),
        NUMBER("peer", INT32),          NUMBER("steps", INT32),     NUMBER("chunk bytes", INT32)};
    static const nvtxPayloadSchemaEntry_t begun[] = {NUMBER("communicator", UINT64),
                                                     NUMBER("sequence", UINT64)};
    domain = nvtxDomainCreateA(NVT_NCCL_DOMAIN);
    if (!domain)
        return;
    said_schema =
        register_schema(NVT_NCCL_SCHEMA, said, NVT_COUNT_OF(said), sizeof(struct nvt_nccl_said));
    moved_schema = register_schema(NVT_NCCL_NETWORK, moved, NVT_COUNT_OF(moved),
                                   sizeof(struct nvt_nccl_moved));
    begun_schema =
        register_schema(NVT_NCCL_BEGUN, begun, NVT_COUNT_OF(begun), sizeof(struct nvt_nccl_begun));
}

static nvtxEventAttributes_t event_of(const char *name, const nvtxPayloadData_t *payload)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .payloadType = NVTX_PAYLOAD_TYPE_EXT,
                                   .reserved0 = 1,
                                   .payload.ullValue = (uint64_t)(uintptr_t)payload,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = name};
}

static uint64_t start(const char *name, uint64_t schema, const void *data, size_t size)
{
    const nvtxPayloadData_t payload = {schema, size, data};
    const nvtxEventAttributes_t event = event_of(name, &payload);
    return nvtxDomainRangeStartEx(domain, &event);
}

/* The first of a collective's channels has begun. */
static void mark_begin(const struct place *place)
{
    const struct nvt_nccl_begun begun = {place->communicator, place->sequence};
    const nvtxPayloadData_t payload = {begun_schema, sizeof(begun), &begun};
    const nvtxEventAttributes_t event = event_of(NVT_NCCL_BEGINS, &payload);
    nvtxDomainMarkEx(domain, &event);
}

/* --- sizes ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *shown;
    unsigned bytes;
} types[] = {{"ncclInt8", "int8", 1},
             {"ncclUint8", "uint8", 1},
             {"ncclChar", "int8", 1},
             {"ncclInt32", "int32", 4},
             {"ncclInt", "int32", 4},
             {"ncclUint32", "uint32", 4},
             {"ncclInt64", "int64", 8},
             {"ncclUint64", "uint64", 8},
             {"ncclFloat16", "float16", 2},
             {"ncclHalf", "float16", 2},
             {"ncclFloat32", "float32", 4},
             {"ncclFloat", "float32", 4},
             {"ncclFloat64", "float64", 8},
             {"ncclDouble", "float64", 8},
             {"ncclBfloat16", "bfloat16", 2},
             {"ncclFloat8e4m3", "float8e4m3", 1},
             {"ncclFloat8e5m2", "float8e5m2", 1}};

/* Its bytes, 0 unknown; its name goes to out. */
static uint64_t read_type(const char *type, char *out, size_t size)
{
    for (size_t i = 0; type && i < NVT_COUNT_OF(types); i++)
        if (!strcasecmp(type, types[i].name)) {
            snprintf(out, size, "%s", types[i].shown);
            return types[i].bytes;
        }
    snprintf(out, size, "%s", type ? type : "");
    return 0;
}

/* What the rank itself gives and takes of `count` elements, as NCCL counts them: those of one rank where the others' differ. */
static void set_bytes(struct nvt_nccl_said *said, const char *function, uint64_t count,
                      uint64_t each)
{
    static const char *const gives_all[] = {"ReduceScatter", "AllToAll"}, *const takes_all[] = {
                                                                              "AllGather",
                                                                              "AllToAll"};
    const uint64_t part = each && count <= UINT64_MAX / each ? count * each : UINT64_MAX;
    const uint64_t ranks = said->ranks > 0 ? (uint64_t)said->ranks : 0;
    const uint64_t all = ranks && part <= INT64_MAX / ranks ? part * ranks : UINT64_MAX;
    said->given = NVT_IS_ONE_OF(function, gives_all) ? all : part;
    said->taken = NVT_IS_ONE_OF(function, takes_all) ? all : part;
    if (!strcmp(function, "Send"))
        said->taken = 0;
    if (!strcmp(function, "Recv"))
        said->given = 0;
}

/* --- communicators -------------------------------------------------------------------------------- */

static void set_communicator(struct nvt_nccl_said *said, const char *name, uint64_t communicator)
{
    said->communicator = communicator;
    if (name && *name)
        snprintf(said->group, sizeof(said->group), "%s", name);
    else if (communicator)
        snprintf(said->group, sizeof(said->group), "NCCL %" PRIx64, communicator);
    else
        snprintf(said->group, sizeof(said->group), "NCCL");
}

void *nvt_nccl_open(const char *name, uint64_t communicator, int ranks, int rank)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_all);
    struct context *context = domain ? calloc(1, sizeof(*context)) : NULL;
    if (!context)
        return NULL;
    context->said.ranks = ranks;
    context->said.rank = rank;
    set_communicator(&context->said, name, communicator);
    return context;
}

void nvt_nccl_close(void *context)
{
    free(context);
}

/* --- events --------------------------------------------------------------------------------------- */

void *nvt_nccl_begin(void *context, const struct nvt_nccl_task *task, int is_message)
{
    struct context *of = context;
    const char *function = task->function ? task->function : "unknown";
    if (!of)
        return NULL;
    struct nvt_nccl_said said = of->said;
    said.sequence = atomic_fetch_add(is_message ? &of->messages : &of->collectives, 1);
    if (task->name || task->communicator)
        set_communicator(&said, task->name, task->communicator);
    snprintf(said.algorithm, sizeof(said.algorithm), "%s", task->algorithm ? task->algorithm : "");
    snprintf(said.protocol, sizeof(said.protocol), "%s", task->protocol ? task->protocol : "");
    set_bytes(&said, function, task->count, read_type(task->type, said.type, sizeof(said.type)));
    said.peer = task->peer;
    said.channels = task->channels;
    said.until_done = task->channels != 0;
    uint64_t turn;
    struct place *place = take(&turn);
    if (!place)
        return NULL;
    place->parent = 0;
    place->communicator = said.communicator;
    place->sequence = said.sequence;
    atomic_store(&place->begins, !is_message);
    atomic_store(&place->pending, 1 + task->channels);
    place->range = start(function, said_schema, &said, sizeof(said));
    return handle_of(turn);
}

void *nvt_nccl_begin_proxy(void *parent, const struct nvt_nccl_proxy *proxy)
{
    /* What belongs to another process has its handle there. */
    const struct place *of = proxy->process == getpid() ? place_of(parent) : NULL;
    const struct nvt_nccl_moved moved = {.communicator = of ? of->communicator : UINT64_MAX,
                                         .sequence = of ? of->sequence : UINT64_MAX,
                                         .channel = proxy->channel,
                                         .peer = proxy->peer,
                                         .steps = proxy->steps,
                                         .chunk = proxy->chunk};
    uint64_t turn;
    struct place *place = domain ? take(&turn) : NULL;
    if (!place)
        return NULL;
    place->parent = 0;
    atomic_store(&place->begins, 0);
    place->range =
        start(proxy->sends ? "network send" : "network recv", moved_schema, &moved, sizeof(moved));
    return handle_of(turn);
}

void *nvt_nccl_begin_channel(void *parent)
{
    uint64_t turn;
    struct place *of = place_of(parent), *place = of ? take(&turn) : NULL;
    if (!place)
        return NULL;
    if (atomic_exchange(&of->begins, 0))
        mark_begin(of);
    place->parent = (uint64_t)(uintptr_t)parent;
    atomic_store(&place->begins, 0);
    return handle_of(turn);
}

/* One of what a range waits for is over; the last ends it. More than were announced end nothing. */
static void release(struct place *place)
{
    /* With the last one gone the place may be another's. */
    const uint64_t range = place->range;
    const int is_channel = place->parent != 0;
    uint32_t pending = atomic_load(&place->pending);
    while (pending && !atomic_compare_exchange_weak(&place->pending, &pending, pending - 1)) {
    }
    if (pending == 1 && !is_channel)
        nvtxDomainRangeEnd(domain, range);
}

void nvt_nccl_end(void *handle)
{
    struct place *place = place_of(handle);
    if (!place)
        return;
    struct place *of = place->parent ? place_of(handle_of(place->parent)) : NULL;
    release(place);
    if (of)
        release(of);
}
