/*
 * Traces written as tables and read again: every column of every table comes back, whatever is in it; what is cut,
 * damaged or refers to what is not there is told in one line, and what was whole is read.
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

#include "../analyze/exports/export.h"
#include "../analyze/input/input_folder.h"
#include "../analyze/model/layout.h"
#include "../analyze/model/table_file.h"
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "../lib/trace_file.h"
#include "cli.h"
#include "random_kit.h"
#include "read_kit.h"
#include "trace_same.h"

static const struct nvt_error no_error = NVT_ERROR_INIT;

/* --- random traces ------------------------------------------------------------------------------ */

static uint64_t state;

/* xorshift64* */
static uint64_t draw(void)
{
    if (!state)
        state = kit_seed(1) | 1;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

static uint64_t below(uint64_t count)
{
    return draw() % count;
}

/* A value that a column may hold; many are small, the same as others, or as large as can be. */
static uint64_t value_for(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                          uint32_t column, uint32_t row)
{
    const struct nvt_layout_column *is = &table->columns[column];
    uint32_t rows = nvt_layout_rows(trace, &nvt_layout()[is->target]);
    uint64_t most = nvt_layout_most(table, column);
    uint64_t any = below(3) ? below(4) : draw() >> below(64);
    double real = (double)(int64_t)draw() / 1e9;
    switch (is->meaning) {
    case NVT_MEANS_NUMBER:
        return most == UINT64_MAX ? any : below(most + 1);
    case NVT_MEANS_SIGNED:
        return is->width == 8 ? draw() : any;
    case NVT_MEANS_TIME_OR_NONE:
        if (!below(4))
            return (uint64_t)INT64_MIN;
        /* fall through */
    case NVT_MEANS_TIME:
        return (draw() >> (2 + below(60))) * (below(8) ? 1 : UINT64_MAX);
    case NVT_MEANS_REAL:
        memcpy(&any, &real, sizeof(any));
        return any;
    case NVT_MEANS_TEXT:
        return below(nvt_strings_count(trace->strings));
    case NVT_MEANS_ROW:
        return below(rows);
    case NVT_MEANS_ROW_OR_NONE:
        return below(4) ? below(rows) : NVT_NONE;
    case NVT_MEANS_ROW_AND_1:
        return below((&nvt_layout()[is->target] == table ? row : rows) + UINT64_C(1));
    default:
        return 0;
    }
}

static void set_value(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                      uint32_t column, uint32_t row, uint64_t value)
{
    char *at = nvt_layout_values(trace, table, column);
    uint32_t width = table->columns[column].width;
    memcpy(at + (size_t)row * width, &value, width); /* little-endian, as the format is */
}

/* Columns that are the same for all rows, or stay the same for long, or jump with each. */
static void fill_column(struct nvt_trace *trace, const struct nvt_layout_table *table,
                        uint32_t column, uint32_t rows)
{
    uint64_t value = 0, often = below(3) ? below(40) + 1 : UINT64_MAX;
    int is_own = table->columns[column].meaning == NVT_MEANS_ROW_AND_1;
    for (uint32_t row = 0; row < rows; row++) {
        if (!row || is_own || below(often) == 0)
            value = value_for(trace, table, column, row);
        set_value(trace, table, column, row, value);
    }
}

static void set_details(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        uint32_t rows = trace->ops.kind[i] == NVT_OP_KERNEL   ? trace->kernels.count
                        : trace->ops.kind[i] == NVT_OP_MEMCPY ? trace->migrations.count
                                                              : 0;
        trace->ops.detail[i] = rows && below(3) ? (uint32_t)below(rows) : NVT_NONE;
    }
}

