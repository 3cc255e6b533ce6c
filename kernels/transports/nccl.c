/*
 * The transport over NCCL: messages go from device memory to device memory, in the order of
 * streams. NCCL is loaded when it is asked for ($NVTALLY_NCCL names another libnccl). Processes
 * find each other by the transport over MPI, which also adds up and compares clocks; one process
 * alone needs no MPI, and sends to itself.
 *
 * NCCL pairs what two ranks send and receive by order, not by tag, and a communicator does one
 * thing after the other. So each channel, a boundary between two parts in one direction, has a
 * communicator of its own, of two ranks, and on it messages are sent in the order in which they are
 * received: no message waits for another channel's. Communicators are made in the order of the
 * channels on every rank, so the first that is missing anywhere can always be made.
 *
 * A rank that is gone, or cannot go on, leaves the others' devices waiting for ever. A thread asks NCCL, and what
 * the ranks have told each other by MPI, every 100 ms, and at the first error aborts everything: then the device is done, and `check` tells why. An abort waits for what its
 * communicator still has on the device, which may wait for a message of another one: they are a group, of which NCCL tells
 * all to stop before it waits for any.
 *
 * NCCL takes operations of one thread at a time, also on communicators that have nothing to do with each other, if their
 * device is the same ("Thread Safety" in its manual), and an abort frees the communicator: so threads give their messages one
 * after the other, and an abort comes when none of them is at it, or is stuck there, which only an abort ends.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/count_of.h"
#include "../pipeline/transport.h"
#include "../nccl_library.h"
#include "../ranks.h"
#include "nccl_api.h"

#define WATCH_NS 100000000
/* How long an abort waits for a thread that is in a call of NCCL. */
#define INSIDE_S 1

struct nccl {
    struct nccl_api api;
    struct nvt_transport host; /* to the other ranks' processes; size 0: there is none */
    nccl_comm self;
    nccl_comm *comms; /* by channel; NULL where this rank is at neither end, or at both */
    int *is_sender, count;
    pthread_mutex_t lock;   /* of the comms while they are aborted, and of the rest here */
    pthread_mutex_t issue;  /* while a message is given to NCCL; before `lock` */
    _Atomic int is_aborted; /* begun; `why` is there then */
    int is_watched, stop;
    char why[300];
    pthread_t watchman;
};

/* What NCCL says of the kind of error, and, as of 2.13, of this one: that it found no network, as a rule. */
static int fail(const struct nccl *nccl, struct nvt_error *err, const char *what, int result)
{
    const char *why = nccl->api.last_error ? nccl->api.last_error(NULL) : NULL;
    int length = why ? (int)strcspn(why, "\n") : 0;
    return nvt_fail(err, "NCCL: %s: %s%s%.*s%s", what, nccl->api.error_string(result),
                    length ? " (" : "", length < 300 ? length : 300, why ? why : "",
                    length ? ")" : "");
}

/* --- loading --- */

static int load_api(struct nccl_api *api, struct nvt_error *err)
{
    static const char *const names[] = NCCL_NAMES;
    void *handle = nvt_nccl_library(err);
    for (size_t i = 0; handle && i < NVT_COUNT_OF(names); i++) {
        void *symbol = dlsym(handle, names[i]);
        if (!symbol)
            return nvt_fail(err, "NCCL: this library has no %s", names[i]);
        memcpy((char *)api + i * sizeof(symbol), &symbol, sizeof(symbol));
    }
    if (handle)
        *(void **)&api->last_error = dlsym(handle, "ncclGetLastError");
    return handle ? 0 : -1;
}

