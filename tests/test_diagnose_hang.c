/* Processes that stand still at the end: from when on, in what, and which rank has not reached the call; and what is no hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "finding_kit.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* Steps of 100 ms from the beginning on: until `maker->now`. */
static void steps(struct maker *maker, int count)
{
    maker->now = 0;
    for (int i = 0; i < count; i++) {
        maker->now += 100 * MS;
        make_range(maker, "step", maker->now - 100 * MS);
    }
}

/* Begun now, and never ended. */
static void open_range(struct maker *maker, uint32_t thread, const char *name)
{
    struct nvt_ranges *ranges = &maker->trace->ranges;
    make_range(maker, name, maker->now);
    ranges->thread[ranges->count - 1] = ranges->end_thread[ranges->count - 1] = thread;
    ranges->flags[ranges->count - 1] = NVT_RANGE_UNCLOSED;
}

static void open_call(struct maker *maker, uint32_t thread, const char *name, const char *file,
                      uint64_t address)
{
    make_os_call_row(maker, name, file,
                     (struct nvt_os_call){.start = maker->now,
                                          .end = maker->now,
                                          .thread = thread,
                                          .address = address,
                                          .flags = NVT_RANGE_UNCLOSED});
}

static void mpi_call(struct maker *maker, const char *name, enum nvt_mpi_kind kind, int32_t peer,
                     int is_open)
{
    const struct nvt_mpi_call row = {.start = maker->now,
                                     .end = maker->now,
                                     .thread = maker->thread,
                                     .name = nvt_strings_add_text(maker->trace->strings, name),
                                     .sent = UINT64_MAX,
                                     .received = UINT64_MAX,
                                     .peer = peer,
                                     .tag = NVT_MPI_NONE,
                                     .kind = (uint8_t)kind,
                                     .flags = is_open ? NVT_RANGE_UNCLOSED : 0};
    assert_int_not_equal(nvt_mpi_call_add(maker->trace, &row), NVT_NONE);
}

static uint32_t new_thread(struct maker *maker, int64_t tid)
{
    return nvt_trace_thread(maker->trace, maker->process, tid);
}

/* All threads were there until so long after now; whether the command was stopped. */
static void stop(struct maker *maker, int64_t after, int was_stopped)
{
    for (uint32_t i = 0; i < maker->trace->threads.count; i++)
        if (!maker->trace->threads.ended_ns[i])
            maker->trace->threads.ended_ns[i] = maker->now + after;
    maker->trace->was_stopped = was_stopped;
}

static void expect(struct maker *maker, int64_t cost, const char *what, const char *evidence)
{
    kit_find_one(maker, &nvt_rule_hang, (double)cost, what, evidence);
}

#define PACE(count)                                                                                \
    "before that, nothing took longer than 100 ms to begin (" #count " ranges, calls and marks)"

/* --- threads -------------------------------------------------------------------------------------------- */

static void a_process_whose_threads_wait_for_each_other(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    steps(&maker, 10);
    uint32_t other = new_thread(&maker, 2);
    open_range(&maker, maker.thread, "save");
    open_call(&maker, maker.thread, "pthread_join", NULL, 0);
    open_range(&maker, other, "write");
    open_call(&maker, other, "pthread_mutex_lock", NULL, 0x7f10);
    stop(&maker, 8 * S, 1);
    expect(
        &maker, 8 * S,
        "process 1 has made no progress for 8.00 s, in pthread_join: every thread waits for "
        "another",
        PACE(12) "; process 1: save (8.00 s) > pthread_join (8.00 s); thread 2: write (8.00 s) > "
                 "pthread_mutex_lock 0x7f10 (8.00 s)");
}

/* A handler of a signal may wait within a call that waits: that is one thread, and the other one computes. */
static void a_thread_that_waits_twice_is_one(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    steps(&maker, 10);
    new_thread(&maker, 2);
    open_range(&maker, maker.thread, "save");
    open_call(&maker, maker.thread, "pthread_join", NULL, 0);
    open_call(&maker, maker.thread, "sem_wait", NULL, 0x7f10);
    stop(&maker, 8 * S, 1);
    expect(&maker, 8 * S, "process 1 has made no progress for 8.00 s, in sem_wait",
           PACE(11) "; process 1: save (8.00 s) > sem_wait 0x7f10 (8.00 s)");
}

