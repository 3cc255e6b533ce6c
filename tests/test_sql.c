/* SQL over traces: the same answers as the reports, by whatever way rows are found; ids over several files. */
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
#include "cli.h"
#include "random_kit.h"
#include "sql_kit.h"

#ifdef HAVE_SQLITE
/* Every table and column says what it is, and nothing is said of what there is not. */
static void every_column_is_described(void **state)
{
    (void)state;
    static const char *const described[][2] = {
#define TABLE(table, about)
#define COLUMN(table, column, unit, unknown, about) {#table, #column},
#include "../analyze/sql/columns.def"
    };
    const struct nvt_shown_table *shown = nvt_shown_tables();
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        assert_non_null(shown[i].about);
        assert_in_range(shown[i].count, 4, NVT_SHOWN_COLUMNS_MOST - 1);
        for (uint32_t c = 0; c < shown[i].count; c++) {
            if (!*shown[i].columns[c].about)
                fail_msg("columns.def does not have %s.%s", shown[i].name,
                         shown[i].columns[c].name);
            for (uint32_t k = 0; k < c; k++)
                assert_string_not_equal(shown[i].columns[k].name, shown[i].columns[c].name);
        }
    }
    for (size_t i = 0; i < NVT_COUNT_OF(described); i++) {
        int there = 0;
        for (size_t t = 0; t < NVT_TABLE_COUNT; t++)
            for (uint32_t c = 0; c < nvt_layout()[t].count; c++)
                there += !strcmp(nvt_layout()[t].name, described[i][0]) &&
                         !strcmp(nvt_layout()[t].columns[c].name, described[i][1]);
        if (there != 1)
            fail_msg("columns.def has %s.%s, which the model has not", described[i][0],
                     described[i][1]);
    }
    sql_open_over(1);
    assert_int_equal(sql_number_of("SELECT count(*) FROM nvtally_columns WHERE about IS NULL AND "
                                   "(table_name IN (SELECT name FROM nvtally_tables WHERE kind IN "
                                   "('model', 'view')) OR table_name IN ('gaps', 'iterations', "
                                   "'findings', 'rules', 'nvtally_tables', 'nvtally_columns'))"),
                     0);
    assert_int_equal(sql_number_of("SELECT count(*) FROM nvtally_columns WHERE unit = 'ns' AND "
                                   "(table_name, name) IN (VALUES ('gaps', 'start'), ('gaps', "
                                   "'duration'), ('iterations', 'end'), ('findings', 'cost_ns'))"),
                     4);
    assert_true(sql_number_of("SELECT count(*) FROM nvtally_columns WHERE table_name = 'kernels'") >
                20);
}

/* Rows that a report has and the query has not, or the other way around. */
static void expect_same(const char *report, const char *query)
{
    assert_true(sql_number_of("SELECT count(*) FROM (%s)", report) > 0);
    assert_int_equal(sql_number_of("SELECT count(*) FROM (%s EXCEPT %s)", report, query), 0);
    assert_int_equal(sql_number_of("SELECT count(*) FROM (%s EXCEPT %s)", query, report), 0);
}

static void same_as_reports(void **state)
{
    (void)state;
    for (size_t traces = 1; traces <= 3; traces += 2) {
        sql_open_over(traces);
        expect_same("SELECT name, instances, total_time_ns FROM report_cuda_gpu_kern_sum",
                    "SELECT name, count(*), sum(duration) FROM kernels GROUP BY name");
        expect_same("SELECT name, num_calls, total_time_ns, max_ns FROM report_cuda_api_sum",
                    "SELECT name, count(*), sum(duration), max(duration) FROM apis GROUP BY name");
        expect_same("SELECT range, instances, total_time_ns FROM report_nvtx_sum",
                    "SELECT d.name || ':' || r.name, count(*), sum(r.duration) FROM ranges r "
                    "JOIN domains d ON d.id = r.domain GROUP BY 1");
        expect_same("SELECT operation, count, total_time_ns FROM report_cuda_gpu_mem_time_sum",
                    "SELECT name, count(*), sum(duration) FROM copies GROUP BY name");
        expect_same("SELECT name, num_calls, total_time_ns FROM report_osrt_sum",
                    "SELECT name, count(*), sum(duration) FROM os_calls GROUP BY name");
        assert_int_equal(sql_number_of("SELECT count(*) FROM iterations"), 12 * (int64_t)traces);
        assert_true(sql_number_of("SELECT count(*) FROM gaps") > 0);
        assert_true(sql_number_of("SELECT count(*) FROM findings") > 0);
    }
}

