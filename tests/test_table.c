/* The table and its renderers: right for any text in a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_flat.h"

#include "../lib/count_of.h"
#include "../lib/render.h"
#include "../lib/table.h"
#include "../lib/text.h"
#include "random_kit.h"

static const struct nvt_column columns[] = {
    {"Name", NVT_NAMES},
    {"Total (ns)", NVT_NS},
    {"mean", NVT_NS_AVERAGE},
    {"ratio", NVT_REALS("", NVT_SHORTEST)},
    {"steady", "", NVT_BOOL, 0, 0},
    {"PID", NVT_IDS},
};
enum { NAME, TOTAL, MEAN, RATIO, STEADY, PID, COLUMNS };
/* With the unit, once. */
static const char *const headings[] = {"Name", "Total (ns)", "mean (ns)", "ratio", "steady", "PID"};

/* Names that have broken somebody's table. */
static const char *const names[] = {
    "plain",
    "",
    "a,b",
    "say \"hi\"",
    "pipe | pipe",
    "two\nlines",
    "crlf\r\nend",
    "tab\there",
    " blanks ",
    "_&%#$~^\\{}",
    "--:copy_in <b>*x*</b> `[y](z)`",
    "行列積カーネル",
    "e\xCC\x81 combining",
    "\xF0\x9F\x9A\x80 rocket",
    "\x1b[31mred\x1b[0m\a",
    "bad \xFF\xC0\xAF utf8 \xE2\x82",
    "\xE2\x80\xAEright to left",
    "c1 \xC2\x9B[31m",
    "\"",
    "\\",
    "'; DROP TABLE ranges; --",
    "$(reboot) `reboot`",
};
#define NAMES NVT_COUNT_OF(names)

static struct nvt_table *new_table(void)
{
    struct nvt_table *table = nvt_table_new("demo", "A demo", columns, COLUMNS);
    assert_non_null(table);
    return table;
}

static void add(struct nvt_table *table, const char *name, int64_t total, double mean)
{
    nvt_table_put(table, name, total, mean, mean / 3, total > 1000, 123456);
}

static char *render_list(const char *format, const struct nvt_tables *tables)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(nvt_format_find(format));
    assert_int_equal(nvt_format_find(format)->render(tables, out), 0);
    fclose(out);
    return text;
}

static char *render(const char *format, struct nvt_table *table)
{
    struct nvt_tables tables = {.items = &table, .count = 1};
    return render_list(format, &tables);
}

static struct nvt_table *nasty_table(void)
{
    struct nvt_table *table = new_table();
    for (size_t i = 0; i < NAMES; i++)
        add(table, names[i], (int64_t)i * 1234567, (double)i);
    nvt_table_add_row(table);
    struct nvt_error err;
    assert_int_equal(nvt_table_failed(table, &err), 0);
    return table;
}

/* What a name must read back as: valid UTF-8, controls but tab and line ends made visible. */
static void expected_name(const char *name, char *out)
{
    for (uint32_t c; (c = nvt_utf8_next(&name)) != 0;)
        out += nvt_utf8_put(c == '\t' || c == '\n' || c == '\r' ? c : nvt_char_visible(c), out);
    *out = 0;
}

static void test_utf8(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint32_t characters[6];
    } cases[] = {
        {"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80", {'A', 0xE9, 0x20AC, 0x1F680}},
        {"\xC0\xAF", {0xFFFD, 0xFFFD}},                         /* overlong */
        {"\xED\xA0\x80", {0xFFFD, 0xFFFD, 0xFFFD}},             /* surrogate */
        {"\xF4\x90\x80\x80", {0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD}}, /* above U+10FFFF */
        {"\xF0\x9F\x9A", {0xFFFD}},                             /* cut */
        {"\xE2\x82"
         "A",
         {0xFFFD, 'A'}},
        {"\x80", {0xFFFD}},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *at = cases[i].text;
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(nvt_utf8_next(&at), cases[i].characters[k]);
        assert_int_equal(*at, 0);
    }
    for (uint32_t c = 1; c < 0x110000; c += c == 0xD7FF ? 0x801 : 1) {
        char bytes[5] = {0};
        nvt_utf8_put(c, bytes);
        const char *at = bytes;
        assert_int_equal(nvt_utf8_next(&at), c);
        assert_int_equal(*at, 0);
    }
}

