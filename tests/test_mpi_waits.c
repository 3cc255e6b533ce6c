/*
 * Who waits for whom in MPI: each wait state in made-up traces and in a program of MPI that has it, what is not matched and
 * said so, and the finding, which leaves a balanced program alone.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/late_ranks.h"
#include "../analyze/input/ranks.h"
#include "../lib/count_of.h"
#include "../lib/mpi_payload.h"
#include "cli.h"
#include "made_trace.h"
#include "read_kit.h"
#include "small_trace.h"

#define MS INT64_C(1000000)

enum { MOST = 4 };

/* A job: all ranks in one trace, or each in a trace of its own, whose clock is `ahead` of that of the one before. */
struct job {
    struct nvt_trace *traces[MOST];
    struct nvt_input_trace inputs[MOST];
    uint32_t thread[MOST]; /* of each rank, in its trace */
    int files, ranks;
    int64_t ahead;
    struct nvt_input input;
};

static struct job make_job(int ranks, int files, int64_t ahead)
{
    struct job job = {.files = files, .ranks = ranks, .ahead = ahead};
    for (int i = 0; i < files; i++) {
        job.traces[i] = small_trace();
        job.traces[i]->tells_mpi_peers = 1;
        job.traces[i]->origin_ns = INT64_C(1700000000000000000) - i * ahead;
    }
    for (int i = 0; i < ranks; i++) {
        struct nvt_trace *trace = job.traces[files > 1 ? i : 0];
        job.thread[i] = small_thread(trace, 100 + i, 100 + i);
        trace->processes.rank[trace->threads.process[job.thread[i]]] = (uint32_t)i;
    }
    return job;
}

static struct nvt_trace *trace_of(const struct job *job, int rank)
{
    return job->traces[job->files > 1 ? rank : 0];
}

/* A time in ms of the first one's clock, on that of a rank. */
static int64_t at(const struct job *job, int rank, double ms)
{
    return (int64_t)(ms * (double)MS) + (job->files > 1 ? rank * job->ahead : 0);
}

static uint8_t kind_of(const char *name)
{
    static const char *const messages[] = {"Send", "Recv", "send", "recv", "robe"};
    for (size_t i = 0; i < NVT_COUNT_OF(messages); i++)
        if (strstr(name, messages[i]))
            return NVT_MPI_P2P;
    return strstr(name, "Wait") || strstr(name, "Start") ? NVT_MPI_WAIT
           : strstr(name, "Init")                        ? NVT_MPI_OTHER
                                                         : NVT_MPI_COLLECTIVE;
}

static struct nvt_mpi_call call_of(const struct job *job, int rank, const char *name, double start,
                                   double end, int32_t peer, int32_t tag)
{
    return (struct nvt_mpi_call){.start = at(job, rank, start),
                                 .end = at(job, rank, end),
                                 .thread = job->thread[rank],
                                 .name = nvt_strings_add_text(trace_of(job, rank)->strings, name),
                                 .communicator =
                                     kind_of(name) == NVT_MPI_WAIT || kind_of(name) == NVT_MPI_OTHER
                                         ? 0
                                         : 0x44000000 + (uint64_t)rank,
                                 .sent = 8,
                                 .received = 8,
                                 .peer = peer,
                                 .tag = tag,
                                 .kind = kind_of(name)};
}

/* Times in ms. */
static void call(const struct job *job, int rank, const char *name, double start, double end,
                 int32_t peer, int32_t tag)
{
    const struct nvt_mpi_call row = call_of(job, rank, name, start, end, peer, tag);
    assert_int_not_equal(nvt_mpi_call_add(trace_of(job, rank), &row), NVT_NONE);
}

static void range(const struct job *job, int rank, const char *name, double start, double end)
{
    small_range(trace_of(job, rank), job->thread[rank], "", name, at(job, rank, start),
                at(job, rank, end), NVT_PUSH_POP);
}

static void init(const struct job *job)
{
    for (int i = 0; i < job->ranks; i++)
        call(job, i, "MPI_Init", 0, 1, NVT_MPI_NONE, NVT_MPI_NONE);
}

static void finish(struct job *job)
{
    for (int i = 0; i < job->files; i++) {
        small_trace_finish(job->traces[i]);
        job->inputs[i] = (struct nvt_input_trace){.trace = job->traces[i]};
    }
    job->input = (struct nvt_input){.traces = job->inputs, .trace_count = (size_t)job->files};
}

static void end_job(struct job *job)
{
    for (int i = 0; i < job->files; i++)
        nvt_trace_free(job->traces[i]);
    nvt_buffer_free(&job->input.notes);
}

/* The waits of a job, as text: "state waiting late start-end", in ms, by their starts; and what is not matched. */
static void expect(struct job *job, const char *expected)
{
    struct nvt_mpi_waits waits = {0};
    char text[4096] = "";
    size_t count, used = 0, *numbers;
    finish(job);
    numbers = nvt_input_run_numbers(&job->input, &count);
    assert_int_equal(nvt_mpi_waits_make(&waits, &job->input, numbers, 0, NULL), 0);
    for (size_t done = 0; done < waits.count; done++) {
        size_t first = waits.count;
        for (size_t i = 0; i < waits.count; i++)
            if (waits.items[i].state < NVT_MPI_WAIT_STATES &&
                (first == waits.count ||
                 waits.items[i].start - at(job, (int)waits.items[i].rank, 0) <
                     waits.items[first].start - at(job, (int)waits.items[first].rank, 0)))
                first = i;
        struct nvt_mpi_wait *wait = &waits.items[first];
        int64_t zero = at(job, (int)wait->rank, 0);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %u %u %g-%g\n",
                                 nvt_mpi_wait_state_name(wait->state), wait->rank, wait->late,
                                 (double)(wait->start - zero) / (double)MS,
                                 (double)(wait->end - zero) / (double)MS);
        wait->state = NVT_MPI_WAIT_STATES;
    }
    const struct nvt_mpi_unmatched *left = &waits.unmatched;
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {{"others", left->others + waits.others},
                  {"any", left->any},
                  {"uneven", left->uneven},
                  {"threads", left->threads},
                  {"impossible", left->impossible},
                  {"alone", left->alone},
                  {"unclear", waits.unclear},
                  {"later", waits.later},
                  {"persistent", waits.persistent},
                  {"apart", waits.apart}};
    for (size_t i = 0; i < NVT_COUNT_OF(counts); i++)
        if (counts[i].count)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %llu\n", counts[i].name,
                                     (unsigned long long)counts[i].count);
    assert_string_equal(text, expected);
    nvt_mpi_waits_free(&waits);
    free(numbers);
    end_job(job);
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Two are sent late, one is there before it is wanted; of files with clocks of their own the same. */
static void receives_wait_for_their_sends(void **state)
{
    (void)state;
    for (int files = 1; files <= 2; files++) {
        struct job job = make_job(2, files, 77 * MS);
        init(&job);
        for (int i = 0; i < 3; i++) {
            double late = i == 1 ? 0 : 5;
            call(&job, 0, "MPI_Recv", 10 + 20 * i, 11 + 20 * i + late, 1, 7);
            call(&job, 1, "MPI_Send", 10 + 20 * i + late, 10.5 + 20 * i + late, 0, 7);
        }
        expect(&job, "Late sender 0 1 10-15\nLate sender 0 1 50-55\n");
    }
}

