/*
 * Calls of MPI: recorded by the library in front of it, of a stand-in that shows what it was called with and of Open MPI where
 * that is installed; and read from exports of nsys.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/layout.h"
#include "../lib/count_of.h"
#include "../lib/mpi_payload.h"
#include "cli.h"
#include "read_kit.h"

static char *recording;

static int set_up(void **state)
{
    int status = cli_folder_set_up(state);
    recording = strdup(cli_in(cli_folder, "t.nvt"));
    return status;
}

static int tear_down(void **state)
{
    free(recording);
    return cli_folder_tear_down(state);
}

/* What the program prints when it is recorded; the caller's. */
static char *record(const char *what, const char *more)
{
    const char *const environment[] = {"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=1", NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(
        &options, (const char *const[]){"nvtally", "record", "--trace", "mpi", "-o", recording,
                                        "--", cli_built("tests/mpi/program"), what, more, NULL});
    cli_expect_status(&result, 0);
    char *out = result.out;
    result.out = NULL;
    cli_result_free(&result);
    return out;
}

/* A report, "name,…" of the recording or another file, as csv; the caller's. */
static char *report(const char *name, const char *path)
{
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "stats", "-r", name, "-f", "csv", path, NULL});
    cli_expect_status(&result, 0);
    char *out = result.out;
    result.out = NULL;
    cli_result_free(&result);
    return out;
}

/* --- recorded ----------------------------------------------------------------------------------- */

/* Every function gets all of its arguments as they were, and what it returns comes back. */
static void calls_go_through(void **state)
{
    (void)state;
    struct cli_result alone =
        cli_run((const char *const[]){cli_built("tests/mpi/program"), "all", NULL});
    cli_expect_status(&alone, 0);
    char *recorded = record("all", NULL);
    assert_string_equal(alone.out, recorded);
    struct nvt_trace *trace = kit_read(recording);
    size_t lines = 0;
    for (const char *at = alone.out; (at = strstr(at, "\n= ")); at++)
        lines++;
    assert_true(lines > 80);
    assert_int_equal(trace->mpi_calls.count, lines);
    nvt_trace_free(trace);
    free(recorded);
    cli_result_free(&alone);
}

static void fortran_goes_through(void **state)
{
    (void)state;
    struct cli_result alone =
        cli_run((const char *const[]){cli_built("tests/mpi/program"), "fortran", NULL});
    char *recorded = record("fortran", NULL);
    assert_string_equal(alone.out, recorded);
    assert_non_null(strstr(recorded, "mpi_send_ 1 10 3 2 9 5 77\n= 77\n"));
    struct nvt_trace *trace = kit_read(recording);
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    assert_int_equal(calls->count, 3);
    assert_string_equal(nvt_name(trace, calls->name[1]), "MPI_Send");
    assert_int_equal(calls->peer[1], 2);
    assert_int_equal(calls->tag[1], 9);
    assert_true(calls->sent[1] == UINT64_MAX); /* types are other numbers there */
    nvt_trace_free(trace);
    free(recorded);
    cli_result_free(&alone);
}