static void one_that_waits_for_a_file_names_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    steps(&maker, 12);
    open_range(&maker, maker.thread, "load");
    open_call(&maker, maker.thread, "read", "/net/data/a", 0);
    stop(&maker, 6 * S, 1);
    expect(&maker, 6 * S, "process 1 has made no progress for 6.00 s, in read /net/data/a",
           PACE(13) "; process 1: load (6.00 s) > read /net/data/a (6.00 s)");
}

/* Where no calls are on record, it says how to get them. */
static void one_with_nothing_but_ranges(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    steps(&maker, 12);
    open_range(&maker, maker.thread, "load");
    stop(&maker, 6 * S, 1);
    expect(
        &maker, 6 * S, "process 1 has made no progress for 6.00 s, in load",
        PACE(
            13) "; process 1: load (6.00 s); record --trace nvtx,osrt,cpu shows what it waits for");
}

/* A consumer without work is idle while somebody may bring some: there is a thread that waits for requests. When all others have
 * ended, or wait as well, nobody will. */
static void consumers_without_work_are_idle(void **state)
{
    (void)state;
    for (int is_fed = 0; is_fed < 2; is_fed++) {
        struct maker maker = make_begin();
        steps(&maker, 12);
        open_range(&maker, maker.thread, "serve");
        open_call(&maker, maker.thread, "sem_wait", NULL, 0x7f10);
        uint32_t serve = make_function(&maker, 0, "serve (server.py:12)", NULL);
        uint32_t get = make_function(&maker, serve, "get (queue.py:171)", NULL);
        maker.trace->os_calls.frame[0] =
            make_function(&maker, get, "wait (threading.py:327)", NULL);
        maker.trace->os_calls.caller[0] =
            nvt_strings_add_text(maker.trace->strings, "libpython3.11.so.1.0");
        open_call(&maker, new_thread(&maker, 2), is_fed ? "accept4" : "pthread_join", NULL, 0);
        stop(&maker, 6 * S, 1);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
        assert_int_equal(findings.count, !is_fed);
        if (!is_fed) {
            assert_string_equal(findings.items[0].what,
                                "process 1 has made no progress for 6.00 s, in sem_wait for work "
                                "from a queue: every thread waits for another");
            assert_non_null(strstr(findings.items[0].evidence, "by serve (server.py:12)"));
        }
        free(findings.items);
    }
}

/* It works, and what it runs is told. */
static void one_that_spins_is_told_with_its_function(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    steps(&maker, 12);
    make_os_call(&maker, "read", maker.thread, 0, MS);
    open_range(&maker, maker.thread, "converge");
    uint32_t function =
        make_function(&maker, make_function(&maker, 0, "main", "/x/tool"), "iterate", "/x/tool");
    for (int i = 1; i <= 20; i++)
        make_sample(&maker, maker.thread, maker.now + i * 300 * MS, 300 * MS, function);
    stop(&maker, 6 * S, 1);
    expect(&maker, 6 * S, "process 1 has made no progress for 6.00 s, in converge",
           PACE(13) "; process 1: converge (6.00 s); running then, in 20 samples: iterate (tool) "
                    "100 %; "
                    "100 % of them from iterate");
}

/* --- from when on --------------------------------------------------------------------------------------- */

/* A mark so long after the last range began. */
static void mark(struct maker *maker, int64_t after, const char *domain)
{
    const struct nvt_mark row = {.time = maker->now + after,
                                 .thread = maker->thread,
                                 .domain = nvt_trace_domain(maker->trace, maker->process, domain)};
    assert_int_not_equal(nvt_mark_add(maker->trace, &row), NVT_NONE);
}

/* Who looks at a hang may mark it, and it is one as before; a mark of the program's is progress. */
static void marks_from_outside_are_no_progress(void **state)
{
    (void)state;
    for (int is_own = 0; is_own < 2; is_own++) {
        struct maker maker = make_begin();
        steps(&maker, 12);
        open_range(&maker, maker.thread, "load");
        stop(&maker, 6 * S, 1);
        mark(&maker, 5 * S, is_own ? "server" : "nvtally ctl");
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
        assert_int_equal(findings.count, !is_own);
        free(findings.items);
    }
}