static void messages_do_not_overtake_but_by_tag(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    call(&job, 1, "MPI_Send", 10, 11, 0, 1);
    call(&job, 1, "MPI_Send", 20, 21, 0, 2);
    call(&job, 1, "MPI_Send", 30, 31, 0, 1);
    call(&job, 0, "MPI_Recv", 15, 22, 1, 2); /* what was sent at 10 is there already */
    call(&job, 0, "MPI_Recv", 23, 23.5, 1, 1);
    call(&job, 0, "MPI_Recv", 24, 32, 1, 1);
    expect(&job, "Wrong order 0 1 15-20\nLate sender 0 1 24-30\n");
}

/* A send that returns at once was buffered; one that cannot be is never late. */
static void only_sends_that_go_on_wait(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    call(&job, 0, "MPI_Send", 10, 16, 1, 7);
    call(&job, 1, "MPI_Recv", 15, 16, 0, 7);
    call(&job, 0, "MPI_Send", 20, 20.1, 1, 7);
    call(&job, 1, "MPI_Recv", 25, 25.1, 0, 7);
    call(&job, 0, "MPI_Bsend", 30, 36, 1, 7);
    call(&job, 1, "MPI_Recv", 35, 36, 0, 7);
    call(&job, 0, "MPI_Ssend", 40, 46, 1, 7);
    call(&job, 1, "MPI_Irecv", 45, 45.1, 0, 7);
    call(&job, 1, "MPI_Wait", 45.2, 46, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "Late receiver 0 1 10-15\nLate receiver 0 1 40-45\n");
}

/* Who waits later waits in that call: for the last of all, or for one if there is but one. */
static void requests_complete_in_their_waits(void **state)
{
    (void)state;
    struct job job = make_job(3, 1, 0);
    init(&job);
    call(&job, 0, "MPI_Irecv", 10, 10.1, 1, 7);
    call(&job, 0, "MPI_Irecv", 10.2, 10.3, 2, 7);
    call(&job, 0, "MPI_Waitall", 11, 19, NVT_MPI_NONE, NVT_MPI_NONE);
    call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    call(&job, 2, "MPI_Send", 18, 18.1, 0, 7);
    call(&job, 0, "MPI_Irecv", 20, 20.1, 1, 7);
    call(&job, 0, "MPI_Irecv", 20.2, 20.3, 2, 7);
    call(&job, 0, "MPI_Wait", 21, 29, NVT_MPI_NONE, NVT_MPI_NONE); /* for which? */
    call(&job, 1, "MPI_Send", 25, 25.1, 0, 7);
    call(&job, 2, "MPI_Send", 28, 28.1, 0, 7);
    call(&job, 0, "MPI_Isend", 30, 30.1, 1, 7);
    call(&job, 0, "MPI_Wait", 31, 36, NVT_MPI_NONE, NVT_MPI_NONE);
    call(&job, 1, "MPI_Recv", 35, 36, 0, 7);
    call(&job, 0, "MPI_Irecv", 40, 40.1, 1, 7); /* it works meanwhile */
    call(&job, 1, "MPI_Send", 42, 42.1, 0, 7);
    call(&job, 0, "MPI_Wait", 45, 45.1, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "Late sender 0 2 11-18\nLate receiver 0 1 31-35\nunclear 1\n");
}

static void who_looks_for_a_message_waits_for_it(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    call(&job, 1, "MPI_Send", 25, 25.1, 0, 7);
    for (int i = 0; i < 2; i++) {
        call(&job, 0, "MPI_Probe", 10 + 10 * i, 15.2 + 10 * i, 1, 7);
        call(&job, 0, "MPI_Recv", 16 + 10 * i, 16.1 + 10 * i, 1, 7);
    }
    expect(&job, "Late sender 0 1 10-15\nLate sender 0 1 20-25\n");
}

/* Of any rank or tag: known where one stream alone leads there. */
static void receives_of_any_rank_are_matched_where_that_is_certain(void **state)
{
    (void)state;
    for (int senders = 1; senders < 3; senders++) {
        struct job job = make_job(3, 1, 0);
        init(&job);
        call(&job, 0, "MPI_Recv", 10, 16, NVT_MPI_ANYBODY, -1);
        call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
        call(&job, 0, "MPI_Recv", 20, 26, senders > 1 ? NVT_MPI_ANYBODY : 1, 7);
        call(&job, senders, "MPI_Send", 25, 25.1, 0, 7);
        call(&job, 1, "MPI_Recv", 30, 36, 2, 9); /* not to the same rank */
        call(&job, 2, "MPI_Send", 35, 35.1, 1, 9);
        expect(&job, senders > 1 ? "Late sender 1 2 30-35\nany 4\n"
                                 : "Late sender 0 1 10-15\nLate sender 0 1 20-25\n"
                                   "Late sender 1 2 30-35\n");
    }
}