/* The same rows with an index as without: a unary + keeps SQLite from using one. */
static void expect_found(const char *table, const char *column, const char *op, int64_t value)
{
    int64_t rows[2], sums[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = sql_number_of("SELECT count(*) FROM %s WHERE %s%s %s %lld", table, i ? "+" : "",
                                column, op, (long long)value);
        sums[i] = sql_number_of("SELECT ifnull(sum(id), 0) FROM %s WHERE %s%s %s %lld", table,
                                i ? "+" : "", column, op, (long long)value);
    }
    if (rows[0] != rows[1] || sums[0] != sums[1])
        fail_msg("%s.%s %s %lld: %lld rows by index, %lld without", table, column, op,
                 (long long)value, (long long)rows[0], (long long)rows[1]);
}

static void indices_find_what_a_scan_finds(void **state)
{
    (void)state;
    static const char *const ops[] = {"=", "<", "<=", ">", ">="};
    kit_srand(7);
    sql_open_over(3);
    const struct nvt_shown_table *shown = nvt_shown_tables();
    for (size_t t = 0; t < NVT_TABLE_COUNT; t++)
        for (uint32_t c = 0; c < shown[t].count; c++) {
            char column[64];
            snprintf(column, sizeof(column), "%s", shown[t].columns[c].name);
            const int64_t rows = sql_number_of("SELECT count(*) FROM %s", shown[t].name);
            if (!rows || sql_number_of("SELECT count(*) FROM %s WHERE typeof(\"%s\") = 'integer'",
                                       shown[t].name, column) == 0)
                continue;
            for (int i = 0; i < 8; i++) {
                const int64_t value =
                    sql_number_of(
                        "SELECT ifnull(max(\"%s\"), 0) FROM (SELECT \"%s\" FROM %s LIMIT 1 "
                        "OFFSET %lld)",
                        column, column, shown[t].name, (long long)(rand() % rows)) +
                    rand() % 3 - 1;
                expect_found(shown[t].name, column, ops[rand() % 5], value);
                expect_found(shown[t].name, column, "=", value);
            }
        }
    assert_true(sql_number_of("SELECT count(*) FROM ops WHERE name = 'gemm'") ==
                sql_number_of("SELECT count(*) FROM ops WHERE +name = 'gemm'"));
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops WHERE start = '1.5'"), 0);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops WHERE id > 3.5 AND id < 6.5"), 3);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops WHERE id = '3'"), 1);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops WHERE id <= -9223372036854775808"), 0);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops WHERE id <= 9223372036854775807"),
                     sql_number_of("SELECT count(*) FROM ops"));
    assert_int_equal(sql_number_of("SELECT count(*) FROM (SELECT name FROM ops WHERE id < "
                                   "-9223372036854775807 ORDER BY name)"),
                     0);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops WHERE start < NULL"), 0);
}

