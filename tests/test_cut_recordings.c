/* The latest part of a recording (--max-age, --max-size), whatever ends the recorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cut_kit.h"
#include "record_kit.h"

static struct cli_result record_kept(const char *option, const char *value, const char *path,
                                     const char *ms)
{
    const char *argv[] = {
        "nvtally", "record", option, value, "-o", path, "--", cli_client("flight"), ms, NULL};
    return cli_run(argv);
}

/* When what is kept begins, and the whole of the recording; seconds, as the note says. */
static void read_note(const struct nvt_trace *trace, double *cut, double *whole)
{
    const char *note = trace->notes ? strstr(trace->notes, "what ended in the first ") : NULL;
    assert_non_null(note);
    assert_int_equal(sscanf(note, "what ended in the first %lf of %lf s", cut, whole), 2);
}

static void expect_nothing_hidden(void)
{
    char path[700];
    snprintf(path, sizeof(path), "%s", recorded_in(".t.nvt.new"));
    assert_int_not_equal(access(path, F_OK), 0);
}

/* A recorder that is kept from its processor writes longer chunks, and cuts behind one. */
static struct nvt_trace *record_latest(double *cut)
{
    double whole = 0;
    *cut = 0;
    for (int i = 0; i < CLI_TRIES; i++) {
        struct cli_result result = record_kept("--max-age", "600ms", recorded_path(), "2000");
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        read_note(trace, cut, &whole);
        assert_true(whole > 1.9 && *cut > 0 && whole - *cut > 0.55);
        if (whole - *cut < 0.7)
            return trace;
        nvt_trace_free(trace);
    }
    cli_give_up("%.3f s were kept, and not 0.6 s", whole - *cut);
    return NULL; /* that does not return */
}

static void keeps_the_latest_seconds(void **state)
{
    (void)state;
    double cut;
    struct nvt_trace *trace = record_latest(&cut);
    assert_true(trace->is_late);
    /* It began before and ended in what was kept: not all of it was seen. */
    uint32_t main_range = recorded_range(trace, "main");
    assert_true(trace->ranges.flags[main_range] & NVT_RANGE_CARRIED);
    assert_false(trace->ranges.flags[main_range] & NVT_RANGE_UNCLOSED);
    assert_true(trace->carried.count > 0 && (double)trace->carried.begun[0] < 1e9 * cut);
    nvt_trace_free(trace);
    expect_nothing_hidden();
    const char *argv[] = {"nvtally", "stats", "-r", "nvtx_sum", "-f", "csv", recorded_path(), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, ":main"));
    assert_non_null(strstr(result.err, "began before what was kept"));
    cli_result_free(&result);
}

/* While it is recorded the file is cut, too: with a limit of 64 KiB it is never much more than a megabyte. */
static void keeps_the_latest_bytes(void **state)
{
    (void)state;
    const char *script =
        "\"$1\" record --level 0 --max-size 64K -o \"$2\" -- \"$3\" 3000 1000 & p=$!; most=0; "
        "while kill -0 $p 2>/dev/null; do s=$(stat -c %s \"$2\" 2>/dev/null || echo 0); "
        "[ $s -le $most ] || most=$s; sleep 0.02; done; wait $p; echo $most; stat -c %s \"$2\"";
    const char *argv[] = {
        "sh", "-c", script, "sh", cli_built("nvtally"), recorded_path(), cli_client("flight"),
        NULL};
    long most = 0, last = 0;
    double cut, whole;
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%ld %ld", &most, &last), 2);
    if (most < 64 * 1024 || most > 4 << 20 || last > 100 * 1024)
        fail_msg("most %ld, last %ld", most, last);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    read_note(trace, &cut, &whole);
    assert_true(cut > whole / 2);
    nvt_trace_free(trace);
    expect_nothing_hidden();
}

