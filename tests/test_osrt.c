/* `record --trace osrt`: calls of the operating system's libraries, of a program that knows what it calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/os_calls.h"
#include "osrt_kit.h"
#include "record_kit.h"

/* The trace of it; it found nothing wrong. */
static struct nvt_trace *record(const char *what, const char *levels)
{
    struct cli_result result = osrt_run(what, levels, NULL, NULL);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    return recorded_trace();
}

static const char *file(const struct nvt_trace *trace, uint32_t row)
{
    return nvt_name(trace, trace->os_calls.file[row]);
}

static void expect_file(const struct nvt_trace *trace, const char *name, unsigned n,
                        const char *where, uint64_t bytes)
{
    uint32_t row = osrt_call(trace, name, n);
    assert_int_not_equal(row, NVT_NONE);
    assert_string_equal(file(trace, row), *where ? cli_in(cli_folder, where) : "");
    assert_int_equal(trace->os_calls.bytes[row], bytes);
    assert_false(trace->os_calls.flags[row]);
}

#define BYTES (4u << 20)

/* Descriptors are numbers that are given again. */
static void calls_know_their_files(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("files", "osrt");
    expect_file(trace, "open", 0, "first", 0);
    expect_file(trace, "write", 0, "first", BYTES);
    expect_file(trace, "pread", 0, "first", BYTES / 2);
    expect_file(trace, "write", 1, "second", BYTES / 4);
    expect_file(trace, "write", 2, "third", BYTES / 8);
    expect_file(trace, "write", 3, "third", BYTES / 16);
    expect_file(trace, "fread", 0, "first", BYTES);
    uint32_t made = osrt_call(trace, "write", 4), memory = osrt_call(trace, "write", 5);
    assert_non_null(strstr(file(trace, made), "/made"));
    assert_int_equal(trace->os_calls.bytes[made], BYTES / 32);
    assert_non_null(strstr(file(trace, memory), "memfd:memory"));
    assert_int_equal(trace->os_calls.bytes[memory], BYTES / 64);
    uint32_t listed = osrt_call(trace, "readdir", 0);
    if (listed != NVT_NONE)
        assert_string_equal(file(trace, listed), cli_folder);
    assert_int_equal(trace->os_calls.result[osrt_call(trace, "write", 1)], BYTES / 4);
    assert_int_equal(trace->os_calls.result[osrt_call(trace, "fread", 0)], BYTES / 4);
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        assert_string_equal(nvt_name(trace, trace->os_calls.caller[i]), "os_calls");
    nvt_trace_free(trace);
}

/* Whoever looks at the trace first learns of the other reports; only what a recording knows is offered. */
static void stats_names_the_reports(void **state)
{
    (void)state;
    nvt_trace_free(record("sleeps", "osrt"));
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "stats", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "[osrt_sum]"));
    assert_non_null(strstr(result.err, "-r osrt_sum,nvtx_osrt_sum,osrt_files,osrt_locks"));
    cli_result_free(&result);
}

/* One that is free is taken at once, however often; one that says something of its own still does. */
static void locks_are_those_that_are_waited_for(void **state)
{
    void *mutex, *rwlock;
    (void)state;
    struct cli_result result = osrt_run("locks", "osrt", "--osrt-threshold", "5000000");
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%p %p", &mutex, &rwlock), 2);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const struct {
        const char *name;
        uint64_t address;
    } expected[] = {{"pthread_mutex_lock", (uint64_t)(uintptr_t)mutex},
                    {"pthread_rwlock_rdlock", (uint64_t)(uintptr_t)rwlock},
                    {"mtx_lock", 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++) {
        uint32_t row = osrt_call(trace, expected[i].name, 0);
        assert_int_equal(osrt_count(trace, expected[i].name), 1);
        assert_true(osrt_length(trace, row) >= 5000000 && osrt_length(trace, row) < 2000000000);
        if (expected[i].address)
            assert_int_equal(trace->os_calls.address[row], expected[i].address);
        assert_true(trace->os_calls.address[row]);
        assert_int_equal(trace->threads.tid[trace->os_calls.thread[row]], trace->processes.pid[0]);
    }
    uint32_t holders = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        holders += !strcmp(nvt_name(trace, trace->threads.name[i]), "holder");
    assert_int_equal(holders, 1);
    nvt_trace_free(trace);
}

