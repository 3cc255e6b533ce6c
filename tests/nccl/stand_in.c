/*
 * A stand-in for libnccl, for the tests of the transport over it. It has the functions that are
 * used, with their signatures, and keeps NCCL's rules: messages of two ranks pair by order, what is
 * sent and received must be of the same size, a rank sends to itself only within a group. It copies
 * memory of the host, between processes through files in a folder that stands in the id, in the
 * order of streams where it was lent some (stand_in.h): nothing here says how NCCL itself behaves
 * on a device. On streams a send waits until the receiver's stream has got to the receiving, as
 * NCCL's may, and the first message of two ranks is refused while others wait; an abort waits for the messages that its
 * communicator has on streams, of a group when all of it have been told to stop, and none may come while a thread is in a call,
 * nor may two threads be in one. Without streams, unlike NCCL's, nothing
 * waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/transports/nccl_api.h"
#include "stand_in.h"

#define EXPORT __attribute__((visibility("default")))

enum { SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };

struct nccl_comm {
    char folder[128];
    int ranks, rank, peer_pid;
    unsigned sent, received;
    volatile int aborted, failed; /* failed: on a stream, where no call is told */
    _Atomic int queued;           /* messages on streams */
    nccl_comm next;               /* aborted in the same group */
};

/* A message on its way: to a file, from one, or (both) within this rank. */
struct message {
    nccl_comm comm;
    const void *from;
    void *to;
    size_t size;
    unsigned number;
    int is_posted; /* the other rank knows that this one is about to receive it */
};

static nccl_on_stream_function on_stream;
static void (*run_streams)(void);
static _Atomic int waiting; /* messages on streams that have not moved yet */

/* Of this thread: whether a group is open, and what it has sent to itself. */
static _Thread_local int in_group;
static _Thread_local const void *own;
static _Thread_local size_t own_size;
static _Thread_local nccl_comm ending; /* aborted within the group */

static void pause_a_little(void)
{
    const struct timespec time = {0, 200000};
    nanosleep(&time, NULL);
}

static void path_of(const nccl_comm comm, char *path, size_t size, char what, int rank,
                    unsigned number)
{
    snprintf(path, size, "%s/%c%d-%u", comm->folder, what, rank, number);
}

/* Whole or not at all, for whoever looks for it. */
static int put_file(const nccl_comm comm, char what, unsigned number, const void *data, size_t size)
{
    char path[200], whole[200];
    path_of(comm, path, sizeof(path), 't', comm->rank, number);
    path_of(comm, whole, sizeof(whole), what, comm->rank, number);
    FILE *file = fopen(path, "we");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        return SYSTEM_ERROR;
    return rename(path, whole) ? SYSTEM_ERROR : NCCL_SUCCESS;
}

static int peer_is_gone(const nccl_comm comm)
{
    return comm->peer_pid && kill(comm->peer_pid, 0) && errno == ESRCH;
}

static int is_there(const nccl_comm comm, char what, unsigned number)
{
    char path[200];
    path_of(comm, path, sizeof(path), what, !comm->rank, number);
    return comm->aborted || !access(path, F_OK);
}

/* Wait for the other rank's file; it must have this size. */
static int take_file(const nccl_comm comm, char what, unsigned number, void *data, size_t size)
{
    char path[200];
    path_of(comm, path, sizeof(path), what, !comm->rank, number);
    while (!is_there(comm, what, number))
        pause_a_little();
    FILE *file = fopen(path, "re");
    struct stat status;
    if (!file)
        return SYSTEM_ERROR;
    int is_right = !fstat(fileno(file), &status) && (size_t)status.st_size == size &&
                   fread(data, 1, size, file) == size;
    fclose(file);
    unlink(path);
    return is_right ? NCCL_SUCCESS : INVALID_ARGUMENT;
}

static int move(const struct message *message)
{
    if (message->from && message->to)
        memcpy(message->to, message->from, message->size);
    else if (message->from)
        return put_file(message->comm, 'm', message->number, message->from, message->size);
    else
        return take_file(message->comm, 'm', message->number, message->to, message->size);
    return NCCL_SUCCESS;
}

/* To another rank when that has posted 'r'; from there when 'm' has come, and first of all 'r' is posted. */
static int can_move(void *argument)
{
    struct message *message = argument;
    if (message->from)
        return message->to || is_there(message->comm, 'r', message->number);
    if (!message->is_posted && put_file(message->comm, 'r', message->number, "", 0))
        message->comm->failed = SYSTEM_ERROR;
    message->is_posted = 1;
    return is_there(message->comm, 'm', message->number);
}

static void move_on_stream(void *argument)
{
    struct message *message = argument;
    int result = message->comm->aborted ? NCCL_SUCCESS : move(message);
    char posted[200];
    path_of(message->comm, posted, sizeof(posted), 'r', !message->comm->rank, message->number);
    if (message->from && !message->to)
        unlink(posted);
    if (result)
        message->comm->failed = result;
    message->comm->queued--;
    free(message);
    waiting--;
}

static _Atomic int inside; /* threads that give a message to a stream */

static void break_off(const char *why)
{
    fprintf(stderr, "NCCL's stand-in: %s\n", why);
    _exit(70);
}

static int give_to_stream(struct message message, void *stream)
{
    /* NCCL connects two ranks here, which may wait for a device that waits for one of them. */
    if (!message.number && message.comm->ranks > 1 && waiting)
        return INVALID_USAGE;
    struct message *copy = malloc(sizeof(*copy));
    if (!copy)
        return SYSTEM_ERROR;
    *copy = message;
    message.comm->queued++;
    waiting++;
    on_stream(stream, can_move, move_on_stream, copy);
    return NCCL_SUCCESS;
}