static void test_widths(void **state)
{
    (void)state;
    assert_int_equal(nvt_text_width("abc"), 3);
    assert_int_equal(nvt_text_width("行列"), 4);
    assert_int_equal(nvt_text_width("ﾊﾝｶｸ"), 4); /* halfwidth */
    assert_int_equal(nvt_text_width("Ａ"), 2);   /* fullwidth */
    assert_int_equal(nvt_text_width("e\xCC\x81"), 1);
    assert_int_equal(nvt_text_width("\xF0\x9F\x9A\x80"), 2);
    assert_int_equal(nvt_text_width("\xE2\x80\x8D"), 0); /* joiner */
    assert_int_equal(nvt_text_width("한글"), 4);
    assert_int_equal(nvt_text_width("\n\x1b\xFF"), 3); /* each shown as one character */
}

static void test_cells(void **state)
{
    (void)state;
    struct nvt_table *table = new_table();
    char name[] = "kept";
    add(table, name, 5, 2.5);
    name[0] = 'X';
    assert_string_equal(nvt_table_text(table, 0, NAME), "kept");
    nvt_table_add_row(table);
    for (size_t column = 0; column < COLUMNS; column++)
        assert_true(nvt_table_is_null(table, 1, column));
    nvt_table_more(table, (const char *)NULL, NVT_NULL, 0.0 / 0.0);
    for (size_t column = 0; column < COLUMNS; column++)
        assert_true(nvt_table_is_null(table, 1, column));
    nvt_table_put(table, "", UINT64_C(7), 7u, NVT_IF(0, 1), NVT_IF(1, 5));
    assert_false(nvt_table_is_null(table, 2, NAME));
    assert_int_equal(nvt_table_int(table, 2, TOTAL), 7);
    assert_true(nvt_table_real(table, 2, MEAN) == 7.0);
    assert_true(nvt_table_is_null(table, 2, RATIO));
    assert_int_equal(nvt_table_bool(table, 2, STEADY), 1);
    nvt_table_put(table, "skipped");
    nvt_table_skip(table, 4);
    nvt_table_more(table, 42);
    assert_true(nvt_table_is_null(table, 3, TOTAL));
    assert_int_equal(nvt_table_int(table, 3, PID), 42);
    nvt_table_put(table, nvt_table_cell(table, 0, NAME), nvt_table_cell(table, 0, TOTAL),
                  nvt_table_cell(table, 0, MEAN), nvt_table_cell(table, 1, RATIO));
    assert_string_equal(nvt_table_text(table, 4, NAME), "kept");
    assert_int_equal(nvt_table_int(table, 4, TOTAL), 5);
    assert_true(nvt_table_real(table, 4, MEAN) == 2.5);
    assert_true(nvt_table_is_null(table, 4, RATIO));
    assert_int_equal(nvt_table_find(table, "mean"), MEAN);
    assert_true(nvt_table_find(table, "none") == SIZE_MAX);
    assert_int_equal(nvt_table_all(table), 5);
    nvt_table_keep(table, 3);
    nvt_table_keep(table, 2);
    assert_int_equal(nvt_table_rows(table), 2);
    assert_int_equal(nvt_table_all(table), 5);
    nvt_table_set_all(table, NVT_ROWS_UNKNOWN);
    assert_true(nvt_table_all(table) == NVT_ROWS_UNKNOWN);
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_table_failed(table, &err), 0);
    nvt_table_free(table);
}

