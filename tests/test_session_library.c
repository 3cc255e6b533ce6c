/*
 * libnvtally: sessions of this very process. NVTX is first called in the first session, so the
 * order of the tests matters.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include "../include/nvtally.h"
#include "../lib/clock.h"
#include "../lib/version.h"
#include "cli.h"

/* Spend so long on the processor. Returns what it took. */
static double spin(int64_t ns)
{
    int64_t begin = nvt_monotonic_ns(), now;
    while ((now = nvt_monotonic_ns()) - begin < ns) {
    }
    return (double)(now - begin);
}

/* A range of so long; the time seen from within and from around it. */
static void range(const char *name, int64_t ns, double *within, double *around)
{
    int64_t begin = nvt_monotonic_ns();
    nvtxRangePushA(name);
    *within = spin(ns);
    nvtxRangePop();
    *around = (double)(nvt_monotonic_ns() - begin);
}

static double deviation(const double *values, int count)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (count - 1));
}

enum { COUNT = 20 };

/* What ranges took, seen from within and from around them. */
struct seen {
    double within[COUNT], around[COUNT];
};

/* Ranges lie between what was measured in and around them; two clocks agree to a microsecond. */
static bool agrees(const nvtally_range_statistics *s, const struct seen *seen)
{
    double least = INFINITY, most = 0, sums[2] = {0, 0};
    for (int i = 0; i < COUNT; i++) {
        least = fmin(least, seen->within[i]);
        most = fmax(most, seen->around[i]);
        sums[0] += seen->within[i], sums[1] += seen->around[i];
    }
    /* No time of a range is farther from its measured one. */
    double slack = sums[1] - sums[0] + 1000, std = deviation(seen->within, COUNT);
    if (s->host_mean_ns > sums[0] / COUNT - 1000 && s->host_mean_ns < sums[1] / COUNT + 1000 &&
        s->host_min_ns > least - 1000 && s->host_max_ns < most + 1000 &&
        fabs(s->host_std_ns - std) < slack && s->host_std_ns > 50000)
        return true;
    print_message("mean %.0f, not %.0f to %.0f; min %.0f, not %.0f; max %.0f, not %.0f; deviation "
                  "%.0f, not %.0f\n",
                  s->host_mean_ns, sums[0] / COUNT, sums[1] / COUNT, s->host_min_ns, least,
                  s->host_max_ns, most, s->host_std_ns, std);
    return false;
}

/* A session of so many ranges: whether it gives the times that were seen. */
static bool measures_what_is_seen(void)
{
    struct seen seen;
    nvtally_session *session, *second;
    nvtally_range_statistics s;
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    assert_int_equal(nvtally_session_start(&second), NVTALLY_BUSY);
    assert_null(second);
    assert_int_equal(nvtally_range_stats(session, "busy", &s), NVTALLY_RUNNING);
    for (int i = 0; i < COUNT; i++)
        range("busy", 200000 + 100000 * (i % 3), &seen.within[i], &seen.around[i]);
    nvtxRangePushA("open");
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    nvtxRangePop();
    assert_int_equal(nvtally_session_stop(session), NVTALLY_STOPPED);
    assert_int_equal(nvtally_range_stats(session, "busy", &s), NVTALLY_OK);
    assert_int_equal(s.count, COUNT);
    assert_int_equal(s.lost, 0);
    bool agree = agrees(&s, &seen);
    assert_int_equal(nvtally_range_stats(session, "open", &s), NVTALLY_NO_RANGE);
    assert_int_equal(nvtally_range_stats(session, "unknown", &s), NVTALLY_NO_RANGE);
    assert_int_equal(nvtally_range_stats(session, "", &s), NVTALLY_BAD_ARGUMENT);
    nvtally_session_free(session);
    return agree;
}

static void measures_ranges(void **state)
{
    (void)state;
    assert_string_equal(nvtally_version(), NVT_VERSION);
    for (int i = 0; i < CLI_TRIES; i++)
        if (measures_what_is_seen())
            return;
    cli_give_up("in none of %d sessions", CLI_TRIES);
}

static void *five_ranges(void *unused)
{
    double times[2];
    for (int i = 0; i < 5; i++)
        range("busy", 20000, &times[0], &times[1]);
    return unused;
}

