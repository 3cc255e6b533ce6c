/*
 * The structs of functions that NCCL looks for in a profiler plugin, ncclProfiler_v1 to v6: it takes the newest that it knows. What
 * differs is how a communicator and events are described. Layouts are those of github.com/NVIDIA/nccl, plugins/profiler; of each
 * event what is used is named, and what lies before it.
 */
#include <stddef.h>
#include <stdint.h>

#include "../../lib/count_of.h"
#include "profiler.h"

#define EXPORT __attribute__((visibility("default")))

typedef int result; /* ncclResult_t; nothing that is returned here may stop NCCL */

enum { SUCCESS = 0, SYSTEM_ERROR = 2 };

struct proxy {
    pid_t process;
    uint8_t channel;
    int peer, steps, chunk, sends;
};

/* Version 1 has numbers where later ones have names. */
struct collective_1 {
    const char *name;
    uint64_t communicator, sequence;
    uint8_t function;
    const void *given;
    void *taken;
    size_t count;
    int root;
    uint8_t type;
    uint32_t operation;
    size_t bytes;
    uint8_t channels, warps, algorithm, protocol;
};

struct message_1 {
    const char *name;
    uint64_t communicator;
    uint8_t function;
    void *buffer;
    uint8_t type;
    size_t count;
    int peer;
};

struct collective_2 {
    const char *name;
    uint64_t communicator, sequence;
    const char *function;
    const void *given;
    void *taken;
    size_t count;
    int root;
    const char *type;
    size_t bytes;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct collective_3 {
    const char *name;
    uint64_t communicator, sequence;
    const char *function;
    const void *given;
    void *taken;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct message_2 {
    const char *name;
    uint64_t communicator;
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
};

struct collective_4 {
    uint64_t sequence;
    const char *function;
    const void *given;
    void *taken;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct message_4 {
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
};

union details {
    struct collective_1 collective_1;
    struct collective_2 collective_2;
    struct collective_3 collective_3;
    struct collective_4 collective_4;
    struct message_1 message_1;
    struct message_2 message_2;
    struct message_4 message_4;
    struct proxy proxy;
};

/* Up to version 4, and from 5 on. */
struct old_event {
    uint8_t type;
    void *parent;
    int rank;
    union details of;
};

struct event {
    uint64_t type;
    void *parent;
    int rank;
    union details of;
};

/* --- what all versions have ----------------------------------------------------------------------- */

static void *begin_proxy(void *parent, const struct proxy *proxy)
{
    const struct nvt_nccl_proxy told = {.process = proxy->process,
                                        .channel = proxy->channel,
                                        .peer = proxy->peer,
                                        .steps = proxy->steps,
                                        .chunk = proxy->chunk,
                                        .sends = proxy->sends};
    return nvt_nccl_begin_proxy(parent, &told);
}

static result end(void *handle)
{
    nvt_nccl_end(handle);
    return SUCCESS;
}

static result record_state(void *handle, int state, const void *details)
{
    (void)handle;
    (void)state;
    (void)details;
    return SUCCESS;
}

static result finalize(void *context)
{
    nvt_nccl_close(context);
    return SUCCESS;
}

/* *wanted is a variable of the whole process. */
static result open_communicator(void **context, int *wanted, const char *name,
                                uint64_t communicator, int ranks, int rank, int kinds)
{
    *context = nvt_nccl_open(name, communicator, ranks, rank);
    if (!*context)
        return SYSTEM_ERROR;
    __atomic_fetch_or(wanted, kinds, __ATOMIC_RELAXED);
    return SUCCESS;
}

#define EARLY (NVT_NCCL_COLLECTIVE | NVT_NCCL_MESSAGE | NVT_NCCL_PROXY)
#define ALL   (EARLY | NVT_NCCL_CHANNEL)

static result open_early(void **context, int *wanted)
{
    return open_communicator(context, wanted, NULL, 0, 0, -1, EARLY);
}

/* The last argument of the next two is a function that writes to NCCL's log. */
static result open_4(void **context, int *wanted, const char *name, uint64_t communicator,
                     int nodes, int ranks, int rank, void (*log)(void))
{
    (void)nodes;
    (void)log;
    return open_communicator(context, wanted, name, communicator, ranks, rank, ALL);
}

static result open_5(void **context, uint64_t communicator, int *wanted, const char *name,
                     int nodes, int ranks, int rank, void (*log)(void))
{
    return open_4(context, wanted, name, communicator, nodes, ranks, rank, log);
}

/* --- events --------------------------------------------------------------------------------------- */

#define NAME(list, number) ((size_t)(number) < NVT_COUNT_OF(list) ? (list)[number] : NULL)

static const char *const
    functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                   "AllReduce", "SendRecv", "Send",      "Recv"},
    *const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                      "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"},
    *const algorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                           "NVLS_TREE", "PAT"},
    *const protocols[] = {"LL", "LL128", "SIMPLE"};

static result start_1(void *context, void **handle, const struct old_event *event)
{
    const struct collective_1 *all = &event->of.collective_1;
    const struct message_1 *one = &event->of.message_1;
    const struct nvt_nccl_task collective = {.function = NAME(functions, all->function),
                                             .type = NAME(types, all->type),
                                             .algorithm = NAME(algorithms, all->algorithm),
                                             .protocol = NAME(protocols, all->protocol),
                                             .name = all->name,
                                             .communicator = all->communicator,
                                             .count = all->count,
                                             .peer = all->root};
    *handle = NULL;
    if (event->type == NVT_NCCL_COLLECTIVE)
        *handle = nvt_nccl_begin(context, &collective, 0);
    else if (event->type == NVT_NCCL_MESSAGE)
        *handle = nvt_nccl_begin(context,
                                 &(struct nvt_nccl_task){.function = NAME(functions, one->function),
                                                         .type = NAME(types, one->type),
                                                         .name = one->name,
                                                         .communicator = one->communicator,
                                                         .count = one->count,
                                                         .peer = one->peer},
                                 1);
    else if (event->type == NVT_NCCL_PROXY)
        *handle = begin_proxy(event->parent, &event->of.proxy);
    return SUCCESS;
}