/* So many steps, of which the third takes longer; and so long without anything. */
static int hangs(int count, int64_t longest, int64_t still)
{
    struct maker maker = make_begin();
    maker.now = 0;
    for (int i = 0; i < count; i++) {
        int64_t start = maker.now;
        maker.now += i == 2 ? longest : 100 * MS;
        make_range(&maker, "step", start);
    }
    open_range(&maker, maker.thread, "load");
    stop(&maker, still, 1);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
    int count_found = (int)findings.count;
    free(findings.items);
    return count_found;
}

static void it_is_one_on_one_side_of_each_threshold(void **state)
{
    (void)state;
    assert_int_equal(hangs(12, 100 * MS, 5 * S), 1);
    assert_int_equal(hangs(12, 100 * MS, 5 * S - 1), 0);
    assert_int_equal(hangs(12, 2 * S, 10 * S), 1);
    assert_int_equal(hangs(12, 2 * S, 10 * S - 10), 0);
    assert_int_equal(hangs(9, 100 * MS, 60 * S), 1); /* with `load` ten events */
    assert_int_equal(hangs(8, 100 * MS, 60 * S), 0);
}

enum what { NO_RANGE, ENDED_WELL, PART, SLEEPS, POLLS, ACCEPTS, OTHER_THREAD, DEVICE, THREAD_OVER };

static void nothing_is_found_where_nothing_hangs(void **state)
{
    (void)state;
    for (enum what what = NO_RANGE; what <= THREAD_OVER; what++) {
        struct maker maker = make_begin();
        steps(&maker, 20);
        uint32_t other = new_thread(&maker, 2);
        if (what != NO_RANGE)
            open_range(&maker, what == THREAD_OVER ? other : maker.thread, "serve");
        if (what == SLEEPS)
            open_call(&maker, maker.thread, "clock_nanosleep", NULL, 0);
        if (what == POLLS)
            open_call(&maker, maker.thread, "epoll_wait", NULL, 0);
        if (what == ACCEPTS)
            open_call(&maker, maker.thread, "accept4", NULL, 0);
        if (what == DEVICE) {
            maker.device = maker.now + 7 * S;
            make_launch(&maker, "gemm", 100 * MS);
        }
        if (what == OTHER_THREAD) {
            struct nvt_ranges *ranges = &maker.trace->ranges;
            maker.now += 7 * S;
            make_range(&maker, "work", maker.now - MS);
            ranges->thread[ranges->count - 1] = ranges->end_thread[ranges->count - 1] = other;
            maker.now -= 7 * S;
        }
        if (what == THREAD_OVER)
            maker.trace->threads.ended_ns[other] = maker.now + 2 * S;
        maker.trace->is_part = what == PART;
        stop(&maker, 8 * S, what != ENDED_WELL);
        struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
        if (findings.count)
            fail_msg("case %d: %s", (int)what, findings.items[0].what);
        free(findings.items);
    }
}

/* --- ranks ---------------------------------------------------------------------------------------------- */

/* A process that is this rank, with steps that have each a call of MPI. */
static void begin_rank(struct maker *maker, uint32_t rank)
{
    make_process(maker, 100 + rank, 0);
    maker->trace->processes.rank[maker->process] = rank;
    maker->now = 0;
    for (int i = 0; i < 10; i++) {
        maker->now += 100 * MS;
        make_range(maker, "step", maker->now - 100 * MS);
        mpi_call(maker, "MPI_Allreduce", NVT_MPI_COLLECTIVE, NVT_MPI_NONE, 0);
    }
    open_range(maker, maker->thread, "step");
}

static struct maker begin_ranks(void)
{
    struct maker maker = make_begin();
    nvt_trace_free(maker.trace);
    maker.trace = nvt_trace_new("made up", "nvt");
    return maker;
}