/* A trace with something in every column, finished; the caller owns it. */
static struct nvt_trace *random_trace(uint32_t rows_most)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("random", "nsys");
    assert_non_null(trace);
    for (unsigned i = 0; i < 40; i++) {
        char text[64];
        int length =
            snprintf(text, sizeof(text), "text %u\n\x01%c of \xc3\xa9", i, i & 1 ? 0 : 'x');
        assert_true(nvt_strings_add(trace->strings, text, (size_t)length) != NVT_NO_STRING);
    }
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        const struct nvt_layout_table *table = &nvt_layout()[i];
        uint32_t rows = (uint32_t)below(rows_most) + 1;
        assert_int_equal(table->reserve(trace, rows), 0);
        for (uint32_t k = 0; k < table->count; k++)
            if (table->columns[k].meaning != NVT_MEANS_LINKED)
                fill_column(trace, table, k, rows);
        nvt_layout_set_rows(trace, table, rows);
    }
    trace->domains.process[0] = NVT_NONE;
    trace->domains.name[0] = 0;
    set_details(trace);
    trace->origin_ns = (int64_t)draw();
    trace->is_late = (int)below(2);
    trace->is_truncated = (int)below(2);
    nvt_trace_warn(trace, "something is missing");
    nvt_trace_note(trace, "a note");
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* --- there and back ----------------------------------------------------------------------------- */

static void write_trace(const struct nvt_trace *trace, const char *path)
{
    struct nvt_error err = no_error;
    remove(path);
    if (nvt_tables_write(trace, path, 3, &err))
        fail_msg("%s", err.message);
}

static void expect_round_trip(const struct nvt_trace *trace)
{
    const char *path = cli_in(cli_folder, "round.nvt"), *column;
    uint32_t row;
    write_trace(trace, path);
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
        struct nvt_trace *trace = random_trace(i < 20 ? 5 : 300);
        expect_round_trip(trace);
        nvt_trace_free(trace);
    }
}

/* Several chunks a table, on one thread and on several. */
static void large_tables_come_back(void **unused)
{
    (void)unused;
    struct nvt_trace *trace = random_trace(3 * NVT_TABLES_ROWS);
    setenv("NVTALLY_THREADS", "1", 1);
    expect_round_trip(trace);
    setenv("NVTALLY_THREADS", "4", 1);
    expect_round_trip(trace);
    unsetenv("NVTALLY_THREADS");
    nvt_trace_free(trace);
}

static void an_empty_trace_comes_back(void **unused)
{
    struct nvt_error err = no_error;
    (void)unused;
    struct nvt_trace *trace = nvt_trace_new("nothing", "kineto");
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect_round_trip(trace);
    nvt_trace_free(trace);
}

/* What is wrong in a model is refused when it is read: each kind of reference, of each column. */
static void references_to_nothing_are_refused(void **unused)
{
    const char *path = cli_in(cli_folder, "wrong.nvt");
    size_t refused = 0;
    (void)unused;
    struct nvt_trace *trace = random_trace(20);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        const struct nvt_layout_table *table = &nvt_layout()[i];
        for (uint32_t k = 0; k < table->count; k++) {
            const struct nvt_layout_column *is = &table->columns[k];
            uint32_t row = nvt_layout_rows(trace, table) - 1;
            uint32_t target = nvt_layout_rows(trace, &nvt_layout()[is->target]);
            uint64_t wrong = is->meaning == NVT_MEANS_ROW || is->meaning == NVT_MEANS_ROW_OR_NONE
                                 ? target
                             : is->meaning == NVT_MEANS_ROW_AND_1 ? target + UINT64_C(1)
                             : is->meaning == NVT_MEANS_DETAIL    ? NVT_NONE - UINT64_C(1)
                             : is->meaning == NVT_MEANS_TIME      ? UINT64_C(1) << 62
                             : is->meaning == NVT_MEANS_REAL      ? UINT64_C(0x7ff) << 52
                             : is->meaning == NVT_MEANS_NUMBER    ? nvt_layout_most(table, k) + 1
                                                                  : 0;
            if (!wrong)
                continue;
            uint64_t right;
            struct nvt_error err = no_error;
            const char *column;
            uint32_t at;
            nvt_layout_take(is, (char *)nvt_layout_values(trace, table, k) + row * is->width, 1,
                            &right);
            set_value(trace, table, k, row, wrong);
            assert_string_equal(nvt_layout_check(trace, &column, &at), table->name);
            /* Of what kind an operation is says what its detail refers to. */
            if (i != NVT_TABLE_ops || strcmp(is->name, "kind") != 0)
                assert_string_equal(column, is->name);
            write_trace(trace, path);
            set_value(trace, table, k, row, right);
            struct nvt_trace *again = nvt_trace_read(path, &err);
            assert_non_null(again); /* what comes before it */
            assert_non_null(strstr(again->warning, "rows of "));
            assert_non_null(strstr(again->warning, table->name));
            assert_null(nvt_layout_check(again, &column, &at));
            nvt_trace_free(again);
            refused++;
        }
    }
    assert_true(refused >= 60);
    nvt_trace_free(trace);
}

