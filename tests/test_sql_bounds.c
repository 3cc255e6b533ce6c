/* What a WHERE finds in a table is what it finds in a plain table of SQLite's with the same rows, whatever the type of the value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/sql/sql.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "random_kit.h"

#ifdef HAVE_SQLITE
#include "../analyze/sql/connection.h"

#define TRACES 2

static struct nvt_error err = NVT_ERROR_INIT;
static struct nvt_input_trace given[TRACES];
static struct nvt_input input = {.traces = given, .trace_count = TRACES};
static struct nvt_sql *sql;
static sqlite3 *plain; /* the same tables, copied */
static const struct nvt_sql_limits no_limits;

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < TRACES; i++) {
        const struct program program = {.iterations = 3,
                                        .kernels = 20,
                                        .kernel_ns = 9000,
                                        .copies = 2,
                                        .copy_ns = 3000,
                                        .copy_bytes = 4096,
                                        .host_ns = 2000000,
                                        .os_call = "read",
                                        .os_ns = 20000,
                                        .blocks = 40,
                                        .backward = 9,
                                        .leak_bytes = 1000,
                                        .wait_every = 10,
                                        .mpi_ns = 5000,
                                        .jitter = (unsigned)i + 1,
                                        .rank = i + 1};
        given[i] = (struct nvt_input_trace){.trace = make_program(&program)};
    }
    sql = nvt_sql_open(&input, &err);
    return !sql || sqlite3_open(":memory:", &plain) != SQLITE_OK;
}

static int tear_down(void **state)
{
    (void)state;
    nvt_sql_free(sql);
    sqlite3_close(plain);
    for (int i = 0; i < TRACES; i++)
        nvt_trace_free(given[i].trace);
    nvt_buffer_free(&input.notes);
    return 0;
}

static void run(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    return statement;
}

/* Create the plain table of what a statement answers, with columns of the same types. */
static void create(const char *table, sqlite3_stmt *from)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "CREATE TABLE \"%w\"(", table);
    for (int i = 0; i < sqlite3_column_count(from); i++) {
        const char *type = sqlite3_column_decltype(from, i);
        sqlite3_str_appendf(text, "%s\"%w\" %s", i ? "," : "", sqlite3_column_name(from, i),
                            type ? type : "");
    }
    sqlite3_str_appendall(text, ")");
    char *statement = sqlite3_str_finish(text);
    run(plain, statement);
    sqlite3_free(statement);
}

/* A table's rows, with its hidden columns, copied. */
static void copy(const struct nvt_shown_table *shown)
{
    sqlite3_str *text = sqlite3_str_new(NULL), *insert = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "SELECT *");
    for (uint32_t i = shown->count; i < shown->count + shown->hidden; i++)
        sqlite3_str_appendf(text, ",\"%w\"", shown->columns[i].name);
    sqlite3_str_appendf(text, " FROM %s", shown->name);
    char *select = sqlite3_str_finish(text);
    sqlite3_stmt *from = prepared(sql->db, select);
    create(shown->name, from);
    sqlite3_str_appendf(insert, "INSERT INTO %s(rowid", shown->name);
    for (int i = 0; i < sqlite3_column_count(from); i++)
        sqlite3_str_appendf(insert, ",\"%w\"", sqlite3_column_name(from, i));
    sqlite3_str_appendall(insert, ") VALUES(?1"); /* the id is the first column */
    for (int i = 0; i < sqlite3_column_count(from); i++)
        sqlite3_str_appendf(insert, ",?%d", i + 1);
    sqlite3_str_appendall(insert, ")");
    char *into = sqlite3_str_finish(insert);
    sqlite3_stmt *to = prepared(plain, into);
    while (sqlite3_step(from) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(from); i++)
            sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        assert_int_equal(sqlite3_step(to), SQLITE_DONE);
        sqlite3_reset(to);
    }
    sqlite3_finalize(from);
    sqlite3_finalize(to);
    sqlite3_free(select);
    sqlite3_free(into);
}

/* The ids that a statement answers, in its order, as a text. */
static char *ids_of(sqlite3 *db, const char *text)
{
    sqlite3_str *ids = sqlite3_str_new(NULL);
    sqlite3_stmt *statement = prepared(db, text);
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW)
        sqlite3_str_appendf(ids, "%lld ", (long long)sqlite3_column_int64(statement, 0));
    if (status != SQLITE_DONE)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_str_appendall(ids, ".");
    return sqlite3_str_finish(ids);
}

/* How many, by the way that counts go (regroup.h). */
static int64_t count_of(const char *text)
{
    struct nvt_tables tables = {0};
    if (nvt_sql_answer(sql, text, &no_limits, &tables, &err))
        fail_msg("%s: %s", text, err.message);
    const int64_t count = nvt_table_int(tables.items[0], 0, 0);
    nvt_tables_free(&tables);
    return count;
}

static int below(size_t count)
{
    return (int)(kit_uniform() * (double)count);
}

static size_t compared, with_rows;

static void expect_same(const char *table, const char *where)
{
    char text[1000];
    const int is_down = below(2);
    snprintf(text, sizeof(text), "SELECT id FROM %s WHERE %s ORDER BY id %s", table, where,
             is_down ? "DESC" : "");
    char *found = ids_of(sql->db, text), *expected = ids_of(plain, text);
    int64_t count = 0;
    for (const char *at = expected; *at; at++)
        count += *at == ' ';
    if (strcmp(found, expected) != 0)
        fail_msg("%s: %.200s, but a plain table has %.200s", text, found, expected);
    snprintf(text, sizeof(text), "SELECT count(*) FROM %s WHERE %s", table, where);
    if (compared % 5 == 0 && count_of(text) != count)
        fail_msg("%s: %lld, but a plain table has %lld", text, (long long)count_of(text),
                 (long long)count);
    compared++;
    with_rows += count > 0;
    sqlite3_free(found);
    sqlite3_free(expected);
}