static void the_rank_that_has_not_come_is_named(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 4; rank++) {
        begin_rank(&maker, rank);
        if (rank == 2) {
            open_range(&maker, maker.thread, "load");
            open_call(&maker, maker.thread, "read", "/net/a", 0);
        } else {
            mpi_call(&maker, "MPI_Allreduce", NVT_MPI_COLLECTIVE, NVT_MPI_NONE, 1);
        }
    }
    stop(&maker, 30 * S, 1);
    expect(&maker, 30 * S,
           "3 of 4 ranks have been blocked in MPI_Allreduce for 30.0 s: rank 2 has not reached the "
           "call",
           PACE(22) "; rank 2: step (30.0 s) > load (30.0 s) > read /net/a (30.0 s); rank 0: step "
                    "(30.0 s) > MPI_Allreduce (30.0 s)");
}

/* One that is in none of its ranges has not ended for that; what it runs is told. */
static void a_rank_outside_of_ranges_has_not_come(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin_rank(&maker, rank);
        if (rank)
            maker.trace->ranges.flags[maker.trace->ranges.count - 1] = 0;
        else
            mpi_call(&maker, "MPI_Allreduce", NVT_MPI_COLLECTIVE, NVT_MPI_NONE, 1);
    }
    uint32_t function = make_function(&maker, 0, "refine", "/x/tool");
    for (int i = 1; i <= 20; i++)
        make_sample(&maker, maker.thread, maker.now + i * 300 * MS, 300 * MS, function);
    stop(&maker, 9 * S, 1);
    expect(&maker, 9 * S,
           "1 of 2 ranks has been blocked in MPI_Allreduce for 9.00 s: rank 1 has not reached the "
           "call",
           PACE(22) "; rank 1 is in no range and no MPI call; rank 0: step (9.00 s) > "
                    "MPI_Allreduce (9.00 s); running then, in 20 samples: refine (tool) 100 %; 100 "
                    "% of "
                    "them from refine");
}

static void a_rank_that_has_ended_does_not_come(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    begin_rank(&maker, 0);
    mpi_call(&maker, "MPI_Recv", NVT_MPI_P2P, 1, 1);
    begin_rank(&maker, 1);
    struct nvt_ranges *ranges = &maker.trace->ranges;
    ranges->flags[ranges->count - 1] = 0;
    maker.trace->threads.ended_ns[maker.thread] = maker.now + 50 * MS;
    stop(&maker, 9 * S, 1);
    expect(&maker, 9 * S,
           "1 of 2 ranks has been blocked in MPI_Recv with rank 1 for 9.00 s: rank 1 has ended",
           PACE(22) "; rank 1 ended, in no range and no call; rank 0: step (9.00 s) > MPI_Recv "
                    "(9.00 s) with rank 1");
}

/* Killed in the middle of something, be it of MPI, long before the others. */
static void a_rank_that_was_killed_does_not_come(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 3; rank++) {
        begin_rank(&maker, rank);
        mpi_call(&maker, "MPI_Allreduce", NVT_MPI_COLLECTIVE, NVT_MPI_NONE, 1);
        if (rank == 1)
            maker.trace->threads.ended_ns[maker.thread] = maker.now + 50 * MS;
    }
    stop(&maker, 9 * S, 1);
    expect(&maker, 9 * S,
           "2 of 3 ranks have been blocked in MPI_Allreduce for 9.00 s: rank 1 has ended",
           PACE(22) "; rank 1 ended within: step (50.0 ms) > MPI_Allreduce (50.0 ms); rank 0: step "
                    "(9.00 s) > MPI_Allreduce (9.00 s)");
}

/* Without MPI, ranks wait for one that has ended in whatever they are in. */
static void ranks_that_have_ended_are_told(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 2; rank++) {
        make_process(&maker, 100 + rank, 0);
        maker.trace->processes.rank[maker.process] = rank;
        steps(&maker, 12);
        open_range(&maker, maker.thread, rank ? "save" : "wait");
        if (rank)
            maker.trace->threads.ended_ns[maker.thread] = maker.now + 50 * MS;
    }
    stop(&maker, 9 * S, 1);
    expect(&maker, 9 * S, "rank 0 has made no progress for 9.00 s, in wait",
           PACE(13) "; rank 1 ended within: save (50.0 ms); rank 0: wait (9.00 s); record --trace "
                    "nvtx,osrt,cpu shows what it waits for");
}