/* What MPI_Sendrecv receives may be of any rank. */
static void exchanges_are_matched_where_that_is_certain(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    call(&job, 0, "MPI_Sendrecv", 10, 16, 1, 7);
    call(&job, 1, "MPI_Sendrecv", 15, 16, 0, 7);
    expect(&job, "Late sender 0 1 10-15\n");
    job = make_job(3, 1, 0);
    init(&job);
    for (int i = 0; i < 3; i++) /* to both sides */
        for (int k = 1; k < 3; k++)
            call(&job, i, "MPI_Sendrecv", 10 * k, 10 * k + 6, (i + k) % 3, 7);
    expect(&job, "any 12\n");
}

/* Without the calls from MPI_Init on, as many receives as sends have to be there. */
static void streams_with_missing_calls_are_left_out(void **state)
{
    (void)state;
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        struct job job = make_job(2, 1, 0);
        if (is_whole)
            init(&job);
        call(&job, 0, "MPI_Recv", 10, 16, 1, 7);
        call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
        call(&job, 1, "MPI_Send", 25, 25.1, 0, 7); /* nobody receives it */
        call(&job, 0, "MPI_Recv", 30, 36, 1, 8);
        call(&job, 1, "MPI_Send", 35, 35.1, 0, 8);
        expect(&job, is_whole ? "Late sender 0 1 10-15\nLate sender 0 1 30-35\nalone 1\n"
                              : "Late sender 0 1 30-35\nuneven 3\n");
    }
}

static void what_starts_persistent_requests_has_missing_calls(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    call(&job, 1, "MPI_Start", 5, 5.1, NVT_MPI_NONE, NVT_MPI_NONE);
    call(&job, 0, "MPI_Recv", 10, 16, 1, 7);
    call(&job, 0, "MPI_Recv", 20, 26, 1, 7);
    call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    expect(&job, "uneven 3\npersistent 1\n");
}

/* Nothing but the calls that start them is on record of persistent requests: who waits for one is said to be left out. */
static void persistent_requests_are_counted(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    char *note;
    init(&job);
    for (int i = 0; i < 2; i++) {
        call(&job, i, i ? "MPI_Startall" : "MPI_Start", 5 + 30 * i, 5.1 + 30 * i, NVT_MPI_NONE,
             NVT_MPI_NONE);
        call(&job, i, "MPI_Wait", 6 + 30 * i, 36, NVT_MPI_NONE, NVT_MPI_NONE);
    }
    finish(&job);
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "note: 2 calls start persistent requests"));
    free(note);
    end_job(&job);
}

static void what_cannot_be_is_left_out(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    call(&job, 0, "MPI_Recv", 10, 13.9, 1, 7); /* 1.1 ms before it is sent */
    call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    call(&job, 0, "MPI_Recv", 20, 24.1, 1, 8); /* as clocks may be apart */
    call(&job, 1, "MPI_Send", 25, 25.1, 0, 8);
    expect(&job, "Late sender 0 1 20-24.1\nimpossible 2\n");
    job = make_job(2, 1, 0);
    init(&job);
    call(&job, 0, "MPI_Recv", 10, 16, 1, 7);
    call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    job.thread[1] = small_thread(job.traces[0], 101, 999);
    call(&job, 1, "MPI_Send", 25, 25.1, 0, 7);
    call(&job, 0, "MPI_Recv", 20, 26, 1, 7);
    expect(&job, "threads 4\n");
    job = make_job(2, 1, 0);
    init(&job);
    call(&job, 0, "MPI_Recv", 10, 16, 5, 7); /* of nobody that is there */
    call(&job, 1, "MPI_Send", 15, 15.1, 5, 7);
    call(&job, 1, "MPI_Send", 15, 15.1, NVT_MPI_NOBODY, 7);
    call(&job, 1, "MPI_Recv", 15, 15.1, NVT_MPI_NOBODY, 7);
    expect(&job, "alone 2\n");
}

/* Handles say nothing of who takes part: all ranks do where communicators are only copied. */
static void communicators_are_told_apart_where_they_are_copies(void **state)
{
    (void)state;
    static const char *const makes[] = {"MPI_Comm_dup", "MPI_Comm_split"};
    for (int uneven = 0; uneven < 2; uneven++)
        for (int m = 0; m < 2; m++) {
            struct job job = make_job(2, 1, 0);
            init(&job);
            for (int i = 0; i < 2; i++) {
                struct nvt_mpi_call row =
                    call_of(&job, i, makes[m], 2, 3, NVT_MPI_NONE, NVT_MPI_NONE);
                row.kind = NVT_MPI_OTHER;
                assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
                for (int k = 0; k < 2 + (uneven && i); k++) {
                    static const char *const names[] = {"MPI_Recv", "MPI_Send", "MPI_Send"};
                    row = call_of(&job, i, k == 1 ? "MPI_Barrier" : names[i], 10 + 5 * i + 10 * k,
                                  16 + 10 * k, 1 - i, 7);
                    row.communicator = 0x1234 + (uint64_t)i;
                    assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
                }
            }
            expect(&job, m        ? uneven ? "others 5\n" : "others 4\n"
                         : uneven ? "Wait at barrier 0 1 20-25\nuneven 3\n"
                                  : "Late sender 0 1 10-15\nWait at barrier 0 1 20-25\n");
        }
}

/* --- collectives -------------------------------------------------------------------------------- */

static void collective(const struct job *job, const char *name, double start, int late,
                       int32_t root)
{
    for (int i = 0; i < job->ranks; i++)
        call(job, i, name, start + (i == late ? 5 : i), start + 6, root, NVT_MPI_NONE);
}

static void collectives_wait_for_the_last(void **state)
{
    (void)state;
    struct job job = make_job(3, 3, -3 * MS);
    init(&job);
    collective(&job, "MPI_Barrier", 10, 1, NVT_MPI_NONE);
    collective(&job, "MPI_Allreduce", 20, 2, NVT_MPI_NONE);
    collective(&job, "MPI_Reduce", 30, 2, 0);
    collective(&job, "MPI_Bcast", 40, 1, 1);
    collective(&job, "MPI_Scan", 50, 1, NVT_MPI_NONE);
    collective(&job, "MPI_Reduce", 60, 0, 0); /* the root itself is the last */
    expect(&job, "Wait at barrier 0 1 10-15\nWait at barrier 2 1 12-15\n"
                 "Wait at N x N 0 2 20-25\nWait at N x N 1 2 21-25\n"
                 "Early reduce 0 2 30-35\n"
                 "Late broadcast 0 1 40-45\nLate broadcast 2 1 42-45\n");
}

