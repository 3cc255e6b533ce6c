/*
 * Traces written as tables and read again: every column of every table comes back, whatever is in it; what is cut or
 * damaged is told in one line, and what was whole is read.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/input/input_folder.h"
#include "../analyze/model/layout.h"
#include "../analyze/model/table_file.h"
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "cli.h"
#include "read_kit.h"
#include "tables_kit.h"
#include "trace_same.h"

/* --- there and back ----------------------------------------------------------------------------- */

static void expect_round_trip(const struct nvt_trace *trace)
{
    const char *path = cli_in(cli_folder, "round.nvt"), *column;
    uint32_t row;
    tables_write_trace(trace, path);
    struct nvt_trace *again = kit_read(path);
    char text[600];
    const char *difference = trace_difference(trace, again, text, sizeof(text));
    if (difference)
        fail_msg("%s", difference);
    assert_null(nvt_layout_check(again, &column, &row));
    nvt_trace_free(again);
}

/* --- tests -------------------------------------------------------------------------------------- */

/* A table that others refer to comes before them; only then a damaged file refers to nothing that is not there. */
static void tables_come_behind_what_they_refer_to(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        for (uint32_t k = 0; k < nvt_layout()[i].count; k++) {
            const struct nvt_layout_column *column = &nvt_layout()[i].columns[k];
            if (column->meaning == NVT_MEANS_ROW || column->meaning == NVT_MEANS_ROW_OR_NONE)
                assert_true(column->target < i);
            if (column->meaning == NVT_MEANS_ROW_AND_1)
                assert_true(column->target <= i);
            if (column->meaning == NVT_MEANS_DETAIL)
                assert_in_range(i, NVT_TABLE_migrations + 1,
                                NVT_TABLE_COUNT); /* kernels come before */
        }
}

static void every_column_comes_back(void **unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++) {
        struct nvt_trace *trace = tables_random_trace(i < 20 ? 5 : 300);
        expect_round_trip(trace);
        nvt_trace_free(trace);
    }
}

/* Several chunks a table, on one thread and on several. */
static void large_tables_come_back(void **unused)
{
    (void)unused;
    struct nvt_trace *trace = tables_random_trace(3 * NVT_TABLES_ROWS);
    setenv("NVTALLY_THREADS", "1", 1);
    expect_round_trip(trace);
    setenv("NVTALLY_THREADS", "4", 1);
    expect_round_trip(trace);
    unsetenv("NVTALLY_THREADS");
    nvt_trace_free(trace);
}

static void an_empty_trace_comes_back(void **unused)
{
    struct nvt_error err = tables_no_error;
    (void)unused;
    struct nvt_trace *trace = nvt_trace_new("nothing", "kineto");
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect_round_trip(trace);
    nvt_trace_free(trace);
}

/* Whoever made it: analyses see no trace that refers to what is not there. */
static void a_trace_that_is_wrong_is_not_finished(void **unused)
{
    (void)unused;
    struct nvt_error err = tables_no_error;
    struct nvt_trace *trace = tables_random_trace(20);
    const uint32_t row = trace->marks.count - 1, right = trace->marks.domain[row];
    trace->was_finished = 1;
    trace->marks.domain[row] = trace->domains.count;
    assert_int_equal(nvt_trace_finish(trace, &err), -1);
    assert_non_null(strstr(err.message, "malformed: domain of row"));
    assert_non_null(strstr(err.message, "of marks"));
    trace->marks.domain[row] = right;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    nvt_trace_free(trace);
}

/* A file that is cut, or whose bytes are changed, is read up to there, or refused in a line; never more is in it than
 * was written. */
static void expect_sound(const char *path)
{
    struct nvt_error err = tables_no_error;
    const char *column;
    uint32_t row;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    if (!trace) {
        assert_true(*err.message && !strchr(err.message, '\n'));
        return;
    }
    assert_null(nvt_layout_check(trace, &column, &row));
    nvt_trace_free(trace);
}

static void cut_files_are_read_up_to_there(void **unused)
{
    const char *path = cli_in(cli_folder, "whole.nvt"), *cut = cli_in(cli_folder, "cut.nvt");
    size_t size, warned = 0;
    (void)unused;
    struct nvt_trace *trace = tables_random_trace(60);
    free(trace->warning);
    trace->warning = NULL;
    tables_write_trace(trace, path);
    char *bytes = cli_read_file(path, &size);
    for (size_t at = 0; at < size; at += 1 + tables_below(97)) {
        struct nvt_error err = tables_no_error;
        cli_write_file(cut, bytes, at);
        struct nvt_trace *again = nvt_trace_read(cut, &err);
        if (again) {
            const char *column;
            uint32_t row;
            assert_non_null(again->warning);
            assert_null(nvt_layout_check(again, &column, &row));
            warned++;
        } else {
            assert_true(*err.message);
        }
        nvt_trace_free(again);
    }
    assert_true(warned > 5);
    free(bytes);
    nvt_trace_free(trace);
}

