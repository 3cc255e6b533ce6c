/*
 * SQL over traces: what is refused or too much, functions that are replaced, the queries of documents, units of
 * results, and the command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/sql/model.h"
#include "../analyze/sql/sql.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"
#include "sql_kit.h"

#ifdef HAVE_SQLITE
static void expect_refused_within(double seconds, const char *text, const char *why)
{
    const struct nvt_sql_limits limits = {.seconds = seconds, .rows = 10};
    struct nvt_tables tables = {0};
    sql_err = (struct nvt_error)NVT_ERROR_INIT;
    assert_int_equal(nvt_sql_answer(sql_here, text, &limits, &tables, &sql_err), -1);
    if (!strstr(sql_err.message, why) || strchr(sql_err.message, '\n'))
        fail_msg("%s: \"%s\" and not \"%s\"", text, sql_err.message, why);
    nvt_tables_free(&tables);
    sql_err = (struct nvt_error)NVT_ERROR_INIT;
}

static void expect_refused(const char *text, const char *why)
{
    expect_refused_within(0.3, text, why);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
         "stopped after 0.3 s"},
        {"WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT count(*) FROM c",
         "stopped after 0.3 s"},
        {"SELECT count(*) FROM ops a, ops b, ops c, ops d", "stopped after 0.3 s"},
        {"ATTACH 'x.db' AS x", "only SELECT is allowed"},
        {"PRAGMA temp_store_directory = '/'", "only SELECT is allowed"},
        {"SELECT load_extension('x')", "load_extension"},
        {"CREATE TEMP TABLE x AS SELECT 1", "only SELECT is allowed"},
        {"CREATE TRIGGER t AFTER INSERT ON ops BEGIN SELECT 1; END", "cannot create triggers"},
        {"DELETE FROM ops", "only SELECT is allowed (table ops may not be modified)"},
        {"UPDATE kernels SET name = 'x'", "cannot modify"},
        {"INSERT INTO meta VALUES(1, 2, 3, 4, 5)", "only SELECT is allowed"},
        {"DROP TABLE ops", ""},
        {"VACUUM INTO 'x.db'", "only SELECT is allowed"},
        {"BEGIN", "only SELECT is allowed"},
        {"SELECT writefile('x', 'y')", "no such function"},
        {"SELECT * FROM pragma_table_info('ops')", "not authorized"},
        {"SELECT zeroblob(1000000000)", "too big"},
        {"SELECT colour FROM ops", "no such column: colour; SELECT * FROM nvtally_columns"},
        {"SELECT * FROM kernel", "did you mean 'kernels'?"},
        {"SELECT FROM WHERE", "syntax error"},
        {"SELECT 'open", "unrecognized token"},
        {" -- nothing", "the query is empty"},
        {"SELECT * FROM report_fragments", "needs a directory that 'nvtally run' wrote"},
    };
    sql_open_over(2);
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++)
        expect_refused(refused[i][0], refused[i][1]);
    char *large = malloc(1000001);
    assert_non_null(large);
    memset(large, ' ', 1000000);
    memcpy(large, "SELECT 1", 8);
    large[1000000] = 0;
    expect_refused(large, "1000000 bytes; at most 65536");
    free(large);
    /* Rows that have to be kept to be compared with each other. */
    nvt_sql_limit_memory(32 << 20);
    expect_refused_within(60,
                          "WITH RECURSIVE c(x) AS (SELECT randomblob(1000000) UNION SELECT "
                          "randomblob(1000000) FROM c) SELECT count(*) FROM c",
                          "needs more memory");
    nvt_sql_limit_memory(0);
    assert_int_equal(sql_number_of("SELECT 41 + 1"), 42); /* and goes on */
}

