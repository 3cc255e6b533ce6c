/* Tables for people: units and digits of cells, what is left out where a terminal is narrow, wrapped text, colours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/people.h"
#include "../lib/people_layout.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "../lib/text.h"
#include "../lib/wrap.h"
#include "random_kit.h"

/* --- cells --- */

static void expect_cell(struct nvt_column spec, double value, const char *expected)
{
    char number[NVT_NUMBER_MAX];
    struct nvt_table *table = nvt_table_new("t", "", &spec, 1);
    if (spec.type == NVT_INT)
        nvt_table_put(table, (int64_t)value);
    else
        nvt_table_put(table, value);
    assert_string_equal(nvt_people_cell(table, 0, 0, NULL, number), expected);
    nvt_table_free(table);
}

static void cells_have_digits_and_a_unit(void **state)
{
    (void)state;
    expect_cell((struct nvt_column){"Time (ns)", NVT_NS}, 14690358, "14.7 ms");
    expect_cell((struct nvt_column){"Time (ns)", NVT_NS}, 8250, "8.25 µs");
    expect_cell((struct nvt_column){"Time (ns)", NVT_NS}, 0, "0 ns");
    expect_cell((struct nvt_column){"Change (ns)", NVT_NS}, -2500000, "-2.50 ms");
    expect_cell((struct nvt_column){"Avg", NVT_NS_AVERAGE}, 999.6, "1.00 µs");
    expect_cell((struct nvt_column){"mean (ms)", NVT_REALS("ms", 4)}, 14.6903, "14.7 ms");
    expect_cell((struct nvt_column){"step (s)", NVT_REALS("s", 4)}, 0.0123, "12.3 ms");
    expect_cell((struct nvt_column){"Peak (MiB)", NVT_MIB}, 537.3, "537 MiB");
    expect_cell((struct nvt_column){"Peak (MiB)", NVT_MIB}, 1023.6, "1.00 GiB");
    expect_cell((struct nvt_column){"Size (bytes)", "bytes", NVT_INT, 0, 0}, 64, "64 B");
    expect_cell((struct nvt_column){"Size (B)", "B", NVT_INT, 0, 0}, 1536, "1.50 KiB");
    expect_cell((struct nvt_column){"Total (MB)", NVT_MB}, 1234.5, "1.23 GB");
    expect_cell((struct nvt_column){"Time (%)", NVT_PERCENT}, 47.25, "47.2");
    expect_cell((struct nvt_column){"Rate (MB/s)", NVT_REALS("MB/s", 3)}, 11834.216, "11,834");
    expect_cell((struct nvt_column){"Rate (MB/s)", NVT_REALS("MB/s", 3)}, 1.5, "1.500");
    expect_cell((struct nvt_column){"Calls", NVT_COUNTS}, 1234567, "1,234,567");
    expect_cell((struct nvt_column){"PID", NVT_IDS}, 1234567, "1234567");
    expect_cell((struct nvt_column){"Value", NVT_REALS("", NVT_SIX_DIGITS)}, 3.14159265, "3.142");
    expect_cell((struct nvt_column){"Value", NVT_REALS("", NVT_SHORTEST)}, 3.5e-9, "3.5e-09");
    expect_cell((struct nvt_column){"Value", NVT_REALS("", NVT_SHORTEST)}, 4096, "4,096");
}

/* With the beginning of the trace a moment is what --filter-time takes; without it, the trace's own ns. */
static void moments_count_from_the_beginning(void **state)
{
    (void)state;
    static const struct nvt_column spec[] = {{"Start (ns)", NVT_MOMENTS_NS}};
    char text[NVT_NUMBER_MAX];
    struct nvt_table *table = nvt_table_new("t", "", spec, 1);
    nvt_table_put(table, (int64_t)1011780000);
    assert_string_equal(nvt_people_cell(table, 0, 0, NULL, text), "1,011,780,000");
    assert_string_equal(nvt_people_heading(table, 0, text, sizeof(text)), "Start (ns)");
    nvt_table_set_provenance(table, &(struct nvt_provenance){.begin = 1000000000, .has_begin = 1});
    assert_string_equal(nvt_people_cell(table, 0, 0, NULL, text), "11.780 ms");
    assert_string_equal(nvt_people_heading(table, 0, text, sizeof(text)), "Start");
    nvt_table_free(table);
}

static void ranges_have_no_marks(void **state)
{
    (void)state;
    static const struct nvt_column spec[] = {{"Range", NVT_RANGES}};
    static const char *const names[][2] = {{":step", "step"},
                                           {"nvtally:step", "nvtally:step"},
                                           {"----:step", "    step"},
                                           {"--torch:0 (Block)", "  torch:0 (Block)"},
                                           {":", ":"},
                                           {"", ""}};
    char text[NVT_NUMBER_MAX];
    struct nvt_table *table = nvt_table_new("t", "", spec, 1);
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        nvt_table_put(table, names[i][0]);
        assert_string_equal(nvt_people_cell(table, i, 0, NULL, text), names[i][1]);
    }
    nvt_table_free(table);
}