/* A mutex, and a semaphore that serves as a lock, name the thread that has it; a signal is held by nobody, however often a thread
 * has waited for it. */
static void locks_know_their_holders(void **state)
{
    void *lock, *signal;
    unsigned holder, locks = 0, signals = 0;
    (void)state;
    struct cli_result result = osrt_run("semaphores", "osrt", "--osrt-threshold", "0");
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%p %p %u", &lock, &signal, &holder), 3);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        uint64_t address = trace->os_calls.address[i];
        if (address == (uint64_t)(uintptr_t)lock)
            assert_int_equal(trace->os_calls.holder[i],
                             locks++ ? trace->processes.pid[0] : (int64_t)holder);
        signals += address == (uint64_t)(uintptr_t)signal && !trace->os_calls.holder[i];
    }
    assert_int_equal(locks, 2);
    assert_int_equal(signals, 2); /* nobody had it before: it is no lock */
    nvt_trace_free(trace);
    result = osrt_run("locks", "osrt", "--osrt-threshold", "5000000");
    cli_result_free(&result);
    trace = recorded_trace();
    uint32_t row = osrt_call(trace, "pthread_mutex_lock", 0);
    uint32_t name = NVT_NONE;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.tid[i] == (int64_t)trace->os_calls.holder[row])
            name = trace->threads.name[i];
    assert_int_not_equal(name, NVT_NONE);
    assert_string_equal(nvt_name(trace, name), "holder");
    nvt_trace_free(trace);
}

static void locks_whose_owner_died_say_so(void **state)
{
    (void)state;
    nvt_trace_free(record("robust", "osrt"));
}

static void waits_have_their_names_and_lengths(void **state)
{
    static const char *const names[] = {"nanosleep", "usleep",        "clock_nanosleep",
                                        "futex",     "sem_timedwait", "pthread_cond_timedwait"};
    (void)state;
    struct nvt_trace *trace = record("sleeps", "osrt");
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        uint32_t row = osrt_call(trace, names[i], 0);
        assert_int_not_equal(row, NVT_NONE);
        assert_true(osrt_length(trace, row) >= 18000000);
    }
    assert_int_equal(trace->os_calls.result[osrt_call(trace, "futex", 0)], -1);
    nvt_trace_free(trace);
}

static void sockets_and_pipes_are_told_by_their_ends(void **state)
{
    char door[4200];
    (void)state;
    struct nvt_trace *trace = record("sockets", "osrt");
    snprintf(door, sizeof(door), "socket %s", cli_in(cli_folder, "door"));
    assert_string_equal(file(trace, osrt_call(trace, "send", 0)), "socket");
    assert_int_equal(trace->os_calls.bytes[osrt_call(trace, "recv", 0)], 100000);
    uint32_t sent = osrt_call(trace, "write", 0);
    if (trace->os_calls.bytes[sent] != 100000) /* the one that fails may have taken as long */
        sent = osrt_call(trace, "write", 1);
    assert_string_equal(file(trace, osrt_call(trace, "connect", 0)), door);
    assert_string_equal(file(trace, sent), door); /* it has another end since it was connected */
    uint32_t piped = osrt_call(trace, "read", 0);
    assert_string_equal(file(trace, piped), "pipe");
    assert_int_equal(trace->os_calls.bytes[piped], 60000);
    nvt_trace_free(trace);
}

static void output_stays_as_it_is(void **state)
{
    (void)state;
    struct cli_result alone =
        cli_run((const char *const[]){cli_client("os_calls"), "prints", cli_folder, NULL});
    struct cli_result recorded = osrt_run("prints", "osrt", "--osrt-threshold", "0");
    assert_string_equal(alone.out, recorded.out);
    struct nvt_trace *trace = recorded_trace();
    /* As fortified programs are compiled, or not. */
    uint32_t prints = osrt_count(trace, "printf") + osrt_count(trace, "__printf_chk");
    uint32_t streams = osrt_count(trace, "fprintf") + osrt_count(trace, "__fprintf_chk");
    assert_int_equal(prints, 1);
    assert_int_equal(streams, 1);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        bytes += trace->os_calls.bytes[i];
    assert_int_equal(bytes, alone.out_size);
    nvt_trace_free(trace);
    cli_result_free(&alone);
    cli_result_free(&recorded);
}