/* A session sees its own ranges alone, of all threads; nothing between sessions. */
static void follows_another(void **state)
{
    (void)state;
    nvtally_session *session;
    nvtally_range_statistics s;
    pthread_t thread;
    five_ranges(NULL);
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    assert_int_equal(pthread_create(&thread, NULL, five_ranges, NULL), 0);
    five_ranges(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    five_ranges(NULL);
    assert_int_equal(nvtally_range_stats(session, "busy", &s), NVTALLY_OK);
    assert_int_equal(s.count, 10);
    if (!s.has_device)
        assert_true(s.device_mean_ns == 0 && s.device_max_ns == 0 && s.kernels == 0);
    nvtally_session_free(session);
}

static void knows_domains(void **state)
{
    (void)state;
    nvtxDomainHandle_t domains[2] = {nvtxDomainCreateA("one"), nvtxDomainCreateA("two")};
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = "step"};
    nvtally_session *session;
    nvtally_range_statistics s;
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    for (int i = 0; i < 7; i++) {
        nvtxDomainRangePushEx(domains[i > 2], &event);
        nvtxDomainRangePop(domains[i > 2]);
    }
    nvtxRangePushA("a@b");
    nvtxRangePop();
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    assert_int_equal(nvtally_range_stats(session, "step", &s), NVTALLY_OK);
    assert_int_equal(s.count, 7);
    assert_int_equal(nvtally_range_stats(session, "one@step", &s), NVTALLY_OK);
    assert_int_equal(s.count, 3);
    assert_int_equal(nvtally_range_stats(session, "two@step", &s), NVTALLY_OK);
    assert_int_equal(s.count, 4);
    assert_int_equal(nvtally_range_stats(session, "on@step", &s), NVTALLY_NO_RANGE);
    assert_int_equal(nvtally_range_stats(session, "a@b", &s), NVTALLY_OK);
    assert_int_equal(s.count, 1);
    assert_true(s.host_std_ns == 0);
    nvtally_session_free(session);
}

/* The ring is smaller than this: it is drained meanwhile, and nothing is lost. */
static void counts_many(void **state)
{
    (void)state;
    nvtally_session *session;
    nvtally_range_statistics s;
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    for (int i = 0; i < 200000; i++) {
        nvtxRangePushA("many");
        nvtxRangePop();
    }
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    assert_int_equal(nvtally_range_stats(session, "many", &s), NVTALLY_OK);
    assert_int_equal(s.count, 200000);
    assert_int_equal(s.lost, 0);
    nvtally_session_free(session);
}