/* --- tables --- */

static char *render(struct nvt_table *table, size_t terminal, int is_coloured, int is_wide)
{
    struct nvt_tables tables = {.items = &table,
                                .count = 1,
                                .terminal = terminal,
                                .is_coloured = is_coloured,
                                .is_wide = is_wide};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(nvt_format_find("table")->render(&tables, out), 0);
    fclose(out);
    return text;
}

static void expect_in(const char *text, const char *needle)
{
    if (!strstr(text, needle))
        fail_msg("no '%s' in\n%s", needle, text);
}

static struct nvt_table *times(void)
{
    static const struct nvt_column columns[] = {
        {"Time (%)", NVT_PERCENT}, {"Total Time (ns)", NVT_NS}, {"Instances", NVT_COUNTS},
        NVT_SUMMARY_COLUMNS(""),   {"Style", NVT_SPARE_NAMES},  {"Trace", NVT_NAMES},
        {"Range", NVT_RANGES}};
    struct nvt_table *table = nvt_table_new("times", "Ranges", columns, 11);
    nvt_table_put(table, 50.0, 458835449, 10, 45883544.9, 14690358.0, 14399642, 323887314,
                  97684070.9, "PushPop", NVT_NULL, ":iteration");
    nvt_table_put(table, 8.4, 7728723, 10, 772872.6, 160719.5, 151185, 6281710, 19356.9, "PushPop",
                  NVT_NULL, ":optimizer");
    return table;
}

static void tables_say_units_once(void **state)
{
    (void)state;
    struct nvt_table *table = times();
    nvt_table_set_provenance(
        table, &(struct nvt_provenance){.backend = "cuda", .device = "H100", .date = "2026-11-26"});
    char *text = render(table, 0, 0, 0);
    assert_string_equal(
        text, "H100 · cuda · 2026-11-26\n\nRanges  [times]\n\n"
              "Time (%)  Total Time  Instances      Avg      Med      Min      Max   StdDev  "
              "Style    Range\n"
              "────────  ──────────  ─────────  ───────  ───────  ───────  ───────  ───────  "
              "───────  ─────────\n"
              "    50.0      459 ms         10  45.9 ms  14.7 ms  14.4 ms   324 ms  97.7 ms  "
              "PushPop  iteration\n"
              "     8.4     7.73 ms         10   773 µs   161 µs   151 µs  6.28 ms  19.4 µs  "
              "PushPop  optimizer\n");
    free(text);
    nvt_table_free(table);
}

/* First what is the same in all rows, then what is spare; both are said. */
static void narrow_tables_leave_columns_out(void **state)
{
    (void)state;
    struct nvt_table *table = times();
    char *text = render(table, 80, 0, 0);
    expect_in(text, "In every row: Style PushPop\n");
    expect_in(text, "  Range\n");
    expect_in(text, "  iteration\n");
    free(text);
    text = render(table, 60, 0, 0);
    expect_in(text, "Not shown: Min, Max, StdDev (--wide)\n");
    expect_in(text, "459 ms");
    free(text);
    text = render(table, 60, 0, 1);
    expect_in(text, "97.7 ms  PushPop  iteration\n");
    free(text);
    nvt_table_free(table);
}

static size_t below(size_t count)
{
    return (size_t)rand() % count;
}

/* A table of whatever columns, with names as long as those of kernels. */
static struct nvt_table *draw_table(void)
{
    static const char *const headings[] = {
        "A",    "Total Time (ns)", "Peak Allocated (MiB)", "Exposed Communication (%)",
        "Name", "名前 of it"};
    struct nvt_column columns[12] = {{0}};
    const size_t count = 1 + below(12);
    for (size_t i = 0; i < count; i++) {
        static const struct nvt_column kinds[] = {
            {"", NVT_NS},  {"", NVT_NAMES},       {"", NVT_RANGES}, {"", NVT_MIB},
            {"", NVT_IDS}, {"", NVT_SPARE_NAMES}, {"", NVT_COUNTS}, {"", NVT_VERDICTS}};
        columns[i] = kinds[below(8)];
        columns[i].heading = headings[below(6)];
    }
    struct nvt_table *table =
        nvt_table_new("drawn", "A title of a table that says what it shows", columns, count);
    for (size_t row = below(6); row-- > 0;) {
        nvt_table_add_row(table);
        for (size_t i = 0; i < count; i++) {
            char name[200] = "--:slower";
            if (below(2))
                snprintf(name, sizeof(name), "void gemm%0*d(行列, float*)", (int)below(150), 1);
            const double number = (double)below(1u << 31) * (double)below(1000);
            if (!below(5))
                nvt_table_skip(table, 1);
            else if (columns[i].type == NVT_TEXT)
                nvt_table_more(table, name);
            else if (columns[i].type == NVT_REAL)
                nvt_table_more(table, number / 1000);
            else
                nvt_table_more(table, (int64_t)number);
        }
    }
    assert_int_equal(nvt_table_failed(table, NULL), 0);
    return table;
}