/* Now, or when the stream gets there. NCCL's "Thread Safety": it is not safe to issue operations in parallel with multiple
 * threads, on communicators of the same device. */
static int move_in_order(struct message message, void *stream)
{
    if (!on_stream || !stream)
        return move(&message);
    if (inside++)
        break_off("two threads issue operations at a time");
    pause_a_little();
    int result = give_to_stream(message, stream);
    inside--;
    return result;
}

EXPORT void nccl_stand_in_use_streams(nccl_on_stream_function function, void (*run)(void));
void nccl_stand_in_use_streams(nccl_on_stream_function function, void (*run)(void))
{
    on_stream = function;
    run_streams = run;
}

EXPORT int ncclGetVersion(int *version);
EXPORT const char *ncclGetErrorString(int result);
EXPORT const char *ncclGetLastError(nccl_comm comm);
EXPORT int ncclGetUniqueId(nccl_id *id);
EXPORT int ncclCommInitRank(nccl_comm *comm, int ranks, nccl_id id, int rank);
EXPORT int ncclSend(const void *data, size_t count, int type, int peer, nccl_comm comm,
                    void *stream);
EXPORT int ncclRecv(void *data, size_t count, int type, int peer, nccl_comm comm, void *stream);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclCommGetAsyncError(nccl_comm comm, int *result);
EXPORT int ncclCommAbort(nccl_comm comm);
EXPORT int ncclCommDestroy(nccl_comm comm);

int ncclGetVersion(int *version)
{
    *version = 20400;
    return NCCL_SUCCESS;
}

const char *ncclGetErrorString(int result)
{
    return result == REMOTE_ERROR ? "remote process exited or there was a network error"
                                  : "an error of the stand-in";
}

const char *ncclGetLastError(nccl_comm comm)
{
    (void)comm;
    return "the stand-in found no folder\nand says more";
}

int ncclGetUniqueId(nccl_id *id)
{
    const char *folder = getenv("TMPDIR");
    memset(id, 0, sizeof(*id));
    snprintf(id->internal, sizeof(id->internal), "%.100s/nccl-XXXXXX", folder ? folder : "/tmp");
    return mkdtemp(id->internal) ? NCCL_SUCCESS : SYSTEM_ERROR;
}

/* Both ranks wait for each other, as NCCL's do. */
int ncclCommInitRank(nccl_comm *result, int ranks, nccl_id id, int rank)
{
    int mine = (int)getpid();
    nccl_comm comm = calloc(1, sizeof(*comm));
    if (!comm || ranks < 1 || ranks > 2 || rank < 0 || rank >= ranks) {
        free(comm);
        return INVALID_ARGUMENT;
    }
    memcpy(comm->folder, id.internal, sizeof(comm->folder));
    comm->folder[sizeof(comm->folder) - 1] = 0;
    comm->ranks = ranks;
    comm->rank = rank;
    if (ranks == 2 && (put_file(comm, 'p', 0, &mine, sizeof(mine)) ||
                       take_file(comm, 'p', 0, &comm->peer_pid, sizeof(comm->peer_pid)))) {
        free(comm);
        return SYSTEM_ERROR;
    }
    *result = comm;
    return NCCL_SUCCESS;
}

int ncclSend(const void *data, size_t count, int type, int peer, nccl_comm comm, void *stream)
{
    if (type != NCCL_INT8 || peer < 0 || peer >= comm->ranks)
        return INVALID_ARGUMENT;
    if (peer != comm->rank)
        return move_in_order((struct message){comm, data, NULL, count, comm->sent++, 0}, stream);
    if (!in_group || own)
        return INVALID_USAGE;
    own = data;
    own_size = count;
    return NCCL_SUCCESS;
}

int ncclRecv(void *data, size_t count, int type, int peer, nccl_comm comm, void *stream)
{
    if (type != NCCL_INT8 || peer < 0 || peer >= comm->ranks)
        return INVALID_ARGUMENT;
    if (peer != comm->rank)
        return move_in_order((struct message){comm, NULL, data, count, comm->received++, 0},
                             stream);
    if (!in_group || !own || own_size != count)
        return INVALID_USAGE;
    const void *from = own;
    own = NULL;
    return move_in_order((struct message){comm, from, data, count, 0, 0}, stream);
}

int ncclGroupStart(void)
{
    in_group++;
    return NCCL_SUCCESS;
}

/* NCCL would wait for ever. */
static void wait_for(const nccl_comm comm)
{
    for (int i = 0; comm->queued; i++) {
        if (i == 50000) {
            fputs("NCCL's stand-in: an abort waits for what waits for another communicator\n",
                  stderr);
            _exit(70);
        }
        /* Of a device they would by themselves. */
        run_streams();
        pause_a_little();
    }
}

int ncclGroupEnd(void)
{
    int result = --in_group || !own ? NCCL_SUCCESS : INVALID_USAGE;
    for (; !in_group && ending; ending = ending->next)
        wait_for(ending);
    return result;
}

int ncclCommGetAsyncError(nccl_comm comm, int *result)
{
    *result = comm->failed ? comm->failed : peer_is_gone(comm) ? REMOTE_ERROR : NCCL_SUCCESS;
    return NCCL_SUCCESS;
}

/* A thread may still wait in it: it is left to the end of the process. */
int ncclCommAbort(nccl_comm comm)
{
    if (inside)
        break_off("a communicator is aborted, and freed, that is in use");
    comm->aborted = 1;
    if (in_group) {
        comm->next = ending;
        ending = comm;
    } else {
        wait_for(comm);
    }
    return NCCL_SUCCESS;
}

int ncclCommDestroy(nccl_comm comm)
{
    rmdir(comm->folder); /* by the last one that has it */
    free(comm);
    return NCCL_SUCCESS;
}