/* libnvtally-mpi.so lies beside this library. */
static int open_host(struct nvt_transport *host, struct nvt_error *err)
{
    char path[4096];
    Dl_info info;
    nvt_transport_open_function *open = NULL;
    if (!dladdr((const void *)&open_host, &info) || !info.dli_fname)
        return nvt_fail(err, "NCCL: the folder of the transports is not known");
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof(path), "%.*slibnvtally-mpi.so",
             slash ? (int)(slash + 1 - info.dli_fname) : 0, info.dli_fname);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return nvt_fail(err, "NCCL: several ranks need the transport mpi as well: %s", dlerror());
    *(void **)&open = dlsym(handle, "nvt_transport_open");
    if (open)
        /* cppcheck-suppress resourceLeak ; in use until the process ends */
        return open(host, err);
    dlclose(handle);
    return nvt_fail(err, "%s is no transport", path);
}

/* --- what goes by the host --- */

static struct nccl *of(struct nvt_transport *transport)
{
    return (struct nccl *)transport->state;
}

static int send(struct nvt_transport *transport, int to, int tag, void *data, size_t bytes,
                struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    if (nccl->host.size)
        return nccl->host.send(&nccl->host, to, tag, data, bytes, err);
    free(data);
    return nvt_fail(err, "NCCL: there is no rank %d", to);
}

static int receive(struct nvt_transport *transport, int from, int tag, void *data, size_t bytes,
                   const _Atomic int *abandoned, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    if (nccl->host.size)
        return nccl->host.receive(&nccl->host, from, tag, data, bytes, abandoned, err);
    return nvt_fail(err, "NCCL: there is no rank %d", from);
}

static int sum(struct nvt_transport *transport, double *values, int count, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    return nccl->host.size ? nccl->host.sum(&nccl->host, values, count, err) : 0;
}

static int clock_offset(struct nvt_transport *transport, int64_t *offset_ns, int64_t *error_ns,
                        struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    *offset_ns = *error_ns = 0;
    return nccl->host.size ? nccl->host.clock_offset(&nccl->host, offset_ns, error_ns, err) : 0;
}

/* --- a rank that is gone --- */

static void abort_all(struct nccl *nccl, const char *why)
{
    pthread_mutex_lock(&nccl->lock);
    if (!nccl->is_aborted) {
        snprintf(nccl->why, sizeof(nccl->why), "%s", why);
        /* Nobody begins a message behind this. */
        nccl->is_aborted = 1;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += INSIDE_S;
        int nobody_inside = !pthread_mutex_timedlock(&nccl->issue, &until);
        nccl->api.group_start();
        for (int i = 0; i < nccl->count; i++)
            if (nccl->comms[i])
                nccl->api.abort(nccl->comms[i]);
        if (nccl->self)
            nccl->api.abort(nccl->self);
        nccl->api.group_end();
        if (nobody_inside)
            pthread_mutex_unlock(&nccl->issue);
    }
    pthread_mutex_unlock(&nccl->lock);
}

/* The first error that NCCL has noticed by itself, or 0. */
static int noticed(struct nccl *nccl)
{
    int found = 0;
    pthread_mutex_lock(&nccl->lock);
    for (int i = 0; i < nccl->count && !nccl->is_aborted && !found; i++) {
        int result = 0;
        if (nccl->comms[i] && !nccl->api.async_error(nccl->comms[i], &result) &&
            result != NCCL_IN_PROGRESS)
            found = result;
    }
    pthread_mutex_unlock(&nccl->lock);
    return found;
}

static int is_stopped(struct nccl *nccl)
{
    pthread_mutex_lock(&nccl->lock);
    int stop = nccl->stop;
    pthread_mutex_unlock(&nccl->lock);
    return stop;
}

static int told(struct nvt_transport *transport, struct nvt_rank_failure *failure)
{
    struct nccl *nccl = of(transport);
    return nccl->host.size && nccl->host.told(&nccl->host, failure);
}

