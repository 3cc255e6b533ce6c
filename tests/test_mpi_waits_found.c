/*
 * What is made of the waits in MPI: the report, the finding, which leaves a balanced program alone, stragglers of
 * communicators, and clocks of hosts; of our traces and of nsys's.
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
#include "../analyze/input/also_recorded.h"
#include "../analyze/input/ranks.h"
#include "cli.h"
#include "made_trace.h"
#include "mpi_job_kit.h"
#include "read_kit.h"
#include "small_trace.h"

static void range(const struct mpi_job *job, int rank, const char *name, double start, double end)
{
    small_range(mpi_job_trace(job, rank), job->thread[rank], "", name, mpi_job_at(job, rank, start),
                mpi_job_at(job, rank, end), NVT_PUSH_POP);
}

/* --- the report and the finding ----------------------------------------------------------------- */

/* Iterations of 10 ms, in which rank 1 is in a range for so long before it sends. */
static struct mpi_job loop(int files, double pack, const char *late_call)
{
    struct mpi_job job = mpi_job_make(2, files, 5 * MS);
    mpi_job_init(&job);
    for (int i = 0; i < 20; i++) {
        double from = 10 + 10 * i;
        for (int k = 0; k < 2; k++)
            range(&job, k, "iteration", from, from + 10);
        range(&job, 0, "exchange", from + 1, from + 9);
        mpi_job_call(&job, 0, "MPI_Recv", from + 2, from + 2 + pack, 1, 7);
        if (late_call)
            mpi_job_call(&job, 1, late_call, from + 2, from + 2 + pack, NVT_MPI_NONE, NVT_MPI_NONE);
        range(&job, 1, "pack", from + 2.1, from + 2 + pack);
        mpi_job_call(&job, 1, "MPI_Send", from + 2 + pack, from + 2.1 + pack, 0, 7);
    }
    mpi_job_finish(&job);
    return job;
}

static struct nvt_findings apply(struct mpi_job *job, const struct nvt_rule *rule)
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
        struct mpi_job job = loop(files, 4, NULL);
        char *csv = make_report("mpi_waits", job.traces, (size_t)files, NULL);
        assert_non_null(strstr(csv,
                               "Late sender,0,exchange,MPI_Recv,1,pack,,20,80000000,39.0,4000000.0,"
                               "4000000"));
        free(csv);
        mpi_job_end(&job);
    }
}

static void what_cannot_be_looked_at_is_said(void **state)
{
    (void)state;
    struct mpi_job job = loop(2, 4, NULL);
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
    mpi_job_end(&job);
    job = loop(1, 4, NULL);
    job.traces[0]->processes.rank[0] = 1;
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "several processes have the same rank"));
    free(note);
    job.traces[0]->processes.rank[0] = NVT_NONE;
    free(make_report("mpi_waits", job.traces, 1, &note));
    assert_non_null(strstr(note, "the rank of 1 process that communicates is unknown"));
    free(note);
    mpi_job_end(&job);
}

/* 10 % of the time, and the late rank is not in MPI itself; the other rules leave it to this one. */
static void the_late_rank_is_found(void **state)
{
    (void)state;
    struct mpi_job job = loop(2, 1.05, NULL);
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
    mpi_job_end(&job);
}

/* A ring: each rank works for 6 ms, rank `slow` for 14 ms, sends to the next one and receives from the one before. */
static struct mpi_job ring(int slow)
{
    struct mpi_job job = mpi_job_make(4, 1, 0);
    double sent[4], done[4] = {5, 5, 5, 5};
    mpi_job_init(&job);
    for (int turn = 0; turn < 30; turn++) {
        for (int i = 0; i < 4; i++) {
            sent[i] = done[i] + (i == slow ? 14 : 6);
            mpi_job_call(&job, i, "MPI_Isend", sent[i], sent[i] + 0.01, (i + 1) % 4, 7);
        }
        for (int i = 0; i < 4; i++) {
            const double from = sent[i] + 0.02, until = sent[(i + 3) % 4] + 0.03;
            done[i] = until > from ? until : from + 0.01;
            mpi_job_call(&job, i, "MPI_Recv", from, done[i], (i + 3) % 4, 7);
        }
    }
    return job;
}