/* Statements that ask for more than they get, each in a line and in a moment: lengths, depths, terms, and time within a single step. */
static void what_is_too_much(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"SELECT printf('%1000000000d', 1)", "string or blob too big"},
        {"SELECT printf('%.*c', 1000000000, 'x')", "string or blob too big"},
        {"SELECT format('%*s', 1000000000, 'x')", "string or blob too big"},
        {"SELECT zeroblob(8388609)", "string or blob too big"},
        {"SELECT replace(hex(zeroblob(4000000)), '0', 'xxxxxxxx')", "string or blob too big"},
        {"SELECT replace(hex(zeroblob(400)), '0', hex(zeroblob(40000)))", "too big"},
        {"SELECT instr(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || '1')",
         "instr(): both texts are too long"},
        {"SELECT trim(hex(zeroblob(4000000)), hex(randomblob(2000000)))", "trim(): both texts"},
        {"SELECT group_concat(a.name) FROM ops a, ops b, ops c", ""},
        {"SELECT json_group_array(a.name) FROM ops a, ops b, ops c", ""},
        {"WITH RECURSIVE c(j) AS (SELECT json_array(1) UNION ALL SELECT json_array(j, j) FROM c) "
         "SELECT count(*) FROM c",
         ""},
        {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
         "sum(length(randomblob(8000000))) FROM c",
         "stopped after 0.3 s"},
        {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
         "sum(printf('%4000000d', x) LIKE '%1%2%3%4%5%6%7%8%9') FROM c",
         "stopped after 0.3 s"},
        {"SELECT json(printf('%.*c', 60000, '['))", "malformed JSON"},
        {"SELECT a.name FROM ops a, ops b, ops c, ops d ORDER BY random()", "stopped after 0.3 s"},
        {"SELECT abs(-9223372036854775808)", "integer overflow"},
    };
    sql_open_over(2);
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++)
        expect_refused(refused[i][0], refused[i][1]);
    /* The same piece again and again, with something before and behind. */
    static const struct {
        const char *before, *piece, *behind, *why;
        size_t times;
    } repeated[] = {
        {"SELECT ", "(", "1", "", 30000},
        {"SELECT 1", "+1", "", "Expression tree is too large", 30000},
        {"SELECT 1", " UNION ALL SELECT 1", "", "too many terms in compound SELECT", 3000},
        {"SELECT 1", ",1", "", "too many columns", 20000},
        {"SELECT 1 FROM ops", ",ops", "", "at most 64 tables in a join", 100},
        {"SELECT name FROM ops WHERE name LIKE '", "%a", "'", "LIKE or GLOB pattern too complex",
         25000},
        {"SELECT max(1", ",1", ")", "too many arguments on function max", 20000},
        {"SELECT id FROM ops WHERE id IN (-1", ",-1", ")", NULL, 20000},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(repeated); i++) {
        struct nvt_buffer text = {0};
        (void)nvt_buffer_printf(&text, "%s", repeated[i].before);
        for (size_t k = 0; k < repeated[i].times; k++)
            (void)nvt_buffer_printf(&text, "%s", repeated[i].piece);
        (void)nvt_buffer_printf(&text, "%s", repeated[i].behind);
        assert_int_equal(nvt_buffer_append(&text, "", 1), 0);
        if (repeated[i].why)
            expect_refused((const char *)text.data, repeated[i].why);
        else
            free(sql_text_of((const char *)text.data));
        nvt_buffer_free(&text);
    }
}

/* The functions that are replaced answer what SQLite's own do. */
static void replaced_functions_answer_alike(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "printf('%d %s %5.2f|%-8s|%c', 7, 'x', 2.5, 'left', 'yes')",
        "printf()",
        "printf(NULL, 1)",
        "printf('plain')",
        "printf('%s', NULL)",
        "instr('abcabc', 'ca')",
        "instr('\xc3\xa4\xc3\xb6\xc3\xbc', '\xc3\xbc')",
        "instr(x'00ff00', x'ff')",
        "instr('abc', '')",
        "instr(NULL, 'a')",
        "instr(12345, 34)",
        "replace('a-b-c', '-', '+')",
        "replace('aaa', 'aa', 'b')",
        "replace('abc', '', 'x')",
        "replace('abc', NULL, 'x')",
        "replace(121, 1, 'one')",
        "trim('xxaxx', 'x')",
        "ltrim('xyxa', 'xy')",
        "rtrim('a\xc3\xa4', '\xc3\xa4')",
        "trim('  a  ')",
        "trim(x'0001', x'00')",
    };
    sqlite3 *plain;
    sql_open_over(1);
    assert_int_equal(sqlite3_open(":memory:", &plain), SQLITE_OK);
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char query[200];
        sqlite3_stmt *statement;
        snprintf(query, sizeof(query), "SELECT quote(%s) AS q, typeof(%s) AS t", calls[i],
                 calls[i]);
        assert_int_equal(sqlite3_prepare_v2(plain, query, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        struct nvt_tables tables = {0};
        assert_int_equal(nvt_sql_answer(sql_here, query, &sql_no_limits, &tables, &sql_err), 0);
        for (int c = 0; c < 2; c++)
            assert_string_equal(nvt_table_text(tables.items[0], 0, (uint32_t)c),
                                (const char *)sqlite3_column_text(statement, c));
        nvt_tables_free(&tables);
        sqlite3_finalize(statement);
    }
    sqlite3_close(plain);
}

