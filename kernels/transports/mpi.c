/*
 * The transport over MPI. Messages are copied through host memory. A rank that cannot go on tells the others,
 * which look for that whenever they wait. One that ends without a word is noticed by MPI's own launcher, which
 * ends the others; a message that does not come for TIMEOUT_S seconds is an error as well.
 */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/clock.h"
#include "../pipeline/transport.h"

#define TIMEOUT_S   600
#define CLOCK_TURNS 64
/* How long the clocks' messages are waited for without a pause, which would be part of their round trip. */
#define URGENT_NS 10000000
/* How long a rank waits for the others before it ends without them; after a failure that may be that they are gone. */
#define END_S  60
#define GONE_S 5

/* A message that is still being sent, or a sum that is under way. */
struct outgoing {
    struct outgoing *next;
    MPI_Request request;
    void *data;
};

struct mpi {
    MPI_Comm world;
    MPI_Comm ends;        /* failures, and the end: whatever is under way on `world` */
    pthread_mutex_t lock; /* MPI is asked for one thread at a time */
    struct outgoing *outgoing;
    int has_left, has_any_left;      /* this rank cannot go on; at the end, any */
    int wants_memory;                /* it has left for that */
    int is_told;                     /* another one cannot: */
    struct nvt_rank_failure failure; /* the first, or the first for want of memory */
};

static const _Atomic int never;

static int fail(struct nvt_error *err, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return nvt_fail(err, "MPI: %s: %s", what, text);
}

/* Free what has been sent. */
static void collect(struct mpi *mpi)
{
    for (struct outgoing **at = &mpi->outgoing; *at;) {
        int done = 0;
        struct outgoing *message = *at;
        if (!MPI_Test(&message->request, &done, MPI_STATUS_IGNORE) && !done) {
            at = &message->next;
            continue;
        }
        *at = message->next;
        free(message->data);
        free(message);
    }
}

/* --- ranks that cannot go on: with the lock --- */

/* Hear what the others have told. Whether one of them cannot go on. */
static int hear_ranks(struct mpi *mpi)
{
    struct nvt_rank_failure failure;
    MPI_Status status;
    int is_there = 0;
    while (!MPI_Iprobe(MPI_ANY_SOURCE, 0, mpi->ends, &is_there, &status) && is_there &&
           !MPI_Recv(&failure, sizeof(failure), MPI_BYTE, status.MPI_SOURCE, 0, mpi->ends,
                     MPI_STATUS_IGNORE)) {
        failure.rank = status.MPI_SOURCE;
        failure.text[sizeof(failure.text) - 1] = 0;
        if (!mpi->is_told || (failure.bytes && !mpi->failure.bytes))
            mpi->failure = failure;
        mpi->is_told = 1;
    }
    return mpi->is_told;
}

static void tell(struct mpi *mpi, int rank, uint64_t bytes, const char *text)
{
    struct outgoing *message = calloc(1, sizeof(*message));
    struct nvt_rank_failure *failure = calloc(1, sizeof(*failure));
    if (message && failure) {
        failure->bytes = bytes;
        snprintf(failure->text, sizeof(failure->text), "%s", text);
        message->data = failure;
        if (!MPI_Isend(failure, sizeof(*failure), MPI_BYTE, rank, 0, mpi->ends,
                       &message->request)) {
            message->next = mpi->outgoing;
            mpi->outgoing = message;
            return;
        }
    }
    free(failure);
    free(message);
}

/* Where another rank has told of it already, that is the reason. */
static void abandon(struct nvt_transport *transport, uint64_t bytes, const char *text)
{
    struct mpi *mpi = transport->state;
    pthread_mutex_lock(&mpi->lock);
    for (int rank = 0; rank < transport->size && !mpi->has_left && !hear_ranks(mpi); rank++)
        if (rank != transport->rank)
            tell(mpi, rank, bytes, text);
    mpi->wants_memory |= !mpi->has_left && bytes;
    mpi->has_left = 1;
    pthread_mutex_unlock(&mpi->lock);
}

static int told(struct nvt_transport *transport, struct nvt_rank_failure *failure)
{
    struct mpi *mpi = transport->state;
    pthread_mutex_lock(&mpi->lock);
    int is_told = hear_ranks(mpi);
    *failure = mpi->failure;
    pthread_mutex_unlock(&mpi->lock);
    return is_told;
}

/* --- messages --- */

/* Ask at once, then ever more seldom: another thread or process may need the core. */
static void pause_for(int *turn)
{
    struct timespec time = {0, *turn < 100 ? 5000 : 100000};
    nanosleep(&time, NULL);
    ++*turn;
}