/* Whatever is in a table, no line is longer than a terminal of 32 columns and more. */
static void tables_fit(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct nvt_table *table = draw_table();
        const size_t terminal = 32 + below(120);
        char *text = render(table, terminal, 0, 0), *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));) {
            const size_t length = strlen(line);
            if (nvt_text_width(line) > terminal)
                fail_msg("%zu: '%s'", terminal, line);
            if (length && line[length - 1] == ' ')
                fail_msg("blanks at the end of '%s'", line);
        }
        free(text);
        nvt_table_free(table);
    }
}

static void verdicts_are_coloured(void **state)
{
    (void)state;
    static const struct nvt_column columns[] = {{"name", NVT_NAMES}, {"verdict", NVT_VERDICTS}};
    struct nvt_table *table = nvt_table_new("compare", "Changes", columns, 2);
    nvt_table_put(table, "a", "slower");
    nvt_table_put(table, "b", "faster");
    char *text = render(table, 80, 1, 0);
    expect_in(text, "a     \033[31mslower\033[0m\n");
    expect_in(text, "b     \033[32mfaster\033[0m\n");
    free(text);
    text = render(table, 80, 0, 0);
    assert_null(strchr(text, '\033'));
    free(text);
    nvt_table_free(table);
}

/* --- text --- */

static void expect_wrapped(const char *text, size_t first, size_t hang, size_t width,
                           const char *expected)
{
    char *lines = NULL;
    size_t size;
    FILE *out = open_memstream(&lines, &size);
    const size_t count = nvt_wrap(text, first, hang, width, out);
    fclose(out);
    assert_string_equal(lines, expected);
    assert_int_equal(count, nvt_wrap_lines(text, first, hang, width));
    free(lines);
}

static void text_is_wrapped(void **state)
{
    (void)state;
    expect_wrapped("one two three", 0, 2, 8, "one two\n  three");
    expect_wrapped("one two three", 0, 2, 0, "one two three");
    expect_wrapped("one two three", 4, 4, 14, "one two\n    three");
    expect_wrapped("", 3, 3, 10, "");
    expect_wrapped("abcdefghijklmnop", 0, 2, 10, "abcdefghij\n  klmnop");
    expect_wrapped("a bcdefghijklmnop", 0, 0, 10, "a\nbcdefghijk\nlmnop");
    expect_wrapped("x\x1b[31m y", 0, 0, 20, "x␛[31m y");
    expect_wrapped("行列積 行列", 0, 0, 8, "行列積\n行列");
    expect_wrapped("wide words", 60, 4, 20, "\n    wide words");
}

static void colours_are_asked_for(void **state)
{
    (void)state;
    enum nvt_color color = NVT_COLOR_AUTO;
    struct nvt_error err = NVT_ERROR_INIT;
    FILE *file = tmpfile();
    assert_int_equal(nvt_color_parse("always", &color, &err), 0);
    assert_int_equal(color, NVT_COLOR_ALWAYS);
    assert_int_equal(nvt_color_parse("never", &color, &err), 0);
    assert_int_equal(color, NVT_COLOR_NEVER);
    assert_int_equal(nvt_color_parse("red", &color, &err), -1);
    assert_string_equal(err.message, "--color red: must be auto, always or never");
    assert_int_equal(nvt_screen_of(file, NVT_COLOR_AUTO).is_coloured, 0);
    assert_int_equal(nvt_screen_of(file, NVT_COLOR_ALWAYS).is_coloured, 1);
    assert_int_equal(nvt_screen_of(file, NVT_COLOR_ALWAYS).width, 0);
    fclose(file);
}

/* Also where it goes to no terminal, from which it may come to one. */
static void messages_steer_no_terminal(void **state)
{
    (void)state;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    nvt_message(file, "left: %s (%d)", "\033[2Jevil\n\xff", 12);
    fclose(file);
    assert_string_equal(text, "nvtally: left: \u241b[2Jevil\u240a\ufffd (12)\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_have_digits_and_a_unit),
        cmocka_unit_test(moments_count_from_the_beginning),
        cmocka_unit_test(ranges_have_no_marks),
        cmocka_unit_test(tables_say_units_once),
        cmocka_unit_test(narrow_tables_leave_columns_out),
        cmocka_unit_test(tables_fit),
        cmocka_unit_test(verdicts_are_coloured),
        cmocka_unit_test(text_is_wrapped),
        cmocka_unit_test(colours_are_asked_for),
        cmocka_unit_test(messages_steer_no_terminal),
    };
    kit_srand(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