/* Queries of a page, each in a fence of its own, have rows. Returns how many there are. */
static size_t run_queries_of(const char *page, const char *trace)
{
    static const char fence[] = "```sql\n";
    char *text = cli_read_file(page, NULL);
    size_t count = 0;
    assert_non_null(text);
    for (char *at = text; (at = strstr(at, fence)); count++) {
        char *end = strstr(at += sizeof(fence) - 1, "\n```");
        assert_non_null(end);
        *end = 0;
        const char *const argv[] = {"nvtally", "sql", "-f", "csv", trace, at, NULL};
        struct cli_result result = cli_run(argv);
        if (result.status || !strchr(result.out, '\n') || !strchr(result.out, '\n')[1])
            fail_msg("%s: %s: %s%s", page, at, result.out, result.err);
        cli_result_free(&result);
        at = end + 1;
    }
    free(text);
    return count;
}

static void queries_of_pages(void **state)
{
    (void)state;
    assert_int_equal(run_queries_of("docs/agents.md", "docs/results/h100/traces/train.nvt"), 4);
}

static void results(void **state)
{
    (void)state;
    const struct nvt_sql_limits limits = {.rows = 2, .more = "--max-rows 0 shows all"};
    struct nvt_tables tables = {0};
    sql_open_over(1);
    assert_int_equal(
        nvt_sql_answer(sql_here,
                       "SELECT 1 AS i, 2.5 AS r, 'x' AS t, NULL AS n, x'00ff' AS b UNION ALL "
                       "SELECT 2, 3, 4, NULL, NULL UNION ALL SELECT 3, 3, 3, 3, 3; SELECT 7",
                       &limits, &tables, &sql_err),
        0);
    assert_int_equal(tables.count, 2);
    const struct nvt_table *table = tables.items[0];
    assert_int_equal(nvt_table_rows(table), 2);
    assert_int_equal(nvt_table_column(table, 0)->type, NVT_INT);
    assert_int_equal(nvt_table_column(table, 1)->type, NVT_REAL);
    assert_int_equal(nvt_table_column(table, 2)->type, NVT_TEXT);
    assert_string_equal(nvt_table_column(table, 2)->heading, "t");
    assert_string_equal(nvt_table_text(table, 1, 2), "4");
    assert_true(nvt_table_is_null(table, 0, 3));
    assert_string_equal(nvt_table_text(table, 0, 4), "00ff");
    assert_non_null(memmem(sql_input.notes.data, sql_input.notes.size, "the first 2 rows", 16));
    nvt_tables_free(&tables);
    nvt_buffer_free(&sql_input.notes);
}

/* A result that is a column as it is has its unit, under whatever name. */
static void units_of_results(void **state)
{
    (void)state;
    static const char query[] =
        "WITH first AS (SELECT * FROM ops WHERE bytes > 0 LIMIT 1) "
        "SELECT f.start AS at, k.duration, f.bytes, f.duration / 2 AS half, f.kind, "
        "(SELECT max(end) FROM ranges) AS last_ns, g.duration AS gap, s.share_percent, "
        "f.name, r.total_time_ns FROM first f, kernels k, gaps g, findings s, report_nvtx_sum r";
    static const char *const units[] = {"ns", "ns", "bytes", "", "", "ns", "ns", "%", "", "ns"};
    struct nvt_tables tables = {0};
    sql_open_over(2);
    assert_int_equal(
        nvt_sql_answer(sql_here, query, &(struct nvt_sql_limits){.rows = 1}, &tables, &sql_err), 0);
    for (size_t i = 0; i < NVT_COUNT_OF(units); i++) {
        const struct nvt_column *column = nvt_table_column(tables.items[0], i);
        char heading[64];
        if (strcmp(column->unit, units[i]) != 0)
            fail_msg("%s: '%s'", column->heading, column->unit);
        /* Which nobody sees who knows the column by its name. */
        assert_string_equal(nvt_render_heading(column, heading, sizeof(heading)), column->heading);
    }
    nvt_tables_free(&tables);
}