static void collectives_that_do_not_belong_together_are_left_out(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    collective(&job, "MPI_Barrier", 10, 1, NVT_MPI_NONE);
    collective(&job, "MPI_Iallreduce", 20, 1, NVT_MPI_NONE);
    call(&job, 0, "MPI_Bcast", 30, 36, 0, NVT_MPI_NONE); /* they name different roots */
    call(&job, 1, "MPI_Bcast", 35, 36, 1, NVT_MPI_NONE);
    call(&job, 0, "MPI_Barrier", 40, 46, NVT_MPI_NONE, NVT_MPI_NONE);
    call(&job, 1, "MPI_Allreduce", 45, 46, NVT_MPI_NONE, NVT_MPI_NONE);
    collective(&job, "MPI_Barrier", 50, 1, NVT_MPI_NONE);
    expect(&job, "Wait at barrier 0 1 10-15\nlater 2\napart 6\n");
    job = make_job(2, 1, 0); /* one of them is not there from the first on */
    collective(&job, "MPI_Barrier", 10, 1, NVT_MPI_NONE);
    call(&job, 1, "MPI_Barrier", 20, 26, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "apart 3\n");
    job = make_job(2, 1, 0); /* it leaves before the last has come */
    init(&job);
    call(&job, 0, "MPI_Barrier", 10, 11, NVT_MPI_NONE, NVT_MPI_NONE);
    call(&job, 1, "MPI_Barrier", 15, 16, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "apart 2\n");
}

/* A call of torch.distributed on a group, which is known by its name and has so many ranks. */
static void group_call(const struct job *job, int rank, const char *name, uint64_t group,
                       uint32_t ranks, double start, double end)
{
    struct nvt_mpi_call row = call_of(job, rank, name, start, end, NVT_MPI_NONE, NVT_MPI_NONE);
    row.communicator = group;
    row.ranks = ranks;
    row.kind = NVT_MPI_COLLECTIVE;
    assert_int_not_equal(nvt_mpi_call_add(trace_of(job, rank), &row), NVT_NONE);
}

/* Two pairs and all of them, in whatever order each rank uses them; of a third pair one rank is not there. */
static void groups_are_known_by_their_names(void **state)
{
    enum { ALL = 7, FIRST, SECOND, THIRD };
    (void)state;
    struct job job = make_job(4, 4, 2 * MS);
    for (int i = 0; i < 4; i++) {
        const int is_late = i == 3;
        if (i % 2)
            group_call(&job, i, "barrier", ALL, 4, 10 + i, 15);
        group_call(&job, i, "all_reduce", i < 2 ? FIRST : SECOND, 2, 20 + 5 * is_late, 27);
        group_call(&job, i, "all_reduce", i < 2 ? FIRST : SECOND, 2, 30 + 5 * is_late, 37);
        if (!(i % 2))
            group_call(&job, i, "barrier", ALL, 4, 40 + i, 45);
        if (i == 1)
            group_call(&job, i, "all_reduce", THIRD, 2, 50, 51);
    }
    expect(&job, "Wait at N x N 2 3 20-25\nWait at N x N 2 3 30-35\napart 5\n");
    job = make_job(3, 1, 0);
    for (int i = 0; i < 3; i++)
        group_call(&job, i, "barrier", ALL, 3, 10 + i, 15);
    expect(&job, "Wait at barrier 0 2 10-12\nWait at barrier 1 2 11-12\n");
}

/* --- the report and the finding ----------------------------------------------------------------- */

/* Iterations of 10 ms, in which rank 1 is in a range for so long before it sends. */
static struct job loop(int files, double pack, const char *late_call)
{
    struct job job = make_job(2, files, 5 * MS);
    init(&job);
    for (int i = 0; i < 20; i++) {
        double from = 10 + 10 * i;
        for (int k = 0; k < 2; k++)
            range(&job, k, "iteration", from, from + 10);
        range(&job, 0, "exchange", from + 1, from + 9);
        call(&job, 0, "MPI_Recv", from + 2, from + 2 + pack, 1, 7);
        if (late_call)
            call(&job, 1, late_call, from + 2, from + 2 + pack, NVT_MPI_NONE, NVT_MPI_NONE);
        range(&job, 1, "pack", from + 2.1, from + 2 + pack);
        call(&job, 1, "MPI_Send", from + 2 + pack, from + 2.1 + pack, 0, 7);
    }
    finish(&job);
    return job;
}

static struct nvt_findings apply(struct job *job, const struct nvt_rule *rule)
{
    job->input.traces = job->inputs; /* it was moved */
    const struct nvt_case facts = {&job->input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(rule, &facts, &findings, NULL), 0);
    return findings;
}

static void places_are_told(void **state)
{
    (void)state;
    for (int files = 1; files <= 2; files++) {
        struct job job = loop(files, 4, NULL);
        char *csv = make_report("mpi_waits", job.traces, (size_t)files, NULL);
        assert_non_null(strstr(csv,
                               "Late sender,0,exchange,MPI_Recv,1,pack,,20,80000000,39.0,4000000.0,"
                               "4000000"));
        free(csv);
        end_job(&job);
    }
}

static void what_cannot_be_looked_at_is_said(void **state)
{
    (void)state;
    struct job job = loop(2, 4, NULL);
    char *note = NULL;
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "only one rank"));
    free(note);
    job.traces[0]->origin_ns = 0;
    free(make_report("mpi_waits", job.traces, 2, &note));
    assert_non_null(strstr(note, "the time of day of 1 trace is unknown"));
    free(note);
    job.traces[0]->processes.rank[0] = 2;
    free(make_report("mpi_waits", job.traces, 2, &note));
    assert_non_null(strstr(note, "2 ranks of which the last is rank 2"));
    free(note);
    end_job(&job);
    job = loop(1, 4, NULL);
    job.traces[0]->processes.rank[0] = 1;
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "several processes have the same rank"));
    free(note);
    job.traces[0]->processes.rank[0] = NVT_NONE;
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "the rank of 1 process that communicates is unknown"));
    free(note);
    end_job(&job);
}