/* What the rank itself gives and gets: of a collective of four ranks. */
static void calls_say_how_much(void **state)
{
    static const struct {
        const char *name;
        uint64_t sent, received;
        int32_t peer, tag;
        uint8_t kind;
    } expected[] = {
        {"MPI_Init", UINT64_MAX, UINT64_MAX, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_OTHER},
        {"MPI_Send", 80, UINT64_MAX, 3, 42, NVT_MPI_P2P},
        {"MPI_Send", 40000000000, UINT64_MAX, 3, 42, NVT_MPI_P2P},
        {"MPI_Recv", UINT64_MAX, 40, 2, -1, NVT_MPI_P2P},
        {"MPI_Sendrecv", 80, 80, 3, 42, NVT_MPI_P2P},
        {"MPI_Send", 0, UINT64_MAX, NVT_MPI_NOBODY, 42, NVT_MPI_P2P},
        {"MPI_Recv", UINT64_MAX, 40, NVT_MPI_ANYBODY, -1, NVT_MPI_P2P},
        {"MPI_Exscan", 80, UINT64_MAX, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Exscan", 80, 80, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Bcast", 80, UINT64_MAX, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Bcast", UINT64_MAX, 80, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Reduce", 80, UINT64_MAX, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Reduce", 80, 80, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Allreduce", 80, 80, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Gather", 80, UINT64_MAX, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Gather", UINT64_MAX, 320, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Scatter", UINT64_MAX, 80, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Scatter", 320, UINT64_MAX, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Allgather", 80, 320, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Alltoall", 320, 320, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Reduce_scatter_block", 320, 80, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Reduce", UINT64_MAX, UINT64_MAX, 0, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Barrier", UINT64_MAX, UINT64_MAX, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_COLLECTIVE},
        {"MPI_Waitall", UINT64_MAX, UINT64_MAX, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_WAIT},
        {"MPI_Finalize", UINT64_MAX, UINT64_MAX, NVT_MPI_NONE, NVT_MPI_NONE, NVT_MPI_OTHER},
    };
    const size_t count = NVT_COUNT_OF(expected);
    const char *column;
    uint32_t row;
    (void)state;
    free(record("sizes", NULL));
    struct nvt_trace *trace = kit_read(recording);
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    assert_int_equal(calls->count, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = nvt_name(trace, calls->name[i]);
        assert_string_equal(name, expected[i].name);
        if (calls->sent[i] != expected[i].sent || calls->received[i] != expected[i].received)
            fail_msg("call %u, %s: %lld sent, %lld received", i, name, (long long)calls->sent[i],
                     (long long)calls->received[i]);
        assert_int_equal(calls->peer[i], expected[i].peer);
        assert_int_equal(calls->tag[i], expected[i].tag);
        assert_int_equal(calls->kind[i], expected[i].kind);
        assert_int_equal(calls->flags[i], 0);
    }
    /* They are no ranges any more, and the process has its rank. */
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->processes.rank[trace->threads.process[calls->thread[0]]], 3);
    assert_null(nvt_layout_check(trace, &column, &row));
    nvt_trace_free(trace);
}

/* MPI itself is asked of nothing that it has called wrong: that would end the program. */
static void wrong_arguments_are_left_to_mpi(void **state)
{
    (void)state;
    char *out = record("errors", NULL);
    assert_string_equal(out, "MPI_Send 100 10 0 3 42 0\nMPI_Allreduce 100 200 10 0 5 0\n"
                             "MPI_Allgather 1 0 0 200 10 0 0\n");
    struct nvt_trace *trace = kit_read(recording);
    assert_int_equal(trace->mpi_calls.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(trace->mpi_calls.sent[i] == UINT64_MAX &&
                    trace->mpi_calls.received[i] == UINT64_MAX);
    nvt_trace_free(trace);
    free(out);
}

/* Who jumps out of a call is out of it when the next one begins. */
static void calls_that_were_left_end(void **state)
{
    static const char *const names[] = {"MPI_Recv", "MPI_Send", "MPI_Recv", "MPI_Barrier"};
    (void)state;
    free(record("jump", NULL));
    struct nvt_trace *trace = kit_read(recording);
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    assert_int_equal(calls->count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(nvt_name(trace, calls->name[i]), names[i]);
        assert_true(!i || calls->start[i] >= calls->end[i - 1]);
        assert_int_equal(calls->flags[i], 0);
    }
    nvt_trace_free(trace);
}

static void ranges_have_their_calls(void **state)
{
    (void)state;
    free(record("sizes", NULL));
    char *by_range = report("nvtx_mpi_sum", recording), *by_rank = report("mpi_ranks", recording);
    char *by_peer = report("mpi_peers", recording);
    assert_non_null(strstr(by_range, ":step,MPI_Allgather,1,"));
    assert_null(strstr(by_range, "\n,MPI_"));
    /* To nobody nothing goes; what comes from anybody has no peer. */
    static const char *const rows[] = {",1,2,0,0.000,1,0.000,", ",1,3,3,40000.000,0,0.000,",
                                       ",1,,0,0.000,1,0.000,"};
    const char *row = by_peer;
    size_t lines = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(rows); i++) {
        row = strstr(row, rows[i]);
        assert_non_null(row);
    }
    for (const char *at = by_peer; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 4);
    /* Between MPI_Init and MPI_Finalize. */
    assert_non_null(strstr(by_rank, "\n3,t.nvt,"));
    assert_non_null(strstr(by_rank, ",23,"));
    /* Without MPI the reports that follow threads while they are read stay as they are. */
    char *kernels = report("nvtx_gpu_proj_sum", recording);
    assert_null(strstr(kernels, "MPI_"));
    free(kernels);
    free(by_range);
    free(by_rank);
    free(by_peer);
}