/* Whoever made it: analyses see no trace that refers to what is not there. */
static void a_trace_that_is_wrong_is_not_finished(void **unused)
{
    (void)unused;
    struct nvt_error err = no_error;
    struct nvt_trace *trace = random_trace(20);
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

/* Their threads are known when they are linked: until then they are none, also where no thread is known at all. */
static void operations_need_no_thread(void **unused)
{
    (void)unused;
    struct nvt_error err = no_error;
    struct nvt_trace *trace = nvt_trace_new("ops", "nvt");
    const struct nvt_op op = {.start = 1, .end = 2, .detail = NVT_NONE};
    assert_non_null(trace);
    trace->ops_unlinked = 1;
    assert_int_equal(nvt_trace_process(trace, 7), 0);
    assert_int_equal(nvt_op_add(trace, &op), 0);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(trace->ops.thread[0], NVT_NONE);
    const char *column;
    uint32_t row;
    assert_null(nvt_layout_check(trace, &column, &row));
    nvt_trace_free(trace);
}

/* A file that is cut, or whose bytes are changed, is read up to there, or refused in a line; never more is in it than
 * was written. */
static void expect_sound(const char *path)
{
    struct nvt_error err = no_error;
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
    struct nvt_trace *trace = random_trace(60);
    free(trace->warning);
    trace->warning = NULL;
    write_trace(trace, path);
    char *bytes = cli_read_file(path, &size);
    for (size_t at = 0; at < size; at += 1 + below(97)) {
        struct nvt_error err = no_error;
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
    struct nvt_trace *trace = random_trace(60);
    write_trace(trace, path);
    char *bytes = cli_read_file(path, &size);
    for (int i = 0; i < 400; i++) {
        size_t at = below(size);
        char kept = bytes[at];
        bytes[at] ^= (char)(1u << below(8));
        cli_write_file(other, bytes, size);
        bytes[at] = kept;
        expect_sound(other);
    }
    free(bytes);
    nvt_trace_free(trace);
}

/* A file of one string, no facts, and of tables without columns: a name and so many rows of each, which are claimed. */
static struct nvt_trace_writer *begin_file(const char *path, const char *const names[],
                                           const uint32_t rows[], size_t count)
{
    struct nvt_error err = no_error;
    struct nvt_trace_writer *writer = nvt_trace_writer_new_tables(path, 0, &err);
    struct nvt_buffer payload = {0};
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_STRINGS, .count = 1};
    assert_non_null(writer);
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, "", 1, &err), 0);
    chunk = (struct nvt_chunk){.kind = NVT_CHUNK_META, .count = 0};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, "", 0, &err), 0);
    nvt_buffer_varint(&payload, count);
    for (size_t i = 0; i < count; i++) {
        nvt_buffer_varint(&payload, strlen(names[i]));
        nvt_buffer_append(&payload, names[i], strlen(names[i]));
        nvt_buffer_varint(&payload, rows[i]);
        nvt_buffer_varint(&payload, 0);
    }
    chunk = (struct nvt_chunk){.kind = NVT_CHUNK_TABLES, .count = 1};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, payload.data, payload.size, &err), 0);
    nvt_buffer_free(&payload);
    return writer;
}

static void put_rows(struct nvt_trace_writer *writer, uint32_t table, uint32_t rows, size_t size)
{
    static const uint8_t zeros[64];
    struct nvt_error err = no_error;
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_ROWS, .process = table, .count = rows};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, zeros, size, &err), 0);
}

static struct nvt_trace *end_file(struct nvt_trace_writer *writer, const char *path)
{
    struct nvt_error err = no_error;
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_END, .count = 1};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, "", 0, &err), 0);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    return nvt_trace_read(path, &err);
}