/* What callers do wrong, the table says. */
static void test_mistakes(void **state)
{
    (void)state;
    for (int mistake = 0; mistake < 6; mistake++) {
        struct nvt_table *table = new_table();
        struct nvt_error err = NVT_ERROR_INIT;
        const char *const missing[NVT_ORDER_MOST] = {"Name", "-no such column"};
        if (mistake == 0)
            nvt_table_put(table, "a", "not a number");
        else if (mistake == 1)
            nvt_table_put(table, "a", 1.5);
        else if (mistake == 2)
            nvt_table_put(table, 1);
        else if (mistake == 3)
            nvt_table_put(table, "a", 1, 1.0, 1.0, 1, 1, 1);
        else if (mistake == 4)
            nvt_table_order(table, missing);
        else
            nvt_table_drop(table, "steady", 3);
        assert_int_equal(nvt_table_failed(table, &err), -1);
        assert_non_null(strstr(err.message, mistake < 3    ? "type"
                                            : mistake == 3 ? "more"
                                                           : "not there"));
        nvt_table_free(table);
    }
    struct nvt_error err = NVT_ERROR_INIT;
    nvt_table_put(NULL, "nothing", 1);
    assert_int_equal(nvt_table_rows(NULL), 0);
    assert_int_equal(nvt_table_failed(NULL, &err), -1);
    assert_string_equal(err.message, "out of memory");
}

/* Five columns at once; whole minimum and maximum where the columns are. */
static void test_summary(void **state)
{
    static const struct nvt_column specs[] = {
        {"n", NVT_COUNTS}, NVT_SUMMARY_COLUMNS("T "), {"end", NVT_NAMES}};
    double values[] = {4, 1, 3};
    struct nvt_summary three, one, none;
    (void)state;
    struct nvt_table *table = nvt_table_new("demo", "A demo", specs, 7);
    nvt_sample_summary(values, 3, &three);
    nvt_sample_summary(values, 1, &one);
    nvt_sample_summary(values, 0, &none);
    nvt_table_put(table, 3, &three, "a");
    nvt_table_put(table, 1, &one, "b");
    nvt_table_put(table, 0, &none, "c");
    assert_string_equal(nvt_table_column(table, 2)->heading, "T Med (ns)");
    assert_true(nvt_table_real(table, 0, 2) == 3);
    assert_int_equal(nvt_table_int(table, 0, 3), 1);
    assert_int_equal(nvt_table_int(table, 0, 4), 4);
    assert_true(nvt_table_real(table, 1, 5) == 0);
    assert_true(nvt_table_is_null(table, 2, 1) && nvt_table_is_null(table, 2, 5));
    assert_string_equal(nvt_table_text(table, 2, 6), "c");
    assert_int_equal(nvt_table_failed(table, NULL), 0);
    nvt_table_free(table);
}

/* A description with room to spare ends at the first column without a heading; columns can be left out. */
static void test_drop(void **state)
{
    static const struct nvt_column roomy[NVT_COLUMNS_MOST] = {
        {"a", NVT_COUNTS}, {"b", NVT_COUNTS}, {"c", NVT_COUNTS}};
    (void)state;
    struct nvt_table *table = nvt_table_new("demo", "A demo", roomy, NVT_COLUMNS_MOST);
    assert_int_equal(nvt_table_columns(table), 3);
    nvt_table_drop(table, "b", 1);
    nvt_table_put(table, 1, 3);
    assert_int_equal(nvt_table_columns(table), 2);
    assert_string_equal(nvt_table_column(table, 1)->heading, "c");
    assert_int_equal(nvt_table_int(table, 0, 1), 3);
    assert_int_equal(nvt_table_failed(table, NULL), 0);
    nvt_table_free(table);
}