static void *watch(void *argument)
{
    struct nvt_transport *transport = argument;
    struct nccl *nccl = of(transport);
    const struct timespec pause = {0, WATCH_NS};
    while (!is_stopped(nccl)) {
        struct nvt_rank_failure failure;
        int error = noticed(nccl);
        if (error)
            abort_all(nccl, nccl->api.error_string(error));
        else if (told(transport, &failure))
            abort_all(nccl, failure.text);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void abandon(struct nvt_transport *transport, uint64_t bytes, const char *text)
{
    struct nccl *nccl = of(transport);
    if (nccl->host.size)
        nccl->host.abandon(&nccl->host, bytes, text);
    abort_all(nccl, "abandoned");
}

/* Without the lock, which is held until the device is done. */
static int check(struct nvt_transport *transport, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    return nccl->is_aborted ? nvt_fail(err, "NCCL: a rank has ended: %s", nccl->why) : 0;
}

/* --- channels --- */

/* The id of a channel's communicator, which its sender makes. */
static int agree(struct nccl *nccl, const struct nvt_channel *channel, int tag, nccl_id *id,
                 struct nvt_error *err)
{
    static const _Atomic int never;
    struct nvt_transport *host = &nccl->host;
    if (host->rank == channel->to)
        return host->receive(host, channel->from, tag, id, sizeof(*id), &never, err);
    int result = nccl->api.get_id(id);
    if (result)
        return fail(nccl, err, "an id", result);
    void *copy = malloc(sizeof(*id));
    if (!copy)
        return nvt_fail(err, "out of memory");
    memcpy(copy, id, sizeof(*id));
    return host->send(host, channel->to, tag, copy, sizeof(*id), err);
}

static int open_channel(struct nccl *nccl, int i, const struct nvt_channel *channel,
                        struct nvt_error *err)
{
    nccl_id id;
    int rank = nccl->host.rank;
    if (channel->from == channel->to || (rank != channel->from && rank != channel->to))
        return 0;
    nccl->is_sender[i] = rank == channel->from;
    if (agree(nccl, channel, i + 1, &id, err))
        return -1;
    int result = nccl->api.init(&nccl->comms[i], 2, id, !nccl->is_sender[i]);
    return result ? fail(nccl, err, "joining two ranks", result) : 0;
}

/* To join two ranks, NCCL waits for both without end: so all of them must have got here. */
static int open_channels(struct nvt_transport *transport, const struct nvt_channel *channels,
                         int count, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    double here = 1;
    if (sum(transport, &here, 1, err))
        return -1;
    nccl->comms = calloc((size_t)count + 1, sizeof(nccl_comm));
    nccl->is_sender = calloc((size_t)count + 1, sizeof(int));
    if (!nccl->comms || !nccl->is_sender)
        return nvt_fail(err, "out of memory");
    for (int i = 0; i < count; i++)
        if (open_channel(nccl, i, &channels[i], err))
            return -1;
    nccl->count = count;
    nccl->is_watched = !pthread_create(&nccl->watchman, NULL, watch, transport);
    return nccl->is_watched ? 0 : nvt_fail(err, "no thread can be started");
}

/* What fails because everything was aborted has that for its reason. */
static int fail_device(struct nvt_transport *transport, struct nvt_error *err, const char *what,
                       int result)
{
    return check(transport, err) ? -1 : fail(of(transport), err, what, result);
}

/* From here to done(), if it is 0, what is given to NCCL is not aborted. On no stream (the tests' stand-in) a call lasts as
 * long as its message, which another thread's may have to cause. */
static int begin(struct nvt_transport *transport, const void *stream, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    if (stream)
        pthread_mutex_lock(&nccl->issue);
    if (!check(transport, err))
        return 0;
    if (stream)
        pthread_mutex_unlock(&nccl->issue);
    return -1;
}

static void done(struct nccl *nccl, const void *stream)
{
    if (stream)
        pthread_mutex_unlock(&nccl->issue);
}

static int send_device(struct nvt_transport *transport, int channel, const void *data, size_t bytes,
                       void *stream, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    if (begin(transport, stream, err))
        return -1;
    int result = nccl->api.send(data, bytes, NCCL_INT8, 1, nccl->comms[channel], stream);
    done(nccl, stream);
    return result ? fail_device(transport, err, "sending", result) : 0;
}

static int receive_device(struct nvt_transport *transport, int channel, void *data, size_t bytes,
                          void *stream, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    if (begin(transport, stream, err))
        return -1;
    int result = nccl->api.receive(data, bytes, NCCL_INT8, 0, nccl->comms[channel], stream);
    done(nccl, stream);
    return result ? fail_device(transport, err, "receiving", result) : 0;
}

/* To this very rank: both halves are one group, or the first would wait for the second. */
static int copy_device(struct nvt_transport *transport, void *to, const void *from, size_t bytes,
                       void *stream, struct nvt_error *err)
{
    struct nccl *nccl = of(transport);
    pthread_mutex_lock(&nccl->issue);
    int result = nccl->is_aborted ? 0 : nccl->api.group_start();
    if (!result && !nccl->is_aborted) {
        result = nccl->api.send(from, bytes, NCCL_INT8, 0, nccl->self, stream);
        int other = nccl->api.receive(to, bytes, NCCL_INT8, 0, nccl->self, stream);
        int end = nccl->api.group_end();
        result = result ? result : other ? other : end;
    }
    pthread_mutex_unlock(&nccl->issue);
    return result ? fail_device(transport, err, "sending to itself", result)
                  : check(transport, err);
}

/* --- life --- */

static void close_transport(struct nvt_transport *transport)
{
    struct nccl *nccl = of(transport);
    pthread_mutex_lock(&nccl->lock);
    nccl->stop = 1;
    pthread_mutex_unlock(&nccl->lock);
    if (nccl->is_watched)
        pthread_join(nccl->watchman, NULL);
    for (int i = 0; i < nccl->count && !nccl->is_aborted; i++)
        if (nccl->comms[i])
            nccl->api.destroy(nccl->comms[i]);
    if (nccl->self && !nccl->is_aborted)
        nccl->api.destroy(nccl->self);
    if (nccl->host.size)
        nccl->host.close(&nccl->host);
    pthread_mutex_destroy(&nccl->lock);
    pthread_mutex_destroy(&nccl->issue);
    free(nccl->comms);
    free(nccl->is_sender);
    free(nccl);
}

static int start(struct nccl *nccl, struct nvt_error *err)
{
    nccl_id id;
    if (load_api(&nccl->api, err))
        return -1;
    if (nvt_ranks_here().size > 1 && open_host(&nccl->host, err))
        return -1;
    int result = nccl->api.get_id(&id);
    if (!result)
        result = nccl->api.init(&nccl->self, 1, id, 0);
    return result ? fail(nccl, err, "starting", result) : 0;
}

__attribute__((visibility("default"))) int nvt_transport_open(struct nvt_transport *transport,
                                                              struct nvt_error *err)
{
    struct nccl *nccl = calloc(1, sizeof(*nccl));
    if (!nccl)
        return nvt_fail(err, "out of memory");
    pthread_mutex_init(&nccl->lock, NULL);
    pthread_mutex_init(&nccl->issue, NULL);
    memset(transport, 0, sizeof(*transport));
    transport->state = nccl;
    if (start(nccl, err)) {
        close_transport(transport);
        return -1;
    }
    transport->rank = nccl->host.size ? nccl->host.rank : 0;
    transport->size = nccl->host.size ? nccl->host.size : 1;
    transport->send = send;
    transport->receive = receive;
    transport->sum = sum;
    transport->clock_offset = clock_offset;
    transport->open_channels = open_channels;
    transport->send_device = send_device;
    transport->receive_device = receive_device;
    transport->copy_device = copy_device;
    transport->abandon = abandon;
    transport->told = told;
    transport->check = check;
    transport->close = close_transport;
    return 0;
}