static void ranks_that_wait_for_each_other(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin_rank(&maker, rank);
        mpi_call(&maker, "MPI_Recv", NVT_MPI_P2P, 1 - (int32_t)rank, 1);
    }
    stop(&maker, 9 * S, 1);
    expect(
        &maker, 9 * S,
        "all 2 ranks have been blocked in MPI for 9.00 s, rank 0 in MPI_Recv with rank 1",
        PACE(22) "; rank 0: step (9.00 s) > MPI_Recv (9.00 s) with rank 1; rank 1: step (9.00 s) "
                 "> MPI_Recv (9.00 s) with rank 0");
}

/* A rank that has only just come is not one that is blocked. Of few events, the time before counts as the longest pause. */
static void one_that_has_just_come_is_not_blocked(void **state)
{
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        struct maker maker = begin_ranks();
        make_process(&maker, 100, 0);
        maker.trace->processes.rank[maker.process] = 0;
        maker.now = 8 * S;
        mpi_call(&maker, "MPI_Recv", NVT_MPI_P2P, 1, 1);
        make_process(&maker, 101, 0);
        maker.trace->processes.rank[maker.process] = 1;
        maker.now = is_long ? 2 * S : S;
        mpi_call(&maker, "MPI_Recv", NVT_MPI_P2P, 0, 1);
        maker.now = 8 * S;
        stop(&maker, 20 * MS, 1);
        if (is_long)
            kit_find_nothing(&maker, &nvt_rule_hang);
        else
            expect(
                &maker, 7 * S + 20 * MS,
                "1 of 2 ranks has been blocked in MPI for 7.02 s, rank 1 in MPI_Recv with rank 0",
                "rank 1 had run for 1.00 s before that; rank 1: MPI_Recv (7.02 s) with rank 0; "
                "rank 0: MPI_Recv (20.0 ms) with rank 1");
    }
}

static void ranks_in_different_calls(void **state)
{
    (void)state;
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin_rank(&maker, rank);
        mpi_call(&maker, rank ? "MPI_Barrier" : "MPI_Allreduce", NVT_MPI_COLLECTIVE, NVT_MPI_NONE,
                 1);
    }
    stop(&maker, 9 * S, 1);
    expect(&maker, 9 * S,
           "all 2 ranks have been blocked in MPI for 9.00 s, rank 0 in MPI_Allreduce: not all "
           "in the same call",
           PACE(22) "; rank 0: step (9.00 s) > MPI_Allreduce (9.00 s); rank 1: step (9.00 s) > "
                    "MPI_Barrier (9.00 s)");
}

/* A file for each rank, as mpirun -n 2 nvtally record makes them. */
static void ranks_in_files_of_their_own(void **state)
{
    (void)state;
    struct nvt_input_trace traces[2] = {{.trace = NULL}};
    static const char *const paths[] = {"t.rank0.nvt", "t.rank1.nvt"};
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct maker maker = make_begin();
        nvt_trace_free(maker.trace);
        maker.trace = nvt_trace_new(paths[rank], "nvt");
        begin_rank(&maker, rank);
        if (!rank)
            mpi_call(&maker, "MPI_Bcast", NVT_MPI_COLLECTIVE, 1, 1);
        stop(&maker, 9 * S, 1);
        traces[rank].trace = make_end(&maker);
    }
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(&nvt_rule_hang, &facts, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what, "1 of 2 ranks has been blocked in MPI_Bcast for "
                                                "9.00 s: rank 1 has not reached the call");
    assert_string_equal(findings.items[0].where, "t.rank0.nvt");
    assert_non_null(strstr(findings.items[0].remedy, "rank 1"));
    free(findings.items);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