/* 10 % of the time, and the late rank is not in MPI itself; the other rules leave it to this one. */
static void the_late_rank_is_found(void **state)
{
    (void)state;
    struct job job = loop(2, 1.05, NULL);
    struct nvt_findings findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what,
                        "late sender: rank 0 waits 10 % of its time in MPI_Recv for rank 1, which "
                        "is in range pack then");
    assert_string_equal(
        findings.items[0].evidence,
        "1 wait per iteration, 1.05 ms each, the longest 1.05 ms; it waits in range "
        "exchange");
    assert_int_equal(findings.items[0].moment_count, 3);
    assert_true(findings.items[0].cost_ns > 1.04 * MS && findings.items[0].cost_ns < 1.06 * MS);
    free(findings.items);
    const struct nvt_rule *const others[] = {&nvt_rule_mpi, &nvt_rule_ranks};
    for (size_t i = 0; i < 2; i++) {
        findings = apply(&job, others[i]);
        assert_int_equal(findings.count, 0);
        free(findings.items);
    }
    end_job(&job);
}

/* A ring: each rank works for 6 ms, rank `slow` for 14 ms, sends to the next one and receives from the one before. */
static struct job ring(int slow)
{
    struct job job = make_job(4, 1, 0);
    double sent[4], done[4] = {5, 5, 5, 5};
    init(&job);
    for (int turn = 0; turn < 30; turn++) {
        for (int i = 0; i < 4; i++) {
            sent[i] = done[i] + (i == slow ? 14 : 6);
            call(&job, i, "MPI_Isend", sent[i], sent[i] + 0.01, (i + 1) % 4, 7);
        }
        for (int i = 0; i < 4; i++) {
            const double from = sent[i] + 0.02, until = sent[(i + 3) % 4] + 0.03;
            done[i] = until > from ? until : from + 0.01;
            call(&job, i, "MPI_Recv", from, done[i], (i + 3) % 4, 7);
        }
    }
    return job;
}

/* Ranks that only pass a wait on are not blamed: it is put down to the first of the chain. */
static void waits_are_followed_to_the_first_of_a_chain(void **state)
{
    (void)state;
    for (int slow = 0; slow < 4; slow++) {
        struct job job = ring(slow);
        char expected[120];
        finish(&job);
        struct nvt_findings findings = apply(&job, &nvt_rule_late);
        assert_int_equal(findings.count, 1);
        snprintf(expected, sizeof(expected), "late sender: rank %d waits ", (slow + 1) % 4);
        assert_memory_equal(findings.items[0].what, expected, strlen(expected));
        snprintf(expected, sizeof(expected), "in MPI_Recv for rank %d, which is in no range then",
                 slow);
        assert_non_null(strstr(findings.items[0].what, expected));
        assert_non_null(
            strstr(findings.items[0].evidence, "3 of the other 3 ranks wait so for it"));
        free(findings.items);
        end_job(&job);
    }
    struct job job = ring(-1);
    finish(&job);
    struct nvt_findings findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    free(findings.items);
    end_job(&job);
}

/* Of 20 iterations each rank is late by 4 ms in some, in the same range; what a rule about ranks finds. The call: all_reduce, or
 * Wait, of which nobody knows whom it waits for. */
static size_t late_by_turns(const struct nvt_rule *rule, const char *name, int late_of_1)
{
    struct job job = make_job(2, 1, 0);
    for (int i = 0; i < 20; i++) {
        const double from = 10 + 10 * i;
        const int late = i % 10 < late_of_1;
        for (int k = 0; k < 2; k++) {
            range(&job, k, "iteration", from, from + 10);
            range(&job, k, "backward", from + 1, from + 9);
            group_call(&job, k, name, 7, 2, from + 2 + (k == late ? 4 : 0), from + 7);
        }
    }
    finish(&job);
    struct nvt_findings findings = apply(&job, rule);
    const size_t count = findings.count;
    if (count)
        assert_non_null(strstr(findings.items[0].what,
                               rule == &nvt_rule_late
                                   ? "in all_reduce for rank 1, which is in range backward then"
                                   : "rank 1 is slower than the other 1"));
    free(findings.items);
    end_job(&job);
    return count;
}

static void ranks_that_are_late_by_turns_are_not_found(void **state)
{
    (void)state;
    assert_int_equal(late_by_turns(&nvt_rule_late, "all_reduce", 10), 1);
    assert_int_equal(late_by_turns(&nvt_rule_ranks, "Wait", 10), 1);
    assert_int_equal(late_by_turns(&nvt_rule_late, "all_reduce", 8), 1);
    assert_int_equal(late_by_turns(&nvt_rule_ranks, "Wait", 9), 1);
    assert_int_equal(late_by_turns(&nvt_rule_late, "all_reduce", 7), 0);
    assert_int_equal(late_by_turns(&nvt_rule_ranks, "Wait", 7), 0);
    assert_int_equal(late_by_turns(&nvt_rule_late, "all_reduce", 6), 0);
    assert_int_equal(late_by_turns(&nvt_rule_ranks, "Wait", 6), 0);
    assert_int_equal(late_by_turns(&nvt_rule_late, "all_reduce", 5), 0);
    assert_int_equal(late_by_turns(&nvt_rule_ranks, "Wait", 5), 0);
}

/* Two that are late elsewhere are two findings, each of which names its ranks, and no sweeps. */
static void late_ranks_are_not_folded(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    init(&job);
    for (int i = 0; i < 20; i++) {
        double from = 10 + 10 * i;
        call(&job, 0, "MPI_Recv", from, from + 3.1, 1, 7);
        call(&job, 1, "MPI_Send", from + 3, from + 3.1, 0, 7);
        collective(&job, "MPI_Barrier", from + 4, 0, NVT_MPI_NONE);
    }
    finish(&job);
    struct nvt_findings findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 2);
    assert_int_equal(nvt_findings_fold(&findings, &job.input, NULL), 0);
    assert_int_equal(findings.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(findings.items[i].sweeps, 0);
        assert_non_null(strstr(findings.items[i].what, i ? "late sender: rank 0 waits "
                                                         : "wait at barrier: rank 1 waits "));
    }
    free(findings.items);
    end_job(&job);
}