/* Of a pid: the process's row. */
static uint32_t process_of(const struct nvt_trace *trace, uint32_t row)
{
    return trace->threads.process[trace->os_calls.thread[row]];
}

/* A child has its calls in a process of its own; what one of vfork does, on its parent's memory, is nobody's. */
static void children_have_their_own_calls(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("processes", "osrt");
    uint32_t parent = process_of(trace, osrt_call(trace, "waitpid", 0));
    expect_file(trace, "write", 0, "child", BYTES);
    assert_int_not_equal(process_of(trace, osrt_call(trace, "write", 0)), parent);
    /* Asked for again, its name would be "kept (deleted)". */
    expect_file(trace, "write", 1, "kept", BYTES);
    expect_file(trace, "write", 2, "kept", BYTES);
    assert_int_equal(osrt_count(trace, "fork"), 1);
    assert_int_equal(process_of(trace, osrt_call(trace, "fork", 0)), parent);
    assert_int_equal(osrt_count(trace, "usleep"), 1);
    assert_int_not_equal(process_of(trace, osrt_call(trace, "usleep", 0)), parent);
    assert_int_equal(osrt_count(trace, "waitpid"), 3);
    assert_int_equal(osrt_count(trace, "system"), 1);
    assert_int_equal(osrt_count(trace, "posix_spawn"), 1);
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        assert_false(trace->os_calls.flags[i]);
    nvt_trace_free(trace);
}

/* Nothing of a call that was left stays open, and what a handler calls within one is a part of it. */
static void calls_that_are_left(void **state)
{
    (void)state;
    struct cli_result result = osrt_run("leaves", "osrt", "--osrt-threshold", "0");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(osrt_count(trace, "pthread_join"), 1);
    assert_int_equal(osrt_count(trace, "sleep"), 1); /* in which its thread was cancelled */
    assert_int_equal(trace->os_calls.result[osrt_call(trace, "sleep", 0)], -1);
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        assert_false(trace->os_calls.flags[i]);
    assert_int_equal(osrt_count(trace, "usleep"), 1 + 3 + 1);
    uint32_t last = osrt_call(trace, "usleep", osrt_count(trace, "usleep") - 1);
    assert_true(osrt_length(trace, last) >= 9000000);
    assert_int_equal(trace->os_calls.result[last], -1);
    /* The empty write to standard error happened within it. */
    for (unsigned n = 0; n < osrt_count(trace, "write"); n++)
        assert_true(trace->os_calls.start[osrt_call(trace, "write", n)] >=
                    trace->os_calls.end[last]);
    nvt_trace_free(trace);
}

/* Whichever descriptors threads give each other, each call has its own file. */
static void threads_do_not_mix_their_files(void **state)
{
    enum { THREADS = 8, ROUNDS = 500 };
    (void)state;
    struct cli_result result = osrt_run("busy", "osrt", "--osrt-threshold", "0");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t writes = 0, opens = 0, closes = 0, of_thread[64] = {0};
    for (uint32_t i = 0; i < calls->count; i++) {
        const char *name = nvt_name(trace, calls->name[i]);
        unsigned is_write = !strcmp(name, "write"), is_open = !strcmp(name, "open");
        if (!is_write && !is_open && strcmp(name, "close"))
            continue;
        writes += is_write;
        opens += is_open;
        closes += !is_write && !is_open;
        assert_true(calls->file[i] && calls->thread[i] < 64);
        if (!of_thread[calls->thread[i]])
            of_thread[calls->thread[i]] = calls->file[i];
        assert_int_equal(calls->file[i], of_thread[calls->thread[i]]);
    }
    assert_int_equal(writes, THREADS * ROUNDS);
    assert_int_equal(opens, THREADS * ROUNDS);
    assert_int_equal(closes, THREADS * ROUNDS);
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t k = 0; k < i && of_thread[i]; k++)
            assert_int_not_equal(of_thread[i], of_thread[k]);
    nvt_trace_free(trace);
}

