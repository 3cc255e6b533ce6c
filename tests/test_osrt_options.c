/*
 * `record --trace osrt` with other options, thresholds, captures and libraries, in restricted processes and in shells;
 * names of functions and of files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <dlfcn.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/os_calls.h"
#include "osrt_kit.h"
#include "record_kit.h"

static void only_what_is_captured(void **state)
{
    (void)state;
    struct cli_result result = osrt_run("ranges", "nvtx,osrt", "--capture", "wanted");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->os_calls.count, 1);
    assert_true(osrt_length(trace, 0) >= 20000000);
    nvt_trace_free(trace);
}

/* A flight recorder forgets calls as it does events. */
static void the_latest_part_alone(void **state)
{
    (void)state;
    struct cli_result result = osrt_run("many", "osrt", "--max-age", "200ms");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t calls = osrt_count(trace, "usleep");
    assert_true(calls > 20 && calls < 3000);
    nvt_trace_free(trace);
}

static void a_threshold_leaves_out_what_is_shorter(void **state)
{
    (void)state;
    struct cli_result result = osrt_run("ranges", "osrt", "--osrt-threshold", "15000000");
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = recorded_trace();
    char told[32];
    uint32_t slept = 0, kept = trace->os_calls.count;
    snprintf(told, sizeof(told), ", %u OS call", kept);
    assert_non_null(strstr(result.err, told));
    cli_result_free(&result);
    /* It sleeps for 20 ms once. On a busy machine other calls may take as long. */
    for (uint32_t i = 0; i < kept; i++) {
        assert_true(osrt_length(trace, i) >= 15000000);
        slept += !strcmp(nvt_name(trace, trace->os_calls.name[i]), "usleep") &&
                 osrt_length(trace, i) >= 20000000;
    }
    assert_true(slept > 0);
    nvt_trace_free(trace);
    result = osrt_run("ranges", "osrt", "--osrt-threshold", "0");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    assert_true(trace->os_calls.count > kept);
    nvt_trace_free(trace);
    result = osrt_run("ranges", "osrt", "--osrt-threshold", "1000000000000");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "no OS calls were recorded"));
    cli_result_free(&result);
    static const char *const wrong[] = {"-1", "", "1ms", "1000000000001", "99999999999999999999"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        result = osrt_run("ranges", "osrt", "--osrt-threshold", wrong[i]);
        cli_expect_failure(&result, "--osrt-threshold");
        cli_result_free(&result);
    }
    result = osrt_run("ranges", "nvtx", "--osrt-threshold", "1000");
    cli_expect_failure(&result, "--osrt-threshold needs --trace osrt");
    cli_result_free(&result);
}

/* Behind a strict seccomp() the least question to the system is the end. */
static void a_restricted_process_goes_on(void **state)
{
    (void)state;
    struct cli_result result = osrt_run("restricted", "osrt", "--osrt-threshold", "0");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "before\n"));
    cli_result_free(&result);
}

/* Those with a name are the first 65,000 and some. */
static uint32_t count_of_access(const struct nvt_trace *trace)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t all = 0, named = 0;
    for (uint32_t i = 0; i < calls->count; i++) {
        int is_one = !strcmp(nvt_name(trace, calls->name[i]), "access");
        all += is_one != 0;
        named += is_one && calls->file[i];
        assert_true(!is_one || !calls->file[i] || named == all);
    }
    assert_true(named > 65000 && named < 65536);
    return all;
}

static struct cli_result run_with_library(const char *what, const char *variable)
{
    char value[4200];
    snprintf(value, sizeof(value), "%s=%s", variable, cli_built("tests/osrt-library.so"));
    /* With AddressSanitizer, nvtally itself has the library in front of that. */
    const char *const environment[] = {value, "OSRT_CONSTRUCTOR=1",
                                       "ASAN_OPTIONS=verify_asan_link_order=0", NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 20};
    return cli_run_with(&options, (const char *const[]){
                                      "nvtally", "record", "--trace", "osrt", "-o", recorded_path(),
                                      "--", cli_client("os_calls"), what, cli_folder, NULL});
}

/* A constructor waits for a thread while the linker is locked: nobody may look anything up then. */
static void constructors_may_wait(void **state)
{
    (void)state;
    struct cli_result result = run_with_library("loads", "OSRT_LIBRARY");
    assert_false(result.timed_out);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t waits = osrt_call(trace, "poll", 0);
    assert_int_not_equal(waits, NVT_NONE);
    assert_string_equal(nvt_name(trace, trace->os_calls.caller[waits]), "osrt-library.so");
    nvt_trace_free(trace);
}

/* Calls go on to whoever stands behind us, and not to libc at once. */
static void others_in_front_of_libc_stay_there(void **state)
{
    (void)state;
    struct cli_result result = run_with_library("sleeps", "LD_PRELOAD");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "passed through\n"));
    cli_result_free(&result);
}

static void names_come_to_an_end(void **state)
{
    (void)state;
    struct cli_result result = osrt_run("names", "osrt", "--osrt-threshold", "0");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(count_of_access(trace), 70000);
    nvt_trace_free(trace);
}

/* Every name is one of libc's: what is mistyped would never be called. */
static void names_are_those_of_libc(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVT_OS_CALLS; i++) {
        if (i == NVT_OS_CALL_futex)
            continue;
        if (!dlsym(RTLD_DEFAULT, nvt_os_calls[i].name))
            fail_msg("%s is none", nvt_os_calls[i].name);
        assert_ptr_equal(nvt_os_call_find(nvt_os_calls[i].name), &nvt_os_calls[i]);
        assert_int_not_equal(nvt_os_calls[i].kind, NVT_OS_OTHER);
    }
    assert_null(nvt_os_call_find("getpid"));
}

/* Programs of several processes, shells and threads: the same output and status. */
static void shells_go_on_as_before(void **state)
{
    static const char script[] =
        "for i in 1 2 3; do echo $i | cat | wc -c; done; ls / | head -n 1; "
        "(exit 3) || echo $?; exec cat /proc/self/status 2>&1 | head -n 1";
    (void)state;
    struct cli_result alone = cli_run((const char *const[]){"sh", "-c", script, NULL});
    struct cli_result recorded =
        cli_run((const char *const[]){"nvtally", "record", "--trace", "osrt", "-o", recorded_path(),
                                      "--", "sh", "-c", script, NULL});
    assert_string_equal(alone.out, recorded.out);
    assert_int_equal(alone.status, recorded.status);
    assert_null(strstr(recorded.err, "lost"));
    cli_result_free(&alone);
    cli_result_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_captured),
        cmocka_unit_test(the_latest_part_alone),
        cmocka_unit_test(a_threshold_leaves_out_what_is_shorter),
        cmocka_unit_test(a_restricted_process_goes_on),
        cmocka_unit_test(constructors_may_wait),
        cmocka_unit_test(others_in_front_of_libc_stay_there),
        cmocka_unit_test(names_come_to_an_end),
        cmocka_unit_test(names_are_those_of_libc),
        cmocka_unit_test(shells_go_on_as_before),
    };
    return cmocka_run_group_tests(tests, osrt_set_up, osrt_tear_down);
}