/* Both count in one part of the time: the waits that one tells of, and the calls of which the other leaves them out. */
static void calls_count_where_waits_do(void **state)
{
    (void)state;
    struct job job = make_job(2, 1, 0);
    range(&job, 0, "start", 0, 20); /* of the program, long before MPI */
    for (int k = 0; k < 2; k++)
        call(&job, k, "MPI_Init", 1000, 1001, NVT_MPI_NONE, NVT_MPI_NONE);
    for (int i = 0; i < 20; i++) {
        const double from = 1010 + 10 * i;
        for (int k = 0; k < 2; k++)
            group_call(&job, k, "MPI_Allreduce", 7, 2, from + (k ? 4 : 0), from + 7);
    }
    finish(&job);
    struct nvt_findings late = apply(&job, &nvt_rule_late), mpi = apply(&job, &nvt_rule_mpi);
    assert_int_equal(late.count, 1);
    assert_int_equal(mpi.count, 1);
    assert_string_equal(late.items[0].per, mpi.items[0].per);
    assert_true(fabs(late.items[0].whole_ns - mpi.items[0].whole_ns) < MS);
    char text[32];
    double waits = 0, calls = 0, part = 0;
    assert_int_equal(sscanf(late.items[0].evidence, "%lf waits", &waits), 1);
    const char *at = strstr(mpi.items[0].evidence, "% of that time, ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "%% of that time, %lf %31s", &calls, text), 2);
    assert_true(fabs(waits - calls) < 1);
    at = strstr(mpi.items[0].evidence, "; ");
    at = at ? strstr(at + 1, " others, or for the network; ") : NULL;
    assert_non_null(at);
    assert_int_equal(sscanf(at, " others, or for the network; %lf", &part), 1);
    /* One of two ranks. */
    assert_true(fabs(part - 50 * late.items[0].cost_ns / late.items[0].whole_ns) <= 1);
    free(late.items);
    free(mpi.items);
    end_job(&job);
}

static void others_tell_what_it_does_not(void **state)
{
    (void)state;
    struct job job = loop(1, 4, "MPI_Probe"); /* that rank waits itself */
    struct nvt_findings findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    findings = apply(&job, &nvt_rule_mpi);
    assert_true(findings.count > 0);
    free(findings.items);
    end_job(&job);
    job = loop(2, 4, NULL); /* clocks that cannot be compared */
    job.traces[1]->origin_ns = 0;
    findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    findings = apply(&job, &nvt_rule_ranks);
    assert_int_equal(findings.count, 1);
    free(findings.items);
    end_job(&job);
    job = loop(1, 0.95, NULL); /* below the threshold */
    findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    end_job(&job);
}

/* Of communicators that the program made, the first collectives may be on one of some of the ranks. */
/* Two groups of torch.distributed: rank 0 is late in one and rank 2 in the other; of rank 1 the first call is not there. */
static void stragglers_are_of_their_groups(void **state)
{
    (void)state;
    struct job job = make_job(4, 4, 0);
    for (int k = 0; k < 5; k++)
        for (int i = k ? 0 : 1; i < 4; i++) {
            const double late = i % 2 ? 0 : i ? 7 : 4;
            struct nvt_mpi_call row = call_of(&job, i, "all_reduce", 20 * k + late,
                                              20 * k + (i < 2 ? 5 : 9), NVT_MPI_NONE, NVT_MPI_NONE);
            row.group = nvt_strings_add_text(trace_of(&job, i)->strings, i < 2 ? "tp0" : "tp1");
            row.communicator = i < 2 ? 70 : 71;
            row.ranks = 2;
            row.sequence_and_1 = (uint64_t)k + 1;
            assert_int_not_equal(nvt_mpi_call_add(trace_of(&job, i), &row), NVT_NONE);
        }
    finish(&job);
    char *csv = make_report("stragglers", job.traces, 4, NULL);
    assert_non_null(strstr(csv, ",4,4,100.0,0,0.0\n1,"));
    assert_non_null(strstr(csv, ",4,0,0.0,16000000,"));
    assert_non_null(strstr(csv, ",5,5,100.0,0,0.0\n3,"));
    assert_non_null(strstr(csv, ",5,0,0.0,35000000,"));
    assert_non_null(strstr(csv, "all_reduce,tp1,1,7000000,7000000,2,3\n"));
    free(csv);
    end_job(&job);
}

static void stragglers_are_of_the_communicator_of_all(void **state)
{
    (void)state;
    static const char *const makes[] = {"MPI_Comm_split", "MPI_Comm_dup"};
    for (int m = 0; m < 2; m++) {
        struct job job = make_job(2, 1, 0);
        char *note, *csv;
        init(&job);
        for (int i = 0; i < 2; i++) {
            struct nvt_mpi_call row = call_of(&job, i, makes[m], 2, 3, NVT_MPI_NONE, NVT_MPI_NONE);
            row.kind = NVT_MPI_OTHER;
            assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
            for (int k = 0; k < 3; k++) {
                row = call_of(&job, i, "MPI_Allreduce", 4 + k, 4.1 + k, NVT_MPI_NONE, NVT_MPI_NONE);
                row.communicator = 0x1234 + (uint64_t)i;
                assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
            }
        }
        for (int k = 0; k < 4; k++)
            collective(&job, "MPI_Allreduce", 10 + 10 * k, 1, NVT_MPI_NONE);
        finish(&job);
        csv = make_report("stragglers", job.traces, 1, &note);
        assert_non_null(strstr(csv, m ? ",3,0,0.0,0,0.0\n" : ",4,4,100.0,0,0.0\n"));
        assert_non_null(strstr(note, m ? "8 collective calls are left out"
                                       : "6 collective calls are left out"));
        free(csv);
        free(note);
        end_job(&job);
    }
}

/* Rank 1's host is 2 s ahead, though both claim the same time of day, and drifts by 50 ppm; rank 0 waits 5 ms for it at each barrier.
 * Known by the hosts' names, by ranks that leave before others come, or where no time of day is recorded. */
static void clocks_of_hosts_are_set_by_collectives(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct job job = make_job(2, 2, 0);
        struct nvt_mpi_waits waits = {0};
        size_t count, *numbers;
        init(&job);
        for (int k = 0; k < 40; k++)
            for (int rank = 0; rank < 2; rank++) {
                const double start = 100 * k + 5 * rank, end = 100 * k + 5.1;
                const double fast = rank && how < 3 ? 1 + 50e-6 : 1;
                const double ahead = rank && how < 3 ? 2000 : 0;
                call(&job, rank, "MPI_Barrier", ahead + fast * start, ahead + fast * end,
                     NVT_MPI_NONE, NVT_MPI_NONE);
            }
        for (int rank = 0; rank < 2; rank++) {
            if (how == 0 || how == 3)
                assert_int_equal(
                    nvt_trace_set_meta(job.traces[rank], "host", rank && how == 0 ? "b" : "a"), 0);
            if (how == 2)
                job.traces[rank]->origin_ns = 0;
        }
        finish(&job);
        numbers = nvt_input_run_numbers(&job.input, &count);
        assert_int_equal(nvt_mpi_waits_make(&waits, &job.input, numbers, 0, NULL), 0);
        assert_int_equal(waits.job.set_clocks, how < 3);
        assert_int_equal(waits.count, 40);
        for (size_t i = 0; i < waits.count; i++) {
            assert_int_equal(waits.items[i].rank, 0);
            assert_int_equal(waits.items[i].late, 1);
            assert_in_range(waits.items[i].end - waits.items[i].start, 5 * MS - 2000,
                            5 * MS + 2000);
        }
        if (how < 3)
            assert_in_range(waits.job.clock_error_ns, 0, 2000);
        nvt_mpi_waits_free(&waits);
        free(numbers);
        if (how < 2) {
            char *note = NULL, *csv = make_report("mpi_waits", job.traces, 2, &note);
            assert_non_null(strstr(note, "the clocks of 1 of 2 files are set by the ends"));
            assert_non_null(strstr(note, "apart by up to 2.00 s"));
            free(note);
            free(csv);
        }
        end_job(&job);
    }
}