/* A session's trace has what began in it, and no more. */
static void is_saved(void **state)
{
    (void)state;
    nvtally_session *session;
    uint64_t events = 0;
    char *folder = cli_tempdir(), path[4200], missing[4300];
    snprintf(path, sizeof(path), "%s/session.nvt", folder);
    snprintf(missing, sizeof(missing), "%s/missing/session.nvt", folder);
    five_ranges(NULL);
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    five_ranges(NULL);
    nvtxMarkA("moment");
    assert_int_equal(nvtally_session_save(session, path, &events), NVTALLY_RUNNING);
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    five_ranges(NULL);
    assert_int_equal(nvtally_session_save(session, NULL, &events), NVTALLY_BAD_ARGUMENT);
    assert_int_equal(nvtally_session_save(session, "", &events), NVTALLY_BAD_ARGUMENT);
    assert_int_equal(nvtally_session_save(session, missing, &events), NVTALLY_SYSTEM);
    assert_int_equal(nvtally_session_save(session, path, &events), NVTALLY_OK);
    assert_int_equal(events, 6);
    assert_int_equal(nvtally_session_save(session, path, NULL), NVTALLY_OK);
    nvtally_session_free(session);
    const char *const argv[] = {"nvtally", "export", "--to", "csv", path, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    int ranges = 0;
    for (const char *at = result.out; (at = strstr(at, "busy")); at++)
        ranges++;
    assert_int_equal(ranges, 5);
    assert_non_null(strstr(result.out, "moment"));
    assert_null(strstr(result.err, "still being recorded"));
    cli_result_free(&result);
    cli_tempdir_remove(folder);
}

/* In a child: the status of each call, 0 where all refuse. */
static void refuses_a_forked_child(void **state)
{
    (void)state;
    nvtally_session *session, *other;
    nvtally_range_statistics s;
    int status;
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    pid_t child = fork();
    if (!child)
        _exit(nvtally_session_start(&other) == NVTALLY_NO_SESSION &&
                      nvtally_session_stop(session) == NVTALLY_NO_SESSION &&
                      nvtally_range_stats(session, "busy", &s) == NVTALLY_NO_SESSION
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    nvtally_session_free(session);
}

static _Atomic int sessions_end;

static void *sessions_without_end(void *count)
{
    nvtally_session *session;
    while (!atomic_load(&sessions_end)) {
        if (nvtally_session_start(&session) == NVTALLY_OK)
            atomic_fetch_add((_Atomic int *)count, nvtally_session_stop(session) == NVTALLY_OK);
        nvtally_session_free(session);
    }
    return NULL;
}

/* A child, which has none of the other threads and must not wait for them. Its status: 0. */
static pid_t refused_child(int bare)
{
    nvtally_session *other;
    pid_t child = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (!child) {
        alarm(CLI_HANG_S);
        int status = nvtally_session_start(&other) != NVTALLY_NO_SESSION || other;
        nvtally_session_free(other);
        syscall(SYS_exit_group, status);
    }
    return child;
}

/* Children are made while another thread is anywhere in start, stop and free. */
static void does_not_hang_in_a_forked_child(void **state)
{
    (void)state;
    pthread_t thread;
    _Atomic int count = 0;
    assert_int_equal(pthread_create(&thread, NULL, sessions_without_end, &count), 0);
    for (int i = 0; i < 200 || !atomic_load(&count); i++) {
        int status;
        pid_t child = refused_child(i % 2);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&sessions_end, 1);
    pthread_join(thread, NULL);
}

/* The example works; under a tool, as our own child, it says that it is watched already. */
static void runs_the_example(void **state)
{
    (void)state;
    char seen[300] = "";
    int ends[2], status;
    assert_int_equal(nvtally_session_start(NULL), NVTALLY_BAD_ARGUMENT);
    assert_int_equal(nvtally_session_stop(NULL), NVTALLY_BAD_ARGUMENT);
    nvtally_session_free(NULL);
    char example[4096];
    const char *build = getenv("NVTALLY_BUILD");
    snprintf(example, sizeof(example), "%s/examples/range_stats", build ? build : "build");
    assert_int_equal(pipe(ends), 0);
    for (int bare = 0; bare < 2; bare++) {
        pid_t child = fork();
        if (!child) {
            if (bare) {
                unsetenv("NVTALLY_SESSION");
                unsetenv("NVTX_INJECTION64_PATH");
                unsetenv("CUDA_INJECTION64_PATH");
            }
            dup2(ends[1], 1);
            dup2(ends[1], 2);
            execl(example, example, (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        ssize_t size = read(ends[0], seen, sizeof(seen) - 1);
        assert_true(size > 0);
        seen[size] = 0;
        assert_int_equal(status, bare ? 0 : 1 << 8);
        assert_non_null(strstr(seen, bare ? "work: 100 times, " : "watched already"));
    }
    close(ends[0]);
    close(ends[1]);
}

/* The library's reads of the trace come here: the one of this number fails, counted from 1; 0: none. */
static unsigned long reads, failing_read;

ssize_t pread(int descriptor, void *data, size_t size, off_t offset)
{
    reads++;
    if (failing_read && reads == failing_read) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, descriptor, data, size, offset);
}

/* A program of its own: a session with ranges before and behind a flush, so that they are in two
 * chunks at least. Exit status: whether it saw all, was told that it cannot, or missed some; 3: all,
 * with fewer reads than `failing`. */
enum { ALL, TOLD, MISSED, BEYOND };

static int session_in_parts(unsigned long failing)
{
    nvtally_session *session;
    nvtally_range_statistics s = {0};
    int status = nvtally_session_start(&session);
    for (int i = 0; i < 10 && !status; i++) {
        if (i == 9)
            usleep(150000); /* the recorder flushes ten times a second */
        nvtxRangePushA("in parts");
        nvtxRangePop();
    }
    failing_read = failing;
    if (!status)
        status = nvtally_session_stop(session);
    unsigned long all = reads;
    if (!status)
        status = nvtally_range_stats(session, "in parts", &s);
    nvtally_session_free(session);
    if (status)
        return status == NVTALLY_SYSTEM ? TOLD : MISSED;
    return s.count != 10 ? MISSED : all < failing ? BEYOND : ALL;
}

/* One read after another fails, until there are no more: how many of them were told of. */
static int fail_each_read(void)
{
    int status = ALL, told = 0;
    for (int n = 1; n < 1000 && status != BEYOND; n++) {
        char number[16];
        int end;
        snprintf(number, sizeof(number), "%d", n);
        pid_t child = fork();
        if (!child) {
            execl("/proc/self/exe", "test_session_library", number, (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(child, &end, 0), child);
        assert_true(WIFEXITED(end));
        status = WEXITSTATUS(end);
        if (status != ALL && status != TOLD && status != BEYOND)
            fail_msg("read %d fails: %s", n,
                     status == MISSED ? "ranges are missing" : "no session");
        told += status == TOLD;
    }
    assert_int_equal(status, BEYOND);
    return told;
}

/* Whatever read of the trace fails: no statistics that leave out what was not read. */
static void says_what_it_cannot_read(void **state)
{
    (void)state;
    unsetenv("NVTALLY_SESSION");
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("CUDA_INJECTION64_PATH");
    /* The file's header, and of two chunks of events, in the first round and the second. A recorder
     * that comes too late for its flush makes one chunk of them. */
    for (int i = 0; i < CLI_TRIES; i++)
        if (fail_each_read() >= 5)
            return;
    cli_give_up("fewer than 5 reads, each of %d times", CLI_TRIES);
}

/* Google Benchmark's own time of an iteration holds the range that is in it. */
static bool benchmark_holds_its_ranges(const char *program)
{
    char line[4200], seen[8192];
    snprintf(line, sizeof(line), "%s --benchmark_format=csv 2>/dev/null", program);
    FILE *pipe = popen(line, "r"); /* NOLINT(cert-env33-c): our own program, by our own path */
    assert_non_null(pipe);
    size_t size = fread(seen, 1, sizeof(seen) - 1, pipe);
    seen[size] = 0;
    assert_int_equal(pclose(pipe), 0);
    for (int count = 1000; count <= 10000; count *= 10) {
        double iteration, range;
        snprintf(line, sizeof(line), "\"sum/%d/iterations:2000\",2000,", count);
        const char *row = strstr(seen, line);
        assert_non_null(row);
        assert_int_equal(sscanf(row + strlen(line), "%lf", &iteration), 1);
        assert_true(sscanf(row + strlen(line), "%*[^,],%*[^,],ns,,,,,,%lf", &range) == 1);
        if (!(range > 0.1 * iteration && range < iteration)) {
            print_message("an iteration took %.0f ns, the range in it %.0f ns\n", iteration, range);
            return false;
        }
    }
    return true;
}

static void runs_with_google_benchmark(void **state)
{
    (void)state;
    char program[4100];
    const char *build = getenv("NVTALLY_BUILD");
    snprintf(program, sizeof(program), "%s/examples/google_benchmark", build ? build : "build");
    if (access(program, X_OK)) {
        printf("libbenchmark-dev is not here, so there is no example with Google Benchmark\n");
        skip();
    }
    unsetenv("NVTALLY_SESSION");
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("CUDA_INJECTION64_PATH");
    for (int i = 0; i < CLI_TRIES; i++)
        if (benchmark_holds_its_ranges(program))
            return;
    cli_give_up("in none of %d runs", CLI_TRIES);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return session_in_parts(strtoul(argv[1], NULL, 10));
    const struct CMUnitTest tests[] = {cmocka_unit_test(measures_ranges),
                                       cmocka_unit_test(follows_another),
                                       cmocka_unit_test(knows_domains),
                                       cmocka_unit_test(counts_many),
                                       cmocka_unit_test(is_saved),
                                       cmocka_unit_test(refuses_a_forked_child),
                                       cmocka_unit_test(does_not_hang_in_a_forked_child),
                                       cmocka_unit_test(runs_the_example),
                                       cmocka_unit_test(says_what_it_cannot_read),
                                       cmocka_unit_test(runs_with_google_benchmark)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