/* Until the request is done; the lock is left in between. 0, or -1 with err. */
static int wait_for(struct mpi *mpi, MPI_Request *request, int is_urgent,
                    const _Atomic int *abandoned, struct nvt_error *err)
{
    int64_t start = nvt_monotonic_ns();
    for (int turn = 0, done = 0;;) {
        int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code)
            return fail(err, "waiting", code);
        if (done)
            return 0;
        int64_t waited = nvt_monotonic_ns() - start;
        if (hear_ranks(mpi))
            return nvt_fail(err, "MPI: rank %d cannot go on: %s", mpi->failure.rank,
                            mpi->failure.text);
        if (*abandoned)
            return nvt_fail(err, "MPI: waited for no longer");
        if (waited > (int64_t)TIMEOUT_S * 1000000000)
            return nvt_fail(err, "MPI: nothing has come for %d s", TIMEOUT_S);
        if (is_urgent && waited < URGENT_NS)
            continue;
        pthread_mutex_unlock(&mpi->lock);
        pause_for(&turn);
        pthread_mutex_lock(&mpi->lock);
    }
}

static int send(struct nvt_transport *transport, int to, int tag, void *data, size_t bytes,
                struct nvt_error *err)
{
    struct mpi *mpi = transport->state;
    struct outgoing *message = calloc(1, sizeof(*message));
    if (!message || bytes > INT32_MAX) {
        int is_long = message != NULL;
        free(message);
        free(data);
        return nvt_fail(err, is_long ? "MPI: a message is too long" : "out of memory");
    }
    message->data = data;
    pthread_mutex_lock(&mpi->lock);
    collect(mpi);
    int code = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, mpi->world, &message->request);
    if (!code) {
        message->next = mpi->outgoing;
        mpi->outgoing = message;
    }
    pthread_mutex_unlock(&mpi->lock);
    if (!code)
        return 0;
    free(data);
    free(message);
    return fail(err, "sending", code);
}

static int take(struct mpi *mpi, int from, int tag, void *data, size_t bytes, int is_urgent,
                const _Atomic int *abandoned, struct nvt_error *err)
{
    MPI_Request request;
    if (bytes > INT32_MAX)
        return nvt_fail(err, "MPI: a message is too long");
    pthread_mutex_lock(&mpi->lock);
    int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, mpi->world, &request);
    int status =
        code ? fail(err, "receiving", code) : wait_for(mpi, &request, is_urgent, abandoned, err);
    if (status && !code) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    collect(mpi);
    pthread_mutex_unlock(&mpi->lock);
    return status;
}

static int receive(struct nvt_transport *transport, int from, int tag, void *data, size_t bytes,
                   const _Atomic int *abandoned, struct nvt_error *err)
{
    return take(transport->state, from, tag, data, bytes, 0, abandoned, err);
}

/* In memory of its own, which stays where the others do not come. */
static int sum(struct nvt_transport *transport, double *values, int count, struct nvt_error *err)
{
    struct mpi *mpi = transport->state;
    size_t bytes = (size_t)count * sizeof(*values);
    struct outgoing *message = calloc(1, sizeof(*message));
    double *sums = malloc(bytes);
    if (!message || !sums) {
        free(message);
        free(sums);
        return nvt_fail(err, "out of memory");
    }
    memcpy(sums, values, bytes);
    message->data = sums;
    pthread_mutex_lock(&mpi->lock);
    int code = MPI_Iallreduce(MPI_IN_PLACE, sums, count, MPI_DOUBLE, MPI_SUM, mpi->world,
                              &message->request);
    int status =
        code ? fail(err, "adding up", code) : wait_for(mpi, &message->request, 0, &never, err);
    if (!status)
        memcpy(values, sums, bytes);
    if (status && !code) {
        message->next = mpi->outgoing;
        mpi->outgoing = message;
    } else {
        free(message);
        free(sums);
    }
    pthread_mutex_unlock(&mpi->lock);
    return status;
}

/*
 * The estimate of NTP (RFC 5905, section 8) with the shortest of several round trips: this process notes t0,
 * rank 0 answers with its time, this process notes t1; the offset is answer − (t0 + t1) / 2, wrong by at
 * most (t1 − t0) / 2.
 */
static int send_time(struct nvt_transport *transport, int to, int64_t time, struct nvt_error *err)
{
    int64_t *copy = malloc(sizeof(*copy));
    if (!copy)
        return nvt_fail(err, "out of memory");
    *copy = time;
    return send(transport, to, 0, copy, sizeof(*copy), err);
}