/* A program that asks whether MPI has a function gets MPI's own answer. */
static void what_mpi_lacks_is_not_there(void **state)
{
    (void)state;
    char *out = record("weak", NULL);
    assert_string_equal(out, "MPI_Send_c 1 MPI_Session_flush_buffer 0\n");
    free(out);
}

/* What goes past the library in front of MPI is told, and not what could have been called. */
static void calls_past_it_are_noted(void **state)
{
    (void)state;
    free(record("past", NULL));
    struct nvt_trace *trace = kit_read(recording);
    assert_int_equal(trace->mpi_calls.count, 2);
    assert_non_null(trace->notes);
    assert_non_null(strstr(trace->notes, "MPI calls that are not recorded: "));
    assert_non_null(strstr(trace->notes, "PMPI_Send"));
    assert_non_null(strstr(trace->notes, "MPIX_Made"));
    assert_null(strstr(trace->notes, "PMPI_Barrier"));
    assert_int_equal(trace->marks.count, 0);
    nvt_trace_free(trace);
    free(record("sizes", NULL));
    trace = kit_read(recording);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void an_mpi_of_a_library_is_found(void **state)
{
    (void)state;
    char *out = record("local", cli_built("tests/mpi/libplugin.so"));
    assert_string_equal(out, "MPI_Barrier 20\nMPI_Comm_free 5\n");
    struct nvt_trace *trace = kit_read(recording);
    assert_int_equal(trace->mpi_calls.count, 1);
    nvt_trace_free(trace);
    free(out);
}

/* Whoever looks for the call that a program hangs in finds it. */
static void a_call_that_never_returns_is_told(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "--trace", "mpi", "-o", recording, "--", "env",
        "OMPI_COMM_WORLD_RANK=3", cli_built("tests/mpi/program"), "hang", NULL});
    assert_int_equal(result.signal, SIGKILL); /* as its command */
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "stats", recording, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "(rank 3) ended within: step ("));
    const char *call = strstr(result.err, ") > MPI_Recv (");
    assert_non_null(call);
    assert_non_null(strstr(call, ") > operator ("));
    assert_non_null(strstr(result.err, "also recorded: MPI calls\n"));
    cli_result_free(&result);
    struct nvt_trace *trace = kit_read(recording);
    assert_int_equal(trace->mpi_calls.flags[trace->mpi_calls.count - 1], NVT_RANGE_UNCLOSED);
    assert_int_equal(trace->mpi_calls.peer[trace->mpi_calls.count - 1], 2);
    nvt_trace_free(trace);
}

/* A program without MPI runs as ever. */
static void programs_without_it_are_left_alone(void **state)
{
    /* A client with AddressSanitizer wants to come first. */
    const char *const environment[] = {"ASAN_OPTIONS=verify_asan_link_order=0", NULL};
    const struct cli_options options = {.environment = environment};
    (void)state;
    struct cli_result result = cli_run_with(
        &options, (const char *const[]){"nvtally", "record", "--trace", "mpi", "-o", recording,
                                        "--", cli_client("everything"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = kit_read(recording);
    assert_int_equal(trace->mpi_calls.count, 0);
    assert_true(trace->ranges.count > 3);
    nvt_trace_free(trace);
}

static void no_call_at_all_is_told(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){"nvtally", "record", "--trace", "mpi",
                                                             "-o", recording, "--", "true", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "no MPI calls were recorded"));
    cli_result_free(&result);
}

/* Where the loader would take a path for two. */
static void a_path_that_cannot_be_preloaded_is_told(void **state)
{
    (void)state;
    char *folder = strdup(cli_in(cli_folder, "a blank")), variable[4200];
    const char *const environment[] = {variable, NULL};
    const struct cli_options options = {.environment = environment};
    snprintf(variable, sizeof(variable), "NVTALLY_LIBDIR=%s", folder);
    static const char copy[] = "mkdir \"$1\" && cp \"$0\"/libnvtally-*.so \"$1\"";
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", copy, cli_built(""), folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run_with(&options, (const char *const[]){"nvtally", "record", "--trace", "mpi",
                                                          "-o", recording, "--", "true", NULL});
    cli_expect_failure(&result, "LD_PRELOAD takes no path with a blank");
    cli_result_free(&result);
    free(folder);
}