static void damaged_files_are_told(void **unused)
{
    const char *path = cli_in(cli_folder, "whole.nvt"), *other = cli_in(cli_folder, "other.nvt");
    size_t size;
    (void)unused;
    struct nvt_trace *trace = tables_random_trace(60);
    tables_write_trace(trace, path);
    char *bytes = cli_read_file(path, &size);
    for (int i = 0; i < 400; i++) {
        size_t at = tables_below(size);
        char kept = bytes[at];
        bytes[at] ^= (char)(1u << tables_below(8));
        cli_write_file(other, bytes, size);
        bytes[at] = kept;
        expect_sound(other);
    }
    free(bytes);
    nvt_trace_free(trace);
}

/* What a window left out is not in the file, not even its names. */
static void a_window_gives_nothing_else_away(void **unused)
{
    const char *path = cli_in(cli_folder, "window.nvt");
    struct nvt_error err = tables_no_error;
    struct nvt_window window = {0};
    struct nvt_process process = {.pid = 1, .rank = NVT_NONE};
    size_t size;
    (void)unused;
    struct nvt_trace *trace = nvt_trace_new("t", "nvt");
    assert_int_equal(nvt_process_add(trace, &process), 0);
    struct nvt_thread thread = {.process = 0, .tid = 1};
    assert_int_equal(nvt_thread_add(trace, &thread), 0);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"first", "secret", "step", "within"};
        struct nvt_range row = {.start = i < 2 ? 100 * i : 1000 + i,
                                .end = i < 2 ? 100 * i + 50 : 2000 - i,
                                .name = nvt_strings_add_text(trace->strings, names[i]),
                                .style = NVT_PUSH_POP};
        assert_true(nvt_range_add(trace, &row) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_window_set_range(&window, "step", &err), 0);
    assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
    expect_round_trip(trace);
    tables_write_trace(trace, path);
    struct nvt_trace *again = kit_read(path);
    assert_int_equal(again->ranges.count, 2);
    assert_int_equal(again->first_ns, 1002);
    assert_int_equal(nvt_strings_find(again->strings, "secret", 6), NVT_NO_STRING);
    char *bytes = cli_read_file(path, &size);
    assert_null(memmem(bytes, size, "secret", 6));
    free(bytes);
    nvt_trace_free(again);
    nvt_trace_free(trace);
}

/* Warnings and notes are printed: what steers a terminal does not get there. */
static void lines_of_strangers_are_made_visible(void **unused)
{
    const char *path = cli_in(cli_folder, "lines.nvt");
    struct nvt_error err = tables_no_error;
    (void)unused;
    struct nvt_trace *trace = nvt_trace_new("t", "nvt");
    nvt_trace_warn(trace, "\x1b[31mred");
    nvt_trace_note(trace, "one\x07");
    nvt_trace_note(trace, "two \xe2\x80\xae");
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    tables_write_trace(trace, path);
    struct nvt_trace *again = kit_read(path);
    assert_string_equal(again->warning, "\xe2\x90\x9b[31mred");
    assert_string_equal(again->notes, "one\xe2\x90\x87\ntwo \xef\xbf\xbd\n");
    nvt_trace_free(again);
    nvt_trace_free(trace);
}

/* What stands for the other in a folder: the newer one. */
static void expect_folder(const char *folder, const char *first, const char *second)
{
    struct nvt_paths paths = {0};
    struct nvt_error err = tables_no_error;
    const char *names[] = {first, second};
    assert_int_equal(nvt_folder_traces(folder, &paths, &err), 0);
    assert_int_equal(paths.count, second ? 2 : 1);
    for (size_t i = 0; i < paths.count; i++)
        assert_string_equal(strrchr(paths.items[i], '/') + 1, names[i]);
    nvt_paths_free(&paths);
}

