/* The renderers of tables: right for any text in a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/render.h"
#include "../lib/table.h"
#include "../lib/text.h"
#include "json_flat.h"
#include "random_kit.h"
#include "table_kit.h"

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

static struct nvt_table *nasty_table(void)
{
    struct nvt_table *table = table_new();
    for (size_t i = 0; i < NAMES; i++)
        table_add(table, names[i], (int64_t)i * 1234567, (double)i);
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

/* Every line of a grid takes the same number of terminal columns, whatever the names. */
static void test_grid(void **state)
{
    (void)state;
    struct nvt_table *table = nasty_table();
    char *text = table_render("grid", table), *rest = text;
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
    char *text = table_render("csv", table), field[1000], expected[1000], delimiter;
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
    char *text = table_render("tsv", table), *rest = text;
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
    char *text = table_render_list("column", &tables);
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
    char *text = table_render(format, table);
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
        table_add(table, name, 123456789, 1);
        struct nvt_tables tables = {.items = &table, .count = 1, .terminal = terminal};
        for (size_t i = terminal == 80; i < 2; i++) { /* a grid's numbers alone take 82 */
            char *lines = table_render_list(i ? "column" : "grid", &tables), *rest = lines;
            for (char *row; (row = strsep(&rest, "\n"));)
                if (nvt_text_width(row) > terminal)
                    fail_msg("%zu: %s", terminal, row);
            free(lines);
        }
        char *text = table_render_list("column", &tables);
        assert_non_null(strstr(text, "void "));
        assert_non_null(strstr(text, "…"));
        assert_non_null(strstr(text, "*)"));
        assert_non_null(strstr(text, "123,456,789"));
        free(text);
        tables.is_wide = 1;
        for (size_t i = 0; i < 2; i++) {
            text = table_render_list(i ? "column" : "grid", &tables);
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
        struct nvt_table *table = table_new();
        for (size_t i = 0; i < 2 * ALIKE; i++)
            table_add(table, alike[i % ALIKE], 1, 1);
        struct nvt_tables tables = {.items = &table, .count = 1, .terminal = terminal};
        char *text = table_render_list("column", &tables), *rest = text, *rows[2 * ALIKE + 4];
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
    char *text = table_render("json", table);
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
    assert_int_equal(nvt_tables_add(&tables, table_new()), 0);
    char *text = table_render_list("json", &tables);
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
    struct nvt_table *table = table_new();
    table_add(table, "a|b_c\n<d> \\ \x1b", 1234, 0.5);
    char *text = table_render("markdown", table);
    assert_string_equal(
        text, "A demo\n\n"
              "| Name | Total (ns) | mean (ns) | ratio | steady | PID |\n"
              "| :-- | --: | --: | --: | --: | --: |\n"
              "| a\\|b\\_c \\<d\\> \\\\ ␛ | 1,234 | 0.5 | 0.16666666666666666 | true | 123456 |\n");
    free(text);
    nvt_table_free(table);
    table = nasty_table();
    text = table_render("markdown", table);
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
    struct nvt_table *table = table_new();
    table_add(table, "_&%#$~^\\{}--[\n\x1b", -1234, 0.5);
    char *text = table_render("latex", table);
    assert_non_null(strstr(
        text, "  \\_\\&\\%\\#\\$\\textasciitilde{}\\textasciicircum{}\\textbackslash{}\\{\\}{-}{-}"
              "{[}\\textbackslash{}n\\textbackslash{}x1B & $-$1,234 & 0.5 & 0.16666666666666666"
              " & false & 123456 \\\\\n"));
    assert_non_null(strstr(text, "\\begin{tabular}{lrrrrr}\n\\toprule\n  Name & Total (ns) & "));
    free(text);
    nvt_table_free(table);
    table = nasty_table();
    text = table_render("latex", table);
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
        struct nvt_table *table = table_new();
        nvt_table_set_title(table, name);
        nvt_table_set_provenance(
            table, &(struct nvt_provenance){
                       .backend = name, .device = name, .date = name, .condition = name});
        table_add(table, name, rand(), 1e300 / (rand() + 1.0));
        for (size_t i = 0; i < count; i++) {
            char *text = table_render(formats[i].name, table);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_tsv),
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