static void test_sort(void **state)
{
    (void)state;
    struct nvt_table *table = new_table();
    nvt_table_add_row(table);
    add(table, "b", 1, 1);
    add(table, "c", 2, 1);
    add(table, "a", 1, 1);
    add(table, "d", 3, 1);
    nvt_table_sort(table, TOTAL, 1);
    const char *const descending[] = {"d", "c", "b", "a", ""};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(nvt_table_text(table, i, NAME), descending[i]);
    assert_true(nvt_table_is_null(table, 4, TOTAL));
    nvt_table_sort(table, NAME, 0);
    const char *const ascending[] = {"a", "b", "c", "d", ""};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(nvt_table_text(table, i, NAME), ascending[i]);
    assert_int_equal(nvt_table_int(table, 3, TOTAL), 3);
    const char *const order[NVT_ORDER_MOST] = {"-Total (ns)", "Name"};
    nvt_table_order(table, order);
    const char *const ordered[] = {"d", "c", "a", "b", ""};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(nvt_table_text(table, i, NAME), ordered[i]);
    nvt_table_free(table);
}

static void test_column(void **state)
{
    (void)state;
    struct nvt_table *table = new_table();
    nvt_table_set_provenance(
        table,
        &(struct nvt_provenance){.backend = "host", .device = "A CPU", .date = "2026-11-21"});
    add(table, "行列", -1234567, 999999.96);
    add(table, "x\ty", 12, 0.25);
    nvt_table_add_row(table);
    char *text = render("column", table);
    assert_string_equal(text,
                        "A demo. Backend host, device A CPU, 2026-11-21  [demo]\n\n"
                        "Name  Total (ns)    mean (ns)                ratio  steady     PID\n"
                        "----  ----------  -----------  -------------------  ------  ------\n"
                        "行列  -1,234,567  1,000,000.0           333,333.32   false  123456\n"
                        "x␉y           12          0.3  0.08333333333333333   false  123456\n"
                        "                                                                  \n");
    free(text);
    nvt_table_free(table);
}

/* As SQLite's ROUND, by the decimals that people see: 9014.65 is a little less than that in binary. */
static void halves_go_away_from_zero(void **state)
{
    (void)state;
    static const double values[] = {0.25,   0.35,       -0.25, 9014.65, 96768.25,
                                    0.2499, 1239.24999, 0.75,  -0.04};
    static const char *const texts[] = {"0.3", "0.4",    "-0.3", "9014.7", "96768.3",
                                        "0.2", "1239.2", "0.8",  "0.0"};
    struct nvt_table *table = new_table();
    char number[NVT_NUMBER_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(values); i++) {
        add(table, "x", 1, values[i]);
        assert_string_equal(nvt_render_number(table, i, MEAN, 0, number), texts[i]);
    }
    nvt_table_free(table);
}

/* Every line of a grid takes the same number of terminal columns, whatever the names. */
static void test_grid(void **state)
{
    (void)state;
    struct nvt_table *table = nasty_table();
    char *text = render("grid", table), *rest = text;
    size_t width = 0, lines = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line && *line != 'A'; lines++) {
        width = width ? width : nvt_text_width(line);
        assert_int_equal(nvt_text_width(line), width);
        assert_true(line[0] == (lines % 2 ? '|' : '+'));
    }
    assert_int_equal(lines, 2 * (NAMES + 1 + 1) + 1);
    free(text);
    nvt_table_free(table);
}

/* One field of RFC 4180; *at moves behind it and its delimiter. */
static void csv_field(const char **at, char *out, char *delimiter)
{
    const char *from = *at;
    if (*from == '"') {
        for (from++; *from && (*from != '"' || from[1] == '"'); from++) {
            from += *from == '"';
            *out++ = *from;
        }
        assert_int_equal(*from, '"');
        from++;
    } else {
        while (*from && *from != ',' && *from != '\n') {
            *out++ = *from++;
        }
    }
    *out = 0;
    *delimiter = *from;
    assert_true(*from == ',' || *from == '\n');
    *at = from + 1;
}