/* The recorder is killed again and again, in the middle of cutting as well: there is a trace each time. */
static void a_killed_recorder_leaves_a_trace(void **state)
{
    (void)state;
    const char *script =
        "\"$1\" record --level 0 --max-size 64K -o \"$2\" -- \"$3\" 100000 1000 & p=$!; "
        "until [ \"$(stat -c %s \"$2\" 2>/dev/null || echo 0)\" -gt 65536 ]; do sleep 0.02; done; "
        "sleep $4; pkill -P $p; kill -KILL $p; wait $p; true";
    int cuts = 0;
    for (int i = 0; i < 8; i++) {
        char seconds[20];
        snprintf(seconds, sizeof(seconds), "%.3f", 0.7 + 0.231 * i);
        const char *argv[] = {"sh",
                              "-c",
                              script,
                              "sh",
                              cli_built("nvtally"),
                              recorded_path(),
                              cli_client("flight"),
                              seconds,
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        assert_true(recorded_count(trace, "kernel") > 0);
        cuts += trace->notes && strstr(trace->notes, "was cut off: only the latest 0.0625 MiB");
        nvt_trace_free(trace);
    }
    assert_true(cuts > 2);
}

/* A link stays one, and the file behind it keeps who may read it. */
static void follows_links(void **state)
{
    (void)state;
    struct stat status;
    char link[600], target[600];
    snprintf(link, sizeof(link), "%s", recorded_in("link.nvt"));
    snprintf(target, sizeof(target), "%s", recorded_in("target.nvt"));
    unlink(recorded_path());
    cli_write_file(target, "", 0);
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink("target.nvt", link), 0);
    struct cli_result result = record_kept("--max-age", "200ms", link, "700");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(link, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    struct nvt_trace *trace = recorded_trace_at(link);
    double cut, whole;
    read_note(trace, &cut, &whole);
    nvt_trace_free(trace);
}

/* Where no file can be made beside the trace, all of it stays, and that is said. */
static void says_that_nothing_could_be_cut(void **state)
{
    (void)state;
    cli_write_file(recorded_in(".t.nvt.new"), "somebody's", 10);
    struct cli_result result = record_kept("--max-age", "200ms", recorded_path(), "700");
    cli_expect_status(&result, 0);
    if (!strstr(result.err, "could not be cut off: ") || !strstr(result.err, "is not a trace"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->notes);
    assert_true(recorded_count(trace, "kernel") > 1000);
    nvt_trace_free(trace);
    unlink(recorded_in(".t.nvt.new"));
}

/* What has the name of the new file is a link: neither is what it leads to written, nor does the trace become one. */
static void writes_through_no_link(void **state)
{
    (void)state;
    struct stat status;
    struct cli_result result = recorded_run("flight", "50");
    cli_result_free(&result);
    assert_int_equal(rename(recorded_path(), recorded_in("other.nvt")), 0);
    assert_int_equal(symlink("other.nvt", recorded_in(".t.nvt.new")), 0);
    result = record_kept("--max-age", "200ms", recorded_path(), "500");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "is a link or not a regular file"));
    cli_result_free(&result);
    assert_int_equal(lstat(recorded_path(), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    struct nvt_trace *other = recorded_trace_at(recorded_in("other.nvt"));
    assert_null(nvt_trace_meta(other, "kept"));
    nvt_trace_free(other);
    unlink(recorded_in(".t.nvt.new"));
}

static void wrong_limits(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"--max-age", ""},       {"--max-age", "5"},    {"--max-age", "-5s"},
        {"--max-age", "5 s"},    {"--max-age", "0s"},   {"--max-age", "nans"},
        {"--max-age", "0x1s"},   {"--max-age", "1e9h"}, {"--max-age", "infs"},
        {"--max-size", "60000"}, {"--max-size", "0"},   {"--max-size", "-1M"},
        {"--max-size", "9T"},    {"--max-size", "1e6"}, {"--max-age", "1.2.3s"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result = record_kept(wrong[i][0], wrong[i][1], recorded_path(), "1");
        cli_expect_failure(&result, wrong[i][0]);
        cli_result_free(&result);
    }
    struct cli_result result = record_kept("--max-age", "1s", "/dev/null", "1");
    cli_expect_failure(&result, "is not a regular file");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_latest_seconds),
        cmocka_unit_test(keeps_the_latest_bytes),
        cmocka_unit_test(a_killed_recorder_leaves_a_trace),
        cmocka_unit_test(follows_links),
        cmocka_unit_test(says_that_nothing_could_be_cut),
        cmocka_unit_test(writes_through_no_link),
        cmocka_unit_test(wrong_limits),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