/* A value to compare a column with, as SQL writes it: one that is in the table, in one of many types, or one at the edge of what there
 * is. */
static void write_value(const char *table, const char *column, int kind, char out[300])
{
    static const char *const edges[] = {"NULL",
                                        "x'31'",
                                        "x''",
                                        "''",
                                        "'abc'",
                                        "'1e0'",
                                        "' 7 '",
                                        "0",
                                        "-1",
                                        "1.0",
                                        "-0.0",
                                        "0.5",
                                        "1e300",
                                        "-1e300",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "9223372036854775808",
                                        "9223372036854775807.0",
                                        "-9223372036854775808.0",
                                        "'9223372036854775807'",
                                        "4294967295",
                                        "4294967296.0"};
    static const char *const forms[] = {"quote(v)",
                                        "ifnull(nullif(printf('%.1f', v), ''), 'NULL')",
                                        "quote(CAST(v AS TEXT))",
                                        "quote(v || '.0')",
                                        "printf('%lld.5', v)",
                                        "quote(CAST(v AS BLOB))"};
    char text[600];
    snprintf(out, 300, "%s", edges[below(NVT_COUNT_OF(edges))]);
    if (kind >= (int)NVT_COUNT_OF(forms))
        return;
    snprintf(text, sizeof(text),
             "SELECT %s FROM (SELECT \"%s\" AS v FROM %s LIMIT 1 OFFSET %d %% max(1, (SELECT "
             "count(*) FROM %s)))",
             forms[kind], column, table, below(1000), table);
    sqlite3_stmt *statement = prepared(plain, text);
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        snprintf(out, 300, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

/* Values that each operator compares a column with; which they are changes with the seed. */
static int values_of_each(void)
{
    return cli_is_long() ? 5 : 1;
}

static void compare_column(const char *table, const char *column)
{
    static const char *const ops[] = {"=", "<", "<=", ">", ">=", "IN", "BETWEEN", "IS"};
    for (size_t op = 0; op < NVT_COUNT_OF(ops); op++)
        for (int each = 0; each < values_of_each(); each++) {
            const int kind = below(9);
            char one[300], other[300], where[800];
            write_value(table, column, kind, one);
            write_value(table, column, below(9), other);
            if (!strcmp(ops[op], "IN"))
                snprintf(where, sizeof(where), below(2) ? "\"%s\" IN (%s)" : "\"%s\" IN (%s, %s)",
                         column, one, other);
            else if (!strcmp(ops[op], "BETWEEN"))
                snprintf(where, sizeof(where), "\"%s\" BETWEEN %s AND %s", column, one, other);
            else
                snprintf(where, sizeof(where), "\"%s\" %s %s", column, ops[op], one);
            expect_same(table, where);
        }
}

static void same_as_a_plain_table(void **state)
{
    (void)state;
    const struct nvt_shown_table *shown = nvt_shown_tables();
    for (size_t t = 0; t < NVT_TABLE_COUNT; t++) {
        copy(&shown[t]);
        for (uint32_t c = 0; c < shown[t].count + shown[t].hidden; c++)
            compare_column(shown[t].name, shown[t].columns[c].name);
        compare_column(shown[t].name, "rowid");
    }
    assert_true(compared > 1000 * (size_t)values_of_each());
    assert_true(with_rows > compared / 8);
}

/* One constant, used as a number and as a text: to look for the one does not change the other. */
static void a_constant_stays_what_it_is(void **state)
{
    (void)state;
    expect_same("ops", "kind = '1' AND name > '1'");
    expect_same("ops", "kind = '1' AND '1' = '1'");
    expect_same("ops", "kind = 1.0");
    expect_same("ops", "kind IN (1.0)");
    expect_same("ops", "kind = 7.0");
    assert_true(count_of("SELECT count(*) FROM ops WHERE kind = 1.0") > 0);
    assert_int_equal(count_of("SELECT count(*) FROM ops WHERE kind = 1.5"), 0);
}

static void a_name_in_quotes_is_no_text(void **state)
{
    (void)state;
    static const char *const queries[] = {"SELECT sum(\"duratoin\") FROM ops",
                                          "SELECT count(*) FROM ops WHERE name = \"nonesuch\"",
                                          "SELECT \"abc\""};
    struct nvt_tables tables = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(queries); i++) {
        err = (struct nvt_error)NVT_ERROR_INIT;
        assert_int_equal(nvt_sql_answer(sql, queries[i], &no_limits, &tables, &err), -1);
        assert_non_null(strstr(err.message, "no such column: "));
        nvt_tables_free(&tables);
        tables = (struct nvt_tables){0};
    }
    err = (struct nvt_error)NVT_ERROR_INIT;
    assert_true(count_of("SELECT sum(\"duration\") FROM ops") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_a_plain_table),
        cmocka_unit_test(a_constant_stays_what_it_is),
        cmocka_unit_test(a_name_in_quotes_is_no_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
#else
int main(void)
{
    puts("not run: this build has no SQLite");
    return 0;
}
#endif