/* Statements of which one has columns with a unary + where the other has none: SQLite sorts for it. */
static void expect_same_text(const char *format, const char *table, const char *a, const char *b)
{
    char statements[2][1000], *texts[2];
    for (int i = 0; i < 2; i++) {
        const char *plus = i ? "+" : "";
        snprintf(statements[i], sizeof(statements[i]), format, table, plus, a, plus, b);
        texts[i] = sql_text_of(statements[i]);
    }
    if (strcmp(texts[0], texts[1]) != 0)
        fail_msg("%s:\n%.1000s\nand sorted by SQLite:\n%.1000s", statements[0], texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

/* In any order of columns, of one file and of several, as if SQLite had sorted. */
static void sorted_as_sqlite_sorts(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT count(*), sum(id), min(id) FROM %s GROUP BY %s\"%s\", %s\"%s\"",
        "SELECT id FROM %s ORDER BY %s\"%s\", %s\"%s\" DESC, id",
        "SELECT id FROM %s WHERE id > 3 ORDER BY %s\"%s\" DESC, %s\"%s\", id DESC",
        "SELECT sum(id) OVER (PARTITION BY %2$s\"%3$s\" ORDER BY %4$s\"%5$s\", id) AS n FROM %1$s "
        "ORDER BY id",
    };
    kit_srand(11);
    const struct nvt_shown_table *shown = nvt_shown_tables();
    for (size_t traces = 1; traces <= 3; traces += 2) {
        sql_open_over(traces);
        for (size_t t = 0; t < NVT_TABLE_COUNT; t++) {
            const uint32_t columns = shown[t].count + shown[t].hidden;
            if (sql_number_of("SELECT count(*) FROM %s", shown[t].name) == 0)
                continue;
            for (uint32_t c = 0; c < columns; c++)
                for (size_t i = 0; i < NVT_COUNT_OF(statements); i++)
                    expect_same_text(statements[i], shown[t].name, shown[t].columns[c].name,
                                     shown[t].columns[(uint32_t)rand() % columns].name);
        }
        /* Names in the order of their bytes, and back. */
        expect_same_text("SELECT name, count(*) FROM %s GROUP BY %s%s ORDER BY %s%s DESC", "ops",
                         "name", "name");
        expect_same_text("SELECT DISTINCT %2$s%3$s AS a, %4$s%5$s AS b FROM %1$s ORDER BY 1, 2",
                         "ranges", "name", "level");
        expect_same_text("SELECT range_name, name, count(*), sum(duration) FROM %s GROUP BY %s%s, "
                         "%s%s",
                         "kernels", "range_name", "name");
        expect_same_text("SELECT t.tid, k.name, count(*) FROM %s k JOIN threads t ON t.id = "
                         "k.thread GROUP BY %sk.%s, %st.%s",
                         "kernels", "name", "tid");
    }
}

/* SQLite leaves sorting to the table where it can. */
static void grouping_is_left_to_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        int is_sorted_by_sqlite;
    } plans[] = {
        {"EXPLAIN QUERY PLAN SELECT name, sum(duration) FROM kernels GROUP BY name", 0},
        {"EXPLAIN QUERY PLAN SELECT block_x, count(*) FROM kernels GROUP BY range_name, block_x",
         0},
        {"EXPLAIN QUERY PLAN SELECT lag(\"end\") OVER (PARTITION BY stream ORDER BY start) FROM "
         "ops",
         0},
        {"EXPLAIN QUERY PLAN SELECT name FROM ranges GROUP BY length(name)", 1},
    };
    if (sqlite3_libversion_number() < 3038000) {
        print_message("not run: SQLite %s says too little to a virtual table\n",
                      sqlite3_libversion());
        skip();
    }
    for (size_t traces = 1; traces <= 3; traces += 2) {
        sql_open_over(traces);
        for (size_t i = 0; i < NVT_COUNT_OF(plans); i++) {
            char *text = sql_text_of(plans[i].statement);
            if ((strstr(text, "TEMP B-TREE") != NULL) != plans[i].is_sorted_by_sqlite)
                fail_msg("%s: %s", plans[i].statement, text);
            free(text);
        }
    }
}

/* What a random statement has in it. */
static const char *const sums[] = {"count(*)",
                                   "sum(duration)",
                                   "min(id)",
                                   "max(duration)",
                                   "avg(duration)",
                                   "total(duration)",
                                   "count(process)",
                                   "sum(api)",
                                   "max(\"end\")",
                                   "count(range)",
                                   "round(avg(id) / 3, 2)",
                                   "CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END"};