/* What a format does not say is NULL, and blank in reports; no shared memory is 0. */
static void what_is_unknown(void **state)
{
    (void)state;
    static const char events[] =
        "{\"schemaVersion\": 1, \"traceEvents\": [\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"bare\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "1, "
        "\"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"told\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "10, "
        "\"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7, \"grid\": [4, 2, 1], \"block\": "
        "[64, 1, 1], \"registers per thread\": 32, \"shared memory\": 0}},\n"
        "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pinned -> Device)\", "
        "\"pid\": 0, \"tid\": 7, \"ts\": 20, \"dur\": 5, \"args\": {\"device\": 0, \"stream\": "
        "7}}]}";
    static const char *const cases[][2] = {
        {"SELECT grid_x, grid_y, block_x, registers, static_shared, dynamic_shared, bytes FROM ops "
         "ORDER BY start",
         "\n,,,,,,\n4,2,64,32,0,0,\n,,,,,,\n"},
        {"SELECT static_shared AS s, count(*) AS n FROM kernel_shapes GROUP BY 1 ORDER BY 1",
         "s,n\n,1\n0,1\n"},
        {"SELECT short_name FROM kernels WHERE static_shared = 0", "short_name\ntold\n"},
        {"SELECT grdx, reg_trd, stcsmem_mb, bytes_mb FROM report_cuda_gpu_trace ORDER BY start_ns",
         "\n,,,\n4,32,0,\n,,,\n"},
        {"SELECT count(*) AS n FROM report_cuda_gpu_mem_size_sum", "n\n0\n"},
    };
    char *folder = cli_tempdir();
    const char *path = cli_in(folder, "bare.json");
    cli_write_file(path, events, strlen(events));
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *const argv[] = {"nvtally", "sql", "-f", "csv", path, cases[i][0], NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        if (!strstr(result.out, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], result.out);
        cli_result_free(&result);
    }
    cli_tempdir_remove(folder);
}

static void the_command(void **state)
{
    (void)state;
    static const char trace[] = "docs/results/h100/traces/train.nvt";
    const char *const query[] = {
        "nvtally", "sql", "-f", "csv", trace, "SELECT count(*) AS n FROM kernels", NULL};
    struct cli_result result = cli_run(query);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "n\n2892\n");
    cli_result_free(&result);
    const char *const named[] = {"nvtally", "sql", "-f", "csv", trace, "SELECT 1 AS a_ns", NULL};
    result = cli_run(named);
    assert_string_equal(result.out, "a_ns\n1\n");
    cli_result_free(&result);
    const char *const piped[] = {"nvtally", "sql", "-f", "json", trace, NULL};
    const struct cli_options options = {.input = "SELECT 1 AS a; SELECT 'x' AS b"};
    result = cli_run_with(&options, piped);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\"a\": 1"));
    cli_result_free(&result);
    /* What comes before a wrong one has been answered. */
    const char *const several[] = {"nvtally", "sql", "-f", "csv", trace, NULL};
    result = cli_run_with(&(struct cli_options){.input = "SELECT 1 AS a; SELECT nope"}, several);
    assert_int_equal(result.status, 2);
    assert_string_equal(result.out, "a\n1\n");
    assert_non_null(strstr(result.err, "no such column: nope"));
    cli_result_free(&result);
    static const char *const wrong[][4] = {
        {"missing.nvt", "SELECT 1 AS a", NULL, "missing.nvt"},
        {trace, "SELECT nope FROM ops", NULL, "no such column: nope"},
        {"SELECT 1 AS a", NULL, NULL, "no trace or directory was given"},
        {"--timeout=10", trace, "SELECT 1 AS a", "--timeout 10: must be a time"},
        {"--max-rows=-1", trace, "SELECT 1 AS a", "--max-rows -1: must be a number of rows"},
        {"--format=xml", trace, "SELECT 1 AS a", "no format 'xml'"},
        {"--timeout=100ms", trace,
         "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c",
         "stopped after 0.1 s"},
        /* Within a single step. */
        {"--timeout=100ms", trace,
         "SELECT printf('%.*c', 8000000, 'a') LIKE '%' || printf('%.*c', 400, 'a') || 'b'",
         "stopped after 0.1 s"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const argv[] = {"nvtally", "sql", wrong[i][0], wrong[i][1], wrong[i][2], NULL};
        result = cli_run(argv);
        cli_expect_failure(&result, wrong[i][3]);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(what_is_too_much),
        cmocka_unit_test(replaced_functions_answer_alike),
        cmocka_unit_test(queries_of_pages),
        cmocka_unit_test(results),
        cmocka_unit_test(units_of_results),
        cmocka_unit_test(what_is_unknown),
        cmocka_unit_test(the_command),
    };
    return cmocka_run_group_tests(tests, sql_set_up, sql_tear_down);
}

#else
int main(void)
{
    puts("not run: this build has no SQLite");
    return 0;
}
#endif