/* --- nsys's ------------------------------------------------------------------------------------- */

#ifdef HAVE_SQLITE
/* As nsys 2023.4 writes them: process 66, thread 66, rank 1. */
static const char export_of_nsys[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'MPI_Send'), (2, 'MPI_Irecv'), (3, 'MPI_Allreduce'),"
    " (4, 'MPI_Waitall'), (5, 'MPI_Init'), (6, 'MPI_Bcast'), (7, 'MPI_Recv'), (8, "
    "'MPI_Sendrecv');"
    "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
    "INSERT INTO MPI_RANKS VALUES ((66 << 24) + 66, 1);"
    "CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId "
    "INTEGER,"
    " commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER, requestHandle INTEGER);"
    "INSERT INTO MPI_P2P_EVENTS VALUES (100, 150, (66 << 24) + 66, 1, 9, 5, 0, 4000000, NULL),"
    " (160, 170, (66 << 24) + 66, 2, 9, -1, -1, 8, 1), (180, 180, (66 << 24) + 66, 8, 9, 3, 0, "
    "4000, "
    "NULL),"
    " (180, 190, (66 << 24) + 66, 8, 9, 3, 2, 6000, NULL), (900, NULL, (66 << 24) + 66, 7, 9, 0, "
    "0, 8, "
    "NULL);"
    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER,"
    " requestHandle INTEGER);"
    "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (200, 300, (66 << 24) + 66, 3, 9, NULL, 16000, "
    "16000, NULL),"
    " (400, 450, (66 << 24) + 66, 6, 9, 0, 800, NULL, NULL);"
    "CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, requestHandle INTEGER);"
    "INSERT INTO MPI_START_WAIT_EVENTS VALUES (310, 390, (66 << 24) + 66, 4, 1),"
    " (310, 390, (66 << 24) + 66, 4, 2);"
    "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId "
    "INTEGER);"
    "INSERT INTO MPI_OTHER_EVENTS VALUES (10, 90, (66 << 24) + 66, 5);";

/* A wait of two requests is one call, so is one that sends to one and gets from another; the call that never ended lasts until the last that is known. */
static void nsys_exports_are_read(void **state)
{
    (void)state;
    const char *path = kit_make_export(export_of_nsys);
    char *calls = report("mpi_event_trace", path), *names = report("mpi_event_sum", path);
    assert_string_equal(
        calls,
        "Start (ns),End (ns),Duration (ns),Event,Pid,Tid,Tag,Rank,PeerRank,RootRank,Size (MB),"
        "CollSendSize (MB),CollRecvSize (MB)\n"
        "10,90,80,MPI_Init,66,66,,1,,,,,\n"
        "100,150,50,MPI_Send,66,66,5,1,0,,4.000,,\n"
        "160,170,10,MPI_Irecv,66,66,-1,1,-1,,0.000,,\n"
        "180,190,10,MPI_Sendrecv,66,66,3,1,0,,0.004,,\n"
        "200,300,100,MPI_Allreduce,66,66,,1,,,,0.016,0.016\n"
        "310,390,80,MPI_Waitall,66,66,,1,,,,,\n"
        "400,450,50,MPI_Bcast,66,66,,1,,0,,0.001,\n"
        "900,900,0,MPI_Recv,66,66,0,1,0,,0.000,,\n");
    assert_non_null(strstr(names, "26.3,100,1,100.0,100.0,100,100,0.0,MPI_Allreduce\n"));
    free(calls);
    free(names);
}