/* --- nsys's ------------------------------------------------------------------------------------- */

#ifdef HAVE_SQLITE
/* As nsys 2023.4 writes them: ranks 0 and 1 of processes 66 and 67, the second of which sends 400 ns late; then one receives from
 * any rank, which has another number below zero in each MPI. */
static const char export_of_nsys[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'MPI_Send'), (2, 'MPI_Recv'), (3, 'MPI_Barrier'),"
    " (4, 'MPI_Init');"
    "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
    "INSERT INTO MPI_RANKS VALUES ((66 << 24) + 66, 0), ((67 << 24) + 67, 1);"
    "CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId "
    "INTEGER,"
    " commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER, requestHandle INTEGER);"
    "INSERT INTO MPI_P2P_EVENTS VALUES (100, 550, (66 << 24) + 66, 2, 9, 5, 1, 8, NULL),"
    " (500, 520, (67 << 24) + 67, 1, 10, 5, 0, 8, NULL),"
    " (700, 720, (66 << 24) + 66, 1, 9, 6, 1, 8, NULL),"
    " (600, 730, (67 << 24) + 67, 2, 10, 6, -2, 8, NULL);"
    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER,"
    " requestHandle INTEGER);"
    "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (800, 910, (66 << 24) + 66, 3, 9, NULL, NULL, NULL, "
    "NULL), (900, 910, (67 << 24) + 67, 3, 10, NULL, NULL, NULL, NULL);"
    "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId "
    "INTEGER);"
    "INSERT INTO MPI_OTHER_EVENTS VALUES (10, 90, (66 << 24) + 66, 4), (10, 90, (67 << 24) + 67, "
    "4);";

static void exports_of_nsys_have_waits(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "stats", "-r", "mpi_waits", "-f", "csv", kit_make_export(export_of_nsys), NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "Late sender,0,,MPI_Recv,1,,,1,400,"));
    assert_non_null(strstr(result.out, "Wait at barrier,0,,MPI_Barrier,1,,,1,100,"));
    assert_null(strstr(result.out, "Late sender,1"));
    assert_non_null(strstr(result.err, "2 sends and receives are left out"));
    cli_result_free(&result);
}
#endif

/* --- programs of MPI ---------------------------------------------------------------------------- */

static const struct {
    const char *what, *ranks, *row, *finding;
} programs[] = {
    {"late_sender", "2", "Late sender,0,exchange,MPI_Recv,1,pack,,", "late sender: rank 0 waits "},
    {"late_isender", "2", "Late sender,0,iteration,MPI_Waitall,1,pack,,",
     "late sender: rank 0 waits "},
    {"late_receiver", "2", "Late receiver,0,iteration,MPI_Send,1,pack,,",
     "late receiver: rank 0 waits "},
    {"wrong_order", "2", "Wrong order,0,iteration,MPI_Recv,1,pack,,", "wrong order: rank 0 waits "},
    {"barrier", "3", "Wait at barrier,2,iteration,MPI_Barrier,1,pack,,", "wait at barrier: rank "},
    {"nxn", "3", "Wait at N x N,2,iteration,MPI_Allreduce,1,pack,,", "wait at N x N: rank "},
    {"early_reduce", "3", "Early reduce,0,iteration,MPI_Reduce,1,pack,,", "early reduce: rank 0"},
    {"late_broadcast", "4", "Late broadcast,2,iteration,MPI_Bcast,1,pack,,",
     "late broadcast: rank "},
    {"any", "3", NULL, NULL},
};