/* The evidence on two ranks in a loop of 20 and 19 collectives of NCCL, each of a communicator; rank 0's last is on another. */
static void expect_collectives(const char *const payloads[3], const char *says)
{
    struct maker maker = begin_ranks();
    for (uint32_t rank = 0; rank < 2; rank++) {
        make_process(&maker, 100 + rank, 0);
        maker.trace->processes.rank[maker.process] = rank;
        maker.domain = nvt_trace_domain(maker.trace, maker.process, "NCCL");
        maker.now = 0;
        for (uint32_t i = 0; i < 20 - rank; i++) {
            const char *payload = payloads[i == 19 ? 2 : rank];
            struct nvt_ranges *ranges = &maker.trace->ranges;
            maker.now += 100 * MS;
            make_range(&maker, "ncclDevKernel_AllReduce", maker.now - MS);
            ranges->payload[ranges->count - 1] =
                nvt_strings_add_text(maker.trace->strings, payload);
            ranges->flags[ranges->count - 1] |= *payload ? NVT_RANGE_HAS_PAYLOAD : 0;
            make_range(&maker, "ncclGroupStart", maker.now - MS);
        }
        maker.domain = 0;
        maker.now = 2 * S;
        open_range(&maker, maker.thread, rank ? "load" : "wait");
    }
    stop(&maker, 9 * S, 1);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].what,
                        "rank 0 and 1 more process have made no progress for "
                        "9.00 s, in wait");
    if (says)
        assert_non_null(strstr(findings.items[0].evidence, says));
    else
        assert_null(strstr(findings.items[0].evidence, "NCCL collectives"));
    free(findings.items);
}

/* Without MPI, the collectives of NCCL that each has begun tell who is behind, on one communicator. */
static void collectives_of_nccl_are_counted(void **state)
{
#define ID(number) "{\"NCCL communicator ID\":" #number "}"
    static const char behind[] = "; rank 1 has begun 19 NCCL collectives, rank 0 20";
    (void)state;
    expect_collectives((const char *const[]){"", "", ""}, behind);
    expect_collectives((const char *const[]){ID(7), ID(7), ID(7)}, behind);
    expect_collectives((const char *const[]){ID(7), ID(8), ID(7)}, NULL);
    expect_collectives((const char *const[]){ID(7), ID(7), ID(8)}, NULL);
#undef ID
}

/* Of a deep stack what lies innermost is told, from a whole range on. */
static void a_deep_stack_is_cut(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    char name[32];
    steps(&maker, 12);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "a_range_with_a_long_name_%d", i);
        open_range(&maker, maker.thread, name);
    }
    stop(&maker, 6 * S, 1);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_hang);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].evidence, "process 1: … > a_range_with_a_long_name_"));
    assert_non_null(
        strstr(findings.items[0].evidence, " > a_range_with_a_long_name_39 (6.00 s); "));
    free(findings.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_whose_threads_wait_for_each_other),
        cmocka_unit_test(a_thread_that_waits_twice_is_one),
        cmocka_unit_test(one_that_waits_for_a_file_names_it),
        cmocka_unit_test(one_with_nothing_but_ranges),
        cmocka_unit_test(consumers_without_work_are_idle),
        cmocka_unit_test(one_that_spins_is_told_with_its_function),
        cmocka_unit_test(marks_from_outside_are_no_progress),
        cmocka_unit_test(it_is_one_on_one_side_of_each_threshold),
        cmocka_unit_test(nothing_is_found_where_nothing_hangs),
        cmocka_unit_test(the_rank_that_has_not_come_is_named),
        cmocka_unit_test(a_rank_outside_of_ranges_has_not_come),
        cmocka_unit_test(a_rank_that_has_ended_does_not_come),
        cmocka_unit_test(a_rank_that_was_killed_does_not_come),
        cmocka_unit_test(ranks_that_have_ended_are_told),
        cmocka_unit_test(ranks_that_wait_for_each_other),
        cmocka_unit_test(one_that_has_just_come_is_not_blocked),
        cmocka_unit_test(ranks_in_different_calls),
        cmocka_unit_test(ranks_in_files_of_their_own),
        cmocka_unit_test(collectives_of_nccl_are_counted),
        cmocka_unit_test(a_deep_stack_is_cut),
    };
    return cmocka_run_group_tests_name("hangs", tests, NULL, NULL);
}
