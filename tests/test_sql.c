/* SQL over traces: the same answers as the reports, by whatever way rows are found; ids over several files; what is refused. */
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
#include "made_trace.h"
#include "random_kit.h"

#ifdef HAVE_SQLITE
#include "../analyze/sql/connection.h"

static struct nvt_error err = NVT_ERROR_INIT;

static struct nvt_input_trace given[3];
static struct nvt_input input;
static struct nvt_sql *sql;

/* A training loop with a bit of everything that the model has of it. */
static struct nvt_trace *loop(int rank, unsigned seed)
{
    const struct program program = {.iterations = 12,
                                    .kernels = 40,
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
                                    .jitter = seed,
                                    .rank = rank};
    return make_program(&program);
}

/* Over the first `count` of the traces. */
static void open_over(size_t count)
{
    nvt_sql_free(sql);
    input = (struct nvt_input){.traces = given, .trace_count = count};
    sql = nvt_sql_open(&input, &err);
    if (!sql)
        fail_msg("%s", err.message);
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        given[i] = (struct nvt_input_trace){.trace = loop(i + 1, (unsigned)i + 1)};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nvt_sql_free(sql);
    for (int i = 0; i < 3; i++)
        nvt_trace_free(given[i].trace);
    nvt_buffer_free(&input.notes);
    return 0;
}

static const struct nvt_sql_limits no_limits;

/* The only number of a statement's only row. */
static int64_t number_of(const char *format, ...)
{
    char text[2000];
    struct nvt_tables tables = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (nvt_sql_answer(sql, text, &no_limits, &tables, &err))
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(tables.count, 1);
    assert_int_equal(nvt_table_rows(tables.items[0]), 1);
    assert_false(nvt_table_is_null(tables.items[0], 0, 0));
    int64_t number = nvt_table_int(tables.items[0], 0, 0);
    nvt_tables_free(&tables);
    return number;
}

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
    open_over(1);
    assert_int_equal(number_of("SELECT count(*) FROM nvtally_columns WHERE about IS NULL AND "
                               "(table_name IN (SELECT name FROM nvtally_tables WHERE kind IN "
                               "('model', 'view')) OR table_name IN ('gaps', 'iterations', "
                               "'findings', 'rules', 'nvtally_tables', 'nvtally_columns'))"),
                     0);
    assert_int_equal(number_of("SELECT count(*) FROM nvtally_columns WHERE unit = 'ns' AND "
                               "(table_name, name) IN (VALUES ('gaps', 'start'), ('gaps', "
                               "'duration'), ('iterations', 'end'), ('findings', 'cost_ns'))"),
                     4);
    assert_true(number_of("SELECT count(*) FROM nvtally_columns WHERE table_name = 'kernels'") >
                20);
}

/* Rows that a report has and the query has not, or the other way around. */
static void expect_same(const char *report, const char *query)
{
    assert_true(number_of("SELECT count(*) FROM (%s)", report) > 0);
    assert_int_equal(number_of("SELECT count(*) FROM (%s EXCEPT %s)", report, query), 0);
    assert_int_equal(number_of("SELECT count(*) FROM (%s EXCEPT %s)", query, report), 0);
}

static void same_as_reports(void **state)
{
    (void)state;
    for (size_t traces = 1; traces <= 3; traces += 2) {
        open_over(traces);
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
        assert_int_equal(number_of("SELECT count(*) FROM iterations"), 12 * (int64_t)traces);
        assert_true(number_of("SELECT count(*) FROM gaps") > 0);
        assert_true(number_of("SELECT count(*) FROM findings") > 0);
    }
}

