/*
 * The transport over MPI. Messages are copied through host memory. A rank that ends is noticed by MPI's own
 * launcher, which ends the others; a message that does not come for TIMEOUT_S seconds is an error as well.
 */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/clock.h"
#include "../pipeline/transport.h"

#define TIMEOUT_S   600
#define CLOCK_TURNS 64

/* A message that is still being sent. */
struct outgoing {
    struct outgoing *next;
    MPI_Request request;
    void *data;
};

struct mpi {
    MPI_Comm world;
    pthread_mutex_t lock; /* MPI is asked for one thread at a time */
    struct outgoing *outgoing;
};

static int fail(struct nvt_error *err, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return nvt_fail(err, "MPI: %s: %s", what, text);
}

/* Free what has been sent; with `all` wait for the rest. */
static void collect(struct mpi *mpi, int all)
{
    for (struct outgoing **at = &mpi->outgoing, *next; *at;) {
        int done = 0;
        struct outgoing *message = *at;
        if (all)
            done = !MPI_Wait(&message->request, MPI_STATUS_IGNORE) || 1;
        else if (MPI_Test(&message->request, &done, MPI_STATUS_IGNORE))
            done = 1;
        if (!done) {
            at = &message->next;
            continue;
        }
        next = message->next;
        free(message->data);
        free(message);
        *at = next;
    }
}

static int send(struct nvt_transport *transport, int to, int tag, void *data, size_t bytes,
                struct nvt_error *err)
{
    struct mpi *mpi = transport->state;
    struct outgoing *message = calloc(1, sizeof(*message));
    if (!message || bytes > INT32_MAX) {
        free(message);
        free(data);
        return nvt_fail(err, message ? "MPI: a message is too long" : "out of memory");
    }
    message->data = data;
    pthread_mutex_lock(&mpi->lock);
    collect(mpi, 0);
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

/* Ask at once, then ever more seldom: another thread or process may need the core. */
static void pause_for(int *turn)
{
    struct timespec time = {0, *turn < 100 ? 5000 : 100000};
    nanosleep(&time, NULL);
    ++*turn;
}

static int receive(struct nvt_transport *transport, int from, int tag, void *data, size_t bytes,
                   const _Atomic int *abandoned, struct nvt_error *err)
{
    struct mpi *mpi = transport->state;
    MPI_Request request;
    int64_t start = nvt_monotonic_ns();
    int done = 0, turn = 0;
    if (bytes > INT32_MAX)
        return nvt_fail(err, "MPI: a message is too long");
    pthread_mutex_lock(&mpi->lock);
    int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, mpi->world, &request);
    while (!code && !done) {
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (code || done)
            break;
        int is_late = nvt_monotonic_ns() - start > (int64_t)TIMEOUT_S * 1000000000;
        if (*abandoned || is_late) {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            pthread_mutex_unlock(&mpi->lock);
            return nvt_fail(err,
                            is_late ? "MPI: rank %d has sent nothing for %d s"
                                    : "MPI: rank %d is waited for no longer",
                            from, TIMEOUT_S);
        }
        pthread_mutex_unlock(&mpi->lock);
        pause_for(&turn);
        pthread_mutex_lock(&mpi->lock);
    }
    collect(mpi, 0);
    pthread_mutex_unlock(&mpi->lock);
    return code ? fail(err, "receiving", code) : 0;
}

static int sum(struct nvt_transport *transport, double *values, int count, struct nvt_error *err)
{
    struct mpi *mpi = transport->state;
    pthread_mutex_lock(&mpi->lock);
    int code = MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, mpi->world);
    pthread_mutex_unlock(&mpi->lock);
    return code ? fail(err, "adding up", code) : 0;
}

/*
 * The estimate of NTP (RFC 5905, section 8) with the shortest of several round trips: this process notes t0,
 * rank 0 answers with its time, this process notes t1; the offset is answer − (t0 + t1) / 2, wrong by at
 * most (t1 − t0) / 2.
 */
static int ask_clock(struct mpi *mpi, int64_t *offset_ns, int64_t *error_ns)
{
    int64_t best = INT64_MAX, theirs = 0;
    int code = 0;
    for (int i = 0; i < CLOCK_TURNS && !code; i++) {
        int64_t before = nvt_monotonic_ns();
        code = MPI_Sendrecv(&before, 1, MPI_INT64_T, 0, 0, &theirs, 1, MPI_INT64_T, 0, 0,
                            mpi->world, MPI_STATUS_IGNORE);
        int64_t after = nvt_monotonic_ns();
        if (after - before < best) {
            best = after - before;
            *offset_ns = theirs - (before + best / 2);
            *error_ns = (best + 1) / 2;
        }
    }
    return code;
}

static int answer_clock(struct mpi *mpi, int rank)
{
    int code = 0;
    for (int i = 0; i < CLOCK_TURNS && !code; i++) {
        int64_t theirs, mine;
        code = MPI_Recv(&theirs, 1, MPI_INT64_T, rank, 0, mpi->world, MPI_STATUS_IGNORE);
        mine = nvt_monotonic_ns();
        if (!code)
            code = MPI_Send(&mine, 1, MPI_INT64_T, rank, 0, mpi->world);
    }
    return code;
}

static int clock_offset(struct nvt_transport *transport, int64_t *offset_ns, int64_t *error_ns,
                        struct nvt_error *err)
{
    struct mpi *mpi = transport->state;
    int code = 0;
    *offset_ns = *error_ns = 0;
    pthread_mutex_lock(&mpi->lock);
    if (transport->rank)
        code = ask_clock(mpi, offset_ns, error_ns);
    for (int rank = 1; !transport->rank && rank < transport->size && !code; rank++)
        code = answer_clock(mpi, rank);
    pthread_mutex_unlock(&mpi->lock);
    return code ? fail(err, "comparing clocks", code) : 0;
}

static void close_transport(struct nvt_transport *transport)
{
    struct mpi *mpi = transport->state;
    collect(mpi, 1);
    MPI_Comm_free(&mpi->world);
    MPI_Finalize();
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
    transport->close = close_transport;
    return 0;
}