static void nsys_exports_come_back(void **state)
{
    (void)state;
    char *again = strdup(cli_in(cli_folder, "again.sqlite"));
    char *path = strdup(kit_make_export(export_of_nsys));
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "export", "--to", "sqlite", "-o", again, path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *before = report("mpi_event_trace", path), *after = report("mpi_event_trace", again);
    assert_string_equal(before, after);
    free(before);
    free(after);
    free(again);
    free(path);
}

/* Two threads of rank 1 are in MPI at once, and it never comes out of its last call; a range of the name lies in another;
 * two collectives are on a part of the ranks. */
static const char threads_of_nsys[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'MPI_Allreduce'), (2, 'step');"
    "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
    "INSERT INTO MPI_RANKS VALUES ((66 << 24) + 66, 1), ((65 << 24) + 65, 0);"
    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER,"
    " requestHandle INTEGER);"
    "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES"
    " (100, 200, (66 << 24) + 66, 1, 9, NULL, 8, 8, NULL),"
    " (150, 300, (66 << 24) + 67, 1, 7, NULL, 8, 8, NULL),"
    " (400, 500, (66 << 24) + 66, 1, 9, NULL, 8, 8, NULL),"
    " (700, NULL, (66 << 24) + 66, 1, 9, NULL, 8, 8, NULL),"
    " (700, 790, (65 << 24) + 65, 1, 5, NULL, 8, 8, NULL),"
    " (100, 130, (65 << 24) + 65, 1, 5, NULL, 8, 8, NULL),"
    " (400, 430, (65 << 24) + 65, 1, 5, NULL, 8, 8, NULL),"
    " (450, 480, (65 << 24) + 65, 1, 6, NULL, 8, 8, NULL);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId"
    " INTEGER, domainId INTEGER, globalTid INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES (50, 1050, 59, NULL, 2, 0, (66 << 24) + 66),"
    " (90, 600, 59, NULL, 2, 0, (66 << 24) + 66);";

static void threads_and_parts_are_told_apart(void **state)
{
    (void)state;
    const char *path = kit_make_export(threads_of_nsys);
    char *ranks = report("mpi_ranks", path), *ranges = report("nvtx_mpi_sum", path);
    const char *row = strstr(ranks, "\n1,");
    assert_non_null(row);
    assert_non_null(strstr(row, ",66,950,4,650,68.4,0,700,0,0,"));
    /* Three calls of the thread in a step, which is 1000 ns. */
    assert_non_null(strstr(ranges, "\n:step,MPI_Allreduce,3,550,183.3,"));
    assert_non_null(strstr(ranges, ",55.0,0.000,0.000\n"));
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "stats", "-r", "stragglers", "-f", "csv", path, NULL});
    cli_expect_status(&result, 0);
    /* Not of the call that rank 1 never came out of. */
    assert_non_null(strstr(result.out, ",2,2,100.0,0,0.0\n"));
    assert_non_null(strstr(result.out, ",2,0,0.0,140,"));
    assert_non_null(strstr(result.err, "2 collective calls are left out"));
    cli_result_free(&result);
    free(ranks);
    free(ranges);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_through),
        cmocka_unit_test(fortran_goes_through),
        cmocka_unit_test(calls_say_how_much),
        cmocka_unit_test(wrong_arguments_are_left_to_mpi),
        cmocka_unit_test(calls_that_were_left_end),
        cmocka_unit_test(ranges_have_their_calls),
        cmocka_unit_test(what_mpi_lacks_is_not_there),
        cmocka_unit_test(calls_past_it_are_noted),
        cmocka_unit_test(an_mpi_of_a_library_is_found),
        cmocka_unit_test(a_call_that_never_returns_is_told),
        cmocka_unit_test(programs_without_it_are_left_alone),
        cmocka_unit_test(no_call_at_all_is_told),
        cmocka_unit_test(a_path_that_cannot_be_preloaded_is_told),
#ifdef HAVE_SQLITE
        cmocka_unit_test(nsys_exports_are_read),
        cmocka_unit_test(nsys_exports_come_back),
        cmocka_unit_test(threads_and_parts_are_told_apart),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
