/* Who waits for whom in MPI, in made-up traces: each wait state, and what is not matched and said so. */
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
#include "mpi_job_kit.h"
#include "small_trace.h"

/* The waits of a job, as text: "state waiting late start-end", in ms, by their starts; and what is not matched. */
static void expect(struct mpi_job *job, const char *expected)
{
    struct nvt_mpi_waits waits = {0};
    char text[4096] = "";
    size_t count, used = 0, *numbers;
    mpi_job_finish(job);
    numbers = nvt_input_run_numbers(&job->input, &count);
    assert_int_equal(nvt_mpi_waits_make(&waits, &job->input, numbers, 0, NULL), 0);
    for (size_t done = 0; done < waits.count; done++) {
        size_t first = waits.count;
        for (size_t i = 0; i < waits.count; i++)
            if (waits.items[i].state < NVT_MPI_WAIT_STATES &&
                (first == waits.count ||
                 waits.items[i].start - mpi_job_at(job, (int)waits.items[i].rank, 0) <
                     waits.items[first].start - mpi_job_at(job, (int)waits.items[first].rank, 0)))
                first = i;
        struct nvt_mpi_wait *wait = &waits.items[first];
        int64_t zero = mpi_job_at(job, (int)wait->rank, 0);
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
    mpi_job_end(job);
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Two are sent late, one is there before it is wanted; of files with clocks of their own the same. */
static void receives_wait_for_their_sends(void **state)
{
    (void)state;
    for (int files = 1; files <= 2; files++) {
        struct mpi_job job = mpi_job_make(2, files, 77 * MS);
        mpi_job_init(&job);
        for (int i = 0; i < 3; i++) {
            double late = i == 1 ? 0 : 5;
            mpi_job_call(&job, 0, "MPI_Recv", 10 + 20 * i, 11 + 20 * i + late, 1, 7);
            mpi_job_call(&job, 1, "MPI_Send", 10 + 20 * i + late, 10.5 + 20 * i + late, 0, 7);
        }
        expect(&job, "Late sender 0 1 10-15\nLate sender 0 1 50-55\n");
    }
}

static void messages_do_not_overtake_but_by_tag(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 1, "MPI_Send", 10, 11, 0, 1);
    mpi_job_call(&job, 1, "MPI_Send", 20, 21, 0, 2);
    mpi_job_call(&job, 1, "MPI_Send", 30, 31, 0, 1);
    mpi_job_call(&job, 0, "MPI_Recv", 15, 22, 1, 2); /* what was sent at 10 is there already */
    mpi_job_call(&job, 0, "MPI_Recv", 23, 23.5, 1, 1);
    mpi_job_call(&job, 0, "MPI_Recv", 24, 32, 1, 1);
    expect(&job, "Wrong order 0 1 15-20\nLate sender 0 1 24-30\n");
}

/* A send that returns at once was buffered; one that cannot be is never late. */
static void only_sends_that_go_on_wait(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Send", 10, 16, 1, 7);
    mpi_job_call(&job, 1, "MPI_Recv", 15, 16, 0, 7);
    mpi_job_call(&job, 0, "MPI_Send", 20, 20.1, 1, 7);
    mpi_job_call(&job, 1, "MPI_Recv", 25, 25.1, 0, 7);
    mpi_job_call(&job, 0, "MPI_Bsend", 30, 36, 1, 7);
    mpi_job_call(&job, 1, "MPI_Recv", 35, 36, 0, 7);
    mpi_job_call(&job, 0, "MPI_Ssend", 40, 46, 1, 7);
    mpi_job_call(&job, 1, "MPI_Irecv", 45, 45.1, 0, 7);
    mpi_job_call(&job, 1, "MPI_Wait", 45.2, 46, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "Late receiver 0 1 10-15\nLate receiver 0 1 40-45\n");
}

/* Who waits later waits in that call: for the last of all, or for one if there is but one. */
static void requests_complete_in_their_waits(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(3, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Irecv", 10, 10.1, 1, 7);
    mpi_job_call(&job, 0, "MPI_Irecv", 10.2, 10.3, 2, 7);
    mpi_job_call(&job, 0, "MPI_Waitall", 11, 19, NVT_MPI_NONE, NVT_MPI_NONE);
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    mpi_job_call(&job, 2, "MPI_Send", 18, 18.1, 0, 7);
    mpi_job_call(&job, 0, "MPI_Irecv", 20, 20.1, 1, 7);
    mpi_job_call(&job, 0, "MPI_Irecv", 20.2, 20.3, 2, 7);
    mpi_job_call(&job, 0, "MPI_Wait", 21, 29, NVT_MPI_NONE, NVT_MPI_NONE); /* for which? */
    mpi_job_call(&job, 1, "MPI_Send", 25, 25.1, 0, 7);
    mpi_job_call(&job, 2, "MPI_Send", 28, 28.1, 0, 7);
    mpi_job_call(&job, 0, "MPI_Isend", 30, 30.1, 1, 7);
    mpi_job_call(&job, 0, "MPI_Wait", 31, 36, NVT_MPI_NONE, NVT_MPI_NONE);
    mpi_job_call(&job, 1, "MPI_Recv", 35, 36, 0, 7);
    mpi_job_call(&job, 0, "MPI_Irecv", 40, 40.1, 1, 7); /* it works meanwhile */
    mpi_job_call(&job, 1, "MPI_Send", 42, 42.1, 0, 7);
    mpi_job_call(&job, 0, "MPI_Wait", 45, 45.1, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "Late sender 0 2 11-18\nLate receiver 0 1 31-35\nunclear 1\n");
}

static void who_looks_for_a_message_waits_for_it(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    mpi_job_call(&job, 1, "MPI_Send", 25, 25.1, 0, 7);
    for (int i = 0; i < 2; i++) {
        mpi_job_call(&job, 0, "MPI_Probe", 10 + 10 * i, 15.2 + 10 * i, 1, 7);
        mpi_job_call(&job, 0, "MPI_Recv", 16 + 10 * i, 16.1 + 10 * i, 1, 7);
    }
    expect(&job, "Late sender 0 1 10-15\nLate sender 0 1 20-25\n");
}

/* Of any rank or tag: known where one stream alone leads there. */
static void receives_of_any_rank_are_matched_where_that_is_certain(void **state)
{
    (void)state;
    for (int senders = 1; senders < 3; senders++) {
        struct mpi_job job = mpi_job_make(3, 1, 0);
        mpi_job_init(&job);
        mpi_job_call(&job, 0, "MPI_Recv", 10, 16, NVT_MPI_ANYBODY, -1);
        mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
        mpi_job_call(&job, 0, "MPI_Recv", 20, 26, senders > 1 ? NVT_MPI_ANYBODY : 1, 7);
        mpi_job_call(&job, senders, "MPI_Send", 25, 25.1, 0, 7);
        mpi_job_call(&job, 1, "MPI_Recv", 30, 36, 2, 9); /* not to the same rank */
        mpi_job_call(&job, 2, "MPI_Send", 35, 35.1, 1, 9);
        expect(&job, senders > 1 ? "Late sender 1 2 30-35\nany 4\n"
                                 : "Late sender 0 1 10-15\nLate sender 0 1 20-25\n"
                                   "Late sender 1 2 30-35\n");
    }
}

/* What MPI_Sendrecv receives may be of any rank. */
static void exchanges_are_matched_where_that_is_certain(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Sendrecv", 10, 16, 1, 7);
    mpi_job_call(&job, 1, "MPI_Sendrecv", 15, 16, 0, 7);
    expect(&job, "Late sender 0 1 10-15\n");
    job = mpi_job_make(3, 1, 0);
    mpi_job_init(&job);
    for (int i = 0; i < 3; i++) /* to both sides */
        for (int k = 1; k < 3; k++)
            mpi_job_call(&job, i, "MPI_Sendrecv", 10 * k, 10 * k + 6, (i + k) % 3, 7);
    expect(&job, "any 12\n");
}

/* Without the calls from MPI_Init on, as many receives as sends have to be there. */
static void streams_with_missing_calls_are_left_out(void **state)
{
    (void)state;
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        struct mpi_job job = mpi_job_make(2, 1, 0);
        if (is_whole)
            mpi_job_init(&job);
        mpi_job_call(&job, 0, "MPI_Recv", 10, 16, 1, 7);
        mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
        mpi_job_call(&job, 1, "MPI_Send", 25, 25.1, 0, 7); /* nobody receives it */
        mpi_job_call(&job, 0, "MPI_Recv", 30, 36, 1, 8);
        mpi_job_call(&job, 1, "MPI_Send", 35, 35.1, 0, 8);
        expect(&job, is_whole ? "Late sender 0 1 10-15\nLate sender 0 1 30-35\nalone 1\n"
                              : "Late sender 0 1 30-35\nuneven 3\n");
    }
}

static void what_starts_persistent_requests_has_missing_calls(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 1, "MPI_Start", 5, 5.1, NVT_MPI_NONE, NVT_MPI_NONE);
    mpi_job_call(&job, 0, "MPI_Recv", 10, 16, 1, 7);
    mpi_job_call(&job, 0, "MPI_Recv", 20, 26, 1, 7);
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    expect(&job, "uneven 3\npersistent 1\n");
}