/* Ranks that only pass a wait on are not blamed: it is put down to the first of the chain. */
static void waits_are_followed_to_the_first_of_a_chain(void **state)
{
    (void)state;
    for (int slow = 0; slow < 4; slow++) {
        struct mpi_job job = ring(slow);
        char expected[120];
        mpi_job_finish(&job);
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
        mpi_job_end(&job);
    }
    struct mpi_job job = ring(-1);
    mpi_job_finish(&job);
    struct nvt_findings findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    free(findings.items);
    mpi_job_end(&job);
}

/* Of 20 iterations each rank is late by 4 ms in some, in the same range; what a rule about ranks finds. The call: all_reduce, or
 * Wait, of which nobody knows whom it waits for. */
static size_t late_by_turns(const struct nvt_rule *rule, const char *name, int late_of_1)
{
    struct mpi_job job = mpi_job_make(2, 1, 0);
    for (int i = 0; i < 20; i++) {
        const double from = 10 + 10 * i;
        const int late = i % 10 < late_of_1;
        for (int k = 0; k < 2; k++) {
            range(&job, k, "iteration", from, from + 10);
            range(&job, k, "backward", from + 1, from + 9);
            mpi_job_group_call(&job, k, name, 7, 2, from + 2 + (k == late ? 4 : 0), from + 7);
        }
    }
    mpi_job_finish(&job);
    struct nvt_findings findings = apply(&job, rule);
    const size_t count = findings.count;
    if (count)
        assert_non_null(strstr(findings.items[0].what,
                               rule == &nvt_rule_late
                                   ? "in all_reduce for rank 1, which is in range backward then"
                                   : "rank 1 is slower than the other 1"));
    free(findings.items);
    mpi_job_end(&job);
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
    struct mpi_job job = mpi_job_make(2, 1, 0);
    mpi_job_init(&job);
    for (int i = 0; i < 20; i++) {
        double from = 10 + 10 * i;
        mpi_job_call(&job, 0, "MPI_Recv", from, from + 3.1, 1, 7);
        mpi_job_call(&job, 1, "MPI_Send", from + 3, from + 3.1, 0, 7);
        mpi_job_collective(&job, "MPI_Barrier", from + 4, 0, NVT_MPI_NONE);
    }
    mpi_job_finish(&job);
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
    mpi_job_end(&job);
}

/* Both count in one part of the time: the waits that one tells of, and the calls of which the other leaves them out. */
static void calls_count_where_waits_do(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(2, 1, 0);
    range(&job, 0, "start", 0, 20); /* of the program, long before MPI */
    for (int k = 0; k < 2; k++)
        mpi_job_call(&job, k, "MPI_Init", 1000, 1001, NVT_MPI_NONE, NVT_MPI_NONE);
    for (int i = 0; i < 20; i++) {
        const double from = 1010 + 10 * i;
        for (int k = 0; k < 2; k++)
            mpi_job_group_call(&job, k, "MPI_Allreduce", 7, 2, from + (k ? 4 : 0), from + 7);
    }
    mpi_job_finish(&job);
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
    mpi_job_end(&job);
}

static void others_tell_what_it_does_not(void **state)
{
    (void)state;
    struct mpi_job job = loop(1, 4, "MPI_Probe"); /* that rank waits itself */
    struct nvt_findings findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    findings = apply(&job, &nvt_rule_mpi);
    assert_true(findings.count > 0);
    free(findings.items);
    mpi_job_end(&job);
    job = loop(2, 4, NULL); /* clocks that cannot be compared */
    job.traces[1]->origin_ns = 0;
    findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    findings = apply(&job, &nvt_rule_ranks);
    assert_int_equal(findings.count, 1);
    free(findings.items);
    mpi_job_end(&job);
    job = loop(1, 0.95, NULL); /* below the threshold */
    findings = apply(&job, &nvt_rule_late);
    assert_int_equal(findings.count, 0);
    mpi_job_end(&job);
}