/* What a statement of random parts aggregates from sums is what SQLite makes of the rows, which a subquery has it do. */
static void aggregates_are_those_of_rows(void **state)
{
    (void)state;
    static const char *const tables[] = {"ops", "kernels", "copies", "apis", "ranges", "os_calls"};
    static const char *const keys[] = {"name",       "rank",   "thread", "file",    "level",
                                       "range_name", "stream", "id",     "block_x", "process"};
    static const char *const wheres[] = {"",
                                         "WHERE name LIKE '%e%'",
                                         "WHERE id % 3 = 1",
                                         "WHERE name IN ('gemm', 'read')",
                                         "WHERE duration > 5000 AND NOT thread IS NULL",
                                         "WHERE name = 'there is none'"};
    static const char *const orders[] = {"", "ORDER BY 3 DESC, 1, 2", "ORDER BY sum(id), 2 DESC",
                                         "HAVING count(*) > 2 ORDER BY a, b LIMIT 5"};
    size_t taken = 0, tried = 0;
    kit_srand(5);
    for (size_t traces = 1; traces <= 3; traces += 2) {
        sql_open_over(traces);
        for (int i = 0; i < 1500; i++) {
            char statements[2][1000];
            const char *table = tables[rand() % 6], *key = keys[rand() % 10];
            const char *more = keys[rand() % 10], *where = wheres[rand() % 6];
            const char *a = sums[rand() % 12], *b = sums[rand() % 12], *order = orders[rand() % 4];
            const int is_grouped = rand() % 5 > 0;
            for (int k = 0; k < 2; k++)
                snprintf(statements[k], sizeof(statements[k]),
                         is_grouped ? "SELECT %s AS k, %s AS a, %s AS b FROM %s%s %s GROUP BY k, "
                                      "%s %s"
                                    : "SELECT 1 %.0s, %s AS a, %s AS b FROM %s%s %s %.0s%.0s",
                         key, a, b, table, k ? " t" : "", where, more, order);
            struct nvt_tables results = {0};
            struct nvt_error wrong = NVT_ERROR_INIT;
            const int status =
                nvt_sql_answer(sql_here, statements[0], &sql_no_limits, &results, &wrong);
            nvt_tables_free(&results);
            if (status) /* a table without that column */
                continue;
            const size_t before = sql_here->grouped;
            char *texts[] = {sql_text_of(statements[0]), sql_text_of(statements[1])};
            if (strcmp(texts[0], texts[1]) != 0)
                fail_msg("%s:\n%.1000s\nand from rows:\n%.1000s", statements[0], texts[0],
                         texts[1]);
            taken += sql_here->grouped - before;
            tried++;
            free(texts[0]);
            free(texts[1]);
        }
    }
    assert_in_range(taken, tried / 4, tried);
}

/* Which statements are answered from sums, and that the others are not. */
static void statements_that_need_no_rows(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        size_t is_grouped;
    } cases[] = {
        {"SELECT name, count(*), sum(duration) FROM kernels GROUP BY name ORDER BY 3 DESC", 1},
        {"select NAME as n, Avg(Duration)/1e3 as us from KERNELS group by n having us>0 limit 2;",
         1},
        {"SELECT count(*) FROM ranges", 1},
        {"SELECT range_name, name, max(duration) FROM kernels GROUP BY 1, 2", 1},
        {"SELECT name, \"end\" - start, count(*) FROM ops GROUP BY 1, 2", 1},
        {"SELECT substr(name, 1, 2) AS n, CASE WHEN count(*) > 1 THEN 'x' END FROM apis GROUP BY n",
         1},
        {"SELECT name, sum(duration / 2) FROM kernels GROUP BY name", 0},
        {"SELECT name, count(DISTINCT stream) FROM kernels GROUP BY name", 0},
        {"SELECT name, count(*) FILTER (WHERE stream > 0) FROM kernels GROUP BY name", 0},
        {"SELECT name, sum(count(*)) OVER () FROM kernels GROUP BY name", 0},
        {"SELECT name, group_concat(id) FROM kernels GROUP BY name", 0},
        {"SELECT name, min(name) FROM kernels GROUP BY name", 0},
        {"SELECT k.name, count(*) FROM kernels k GROUP BY k.name", 0},
        {"SELECT count(*) FROM kernels, apis WHERE apis.id = kernels.api", 0},
        {"SELECT name, count(*), random() FROM kernels GROUP BY name", 0},
        {"SELECT name FROM kernels", 0},
        {"SELECT count(*) FROM (SELECT name FROM kernels)", 0},
        {"SELECT count(*) FROM kernels WHERE name IN (SELECT name FROM ops)", 0},
        {"SELECT count(*) FROM kernels -- all of them\n", 0},
        {"SELECT count(*) FROM nvtally_tables", 0},
    };
    sql_open_over(1);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const size_t before = sql_here->grouped;
        free(sql_text_of(cases[i].statement));
        if (sql_here->grouped - before != cases[i].is_grouped)
            fail_msg("%s: %s from sums", cases[i].statement,
                     cases[i].is_grouped ? "not" : "answered");
    }
    /* Columns keep the names that the statement gives them, and nothing of the sums is left. */
    char *text = sql_text_of("SELECT count(*), max(duration) AS longest FROM ops");
    assert_non_null(strstr(text, "count(*),longest"));
    free(text);
    struct nvt_tables tables = {0};
    assert_int_not_equal(nvt_sql_answer(sql_here, "SELECT * FROM temp.nvtally_sums", &sql_no_limits,
                                        &tables, &sql_err),
                         0);
    nvt_tables_free(&tables);
    sql_err = (struct nvt_error)NVT_ERROR_INIT;
}

