/* The table: cells, widths, sorting, columns that are left out, numbers as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/render.h"
#include "../lib/table.h"
#include "../lib/text.h"
#include "json_flat.h"
#include "table_kit.h"

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
    struct nvt_table *table = table_new();
    char name[] = "kept";
    table_add(table, name, 5, 2.5);
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
        struct nvt_table *table = table_new();
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
    struct nvt_table *table = table_new();
    nvt_table_add_row(table);
    table_add(table, "b", 1, 1);
    table_add(table, "c", 2, 1);
    table_add(table, "a", 1, 1);
    table_add(table, "d", 3, 1);
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
    struct nvt_table *table = table_new();
    nvt_table_set_provenance(
        table,
        &(struct nvt_provenance){.backend = "host", .device = "A CPU", .date = "2026-11-21"});
    table_add(table, "行列", -1234567, 999999.96);
    table_add(table, "x\ty", 12, 0.25);
    nvt_table_add_row(table);
    char *text = table_render("column", table);
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
    struct nvt_table *table = table_new();
    char number[NVT_NUMBER_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(values); i++) {
        table_add(table, "x", 1, values[i]);
        assert_string_equal(nvt_render_number(table, i, MEAN, 0, number), texts[i]);
    }
    nvt_table_free(table);
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
    struct nvt_table *table = table_new();
    char out[NVT_NUMBER_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        table_add(table, "x", cases[i].value, 1);
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
    struct nvt_table *table = table_new();
    char out[NVT_NUMBER_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        table_add(table, "x", 1, cases[i].value);
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
        cmocka_unit_test(test_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
