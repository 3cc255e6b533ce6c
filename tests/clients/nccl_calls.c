/*
 * nccl_calls VERSION [hang]: calls the profiler plugin that NCCL_PROFILER_PLUGIN names as NCCL does (src/plugin/profiler.cc): a main
 * thread launches on two communicators, a proxy thread says what channels and network do. `hang`: the last collective is killed with
 * one of its two channels still running. The layouts are those of NCCL's headers, plugins/profiler/example/nccl/profiler_v*.h.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLL = 2, P2P = 4, PROXY_OP = 8, KERNEL_CH = 64 };

/* The members of an event's union, as each version has them. */
#define COLL_1                                                                                     \
    struct {                                                                                       \
        const char *name;                                                                          \
        uint64_t commHash, seqNumber;                                                              \
        uint8_t func;                                                                              \
        void const *sendBuff;                                                                      \
        void *recvBuff;                                                                            \
        size_t count;                                                                              \
        int root;                                                                                  \
        uint8_t datatype;                                                                          \
        uint32_t op;                                                                               \
        size_t trafficBytes;                                                                       \
        uint8_t nMaxChannels, nWarps, algo, proto;                                                 \
        int isCollnet, isNvls;                                                                     \
    }
#define COLL_2(traffic)                                                                            \
    struct {                                                                                       \
        const char *name;                                                                          \
        uint64_t commHash, seqNumber;                                                              \
        const char *func;                                                                          \
        void const *sendBuff;                                                                      \
        void *recvBuff;                                                                            \
        size_t count;                                                                              \
        int root;                                                                                  \
        const char *datatype;                                                                      \
        traffic uint8_t nMaxChannels, nWarps;                                                      \
        const char *algo, *proto;                                                                  \
    }
#define COLL_4(more)                                                                               \
    struct {                                                                                       \
        uint64_t seqNumber;                                                                        \
        const char *func;                                                                          \
        void const *sendBuff;                                                                      \
        void *recvBuff;                                                                            \
        size_t count;                                                                              \
        int root;                                                                                  \
        const char *datatype;                                                                      \
        uint8_t nChannels, nWarps;                                                                 \
        const char *algo, *proto;                                                                  \
        more                                                                                       \
    }
#define P2P_1(kind, number)                                                                        \
    struct {                                                                                       \
        const char *name;                                                                          \
        uint64_t commHash;                                                                         \
        kind func;                                                                                 \
        void *buff;                                                                                \
        number datatype;                                                                           \
        size_t count;                                                                              \
        int peer;                                                                                  \
    }
#define P2P_4(more)                                                                                \
    struct {                                                                                       \
        const char *func;                                                                          \
        void *buff;                                                                                \
        const char *datatype;                                                                      \
        size_t count;                                                                              \
        int peer;                                                                                  \
        uint8_t nChannels;                                                                         \
        more                                                                                       \
    }
#define DESCRIPTOR(kind, coll_type, p2p_type)                                                      \
    struct {                                                                                       \
        kind type;                                                                                 \
        void *parentObj;                                                                           \
        int rank;                                                                                  \
        union {                                                                                    \
            coll_type coll;                                                                        \
            p2p_type p2p;                                                                          \
            struct {                                                                               \
                pid_t pid;                                                                         \
                uint8_t channelId;                                                                 \
                int peer, nSteps, chunkSize, isSend;                                               \
            } proxyOp;                                                                             \
            struct {                                                                               \
                uint8_t channelId;                                                                 \
                uint64_t pTimer;                                                                   \
            } kernelCh;                                                                            \
            char room[256];                                                                        \
        };                                                                                         \
    }

typedef DESCRIPTOR(uint8_t, COLL_1, P2P_1(uint8_t, uint8_t)) event_1;
typedef DESCRIPTOR(uint8_t, COLL_2(size_t trafficBytes;),
                   P2P_1(const char *, const char *)) event_2;
