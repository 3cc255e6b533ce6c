/* Tables whose rows refer to what is not there, or claim to be more than they are, are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/layout.h"
#include "../analyze/readers/reader.h"
#include "../lib/trace_file.h"
#include "cli.h"
#include "tables_kit.h"

/* What is wrong in a model is refused when it is read: each kind of reference, of each column. */
static void references_to_nothing_are_refused(void **unused)
{
    const char *path = cli_in(cli_folder, "wrong.nvt");
    size_t refused = 0;
    (void)unused;
    struct nvt_trace *trace = tables_random_trace(20);
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
            struct nvt_error err = tables_no_error;
            const char *column;
            uint32_t at;
            nvt_layout_take(is, (char *)nvt_layout_values(trace, table, k) + row * is->width, 1,
                            &right);
            tables_set_value(trace, table, k, row, wrong);
            assert_string_equal(nvt_layout_check(trace, &column, &at), table->name);
            /* Of what kind an operation is says what its detail refers to. */
            if (i != NVT_TABLE_ops || strcmp(is->name, "kind") != 0)
                assert_string_equal(column, is->name);
            tables_write_trace(trace, path);
            tables_set_value(trace, table, k, row, right);
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

/* Their threads are known when they are linked: until then they are none, also where no thread is known at all. */
static void operations_need_no_thread(void **unused)
{
    (void)unused;
    struct nvt_error err = tables_no_error;
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

/* A file of one string, no facts, and of tables without columns: a name and so many rows of each, which are claimed. */
static struct nvt_trace_writer *begin_file(const char *path, const char *const names[],
                                           const uint32_t rows[], size_t count)
{
    struct nvt_error err = tables_no_error;
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
    struct nvt_error err = tables_no_error;
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_ROWS, .process = table, .count = rows};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, zeros, size, &err), 0);
}

static struct nvt_trace *end_file(struct nvt_trace_writer *writer, const char *path)
{
    struct nvt_error err = tables_no_error;
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

/* More rows than a table can have, a fact too much: what a file says is bounded. */
static void too_much_is_refused(void **unused)
{
    static const char *const names[] = {"processes"};
    static const uint8_t zeros[64];
    const char *path = cli_in(cli_folder, "much.nvt");
    struct nvt_error err = tables_no_error;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_to_nothing_are_refused),
        cmocka_unit_test(operations_need_no_thread),
        cmocka_unit_test(claims_need_bytes),
        cmocka_unit_test(columns_that_are_not_there_refer_to_rows),
        cmocka_unit_test(too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