/* Rows that a file claims cost bytes: a small one does not fill memory. */
static void claims_need_bytes(void **unused)
{
    static const char *const names[] = {"processes", "externals"};
    const char *path = cli_in(cli_folder, "claims.nvt");
    (void)unused;
    for (uint32_t count = 32; count <= 33; count++) {
        const uint32_t rows[] = {1, 33};
        struct nvt_trace_writer *writer = begin_file(path, names, rows, 2);
        put_rows(writer, 0, 1, 2);
        put_rows(writer, 1, count, 64);
        struct nvt_trace *trace = end_file(writer, path);
        assert_non_null(trace);
        assert_int_equal(trace->processes.count, 1);
        assert_int_equal(trace->externals.count, count == 32 ? 32 : 0);
        assert_non_null(
            strstr(trace->warning, count == 32 ? "was cut off" : "kind 15 is malformed"));
        assert_true(trace->is_truncated);
        nvt_trace_free(trace);
    }
}

/* A row has 0 where the file has no column, and that refers to something, too. */
static void columns_that_are_not_there_refer_to_rows(void **unused)
{
    static const char *const names[] = {"processes", "threads", "kernels", "ops"};
    const char *path = cli_in(cli_folder, "absent.nvt");
    (void)unused;
    for (uint32_t without = 0; without < 4; without++) {
        uint32_t rows[] = {1, 1, 1, 1};
        rows[without] = without < 3 ? 0 : 1;
        struct nvt_trace_writer *writer = begin_file(path, names, rows, 4);
        for (uint32_t i = 0; i < 4; i++)
            if (rows[i])
                put_rows(writer, i, 1, 2);
        struct nvt_trace *trace = end_file(writer, path);
        /* Nothing can be of no process; a kernel's details are another matter. */
        assert_true((trace != NULL) == (without >= 2));
        if (trace)
            assert_int_equal(trace->ops.count, without == 3);
        nvt_trace_free(trace);
    }
}

/* What a window left out is not in the file, not even its names. */
static void a_window_gives_nothing_else_away(void **unused)
{
    const char *path = cli_in(cli_folder, "window.nvt");
    struct nvt_error err = no_error;
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
    write_trace(trace, path);
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
    struct nvt_error err = no_error;
    (void)unused;
    struct nvt_trace *trace = nvt_trace_new("t", "nvt");
    nvt_trace_warn(trace, "\x1b[31mred");
    nvt_trace_note(trace, "one\x07");
    nvt_trace_note(trace, "two \xe2\x80\xae");
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    write_trace(trace, path);
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
    struct nvt_error err = no_error;
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
    write_trace(trace, path);
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
    struct nvt_trace *trace = random_trace(3);
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

/* More rows than a table can have, a fact too much: what a file says is bounded. */
static void too_much_is_refused(void **unused)
{
    static const char *const names[] = {"processes"};
    static const uint8_t zeros[64];
    const char *path = cli_in(cli_folder, "much.nvt");
    struct nvt_error err = no_error;
    (void)unused;
    const uint32_t rows[] = {UINT32_MAX};
    struct nvt_trace_writer *writer = begin_file(path, names, rows, 1);
    put_rows(writer, 0, 1, 2);
    assert_null(end_file(writer, path));
    /* Facts come once. */
    const uint32_t one[] = {1};
    writer = begin_file(path, names, one, 1);
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_META, .count = 1};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, zeros, 2, &err), 0);
    put_rows(writer, 0, 1, 2);
    struct nvt_trace *trace = end_file(writer, path);
    assert_non_null(trace);
    assert_int_equal(trace->processes.count, 0);
    nvt_trace_free(trace);
}

/* An operation whose call a window left out gets no other one, though it has the same id. */
static void calls_that_a_window_left_out_stay_out(void **unused)
{
    struct nvt_error err = no_error;
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
        cmocka_unit_test(references_to_nothing_are_refused),
        cmocka_unit_test(a_trace_that_is_wrong_is_not_finished),
        cmocka_unit_test(operations_need_no_thread),
        cmocka_unit_test(cut_files_are_read_up_to_there),
        cmocka_unit_test(damaged_files_are_told),
        cmocka_unit_test(claims_need_bytes),
        cmocka_unit_test(columns_that_are_not_there_refer_to_rows),
        cmocka_unit_test(a_window_gives_nothing_else_away),
        cmocka_unit_test(lines_of_strangers_are_made_visible),
        cmocka_unit_test(what_record_has_kept_is_left_out),
        cmocka_unit_test(forms_of_a_profile_count_once),
        cmocka_unit_test(a_trace_and_its_tables_count_once),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(calls_that_a_window_left_out_stay_out),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