/* A task of what versions call the same, but have at other places. */
#define OF_COLLECTIVE(from)                                                                        \
    .function = (from)->function, .type = (from)->type, .algorithm = (from)->algorithm,            \
    .protocol = (from)->protocol, .count = (from)->count, .peer = (from)->root
#define COLLECTIVE(from)                                                                           \
    {                                                                                              \
        OF_COLLECTIVE(from), .channels = (from)->channels                                          \
    }
#define NAMED_COLLECTIVE(from)                                                                     \
    {                                                                                              \
        OF_COLLECTIVE(from), .name = (from)->name, .communicator = (from)->communicator            \
    }

static void *begin_message_2(void *context, const struct message_2 *one)
{
    const struct nvt_nccl_task task = {.function = one->function,
                                       .type = one->type,
                                       .name = one->name,
                                       .communicator = one->communicator,
                                       .count = one->count,
                                       .peer = one->peer};
    return nvt_nccl_begin(context, &task, 1);
}

/* Of versions 2 and 3; `collective` is what it is, if it is one. */
static result start_named(void *context, void **handle, const struct old_event *event,
                          const struct nvt_nccl_task *collective)
{
    *handle = NULL;
    if (event->type == NVT_NCCL_COLLECTIVE)
        *handle = nvt_nccl_begin(context, collective, 0);
    else if (event->type == NVT_NCCL_MESSAGE)
        *handle = begin_message_2(context, &event->of.message_2);
    else if (event->type == NVT_NCCL_PROXY)
        *handle = begin_proxy(event->parent, &event->of.proxy);
    return SUCCESS;
}

static result start_2(void *context, void **handle, const struct old_event *event)
{
    struct nvt_nccl_task task = {0};
    if (event->type == NVT_NCCL_COLLECTIVE)
        task = (struct nvt_nccl_task)NAMED_COLLECTIVE(&event->of.collective_2);
    return start_named(context, handle, event, &task);
}

/* Its number of channels is the most that there may be, which are not waited for. */
static result start_3(void *context, void **handle, const struct old_event *event)
{
    struct nvt_nccl_task task = {0};
    if (event->type == NVT_NCCL_COLLECTIVE)
        task = (struct nvt_nccl_task)NAMED_COLLECTIVE(&event->of.collective_3);
    return start_named(context, handle, event, &task);
}

static void start_late(void *context, void **handle, uint64_t type, void *parent,
                       const union details *of)
{
    *handle = NULL;
    if (type == NVT_NCCL_COLLECTIVE) {
        const struct nvt_nccl_task task = COLLECTIVE(&of->collective_4);
        *handle = nvt_nccl_begin(context, &task, 0);
    } else if (type == NVT_NCCL_MESSAGE) {
        const struct message_4 *one = &of->message_4;
        const struct nvt_nccl_task task = {.function = one->function,
                                           .type = one->type,
                                           .count = one->count,
                                           .peer = one->peer,
                                           .channels = one->channels};
        *handle = nvt_nccl_begin(context, &task, 1);
    } else if (type == NVT_NCCL_PROXY) {
        *handle = begin_proxy(parent, &of->proxy);
    } else if (type == NVT_NCCL_CHANNEL) {
        *handle = nvt_nccl_begin_channel(parent);
    }
}

static result start_4(void *context, void **handle, const struct old_event *event)
{
    start_late(context, handle, event->type, event->parent, &event->of);
    return SUCCESS;
}

static result start_5(void *context, void **handle, const struct event *event)
{
    start_late(context, handle, event->type, event->parent, &event->of);
    return SUCCESS;
}

/* --- what NCCL looks for -------------------------------------------------------------------------- */

#define PLUGIN(number, open_arguments, event_type, open, start)                                    \
    extern EXPORT const struct plugin_##number {                                                   \
        const char *name;                                                                          \
        result(*init) open_arguments;                                                              \
        result (*start_event)(void *, void **, const event_type *);                                \
        result (*stop_event)(void *);                                                              \
        result (*record_event_state)(void *, int, const void *);                                   \
        result (*finalize)(void *);                                                                \
    } ncclProfiler_v##number;                                                                      \
    const struct plugin_##number ncclProfiler_v##number = {"nvtally", open,         start,         \
                                                           end,       record_state, finalize};

#define OPEN_EARLY (void **, int *)
#define OPEN_4     (void **, int *, const char *, uint64_t, int, int, int, void (*)(void))
#define OPEN_5     (void **, uint64_t, int *, const char *, int, int, int, void (*)(void))

PLUGIN(1, OPEN_EARLY, struct old_event, open_early, start_1)
PLUGIN(2, OPEN_EARLY, struct old_event, open_early, start_2)
PLUGIN(3, OPEN_EARLY, struct old_event, open_early, start_3)
PLUGIN(4, OPEN_4, struct old_event, open_4, start_4)
PLUGIN(5, OPEN_5, struct event, open_5, start_5)
PLUGIN(6, OPEN_5, struct event, open_5, start_5)
