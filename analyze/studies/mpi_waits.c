#include "mpi_waits.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../model/buckets.h"

const char *nvt_mpi_wait_state_name(enum nvt_mpi_wait_state state)
{
    static const char *const names[NVT_MPI_WAIT_STATES] = {
        [NVT_MPI_LATE_SENDER] = "Late sender",       [NVT_MPI_WRONG_ORDER] = "Wrong order",
        [NVT_MPI_LATE_RECEIVER] = "Late receiver",   [NVT_MPI_WAIT_BARRIER] = "Wait at barrier",
        [NVT_MPI_WAIT_NXN] = "Wait at N x N",        [NVT_MPI_EARLY_REDUCE] = "Early reduce",
        [NVT_MPI_LATE_BROADCAST] = "Late broadcast",
    };
    return names[state];
}

int nvt_mpi_wait_add(struct nvt_mpi_waits *waits, struct nvt_mpi_wait wait)
{
    const struct nvt_mpi_calls *calls = &nvt_mpi_trace(&waits->job, wait.rank)->mpi_calls;
    if (wait.end > calls->end[wait.call])
        wait.end = calls->end[wait.call];
    if (wait.end <= wait.start || calls->flags[wait.call] & NVT_RANGE_PARTIAL)
        return 0;
    if (nvt_grow(&waits->items, waits->count, sizeof(*waits->items)))
        return -1;
    waits->items[waits->count++] = wait;
    return 0;
}

/* --- messages ----------------------------------------------------------------------------------- */

/* What a call that waits may be waiting for. */
struct later {
    struct nvt_mpi_wait sender, receiver; /* the last of each kind */
    uint32_t senders, receivers;
    uint8_t is_all; /* it waits for all of its requests */
};

struct messages {
    struct nvt_mpi_waits *waits;
    const struct nvt_mpi_message *items;
    size_t count;
    struct nvt_buckets *waiting; /* of each file: calls that wait, by thread */
    struct nvt_map by_call;      /* file << 32 | call -> later */
    struct later *later;
    uint32_t later_count;
};

/* The calls that wait, of each file and thread; persistent requests are counted. 0, or -1 when out of memory. */
static int find_waiting(struct messages *messages)
{
    const struct nvt_mpi_job *job = &messages->waits->job;
    messages->waiting = calloc(job->file_count + 1, sizeof(*messages->waiting));
    for (size_t i = 0; messages->waiting && i < job->file_count; i++) {
        const struct nvt_mpi_file *file = &job->files[i];
        const struct nvt_trace *trace = file->from->trace;
        uint32_t *owner = malloc(((size_t)trace->mpi_calls.count + 1) * sizeof(*owner));
        for (uint32_t k = 0; owner && k < trace->mpi_calls.count; k++) {
            int is_waiting = file->does[k].role == NVT_MPI_DOES_WAITS ||
                             file->does[k].role == NVT_MPI_DOES_WAITS_ALL;
            messages->waits->persistent += file->does[k].role == NVT_MPI_DOES_STARTS;
            owner[k] = is_waiting ? trace->mpi_calls.thread[k] : trace->threads.count;
        }
        int failed = !owner || nvt_buckets_make(&messages->waiting[i], owner, trace->threads.count,
                                                NULL, trace->mpi_calls.count);
        free(owner);
        if (failed)
            return -1;
    }
    return messages->waiting ? 0 : -1;
}

/* The call on the thread of a rank's `call`, behind it, that waits at a moment; NVT_NONE: none does. */
static uint32_t waiting_at(const struct messages *messages, uint32_t rank, uint32_t call,
                           int64_t moment)
{
    const struct nvt_mpi_job *job = &messages->waits->job;
    const struct nvt_mpi_calls *calls = &nvt_mpi_trace(job, rank)->mpi_calls;
    const struct nvt_buckets *waiting = &messages->waiting[job->ranks[rank].file];
    uint32_t at = nvt_buckets_behind(waiting, calls->thread[call], calls->start, moment);
    if (at == waiting->first[calls->thread[call]])
        return NVT_NONE;
    uint32_t row = waiting->rows[at - 1];
    return row > call && calls->end[row] > moment ? row : NVT_NONE;
}

/* Note that a call may wait for the other side of a message. 0, or -1 when out of memory. */
static int add_later(struct messages *messages, struct nvt_mpi_wait wait)
{
    const struct nvt_mpi_job *job = &messages->waits->job;
    const struct nvt_mpi_calls *calls = &nvt_mpi_trace(job, wait.rank)->mpi_calls;
    const uint32_t call = waiting_at(messages, wait.rank, wait.call, wait.end);
    const uint32_t file = job->ranks[wait.rank].file;
    if (call == NVT_NONE)
        return 0;
    struct later *later = nvt_map_item(&messages->by_call, (uint64_t)file << 32 | call,
                                       &messages->later, &messages->later_count, sizeof(*later));
    if (!later)
        return -1;
    later->is_all = job->files[file].does[call].role == NVT_MPI_DOES_WAITS_ALL;
    int is_sender = wait.state != NVT_MPI_LATE_RECEIVER;
    struct nvt_mpi_wait *last = is_sender ? &later->sender : &later->receiver;
    uint32_t *count = is_sender ? &later->senders : &later->receivers;
    wait.start = calls->start[call];
    wait.call = call;
    if (!*count || wait.end > last->end)
        *last = wait;
    (*count)++;
    return 0;
}