static void test_csv(void **state)
{
    (void)state;
    struct nvt_table *table = nasty_table();
    char *text = render("csv", table), field[1000], expected[1000], delimiter;
    const char *at = text;
    for (size_t row = 0; row < NAMES + 2; row++)
        for (size_t column = 0; column < COLUMNS; column++) {
            csv_field(&at, field, &delimiter);
            assert_int_equal(delimiter, column + 1 < COLUMNS ? ',' : '\n');
            if (!row)
                assert_string_equal(field, headings[column]);
            else if (row == NAMES + 1)
                assert_string_equal(field, "");
            else if (column == NAME) {
                expected_name(names[row - 1], expected);
                assert_string_equal(field, expected);
            } else if (column == TOTAL)
                assert_true(strtoll(field, NULL, 10) == (int64_t)(row - 1) * 1234567);
            else if (column == RATIO)
                assert_true(strtod(field, NULL) == (double)(row - 1) / 3);
        }
    assert_int_equal(*at, 0);
    free(text);
    nvt_table_free(table);
}

static void test_tsv(void **state)
{
    (void)state;
    struct nvt_table *table = nasty_table();
    char *text = render("tsv", table), *rest = text;
    size_t lines = 0;
    for (char *line; (line = strsep(&rest, "\n")) && rest; lines++) {
        char expected[1000] = "", field[1000], *to = field;
        size_t tabs = 0;
        for (const char *c = line; *c; c++)
            tabs += *c == '\t';
        assert_int_equal(tabs, COLUMNS - 1);
        for (const char *c = line; *c != '\t'; c++) {
            const char *escape = *c == '\\' ? strchr("t\tn\nr\r\\\\", *++c) : NULL;
            *to++ = escape ? escape[1] : *c;
        }
        *to = 0;
        if (lines && lines <= NAMES) {
            expected_name(names[lines - 1], expected);
            assert_string_equal(field, expected);
        }
    }
    assert_int_equal(lines, NAMES + 2);
    free(text);
    nvt_table_free(table);
}

/* A table of configurations, as the workloads write them. */
static struct nvt_table *configurations(const char *const texts[], size_t count)
{
    static const struct nvt_column specs[] = {{"configuration", NVT_NAMES}, {"mean", NVT_NS}};
    struct nvt_table *table = nvt_table_new("demo", "A demo", specs, 2);
    for (size_t i = 0; i < count; i++)
        nvt_table_put(table, texts[i], (int64_t)i * 1000);
    return table;
}

static void expect_columns(struct nvt_table *table, int is_wide, const char *expected)
{
    const struct nvt_tables tables = {.items = &table, .count = 1, .is_wide = is_wide};
    char *text = render_list("column", &tables);
    assert_string_equal(text, expected);
    free(text);
    nvt_table_free(table);
}

static void test_column_says_once_what_all_have(void **state)
{
    (void)state;
    const char *const two[] = {"size=64 batch=1 mode=train", "size=64 batch=8 mode=train"};
    const char *const same[] = {two[0], two[0]}, *const apart[] = {"linear", "linear b=1"};
    expect_columns(configurations(two, 2), 0,
                   "A demo  [demo]\nIn every row: size=64 mode=train\n\n"
                   "configuration  mean (ns)\n-------------  ---------\n"
                   "batch=1                0\nbatch=8            1,000\n");
    expect_columns(configurations(two, 2), 1,
                   "A demo  [demo]\n\n"
                   "configuration               mean (ns)\n"
                   "--------------------------  ---------\n"
                   "size=64 batch=1 mode=train          0\n"
                   "size=64 batch=8 mode=train      1,000\n");
    expect_columns(configurations(same, 2), 0,
                   "A demo  [demo]\nIn every row: size=64 batch=1 mode=train\n\n"
                   "mean (ns)\n---------\n        0\n    1,000\n");
    expect_columns(configurations(two, 1), 0,
                   "A demo  [demo]\n\n"
                   "configuration               mean (ns)\n"
                   "--------------------------  ---------\n"
                   "size=64 batch=1 mode=train          0\n");
    expect_columns(configurations(apart, 2), 0,
                   "A demo  [demo]\n\nconfiguration  mean (ns)\n-------------  ---------\n"
                   "linear                 0\nlinear b=1         1,000\n");
}