/* Nothing but the calls that start them is on record of persistent requests: who waits for one is said to be left out. */
static void persistent_requests_are_counted(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    char *note;
    mpi_job_init(&job);
    for (int i = 0; i < 2; i++) {
        mpi_job_call(&job, i, i ? "MPI_Startall" : "MPI_Start", 5 + 30 * i, 5.1 + 30 * i,
                     NVT_MPI_NONE, NVT_MPI_NONE);
        mpi_job_call(&job, i, "MPI_Wait", 6 + 30 * i, 36, NVT_MPI_NONE, NVT_MPI_NONE);
    }
    mpi_job_finish(&job);
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "note: 2 calls start persistent requests"));
    free(note);
    mpi_job_end(&job);
}

static void what_cannot_be_is_left_out(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Recv", 10, 13.9, 1, 7); /* 1.1 ms before it is sent */
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    mpi_job_call(&job, 0, "MPI_Recv", 20, 24.1, 1, 8); /* as clocks may be apart */
    mpi_job_call(&job, 1, "MPI_Send", 25, 25.1, 0, 8);
    expect(&job, "Late sender 0 1 20-24.1\nimpossible 2\n");
    job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Recv", 10, 16, 1, 7);
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 0, 7);
    job.thread[1] = small_thread(job.traces[0], 101, 999);
    mpi_job_call(&job, 1, "MPI_Send", 25, 25.1, 0, 7);
    mpi_job_call(&job, 0, "MPI_Recv", 20, 26, 1, 7);
    expect(&job, "threads 4\n");
    job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Recv", 10, 16, 5, 7); /* of nobody that is there */
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, 5, 7);
    mpi_job_call(&job, 1, "MPI_Send", 15, 15.1, NVT_MPI_NOBODY, 7);
    mpi_job_call(&job, 1, "MPI_Recv", 15, 15.1, NVT_MPI_NOBODY, 7);
    expect(&job, "alone 2\n");
}