/* The same rows with an index as without: a unary + keeps SQLite from using one. */
static void expect_found(const char *table, const char *column, const char *op, int64_t value)
{
    int64_t rows[2], sums[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = number_of("SELECT count(*) FROM %s WHERE %s%s %s %lld", table, i ? "+" : "",
                            column, op, (long long)value);
        sums[i] = number_of("SELECT ifnull(sum(id), 0) FROM %s WHERE %s%s %s %lld", table,
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
    open_over(3);
    const struct nvt_shown_table *shown = nvt_shown_tables();
    for (size_t t = 0; t < NVT_TABLE_COUNT; t++)
        for (uint32_t c = 0; c < shown[t].count; c++) {
            char column[64];
            snprintf(column, sizeof(column), "%s", shown[t].columns[c].name);
            const int64_t rows = number_of("SELECT count(*) FROM %s", shown[t].name);
            if (!rows || number_of("SELECT count(*) FROM %s WHERE typeof(\"%s\") = 'integer'",
                                   shown[t].name, column) == 0)
                continue;
            for (int i = 0; i < 8; i++) {
                const int64_t value =
                    number_of("SELECT ifnull(max(\"%s\"), 0) FROM (SELECT \"%s\" FROM %s LIMIT 1 "
                              "OFFSET %lld)",
                              column, column, shown[t].name, (long long)(rand() % rows)) +
                    rand() % 3 - 1;
                expect_found(shown[t].name, column, ops[rand() % 5], value);
                expect_found(shown[t].name, column, "=", value);
            }
        }
    assert_true(number_of("SELECT count(*) FROM ops WHERE name = 'gemm'") ==
                number_of("SELECT count(*) FROM ops WHERE +name = 'gemm'"));
    assert_int_equal(number_of("SELECT count(*) FROM ops WHERE start = '1.5'"), 0);
    assert_int_equal(number_of("SELECT count(*) FROM ops WHERE id > 3.5 AND id < 6.5"), 3);
    assert_int_equal(number_of("SELECT count(*) FROM ops WHERE id = '3'"), 1);
    assert_int_equal(number_of("SELECT count(*) FROM ops WHERE id <= -9223372036854775808"), 0);
    assert_int_equal(number_of("SELECT count(*) FROM ops WHERE id <= 9223372036854775807"),
                     number_of("SELECT count(*) FROM ops"));
    assert_int_equal(number_of("SELECT count(*) FROM (SELECT name FROM ops WHERE id < "
                               "-9223372036854775807 ORDER BY name)"),
                     0);
    assert_int_equal(number_of("SELECT count(*) FROM ops WHERE start < NULL"), 0);
}

/* Results as text, owned. */
static char *rendered(const struct nvt_tables *tables)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(nvt_render_csv(tables, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* A statement's results as text. */
static char *text_of(const char *statement)
{
    struct nvt_tables tables = {0};
    if (nvt_sql_answer(sql, statement, &no_limits, &tables, &err))
        fail_msg("%s: %s", statement, err.message);
    char *text = rendered(&tables);
    nvt_tables_free(&tables);
    return text;
}

/* Statements of which one has columns with a unary + where the other has none: SQLite sorts for it. */
static void expect_same_text(const char *format, const char *table, const char *a, const char *b)
{
    char statements[2][1000], *texts[2];
    for (int i = 0; i < 2; i++) {
        const char *plus = i ? "+" : "";
        snprintf(statements[i], sizeof(statements[i]), format, table, plus, a, plus, b);
        texts[i] = text_of(statements[i]);
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
        open_over(traces);
        for (size_t t = 0; t < NVT_TABLE_COUNT; t++) {
            const uint32_t columns = shown[t].count + shown[t].hidden;
            if (number_of("SELECT count(*) FROM %s", shown[t].name) == 0)
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
        open_over(traces);
        for (size_t i = 0; i < NVT_COUNT_OF(plans); i++) {
            char *text = text_of(plans[i].statement);
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
        open_over(traces);
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
            const int status = nvt_sql_answer(sql, statements[0], &no_limits, &results, &wrong);
            nvt_tables_free(&results);
            if (status) /* a table without that column */
                continue;
            const size_t before = sql->grouped;
            char *texts[] = {text_of(statements[0]), text_of(statements[1])};
            if (strcmp(texts[0], texts[1]) != 0)
                fail_msg("%s:\n%.1000s\nand from rows:\n%.1000s", statements[0], texts[0],
                         texts[1]);
            taken += sql->grouped - before;
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
    open_over(1);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const size_t before = sql->grouped;
        free(text_of(cases[i].statement));
        if (sql->grouped - before != cases[i].is_grouped)
            fail_msg("%s: %s from sums", cases[i].statement,
                     cases[i].is_grouped ? "not" : "answered");
    }
    /* Columns keep the names that the statement gives them, and nothing of the sums is left. */
    char *text = text_of("SELECT count(*), max(duration) AS longest FROM ops");
    assert_non_null(strstr(text, "count(*),longest"));
    free(text);
    struct nvt_tables tables = {0};
    assert_int_not_equal(
        nvt_sql_answer(sql, "SELECT * FROM temp.nvtally_sums", &no_limits, &tables, &err), 0);
    nvt_tables_free(&tables);
    err = (struct nvt_error)NVT_ERROR_INIT;
}

/* Ids go over all files, and rows refer to those of their own. */
static void several_files(void **state)
{
    (void)state;
    int64_t ops = 0, joined = 0, by_correlation = 0;
    for (size_t i = 0; i < 3; i++)
        ops += given[i].trace->ops.count;
    open_over(3);
    assert_int_equal(number_of("SELECT count(*) FROM ops"), ops);
    assert_int_equal(number_of("SELECT count(DISTINCT id) FROM ops"), ops);
    assert_int_equal(number_of("SELECT max(id) - min(id) + 1 FROM ops"), ops);
    assert_int_equal(number_of("SELECT count(DISTINCT rank) FROM kernels"), 3);
    joined = number_of("SELECT count(*) FROM ops o JOIN apis a ON a.id = o.api");
    assert_true(joined > 0);
    by_correlation = number_of("SELECT count(*) FROM ops o JOIN apis a ON a.correlation = "
                               "o.correlation AND a.file = o.file AND a.rank = o.rank");
    assert_int_equal(by_correlation, joined);
    assert_int_equal(number_of("SELECT count(*) FROM ops o JOIN threads t ON t.id = o.thread "
                               "WHERE t.rank != o.rank"),
                     0);
    assert_int_equal(number_of("SELECT count(*) FROM ops o JOIN ranges r ON r.id = o.range WHERE "
                               "r.rank != o.rank"),
                     0);
    assert_int_equal(
        number_of("SELECT count(*) FROM kernels k JOIN ops o USING(id) WHERE k.block_x != 128"), 0);
    /* In the order of their ids; of one file in that of their times. */
    assert_int_equal(number_of("SELECT count(*) FROM (SELECT id, lag(id) OVER () AS before FROM "
                               "(SELECT id FROM ops ORDER BY id)) WHERE before > id"),
                     0);
    assert_int_equal(number_of("SELECT count(*) FROM (SELECT start, lag(start) OVER () AS before "
                               "FROM (SELECT start FROM ops ORDER BY start)) WHERE before > start"),
                     0);
}

static void expect_refused_within(double seconds, const char *text, const char *why)
{
    const struct nvt_sql_limits limits = {.seconds = seconds, .rows = 10};
    struct nvt_tables tables = {0};
    err = (struct nvt_error)NVT_ERROR_INIT;
    assert_int_equal(nvt_sql_answer(sql, text, &limits, &tables, &err), -1);
    if (!strstr(err.message, why) || strchr(err.message, '\n'))
        fail_msg("%s: \"%s\" and not \"%s\"", text, err.message, why);
    nvt_tables_free(&tables);
    err = (struct nvt_error)NVT_ERROR_INIT;
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
    open_over(2);
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
    assert_int_equal(number_of("SELECT 41 + 1"), 42); /* and goes on */
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
    open_over(2);
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
            free(text_of((const char *)text.data));
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
    open_over(1);
    assert_int_equal(sqlite3_open(":memory:", &plain), SQLITE_OK);
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char query[200];
        sqlite3_stmt *statement;
        snprintf(query, sizeof(query), "SELECT quote(%s) AS q, typeof(%s) AS t", calls[i],
                 calls[i]);
        assert_int_equal(sqlite3_prepare_v2(plain, query, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        struct nvt_tables tables = {0};
        assert_int_equal(nvt_sql_answer(sql, query, &no_limits, &tables, &err), 0);
        for (int c = 0; c < 2; c++)
            assert_string_equal(nvt_table_text(tables.items[0], 0, (uint32_t)c),
                                (const char *)sqlite3_column_text(statement, c));
        nvt_tables_free(&tables);
        sqlite3_finalize(statement);
    }
    sqlite3_close(plain);
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
    open_over(1);
    assert_int_equal(
        nvt_sql_answer(sql,
                       "SELECT 1 AS i, 2.5 AS r, 'x' AS t, NULL AS n, x'00ff' AS b UNION ALL "
                       "SELECT 2, 3, 4, NULL, NULL UNION ALL SELECT 3, 3, 3, 3, 3; SELECT 7",
                       &limits, &tables, &err),
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
    assert_non_null(memmem(input.notes.data, input.notes.size, "the first 2 rows", 16));
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
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
    open_over(2);
    assert_int_equal(nvt_sql_answer(sql, query, &(struct nvt_sql_limits){.rows = 1}, &tables, &err),
                     0);
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

/* --- the command --- */

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
        cmocka_unit_test(every_column_is_described),
        cmocka_unit_test(same_as_reports),
        cmocka_unit_test(indices_find_what_a_scan_finds),
        cmocka_unit_test(sorted_as_sqlite_sorts),
        cmocka_unit_test(grouping_is_left_to_the_table),
        cmocka_unit_test(aggregates_are_those_of_rows),
        cmocka_unit_test(statements_that_need_no_rows),
        cmocka_unit_test(several_files),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(what_is_too_much),
        cmocka_unit_test(replaced_functions_answer_alike),
        cmocka_unit_test(which_need_launches_alone),
        cmocka_unit_test(queries_of_pages),
        cmocka_unit_test(results),
        cmocka_unit_test(units_of_results),
        cmocka_unit_test(what_is_unknown),
        cmocka_unit_test(the_command),
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