static int ask_clock(struct nvt_transport *transport, int64_t *offset_ns, int64_t *error_ns,
                     struct nvt_error *err)
{
    int64_t best = INT64_MAX, theirs = 0;
    for (int i = 0; i < CLOCK_TURNS; i++) {
        int64_t before = nvt_monotonic_ns();
        if (send_time(transport, 0, before, err) ||
            take(transport->state, 0, 0, &theirs, sizeof(theirs), 1, &never, err))
            return -1;
        int64_t after = nvt_monotonic_ns();
        if (after - before < best) {
            best = after - before;
            *offset_ns = theirs - (before + best / 2);
            *error_ns = (best + 1) / 2;
        }
    }
    return 0;
}

static int answer_clock(struct nvt_transport *transport, int rank, struct nvt_error *err)
{
    for (int i = 0; i < CLOCK_TURNS; i++) {
        int64_t theirs;
        if (take(transport->state, rank, 0, &theirs, sizeof(theirs), 1, &never, err) ||
            send_time(transport, rank, nvt_monotonic_ns(), err))
            return -1;
    }
    return 0;
}

static int clock_offset(struct nvt_transport *transport, int64_t *offset_ns, int64_t *error_ns,
                        struct nvt_error *err)
{
    *offset_ns = *error_ns = 0;
    if (transport->rank)
        return ask_clock(transport, offset_ns, error_ns, err);
    for (int rank = 1; rank < transport->size; rank++)
        if (answer_clock(transport, rank, err))
            return -1;
    return 0;
}

/* --- life --- */

/* Wait until all ranks are here and, unless one of them cannot go on, what was sent has arrived. 0 or -1. */
static int gather(struct mpi *mpi)
{
    MPI_Request request;
    int is_gone = mpi->has_left && !mpi->wants_memory && !hear_ranks(mpi);
    int64_t end = nvt_monotonic_ns() + (int64_t)(is_gone ? GONE_S : END_S) * 1000000000;
    int done = 0, turn = 0;
    mpi->has_any_left = mpi->has_left;
    if (MPI_Iallreduce(MPI_IN_PLACE, &mpi->has_any_left, 1, MPI_INT, MPI_MAX, mpi->ends, &request))
        return -1;
    while (!done || (mpi->outgoing && !mpi->has_any_left)) {
        if (!done && MPI_Test(&request, &done, MPI_STATUS_IGNORE))
            return -1;
        collect(mpi);
        if (nvt_monotonic_ns() > end)
            return -1;
        pause_for(&turn);
    }
    return 0;
}

/* MPI_Finalize waits for the other ranks without end: where they do not come this one ends without it, which
 * the launcher notices. MPI may still use what is there. */
static void close_transport(struct nvt_transport *transport)
{
    struct mpi *mpi = transport->state;
    if (gather(mpi))
        return;
    if (!mpi->has_any_left) {
        MPI_Comm_free(&mpi->ends);
        MPI_Comm_free(&mpi->world);
    }
    MPI_Finalize();
    for (struct outgoing *message = mpi->outgoing, *next; message; message = next) {
        next = message->next;
        free(message->data);
        free(message);
    }
    pthread_mutex_destroy(&mpi->lock);
    free(mpi);
}

__attribute__((visibility("default"))) int nvt_transport_open(struct nvt_transport *transport,
                                                              struct nvt_error *err)
{
    int level = 0;
    struct mpi *mpi = calloc(1, sizeof(*mpi));
    if (!mpi)
        return nvt_fail(err, "out of memory");
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (!code && level < MPI_THREAD_SERIALIZED) {
        MPI_Finalize();
        free(mpi);
        return nvt_fail(err, "MPI: this library cannot be called from more than one thread");
    }
    if (!code)
        code = MPI_Comm_dup(MPI_COMM_WORLD, &mpi->world);
    if (!code)
        code = MPI_Comm_set_errhandler(mpi->world, MPI_ERRORS_RETURN);
    if (!code)
        code = MPI_Comm_dup(mpi->world, &mpi->ends); /* and its handler */
    if (code) {
        free(mpi);
        return fail(err, "starting", code);
    }
    pthread_mutex_init(&mpi->lock, NULL);
    memset(transport, 0, sizeof(*transport));
    MPI_Comm_rank(mpi->world, &transport->rank);
    MPI_Comm_size(mpi->world, &transport->size);
    transport->state = mpi;
    transport->send = send;
    transport->receive = receive;
    transport->sum = sum;
    transport->clock_offset = clock_offset;
    transport->abandon = abandon;
    transport->told = told;
    transport->close = close_transport;
    return 0;
}