/* Handles say nothing of who takes part: all ranks do where communicators are only copied. */
static void communicators_are_told_apart_where_they_are_copies(void **state)
{
    (void)state;
    static const char *const makes[] = {"MPI_Comm_dup", "MPI_Comm_split"};
    for (int uneven = 0; uneven < 2; uneven++)
        for (int m = 0; m < 2; m++) {
            struct mpi_job job = mpi_job_make(2, 1, 0);
            mpi_job_init(&job);
            for (int i = 0; i < 2; i++) {
                struct nvt_mpi_call row =
                    mpi_job_call_of(&job, i, makes[m], 2, 3, NVT_MPI_NONE, NVT_MPI_NONE);
                row.kind = NVT_MPI_OTHER;
                assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
                for (int k = 0; k < 2 + (uneven && i); k++) {
                    static const char *const names[] = {"MPI_Recv", "MPI_Send", "MPI_Send"};
                    row = mpi_job_call_of(&job, i, k == 1 ? "MPI_Barrier" : names[i],
                                          10 + 5 * i + 10 * k, 16 + 10 * k, 1 - i, 7);
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

static void collectives_wait_for_the_last(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(3, 3, -3 * MS);
    mpi_job_init(&job);
    mpi_job_collective(&job, "MPI_Barrier", 10, 1, NVT_MPI_NONE);
    mpi_job_collective(&job, "MPI_Allreduce", 20, 2, NVT_MPI_NONE);
    mpi_job_collective(&job, "MPI_Reduce", 30, 2, 0);
    mpi_job_collective(&job, "MPI_Bcast", 40, 1, 1);
    mpi_job_collective(&job, "MPI_Scan", 50, 1, NVT_MPI_NONE);
    mpi_job_collective(&job, "MPI_Reduce", 60, 0, 0); /* the root itself is the last */
    expect(&job, "Wait at barrier 0 1 10-15\nWait at barrier 2 1 12-15\n"
                 "Wait at N x N 0 2 20-25\nWait at N x N 1 2 21-25\n"
                 "Early reduce 0 2 30-35\n"
                 "Late broadcast 0 1 40-45\nLate broadcast 2 1 42-45\n");
}

static void collectives_that_do_not_belong_together_are_left_out(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    mpi_job_collective(&job, "MPI_Barrier", 10, 1, NVT_MPI_NONE);
    mpi_job_collective(&job, "MPI_Iallreduce", 20, 1, NVT_MPI_NONE);
    mpi_job_call(&job, 0, "MPI_Bcast", 30, 36, 0, NVT_MPI_NONE); /* they name different roots */
    mpi_job_call(&job, 1, "MPI_Bcast", 35, 36, 1, NVT_MPI_NONE);
    mpi_job_call(&job, 0, "MPI_Barrier", 40, 46, NVT_MPI_NONE, NVT_MPI_NONE);
    mpi_job_call(&job, 1, "MPI_Allreduce", 45, 46, NVT_MPI_NONE, NVT_MPI_NONE);
    mpi_job_collective(&job, "MPI_Barrier", 50, 1, NVT_MPI_NONE);
    expect(&job, "Wait at barrier 0 1 10-15\nlater 2\napart 6\n");
    job = mpi_job_make(2, 1, 0); /* one of them is not there from the first on */
    mpi_job_collective(&job, "MPI_Barrier", 10, 1, NVT_MPI_NONE);
    mpi_job_call(&job, 1, "MPI_Barrier", 20, 26, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "apart 3\n");
    job = mpi_job_make(2, 1, 0); /* it leaves before the last has come */
    mpi_job_init(&job);
    mpi_job_call(&job, 0, "MPI_Barrier", 10, 11, NVT_MPI_NONE, NVT_MPI_NONE);
    mpi_job_call(&job, 1, "MPI_Barrier", 15, 16, NVT_MPI_NONE, NVT_MPI_NONE);
    expect(&job, "apart 2\n");
}

/* Two pairs and all of them, in whatever order each rank uses them; of a third pair one rank is not there. */
static void groups_are_known_by_their_names(void **state)
{
    enum { ALL = 7, FIRST, SECOND, THIRD };
    (void)state;
    struct mpi_job job = mpi_job_make(4, 4, 2 * MS);
    for (int i = 0; i < 4; i++) {
        const int is_late = i == 3;
        if (i % 2)
            mpi_job_group_call(&job, i, "barrier", ALL, 4, 10 + i, 15);
        mpi_job_group_call(&job, i, "all_reduce", i < 2 ? FIRST : SECOND, 2, 20 + 5 * is_late, 27);
        mpi_job_group_call(&job, i, "all_reduce", i < 2 ? FIRST : SECOND, 2, 30 + 5 * is_late, 37);
        if (!(i % 2))
            mpi_job_group_call(&job, i, "barrier", ALL, 4, 40 + i, 45);
        if (i == 1)
            mpi_job_group_call(&job, i, "all_reduce", THIRD, 2, 50, 51);
    }
    expect(&job, "Wait at N x N 2 3 20-25\nWait at N x N 2 3 30-35\napart 5\n");
    job = mpi_job_make(3, 1, 0);
    for (int i = 0; i < 3; i++)
        mpi_job_group_call(&job, i, "barrier", ALL, 3, 10 + i, 15);
    expect(&job, "Wait at barrier 0 2 10-12\nWait at barrier 1 2 11-12\n");
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
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