/* Of communicators that the program made, the first collectives may be on one of some of the ranks. */
/* Two groups of torch.distributed: rank 0 is late in one and rank 2 in the other; of rank 1 the first call is not there. */
static void stragglers_are_of_their_groups(void **state)
{
    (void)state;
    struct mpi_job job = mpi_job_make(4, 4, 0);
    for (int k = 0; k < 5; k++)
        for (int i = k ? 0 : 1; i < 4; i++) {
            const double late = i % 2 ? 0 : i ? 7 : 4;
            struct nvt_mpi_call row =
                mpi_job_call_of(&job, i, "all_reduce", 20 * k + late, 20 * k + (i < 2 ? 5 : 9),
                                NVT_MPI_NONE, NVT_MPI_NONE);
            row.group =
                nvt_strings_add_text(mpi_job_trace(&job, i)->strings, i < 2 ? "tp0" : "tp1");
            row.communicator = i < 2 ? 70 : 71;
            row.ranks = 2;
            row.sequence_and_1 = (uint64_t)k + 1;
            assert_int_not_equal(nvt_mpi_call_add(mpi_job_trace(&job, i), &row), NVT_NONE);
        }
    mpi_job_finish(&job);
    char *csv = make_report("stragglers", job.traces, 4, NULL);
    assert_non_null(strstr(csv, ",4,4,100.0,0,0.0\n1,"));
    assert_non_null(strstr(csv, ",4,0,0.0,16000000,"));
    assert_non_null(strstr(csv, ",5,5,100.0,0,0.0\n3,"));
    assert_non_null(strstr(csv, ",5,0,0.0,35000000,"));
    assert_non_null(strstr(csv, "all_reduce,tp1,1,7000000,7000000,2,3\n"));
    free(csv);
    /* They are not called what they are none of. */
    struct nvt_input_trace given = {.trace = job.traces[0]};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    nvt_note_kinds(&input);
    assert_non_null(
        memmem(input.notes.data, input.notes.size, "also recorded: torch.distributed calls", 38));
    nvt_buffer_free(&input.notes);
    mpi_job_end(&job);
}

static void stragglers_are_of_the_communicator_of_all(void **state)
{
    (void)state;
    static const char *const makes[] = {"MPI_Comm_split", "MPI_Comm_dup"};
    for (int m = 0; m < 2; m++) {
        struct mpi_job job = mpi_job_make(2, 1, 0);
        char *note, *csv;
        mpi_job_init(&job);
        for (int i = 0; i < 2; i++) {
            struct nvt_mpi_call row =
                mpi_job_call_of(&job, i, makes[m], 2, 3, NVT_MPI_NONE, NVT_MPI_NONE);
            row.kind = NVT_MPI_OTHER;
            assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
            for (int k = 0; k < 3; k++) {
                row = mpi_job_call_of(&job, i, "MPI_Allreduce", 4 + k, 4.1 + k, NVT_MPI_NONE,
                                      NVT_MPI_NONE);
                row.communicator = 0x1234 + (uint64_t)i;
                assert_int_not_equal(nvt_mpi_call_add(job.traces[0], &row), NVT_NONE);
            }
        }
        for (int k = 0; k < 4; k++)
            mpi_job_collective(&job, "MPI_Allreduce", 10 + 10 * k, 1, NVT_MPI_NONE);
        mpi_job_finish(&job);
        csv = make_report("stragglers", job.traces, 1, &note);
        assert_non_null(strstr(csv, m ? ",3,0,0.0,0,0.0\n" : ",4,4,100.0,0,0.0\n"));
        assert_non_null(strstr(note, m ? "8 collective calls are left out"
                                       : "6 collective calls are left out"));
        free(csv);
        free(note);
        mpi_job_end(&job);
    }
}

/* Rank 1's host is 2 s ahead, though both claim the same time of day, and drifts by 50 ppm; rank 0 waits 5 ms for it at each barrier.
 * Known by the hosts' names, by ranks that leave before others come, or where no time of day is recorded. */
static void clocks_of_hosts_are_set_by_collectives(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct mpi_job job = mpi_job_make(2, 2, 0);
        struct nvt_mpi_waits waits = {0};
        size_t count, *numbers;
        mpi_job_init(&job);
        for (int k = 0; k < 40; k++)
            for (int rank = 0; rank < 2; rank++) {
                const double start = 100 * k + 5 * rank, end = 100 * k + 5.1;
                const double fast = rank && how < 3 ? 1 + 50e-6 : 1;
                const double ahead = rank && how < 3 ? 2000 : 0;
                mpi_job_call(&job, rank, "MPI_Barrier", ahead + fast * start, ahead + fast * end,
                             NVT_MPI_NONE, NVT_MPI_NONE);
            }
        for (int rank = 0; rank < 2; rank++) {
            if (how == 0 || how == 3)
                assert_int_equal(
                    nvt_trace_set_meta(job.traces[rank], "host", rank && how == 0 ? "b" : "a"), 0);
            if (how == 2)
                job.traces[rank]->origin_ns = 0;
        }
        mpi_job_finish(&job);
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
        mpi_job_end(&job);
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
int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