/* Recorded in one trace, or in one of each rank. */
static void record(const char *what, const char *ranks, int is_one)
{
    struct cli_result result = cli_run((const char *const[]){
        "sh", "-c",
        /* Ranks that wait leave the processors to others. */
        is_one ? "export OMPI_MCA_mpi_yield_when_idle=1; exec \"$0\" record --trace mpi -o "
                 "\"$1/t.nvt\" -- mpirun --allow-run-as-root "
                 "--oversubscribe -n \"$3\" \"$4\" \"$2\""
               : "export OMPI_MCA_mpi_yield_when_idle=1; exec mpirun --allow-run-as-root "
                 "--oversubscribe -n \"$3\" \"$0\" record --trace "
                 "mpi -o \"$1/rank%q{OMPI_COMM_WORLD_RANK}.nvt\" -- \"$4\" \"$2\"",
        cli_built("nvtally"), cli_folder, what, ranks, cli_built("tests/mpi/waits"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static struct cli_result ask(int is_one, const char *command, const char *more)
{
    char line[256];
    snprintf(line, sizeof(line), "exec \"$0\" %s \"$1\"/%s %s", command,
             is_one ? "t.nvt" : "rank*.nvt", more);
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", line, cli_built("nvtally"), cli_folder, NULL});
    cli_expect_status(&result, 0);
    return result;
}

static void remove_recordings(void)
{
    struct cli_result removed =
        cli_run((const char *const[]){"sh", "-c", "rm -f \"$0\"/*.nvt", cli_folder, NULL});
    cli_result_free(&removed);
}

static const char told_twice[] = "told twice";

/* What is wrong with what is told of a program, NULL: nothing. */
static const char *look_at(size_t program, int is_one)
{
    const char *row = programs[program].row, *finding = programs[program].finding, *wrong = NULL;
    record(programs[program].what, programs[program].ranks, is_one);
    struct cli_result stats = ask(is_one, "stats -r mpi_waits -f csv", "");
    struct cli_result diagnosis = ask(is_one, "diagnose", "");
    if (row && !strstr(stats.out, row))
        wrong = "another wait state";
    if (!row && !strstr(stats.err, "80 sends and receives are left out"))
        wrong = "no note";
    if (finding ? !strstr(diagnosis.out, finding) || !strstr(diagnosis.out, "in range pack then")
                : strstr(diagnosis.out, "late rank") != NULL)
        wrong = "another finding";
    if (finding && (strstr(diagnosis.out, "straggler   ") || strstr(diagnosis.out, "MPI   ")))
        wrong = told_twice;
    cli_result_free(&stats);
    cli_result_free(&diagnosis);
    remove_recordings();
    return wrong;
}

/* Where other programs take the processors, once more. If they take them all the time, ranks wait for them in MPI, too, and a second
 * finding is right. */
static void programs_of_mpi_wait(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    for (size_t i = 0; i < 2 * NVT_COUNT_OF(programs); i++) {
        const char *wrong = "";
        if (i % 2 && i / 2 % 4)
            continue;
        for (int tries = 0; tries < 5 && wrong; tries++)
            wrong = look_at(i / 2, i % 2 == 0);
        if (wrong && !strcmp(wrong, told_twice) && cli_is_busy())
            print_message("%s: %s, on a busy machine\n", programs[i / 2].what, wrong);
        else if (wrong)
            fail_msg("%s: %s", programs[i / 2].what, wrong);
    }
}

/* Nobody is late, unless another program takes the processors: then once more. */
static void a_balanced_program_has_no_late_rank(void **state)
{
    (void)state;
    int is_quiet = 0;
    if (!cli_has_mpirun())
        skip();
    for (int i = 0; i < 5 && !is_quiet; i++) {
        record("balanced", "3", i % 2);
        struct cli_result result = ask(i % 2, "diagnose", "");
        is_quiet = !strstr(result.out, "late rank") && !strstr(result.out, "straggler   ") &&
                   !strstr(result.out, "MPI   ");
        cli_result_free(&result);
        remove_recordings();
    }
    if (!is_quiet && cli_is_busy())
        print_message("in none of 5 runs, on a busy machine\n");
    else
        assert_true(is_quiet);
}

/* Collectives on a part of the ranks are compared within it: its members are asked for when it is made. */
static void communicators_of_some_ranks_are_groups(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    for (int is_one = 0; is_one < 2; is_one++) {
        record("split", "4", is_one);
        struct cli_result result = ask(is_one, "stats", "-r stragglers -f csv");
        /* Two were made of the same ranks one after the other, each with 10 collectives. */
        static const char row[] = "ranks 1,3\",2,10,";
        const char *first = strstr(result.out, row);
        if (!first || !strstr(first + 1, row) || !strstr(result.out, "ranks 0,2\",2,10,"))
            fail_msg("%s\n%s", result.out, result.err);
        /* Rank 3 comes last, and rank 1 waits for it. */
        const char *late = strstr(result.out, "\n3,");
        assert_non_null(late);
        assert_non_null(strstr(result.out, "MPI_Allreduce,\"ranks 1,3\","));
        assert_null(strstr(result.err, "are left out"));
        cli_result_free(&result);
        remove_recordings();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receives_wait_for_their_sends),
        cmocka_unit_test(messages_do_not_overtake_but_by_tag),
        cmocka_unit_test(only_sends_that_go_on_wait),
        cmocka_unit_test(requests_complete_in_their_waits),
        cmocka_unit_test(who_looks_for_a_message_waits_for_it),
        cmocka_unit_test(receives_of_any_rank_are_matched_where_that_is_certain),
        cmocka_unit_test(exchanges_are_matched_where_that_is_certain),
        cmocka_unit_test(streams_with_missing_calls_are_left_out),
        cmocka_unit_test(what_starts_persistent_requests_has_missing_calls),
        cmocka_unit_test(persistent_requests_are_counted),
        cmocka_unit_test(what_cannot_be_is_left_out),
        cmocka_unit_test(communicators_are_told_apart_where_they_are_copies),
        cmocka_unit_test(collectives_wait_for_the_last),
        cmocka_unit_test(collectives_that_do_not_belong_together_are_left_out),
        cmocka_unit_test(groups_are_known_by_their_names),
        cmocka_unit_test(places_are_told),
        cmocka_unit_test(what_cannot_be_looked_at_is_said),
        cmocka_unit_test(stragglers_are_of_the_communicator_of_all),
        cmocka_unit_test(stragglers_are_of_their_groups),
        cmocka_unit_test(clocks_of_hosts_are_set_by_collectives),
        cmocka_unit_test(the_late_rank_is_found),
        cmocka_unit_test(waits_are_followed_to_the_first_of_a_chain),
        cmocka_unit_test(late_ranks_are_not_folded),
        cmocka_unit_test(ranks_that_are_late_by_turns_are_not_found),
        cmocka_unit_test(calls_count_where_waits_do),
        cmocka_unit_test(others_tell_what_it_does_not),
#ifdef HAVE_SQLITE
        cmocka_unit_test(exports_of_nsys_have_waits),
#endif
        cmocka_unit_test(programs_of_mpi_wait),
        cmocka_unit_test(a_balanced_program_has_no_late_rank),
        cmocka_unit_test(communicators_of_some_ranks_are_groups),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