typedef DESCRIPTOR(uint8_t, COLL_2(), P2P_1(const char *, const char *)) event_3;
typedef DESCRIPTOR(uint8_t, COLL_4(), P2P_4()) event_4;
typedef DESCRIPTOR(uint64_t, COLL_4(void *parentGroup;), P2P_4(void *parentGroup;)) event_5;

typedef int (*init_early)(void **, int *);
typedef int (*init_4)(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int (*init_5)(void **, uint64_t, int *, const char *, int, int, int, void *);

static struct plugin {
    const char *name;
    union {
        init_early early;
        init_4 four;
        init_5 five;
    } init;
    int (*start)(void *, void **, void *);
    int (*stop)(void *);
    int (*record)(void *, int, void *);
    int (*finalize)(void *);
} * plugin;
static int version;

struct communicator {
    void *context;
    const char *name;
    uint64_t hash;
};

struct call {
    const char *function;
    uint8_t number; /* of it in version 1 */
    const char *type;
    uint8_t type_number;
    size_t count;
    int peer;
    uint8_t channels;
};

static int open_communicator(struct communicator *of, int ranks, int rank)
{
    int mask = 0, failed;
    if (version < 4)
        failed = plugin->init.early(&of->context, &mask);
    else if (version == 4)
        failed = plugin->init.four(&of->context, &mask, of->name, of->hash, 1, ranks, rank, NULL);
    else
        failed = plugin->init.five(&of->context, of->hash, &mask, of->name, 1, ranks, rank, NULL);
    const int wanted = COLL | P2P | PROXY_OP | (version < 4 ? 0 : KERNEL_CH);
    if (failed || mask != wanted) {
        fprintf(stderr, "init: %d, mask %x\n", failed, (unsigned)mask);
        exit(failed ? 4 : 5);
    }
    return failed;
}

#define FILL_COLL(event, call_function, call_type, channels_of, algorithm, protocol)               \
    (event).coll.func = call_function;                                                             \
    (event).coll.count = call->count;                                                              \
    (event).coll.root = call->peer;                                                                \
    (event).coll.datatype = call_type;                                                             \
    (event).coll.channels_of = call->channels;                                                     \
    (event).coll.algo = algorithm;                                                                 \
    (event).coll.proto = protocol
#define FILL_P2P(event, call_function, call_type)                                                  \
    (event).p2p.func = call_function;                                                              \
    (event).p2p.count = call->count;                                                               \
    (event).p2p.datatype = call_type;                                                              \
    (event).p2p.peer = call->peer
#define NAME_IT(event, member)                                                                     \
    (event).member.name = of->name;                                                                \
    (event).member.commHash = of->hash

/* Versions 2 and 3, and 4 and 5, have the same members at other places. */
#define START_NAMED(event_type)                                                                    \
    do {                                                                                           \
        event_type event = {.type = (uint8_t)type};                                                \
        if (is_message) {                                                                          \
            FILL_P2P(event, call->function, call->type);                                           \
            NAME_IT(event, p2p);                                                                   \
        } else {                                                                                   \
            FILL_COLL(event, call->function, call->type, nMaxChannels, "RING", "LL");              \
            NAME_IT(event, coll);                                                                  \
        }                                                                                          \
        plugin->start(of->context, &handle, &event);                                               \
    } while (0)
#define START_LATE(event_type)                                                                     \
    do {                                                                                           \
        event_type event = {.type = (uint8_t)type};                                                \
        if (is_message) {                                                                          \
            FILL_P2P(event, call->function, call->type);                                           \
            event.p2p.nChannels = call->channels;                                                  \
        } else {                                                                                   \
            FILL_COLL(event, call->function, call->type, nChannels, "RING", "LL");                 \
        }                                                                                          \
        plugin->start(of->context, &handle, &event);                                               \
    } while (0)

static void *start(const struct communicator *of, const struct call *call, int is_message)
{
    void *handle = NULL;
    const int type = is_message ? P2P : COLL;
    if (version == 1) {
        event_1 event = {.type = (uint8_t)type};
        if (is_message) {
            FILL_P2P(event, call->number, call->type_number);
            NAME_IT(event, p2p);
        } else {
            FILL_COLL(event, call->number, call->type_number, nMaxChannels, 1, 0);
            NAME_IT(event, coll);
        }
        plugin->start(of->context, &handle, &event);
    } else if (version == 2)
        START_NAMED(event_2);
    else if (version == 3)
        START_NAMED(event_3);
    else if (version == 4)
        START_LATE(event_4);
    else
        START_LATE(event_5);
    if (!handle)
        exit(6);
    return handle;
}

static void *start_proxy(void *context, void *parent, pid_t pid, int channel)
{
    void *handle = NULL;
    if (version < 5) {
        event_4 event = {.type = PROXY_OP,
                         .parentObj = parent,
                         .proxyOp = {pid, (uint8_t)channel, 1, 8, 65536, 1}};
        plugin->start(context, &handle, &event);
    } else {
        event_5 event = {.type = PROXY_OP,
                         .parentObj = parent,
                         .proxyOp = {pid, (uint8_t)channel, 1, 8, 65536, 1}};
        plugin->start(context, &handle, &event);
    }
    return handle;
}

static void *start_channel(void *context, void *parent, int channel)
{
    void *handle = NULL;
    if (version == 4) {
        event_4 event = {.type = KERNEL_CH, .parentObj = parent, .kernelCh = {(uint8_t)channel, 1}};
        plugin->start(context, &handle, &event);
    } else if (version > 4) {
        event_5 event = {.type = KERNEL_CH, .parentObj = parent, .kernelCh = {(uint8_t)channel, 1}};
        plugin->start(context, &handle, &event);
    }
    return handle;
}

/* What a proxy thread does for one that was launched. */
struct work {
    void *context, *handle;
    int channels, hangs;
};

static void *run_proxy(void *argument)
{
    const struct work *work = argument;
    void *channels[8], *proxies[8];
    for (int i = 0; i < work->channels; i++) {
        proxies[i] = start_proxy(work->context, work->handle, getpid(), i);
        channels[i] = start_channel(work->context, work->handle, i);
    }
    usleep(3000);
    for (int i = 0; i < work->channels; i++) {
        if (work->hangs && i)
            raise(SIGKILL);
        uint64_t timer = 2;
        plugin->record(channels[i], 22, &timer);
        if (channels[i])
            plugin->stop(channels[i]);
        plugin->stop(proxies[i]);
    }
    return NULL;
}

static void *run(const struct communicator *of, const struct call *call, int is_message, int hangs)
{
    pthread_t proxy;
    struct work work = {of->context, start(of, call, is_message), call->channels, hangs};
    plugin->stop(work.handle);
    pthread_create(&proxy, NULL, run_proxy, &work);
    pthread_join(proxy, NULL);
    return work.handle;
}

int main(int argc, char **argv)
{
    static const struct call all_reduce = {"AllReduce", 4, "ncclFloat32", 7, 1024, 0, 2},
                             all_gather = {"AllGather", 2, "ncclBfloat16", 9, 100, 0, 1},
                             sends = {"Send", 6, "ncclInt8", 0, 10, 3, 1};
    struct communicator tp = {NULL, "tp", 0x1111}, world = {NULL, NULL, 0x2222};
    char symbol[32];
    version = argc > 1 ? atoi(argv[1]) : 0;
    snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    plugin = library ? dlsym(library, symbol) : NULL;
    if (!plugin || strcmp(plugin->name, "nvtally") != 0)
        return 3;
    open_communicator(&tp, 2, 1);
    open_communicator(&world, 4, 3);
    void *stale = run(&tp, &all_reduce, 0, 0);
    run(&world, &all_gather, 0, 0);
    run(&world, &sends, 1, 0);
    /* For a rank of another process, whose handle means nothing here. */
    plugin->stop(start_proxy(world.context, (void *)0x1234, getpid() + 1, 5));
    run(&tp, &all_reduce, 0, argc > 2);
    plugin->finalize(world.context);
    plugin->finalize(tp.context);
    plugin->stop(stale);
    puts("ends");
    return 0;
}