static void expect_format(const char *format, struct nvt_table *table, const char *expected)
{
    char *text = render(format, table);
    if (!strstr(text, expected))
        fail_msg("no\n%s\nin\n%s", expected, text);
    free(text);
    nvt_table_free(table);
}

/* The other formats for people, of one row, too. */
static void test_captions_say_what_all_have(void **state)
{
    (void)state;
    const char *const two[] = {"size=64 batch=1 mode=train", "size=64 batch=8 mode=train"};
    expect_format("grid", configurations(two, 2),
                  "| batch=8       |     1,000 |\n"
                  "+---------------+-----------+\n"
                  "A demo. In every row: size=64 mode=train\n");
    expect_format("grid", configurations(two, 1),
                  "+-----------+\n| mean (ns) |\n+===========+\n|         0 |\n+-----------+\n"
                  "A demo. In every row: size=64 batch=1 mode=train\n");
    expect_format("markdown", configurations(two, 2),
                  "A demo. In every row: size=64 mode=train\n\n| configuration | mean (ns) |\n");
    expect_format("latex", configurations(two, 2),
                  "\\caption{A demo. In every row: size=64 mode=train}\n");
    expect_format("csv", configurations(two, 1), "size=64 batch=1 mode=train,0\n");
}

/* No line of what is written for so many columns is longer, whatever is in it. */
static void test_tables_fit_a_terminal(void **state)
{
    (void)state;
    char name[1001];
    snprintf(name, sizeof(name), "void gemm%0980d(float *)", 0);
    for (size_t terminal = 80; terminal < 200; terminal += 7) {
        struct nvt_table *table = nasty_table();
        add(table, name, 123456789, 1);
        struct nvt_tables tables = {.items = &table, .count = 1, .terminal = terminal};
        for (size_t i = terminal == 80; i < 2; i++) { /* a grid's numbers alone take 82 */
            char *lines = render_list(i ? "column" : "grid", &tables), *rest = lines;
            for (char *row; (row = strsep(&rest, "\n"));)
                if (nvt_text_width(row) > terminal)
                    fail_msg("%zu: %s", terminal, row);
            free(lines);
        }
        char *text = render_list("column", &tables);
        assert_non_null(strstr(text, "void "));
        assert_non_null(strstr(text, "…"));
        assert_non_null(strstr(text, "*)"));
        assert_non_null(strstr(text, "123,456,789"));
        free(text);
        tables.is_wide = 1;
        for (size_t i = 0; i < 2; i++) {
            text = render_list(i ? "column" : "grid", &tables);
            assert_non_null(strstr(text, name));
            free(text);
        }
        nvt_table_free(table);
    }
}

/* Kernels that differ in their middle alone, in the letters of two bytes, and in what lies behind a long number. */
static void names_that_differ_look_different(void **state)
{
    (void)state;
    static const char *const alike[] = {
        "sm80_xmma_gemm_f32f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_aligna4_execute_kernel",
        "sm80_xmma_gemm_f32f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_aligna4_execute_kernel",
        "sm80_xmma_gemm_f32f32_tn_n_tilesize128x64x8_stage3_warpsize2x2x1_aligna4_execute_kernel",
        "sm80_xmma_gemm_f32f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_aligna4_execute_kernel",
        "sm80_xmma_gemm_\xc3\xa4\xc3\xa4_aligna4_execute_kernel_of_a_name_that_takes_all_the_rest_"
        "kernel",
        "sm80_xmma_gemm_\xc3\xa4\xc3\xb6_aligna4_execute_kernel_of_a_name_that_takes_all_the_rest_"
        "kernel"};
    enum { ALIKE = NVT_COUNT_OF(alike) };
    for (size_t terminal = 40; terminal < 120; terminal++) {
        struct nvt_table *table = new_table();
        for (size_t i = 0; i < 2 * ALIKE; i++)
            add(table, alike[i % ALIKE], 1, 1);
        struct nvt_tables tables = {.items = &table, .count = 1, .terminal = terminal};
        char *text = render_list("column", &tables), *rest = text, *rows[2 * ALIKE + 4];
        size_t count = 0;
        for (char *row; (row = strsep(&rest, "\n")) && count < 2 * ALIKE + 4;)
            rows[count++] = row;
        assert_int_equal(count, 2 * ALIKE + 4);
        for (size_t i = 4; i < count; i++)
            for (size_t k = 4; k < i; k++)
                if (!strcmp(rows[i], rows[k]) != ((i - k) % ALIKE == 0))
                    fail_msg("%zu: %s, %s", terminal, rows[i], rows[k]);
        free(text);
        nvt_table_free(table);
    }
}