static void set_time(const char *path, time_t seconds)
{
    const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* As if `source` had been read: it has that path. */
static void write_tables_of(struct nvt_trace *trace, const char *source, const char *path)
{
    free(trace->path);
    trace->path = strdup(source);
    tables_write_trace(trace, path);
}

static void what_record_has_kept_is_left_out(void **unused)
{
    char *folder = strdup(cli_in(cli_folder, "kept"));
    (void)unused;
    assert_int_equal(mkdir(folder, 0777), 0);
    cli_write_file(cli_in(folder, "a.old.nvt"), "", 0);
    cli_write_file(cli_in(folder, "b.nvt"), "", 0);
    expect_folder(folder, "a.old.nvt", "b.nvt"); /* the new one has gone: this is what there is */
    cli_write_file(cli_in(folder, "b.old.nvt"), "", 0);
    expect_folder(folder, "a.old.nvt", "b.nvt");
    free(folder);
}

/* A profile in several forms, as JAX writes it, and one that was unpacked. */
static void forms_of_a_profile_count_once(void **unused)
{
    char *folder = strdup(cli_in(cli_folder, "forms"));
    (void)unused;
    assert_int_equal(mkdir(folder, 0777), 0);
    cli_write_file(cli_in(folder, "perfetto_trace.json.gz"), "", 0);
    expect_folder(folder, "perfetto_trace.json.gz", NULL);
    cli_write_file(cli_in(folder, "vm.trace.json.gz"), "", 0);
    expect_folder(folder, "vm.trace.json.gz", NULL);
    cli_write_file(cli_in(folder, "vm.xplane.pb"), "", 0);
    expect_folder(folder, "vm.xplane.pb", NULL);
    cli_write_file(cli_in(folder, "other.trace.json.gz"), "", 0);
    expect_folder(folder, "other.trace.json.gz", "vm.xplane.pb");
    cli_write_file(cli_in(folder, "other.trace.json"), "", 0);
    expect_folder(folder, "other.trace.json", "vm.xplane.pb");
    free(folder);
}

static void a_trace_and_its_tables_count_once(void **unused)
{
    char *folder = strdup(cli_in(cli_folder, "both"));
    (void)unused;
    assert_int_equal(mkdir(folder, 0777), 0);
    char *profile = strdup(cli_in(folder, "a.json.gz")),
         *snapshot = strdup(cli_in(folder, "a.pickle"));
    char *tables = strdup(cli_in(folder, "z.nvt")), *report = strdup(cli_in(folder, "n.nsys-rep"));
    char *export = strdup(cli_in(folder, "n.sqlite"));
    struct nvt_trace *trace = tables_random_trace(3);
    cli_write_file(profile, "{}", 2);
    write_tables_of(trace, profile, tables);
    expect_folder(folder, "z.nvt", NULL);
    /* Nothing but what it was made of. */
    cli_write_file(snapshot, "{}", 2);
    expect_folder(folder, "a.pickle", "z.nvt");
    remove(snapshot);
    set_time(profile, 1000);
    set_time(tables, 1000);
    expect_folder(folder, "z.nvt", NULL);
    set_time(profile, 1001);
    expect_folder(folder, "a.json.gz", NULL);
    cli_write_file(profile, "{ }", 3);
    set_time(profile, 999);
    expect_folder(folder, "a.json.gz", "z.nvt"); /* another one of that name */
    remove(profile);
    /* A report and its export are one. */
    cli_write_file(report, "report", 6);
    cli_write_file(export, "export", 6);
    write_tables_of(trace, report, tables);
    expect_folder(folder, "z.nvt", NULL);
    write_tables_of(trace, export, tables);
    expect_folder(folder, "z.nvt", NULL);
    /* A part of a trace does not stand for it. */
    trace->is_part = 1;
    write_tables_of(trace, export, tables);
    expect_folder(folder, "n.sqlite", "z.nvt");
    /* What is no file is not looked into. */
    remove(report);
    remove(export);
    remove(tables);
    assert_int_equal(mkfifo(tables, 0666), 0);
    cli_write_file(profile, "{}", 2);
    expect_folder(folder, "a.json.gz", NULL);
    nvt_trace_free(trace);
    free(folder);
    free(profile);
    free(snapshot);
    free(tables);
    free(report);
    free(export);
}

/* An operation whose call a window left out gets no other one, though it has the same id. */
static void calls_that_a_window_left_out_stay_out(void **unused)
{
    struct nvt_error err = tables_no_error;
    struct nvt_window window = {0};
    (void)unused;
    struct nvt_trace *trace = nvt_trace_new("t", "nsys");
    const struct nvt_process process = {.pid = 1, .rank = NVT_NONE};
    const struct nvt_thread thread = {.tid = 1};
    assert_int_equal(nvt_process_add(trace, &process), 0);
    assert_int_equal(nvt_thread_add(trace, &thread), 0);
    for (int i = 0; i < 2; i++) {
        const struct nvt_api call = {.start = 100 + 20 * i, .end = 150 - i, .correlation = 7};
        assert_true(nvt_api_add(trace, &call) != NVT_NONE);
    }
    const struct nvt_op op = {.start = 160, .end = 170, .correlation = 7, .detail = NVT_NONE};
    assert_true(nvt_op_add(trace, &op) != NVT_NONE);
    trace->ops_unlinked = 1;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(trace->ops.api[0], 0);
    expect_round_trip(trace);
    assert_int_equal(nvt_window_set_time(&window, "110/", &err), 0);
    assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
    assert_int_equal(trace->ops.api[0], NVT_NONE);
    assert_int_equal(trace->apis.count, 1);
    expect_round_trip(trace);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_come_behind_what_they_refer_to),
        cmocka_unit_test(every_column_comes_back),
        cmocka_unit_test(large_tables_come_back),
        cmocka_unit_test(an_empty_trace_comes_back),
        cmocka_unit_test(a_trace_that_is_wrong_is_not_finished),
        cmocka_unit_test(cut_files_are_read_up_to_there),
        cmocka_unit_test(damaged_files_are_told),
        cmocka_unit_test(a_window_gives_nothing_else_away),
        cmocka_unit_test(lines_of_strangers_are_made_visible),
        cmocka_unit_test(what_record_has_kept_is_left_out),
        cmocka_unit_test(forms_of_a_profile_count_once),
        cmocka_unit_test(a_trace_and_its_tables_count_once),
        cmocka_unit_test(calls_that_a_window_left_out_stay_out),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
