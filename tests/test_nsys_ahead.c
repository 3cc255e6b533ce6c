/*
 * nsys exports in ranges of a few rows, so that each begins and ends somewhere else: what several threads read of them is what one
 * does, and what is read of the same tables row by row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAVE_SQLITE
#define NVT_NSYS_AHEAD_FROM  8
#define NVT_NSYS_AHEAD_ROWS  5
#define NVT_NSYS_AHEAD_TEXTS 64
#include "../analyze/readers/nsys_ahead.c"
#include "../analyze/readers/nsys_table.c"

#include "../lib/count_of.h"
#include "cli.h"
#include "random_kit.h"
#include "read_kit.h"
#include "trace_same.h"

#define T57 "281475060596743"

/* A column that has the name of the ids makes that they are not used. */
static const char *const id_columns[] = {"", ", _rowid_ INTEGER"};

static void put_schema(struct nvt_buffer *sql, const char *more)
{
    nvt_buffer_printf(
        sql,
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);"
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text"
        " TEXT, globalTid INTEGER, textId INTEGER, doubleValue REAL%s);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId"
        " INTEGER, globalTid INTEGER, correlationId INTEGER%s);",
        more, more);
}

/* Rows with ids, some of which are left out, and texts of up to twice what a range may have. */
static void put_rows(struct nvt_buffer *sql)
{
    const int rows = rand() % 90;
    for (int i = 1; i <= rows; i++) {
        if (rand() % 8 == 0)
            continue;
        nvt_buffer_printf(sql, "INSERT INTO StringIds VALUES (%d, 'name %d %0*d');", i * 3, i % 7,
                          rand() % 20 ? 1 : rand() % 128 + 1, 0);
        nvt_buffer_printf(sql,
                          "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, text, globalTid,"
                          " textId, doubleValue) VALUES (%d, %d, %s%d, 59, %s'%0*d', " T57
                          " + %d, %d, %s0.5);",
                          i, i * 5, rand() % 9 ? "" : "NULL + ", i * 5 + 3,
                          rand() % 3 ? "NULL || " : "", rand() % 9 ? 3 : rand() % 64 + 1,
                          rand() % 7, rand() % 2, rand() % rows * 3, rand() % 4 ? "NULL + " : "");
        nvt_buffer_printf(sql,
                          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (rowid, start, end, nameId,"
                          " globalTid, correlationId) VALUES (%d, %d, %d, %d, " T57 ", %d);",
                          i, i * 5 + 1, i * 5 + 2, rand() % rows * 3, i);
    }
}

/* Something that is not as it should be, or nothing. */
static void put_trouble(struct nvt_buffer *sql)
{
    static const char *const troubles[] = {
        "UPDATE NVTX_EVENTS SET start = 'soon' WHERE rowid = %d;",
        "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = x'00' WHERE rowid = %d;",
        "UPDATE StringIds SET value = x'00' WHERE id = 3 * %d;",
        "INSERT INTO StringIds VALUES (9000000000000 + %d, 'far away');",
        "INSERT INTO StringIds VALUES (-9223372036854775808 + %d, 'the first');",
        "UPDATE NVTX_EVENTS SET rowid = -rowid, text = 'below zero' WHERE rowid = %d;"};
    const size_t which = (size_t)rand() % (2 * NVT_COUNT_OF(troubles));
    char text[256] = "";
    if (which < NVT_COUNT_OF(troubles)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof(text), troubles[which], rand() % 90 + 1);
#pragma GCC diagnostic pop
    }
    nvt_buffer_printf(sql, "%s", text);
}

/* 1: it can be read. */
static int compare(const struct nvt_buffer *rows)
{
    struct nvt_trace *traces[2];
    char difference[512];
    for (size_t i = 0; i < 2; i++) {
        struct nvt_buffer sql = {0};
        put_schema(&sql, id_columns[i]);
        assert_int_equal(nvt_buffer_append(&sql, rows->data, rows->size + 1), 0);
        const char *path = kit_make_export((const char *)sql.data);
        traces[i] = kit_read_on_threads(path, "4", (const char *)sql.data);
        nvt_buffer_free(&sql);
    }
    assert_int_equal(!traces[0], !traces[1]);
    const char *found =
        traces[0] ? trace_difference(traces[0], traces[1], difference, sizeof(difference)) : NULL;
    if (found)
        fail_msg("%s\n%s", (const char *)rows->data, found);
    const int is_read = traces[0] != NULL;
    nvt_trace_free(traces[0]);
    nvt_trace_free(traces[1]);
    return is_read;
}

static void rows_are_the_same(void **state)
{
    (void)state;
    const int rounds = getenv("NVTALLY_LONG") ? 600 : 120;
    int read = 0;
    kit_srand(4711);
    for (int round = 0; round < rounds; round++) {
        struct nvt_buffer rows = {0};
        nvt_buffer_printf(&rows, "BEGIN;");
        put_rows(&rows);
        put_trouble(&rows);
        assert_int_equal(nvt_buffer_append(&rows, "COMMIT;", 8), 0);
        rows.size--;
        read += compare(&rows);
        nvt_buffer_free(&rows);
    }
    assert_true(read > rounds / 2 && read < rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_the_same)};
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
#else
int main(void)
{
    puts("not run: built without SQLite");
    return 0;
}
#endif