/* Ids go over all files, and rows refer to those of their own. */
static void several_files(void **state)
{
    (void)state;
    int64_t ops = 0, joined = 0, by_correlation = 0;
    for (size_t i = 0; i < 3; i++)
        ops += sql_given[i].trace->ops.count;
    sql_open_over(3);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops"), ops);
    assert_int_equal(sql_number_of("SELECT count(DISTINCT id) FROM ops"), ops);
    assert_int_equal(sql_number_of("SELECT max(id) - min(id) + 1 FROM ops"), ops);
    assert_int_equal(sql_number_of("SELECT count(DISTINCT rank) FROM kernels"), 3);
    joined = sql_number_of("SELECT count(*) FROM ops o JOIN apis a ON a.id = o.api");
    assert_true(joined > 0);
    by_correlation = sql_number_of("SELECT count(*) FROM ops o JOIN apis a ON a.correlation = "
                                   "o.correlation AND a.file = o.file AND a.rank = o.rank");
    assert_int_equal(by_correlation, joined);
    assert_int_equal(sql_number_of("SELECT count(*) FROM ops o JOIN threads t ON t.id = o.thread "
                                   "WHERE t.rank != o.rank"),
                     0);
    assert_int_equal(
        sql_number_of("SELECT count(*) FROM ops o JOIN ranges r ON r.id = o.range WHERE "
                      "r.rank != o.rank"),
        0);
    assert_int_equal(
        sql_number_of("SELECT count(*) FROM kernels k JOIN ops o USING(id) WHERE k.block_x != 128"),
        0);
    /* In the order of their ids; of one file in that of their times. */
    assert_int_equal(
        sql_number_of("SELECT count(*) FROM (SELECT id, lag(id) OVER () AS before FROM "
                      "(SELECT id FROM ops ORDER BY id)) WHERE before > id"),
        0);
    assert_int_equal(
        sql_number_of("SELECT count(*) FROM (SELECT start, lag(start) OVER () AS before "
                      "FROM (SELECT start FROM ops ORDER BY start)) WHERE before > start"),
        0);
}

/* Which statements need of a trace only what was launched: what they answer then is compared in test_lanes. */
static void which_need_launches_alone(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        int takes;
    } cases[] = {
        {"SELECT range_name, name, count(*), sum(duration) FROM kernels GROUP BY 1, 2", 1},
        {"SELECT count(*) FROM kernels WHERE range_name IS NULL", 1},
        {"SELECT file, max(duration) FROM kernels GROUP BY file;", 1},
        {"SELECT stream, count(*) FROM kernels GROUP BY stream", 0},
        {"SELECT short_name, count(*) FROM kernels GROUP BY 1", 0},
        {"SELECT name, sum(start) FROM kernels GROUP BY name", 0},
        {"SELECT name, count(*) FROM kernels WHERE start > 5 GROUP BY name", 0},
        {"SELECT name, count(*) FROM ranges GROUP BY name", 0},
        {"SELECT name, count(*) FROM ops GROUP BY name", 0},
        {"SELECT count(*) FROM kernels; SELECT count(*) FROM ops", 0},
        {"SELECT count(*) FROM kernels k", 0},
        {"SELECT count(*) FROM kernels, ops", 0},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        if (nvt_sql_takes_launches(cases[i].statement) != cases[i].takes)
            fail_msg("%s: %d", cases[i].statement, !cases[i].takes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_is_described),
        cmocka_unit_test(same_as_reports),
        cmocka_unit_test(indices_find_what_a_scan_finds),
        cmocka_unit_test(sorted_as_sqlite_sorts),
        cmocka_unit_test(grouping_is_left_to_the_table),
        cmocka_unit_test(aggregates_are_those_of_rows),
        cmocka_unit_test(statements_that_need_no_rows),
        cmocka_unit_test(several_files),
        cmocka_unit_test(which_need_launches_alone),
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