static void test_json(void **state)
{
    (void)state;
    struct nvt_table *table = nasty_table();
    char *text = render("json", table);
    struct json_flat flat = json_flat(text);
    for (size_t i = 0; i < NAMES; i++) {
        char valid[1000], *to = valid;
        for (const char *at = names[i]; *at;)
            to += nvt_utf8_put(nvt_utf8_next(&at), to);
        *to = 0;
        const struct json_flat_value *name = json_flat_at(&flat, "%zu.Name", i),
                                     *total = json_flat_at(&flat, "%zu.Total (ns)", i),
                                     *mean = json_flat_at(&flat, "%zu.mean (ns)", i),
                                     *steady = json_flat_at(&flat, "%zu.steady", i);
        assert_true(name && total && mean && steady);
        assert_int_equal(name->type, NVT_JSON_TEXT);
        assert_string_equal(name->text, valid);
        assert_int_equal(total->type, NVT_JSON_NUMBER);
        assert_true(strtoll(total->text, NULL, 10) == (long long)i * 1234567);
        assert_int_equal(mean->type, NVT_JSON_NUMBER);
        assert_int_equal(steady->type, i ? NVT_JSON_TRUE : NVT_JSON_FALSE);
    }
    const struct json_flat_value *last = json_flat_at(&flat, "%zu.Name", (size_t)NAMES);
    assert_non_null(last);
    assert_int_equal(last->type, NVT_JSON_NULL);
    assert_null(json_flat_at(&flat, "%zu.Name", (size_t)NAMES + 1));
    json_flat_free(&flat);
    free(text);
    nvt_table_free(table);
}

static void test_json_of_several(void **state)
{
    (void)state;
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_tables_add(&tables, nasty_table()), 0);
    assert_int_equal(nvt_tables_add(&tables, new_table()), 0);
    char *text = render_list("json", &tables);
    struct json_flat flat = json_flat(text);
    assert_non_null(json_flat_at(&flat, "demo.%zu.Name", (size_t)NAMES));
    assert_null(json_flat_at(&flat, "demo.%zu.Name", (size_t)NAMES + 1));
    assert_non_null(strstr(text, "\"demo#2\""));
    assert_null(json_flat_at(&flat, "demo#2.0.Name"));
    json_flat_free(&flat);
    free(text);
    nvt_tables_free(&tables);
}

static void test_markdown(void **state)
{
    (void)state;
    struct nvt_table *table = new_table();
    add(table, "a|b_c\n<d> \\ \x1b", 1234, 0.5);
    char *text = render("markdown", table);
    assert_string_equal(
        text, "A demo\n\n"
              "| Name | Total (ns) | mean (ns) | ratio | steady | PID |\n"
              "| :-- | --: | --: | --: | --: | --: |\n"
              "| a\\|b\\_c \\<d\\> \\\\ ␛ | 1,234 | 0.5 | 0.16666666666666666 | true | 123456 |\n");
    free(text);
    nvt_table_free(table);
    table = nasty_table();
    text = render("markdown", table);
    size_t lines = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && rest;) {
        size_t bars = 0;
        for (const char *c = line; *c; c++) {
            c += *c == '\\';
            bars += *c == '|' && (c == line || c[-1] != '\\');
        }
        lines += bars == COLUMNS + 1;
    }
    assert_int_equal(lines, NAMES + 3);
    free(text);
    nvt_table_free(table);
}