/* A receive that begins before its send. `earliest`: when the first of the messages was sent that its rank receives
 * later. 0, or -1 when out of memory. */
static int add_late_sender(struct messages *messages, const struct nvt_mpi_message *message,
                           int64_t sent, int64_t earliest)
{
    const struct nvt_mpi_file *file = nvt_mpi_file_of(&messages->waits->job, message->target);
    const struct nvt_mpi_wait wait = {.rank = message->target,
                                      .late = message->source,
                                      .call = message->receive,
                                      .late_call = message->send,
                                      .start = file->from->trace->mpi_calls.start[message->receive],
                                      .end = sent,
                                      .state = earliest < sent ? NVT_MPI_WRONG_ORDER
                                                               : NVT_MPI_LATE_SENDER};
    if (wait.end <= wait.start)
        return 0;
    if (!(file->does[message->receive].flags & NVT_MPI_LATER))
        return nvt_mpi_wait_add(messages->waits, wait);
    struct nvt_mpi_wait later = wait;
    later.state = NVT_MPI_LATE_SENDER; /* in no order */
    return add_later(messages, later);
}

/* A send that begins before its receive, and goes on until that. 0, or -1 when out of memory. */
static int add_late_receiver(struct messages *messages, const struct nvt_mpi_message *message,
                             int64_t received)
{
    const struct nvt_mpi_job *job = &messages->waits->job;
    const struct nvt_mpi_file *file = nvt_mpi_file_of(job, message->source);
    const struct nvt_mpi_calls *calls = &file->from->trace->mpi_calls;
    const uint8_t flags = file->does[message->send].flags;
    const struct nvt_mpi_wait wait = {.rank = message->source,
                                      .late = message->target,
                                      .call = message->send,
                                      .late_call = message->receive,
                                      .start = calls->start[message->send],
                                      .end = received,
                                      .state = NVT_MPI_LATE_RECEIVER};
    if (nvt_mpi_file_of(job, message->target)->does[message->receive].flags & NVT_MPI_LOOKS ||
        wait.end <= wait.start)
        return 0;
    if (flags & NVT_MPI_LATER)
        return add_later(messages, wait);
    return flags & NVT_MPI_BLOCKS && calls->end[message->send] > received
               ? nvt_mpi_wait_add(messages->waits, wait)
               : 0;
}

/* From the last message to the first, so that it is known which are received later. 0, or -1 when out of memory. */
static int add_messages(struct messages *messages)
{
    const struct nvt_mpi_job *job = &messages->waits->job;
    int64_t earliest = INT64_MAX;
    int failed = 0;
    for (size_t i = messages->count; i-- > 0 && !failed;) {
        const struct nvt_mpi_message *message = &messages->items[i];
        const uint32_t source = message->source, target = message->target;
        int64_t sent = nvt_mpi_time(job, source, target,
                                    nvt_mpi_trace(job, source)->mpi_calls.start[message->send]);
        int64_t received = nvt_mpi_time(
            job, target, source, nvt_mpi_trace(job, target)->mpi_calls.start[message->receive]);
        if (i + 1 < messages->count && message[1].target != target)
            earliest = INT64_MAX;
        failed = add_late_sender(messages, message, sent, earliest) ||
                 add_late_receiver(messages, message, received);
        earliest = sent < earliest ? sent : earliest;
    }
    return failed ? -1 : 0;
}

/* 0, or -1 when out of memory. */
static int add_waited_for(struct messages *messages)
{
    for (uint32_t i = 0; i < messages->later_count; i++) {
        const struct later *later = &messages->later[i];
        uint32_t count = later->is_all ? 1 : later->senders > 0 ? later->senders : later->receivers;
        if (count > 1)
            messages->waits->unclear++;
        else if (nvt_mpi_wait_add(messages->waits,
                                  later->senders ? later->sender : later->receiver))
            return -1;
    }
    return 0;
}

static int add_point_to_point(struct nvt_mpi_waits *waits, struct nvt_error *err)
{
    struct nvt_mpi_messages matched = {0};
    struct messages messages = {.waits = waits};
    int status = nvt_mpi_match(&matched, &waits->job, err);
    messages.items = matched.items;
    messages.count = matched.count;
    waits->unmatched = matched.unmatched;
    if (!status &&
        (find_waiting(&messages) || add_messages(&messages) || add_waited_for(&messages)))
        status = nvt_fail(err, "out of memory");
    for (size_t i = 0; messages.waiting && i < waits->job.file_count; i++)
        nvt_buckets_free(&messages.waiting[i]);
    free(messages.waiting);
    free(messages.later);
    nvt_map_free(&messages.by_call);
    nvt_mpi_messages_free(&matched);
    return status;
}

int nvt_mpi_waits_make(struct nvt_mpi_waits *waits, const struct nvt_input *input,
                       const size_t *numbers, size_t number, struct nvt_error *err)
{
    if (nvt_mpi_job_make(&waits->job, input, numbers, number, err))
        return -1;
    if (!nvt_mpi_is_comparable(&waits->job))
        return 0;
    if (add_point_to_point(waits, err))
        return -1;
    return nvt_mpi_waits_collective(waits) ? nvt_fail(err, "out of memory") : 0;
}

void nvt_mpi_waits_free(struct nvt_mpi_waits *waits)
{
    nvt_mpi_job_free(&waits->job);
    free(waits->items);
    *waits = (struct nvt_mpi_waits){0};
}