/* What threads were in when the process was killed, and since when. */
static void a_killed_process_was_in_a_call(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "--trace", "nvtx,osrt", "-o", recorded_path(), "--", "timeout", "-s",
        "KILL", "2", cli_client("os_calls"), "hangs", cli_folder, NULL});
    assert_string_equal(result.out, "hangs\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t lock = osrt_call(trace, "pthread_mutex_lock", 0);
    uint32_t reading = NVT_NONE;
    for (unsigned n = 0; n < osrt_count(trace, "read"); n++)
        if (trace->os_calls.flags[osrt_call(trace, "read", n)])
            reading = osrt_call(trace, "read", n);
    assert_int_not_equal(reading, NVT_NONE);
    assert_int_equal(trace->os_calls.flags[lock], NVT_RANGE_UNCLOSED);
    assert_true(trace->os_calls.address[lock]);
    assert_string_equal(file(trace, reading), "pipe");
    assert_string_equal(nvt_name(trace, trace->os_calls.caller[reading]), "os_calls");
    assert_true(osrt_length(trace, reading) > 500000000 && osrt_length(trace, lock) > 500000000);
    assert_int_equal(process_of(trace, lock), process_of(trace, reading));
    assert_int_not_equal(trace->os_calls.thread[lock], trace->os_calls.thread[reading]);
    nvt_trace_free(trace);
    result = cli_run((const char *const[]){"nvtally", "stats", recorded_path(), NULL});
    const char *note = strstr(result.err, "ended within: step (");
    assert_non_null(note);
    assert_non_null(strstr(note, " > read pipe ("));
    assert_non_null(strstr(note, ": pthread_mutex_lock 0x"));
    cli_result_free(&result);
}

/* From the recording to what to do about it: which lock, and which file. */
static void diagnose_names_the_lock_and_the_file(void **state)
{
    char lock[40];
    (void)state;
    struct cli_result result = osrt_run("contended", "nvtx,osrt", NULL, NULL);
    cli_expect_status(&result, 0);
    snprintf(lock, sizeof(lock), "%.*s", (int)strcspn(result.out, "\n"), result.out);
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    const char *finding = strstr(result.out, "waiting for locks in range want");
    assert_non_null(finding);
    assert_non_null(strstr(finding, lock));
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "stats", "-r", "osrt_locks,osrt_files", "-f",
                                           "csv", recorded_path(), NULL});
    assert_non_null(strstr(result.out, lock));
    assert_non_null(strstr(result.out, ",os_calls,:want,a lock,"));
    assert_non_null(strstr(result.out, cli_in(cli_folder, "first")));
    cli_result_free(&result);
    const char *document = cli_in(cli_folder, "t.md");
    result =
        cli_run((const char *const[]){"nvtally", "report", recorded_path(), "-o", document, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(document, NULL);
    assert_non_null(text);
    const char *part = strstr(text, "## OS calls");
    assert_non_null(part);
    assert_non_null(strstr(part, lock));
    free(text);
}

static void an_open_that_hangs_has_its_path(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "--trace", "osrt", "-o", recorded_path(), "--", "timeout", "-s",
        "KILL", "1", cli_client("os_calls"), "hangs-in-open", cli_folder, NULL});
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t row = osrt_call(trace, "open", 0);
    assert_int_not_equal(row, NVT_NONE);
    assert_int_equal(trace->os_calls.flags[row], NVT_RANGE_UNCLOSED);
    assert_string_equal(file(trace, row), cli_in(cli_folder, "fifo"));
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_know_their_files),
        cmocka_unit_test(stats_names_the_reports),
        cmocka_unit_test(locks_are_those_that_are_waited_for),
        cmocka_unit_test(locks_know_their_holders),
        cmocka_unit_test(locks_whose_owner_died_say_so),
        cmocka_unit_test(waits_have_their_names_and_lengths),
        cmocka_unit_test(sockets_and_pipes_are_told_by_their_ends),
        cmocka_unit_test(output_stays_as_it_is),
        cmocka_unit_test(children_have_their_own_calls),
        cmocka_unit_test(calls_that_are_left),
        cmocka_unit_test(threads_do_not_mix_their_files),
        cmocka_unit_test(a_killed_process_was_in_a_call),
        cmocka_unit_test(diagnose_names_the_lock_and_the_file),
        cmocka_unit_test(an_open_that_hangs_has_its_path),
    };
    return cmocka_run_group_tests(tests, osrt_set_up, osrt_tear_down);
}