static void test_latex(void **state)
{
    (void)state;
    struct nvt_table *table = new_table();
    add(table, "_&%#$~^\\{}--[\n\x1b", -1234, 0.5);
    char *text = render("latex", table);
    assert_non_null(strstr(
        text, "  \\_\\&\\%\\#\\$\\textasciitilde{}\\textasciicircum{}\\textbackslash{}\\{\\}{-}{-}"
              "{[}\\textbackslash{}n\\textbackslash{}x1B & $-$1,234 & 0.5 & 0.16666666666666666"
              " & false & 123456 \\\\\n"));
    assert_non_null(strstr(text, "\\begin{tabular}{lrrrrr}\n\\toprule\n  Name & Total (ns) & "));
    free(text);
    nvt_table_free(table);
    table = nasty_table();
    text = render("latex", table);
    int depth = 0;
    size_t ends = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '\\' && c[1]) {
            ends += c[1] == '\\';
            c++;
        } else
            depth += (*c == '{') - (*c == '}');
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
    assert_int_equal(ends, NAMES + 2);
    free(text);
    nvt_table_free(table);
}

/* Whatever bytes are in a name: valid UTF-8 comes out, and nothing that steers a terminal. */
static void test_random_bytes(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_format *formats = nvt_formats(&count);
    kit_srand(7);
    for (int round = 0; round < 300; round++) {
        char name[64];
        size_t length = (size_t)rand() % 63;
        for (size_t i = 0; i < length; i++)
            name[i] = (char)(1 + rand() % 255);
        name[length] = 0;
        struct nvt_table *table = new_table();
        nvt_table_set_title(table, name);
        nvt_table_set_provenance(
            table, &(struct nvt_provenance){
                       .backend = name, .device = name, .date = name, .condition = name});
        add(table, name, rand(), 1e300 / (rand() + 1.0));
        for (size_t i = 0; i < count; i++) {
            char *text = render(formats[i].name, table);
            for (const char *at = text; *at;) {
                const char *before = at;
                uint32_t c = nvt_utf8_next(&at);
                assert_true(c != NVT_REPLACEMENT || (uint8_t)*before == 0xEF);
                assert_true(c == '\n' || c == '\t' || c == '\r' || nvt_char_visible(c) == c);
            }
            free(text);
        }
        nvt_table_free(table);
    }
}

/* Thousands separators in numbers of every length, with and without a sign. */
static void test_separators(void **state)
{
    (void)state;
    const struct {
        int64_t value;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {-999, "-999"},
                 {-1000, "-1,000"},
                 {123456, "123,456"},
                 {1234567, "1,234,567"},
                 {INT64_MIN, "-9,223,372,036,854,775,808"}};
    struct nvt_table *table = new_table();
    char out[NVT_NUMBER_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        add(table, "x", cases[i].value, 1);
        assert_string_equal(nvt_render_number(table, i, TOTAL, 1, out), cases[i].text);
        assert_true(strtoll(nvt_render_number(table, i, TOTAL, 0, out), NULL, 10) ==
                    cases[i].value);
    }
    nvt_table_free(table);
}

/* What is rounded to nothing has no sign; what is not keeps it. */
static void test_zero(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *text;
    } cases[] = {{-0.0, "0.0"}, {-0.04, "0.0"}, {-0.06, "-0.1"}, {-10, "-10.0"}, {0.04, "0.0"}};
    struct nvt_table *table = new_table();
    char out[NVT_NUMBER_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        add(table, "x", 1, cases[i].value);
        assert_string_equal(nvt_render_number(table, i, MEAN, 1, out), cases[i].text);
    }
    assert_string_equal(nvt_render_number(table, 0, RATIO, 0, out), "0");
    nvt_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_column),
        cmocka_unit_test(halves_go_away_from_zero),
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_column_says_once_what_all_have),
        cmocka_unit_test(test_captions_say_what_all_have),
        cmocka_unit_test(test_tables_fit_a_terminal),
        cmocka_unit_test(names_that_differ_look_different),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_several),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_latex),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
