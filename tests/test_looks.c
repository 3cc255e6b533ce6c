/*
 * What charts are made of: colours and marks of series and names, tics of axes, words that tell
 * rows apart.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../plots/chart.h"
#include "../plots/frame.h"
#include "../plots/looks.h"
#include "../lib/words.h"

static void test_looks(void **state)
{
    (void)state;
    static const char *const names[] = {"aten::mm", "backward", "load", "forward", "step"};
    static const char *const other[] = {"forward", "Backward", "ProfilerStep#12", "fwd"};
    const char *colors[5], *others[4];
    nvt_name_colors(names, 5, colors);
    nvt_name_colors(other, 4, others);
    assert_string_equal(colors[3], others[0]);
    assert_string_equal(colors[1], others[1]);
    assert_string_equal(colors[4], others[2]);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(colors[i], colors[k]);
            assert_true(i >= 4 || strcmp(others[i], others[k]) != 0);
        }
    /* In another order, and without the well-known ones, names keep their colours. */
    static const char *const turned[] = {"load", "aten::mm"};
    nvt_name_colors(turned, 2, others);
    assert_string_equal(colors[0], others[1]);
    assert_string_equal(colors[2], others[0]);
    assert_null(nvt_known_color("aten::mm"));
    struct nvt_record record = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    static const char json[] = "{\"workload\": \"fragmented\", \"mode\": \"inference\", "
                               "\"variant\": \"grouped\"}";
    assert_int_equal(nvt_record_parse(&record, json, strlen(json), &err), 0);
    assert_string_equal(nvt_look_of_record(&record, 0).color,
                        nvt_look_of_fragments(NVT_GROUPED).color);
    (void)json;
    (void)err;
    nvt_record_free(&record);
}

/* Whatever an extent is, an axis has two labels or more; a value alone too. */
static void test_tics(void **state)
{
    (void)state;
    const struct nvt_chart_request request = {.format = "svg"};
    struct nvt_frame frame = nvt_frame_new(&request, "a", "a");
    frame.columns = 1;
    for (int i = 0; i < 240; i++)
        for (int k = 0; k < 26; k++) {
            const double least = 1e-3 * pow(1.07, i), ratio = pow(1.3, k);
            char *script = NULL, *end;
            size_t size = 0, tics = 0;
            const struct nvt_extent extent = {least, least * ratio};
            FILE *out = open_memstream(&script, &size);
            int is_log = nvt_frame_scale('y', &extent, 1, 0, out);
            fclose(out);
            assert_true(is_log);
            double low = least / 1.5, high = least * ratio * 1.5;
            const char *list = strstr(script, "set ytics (");
            assert_non_null(list);
            for (const char *at = list + 11, *next; at; at = next) {
                const char *small = strstr(at, "''"); /* small ones have no label */
                next = strpbrk(at, ",)");
                assert_non_null(next);
                int is_small = small && small < next;
                double tic = strtod(is_small ? small + 2 : at, &end);
                assert_true(tic >= low * (1 - 1e-8) && tic <= high * (1 + 1e-8));
                assert_int_equal(strncmp(end, " 1", 2) == 0, is_small);
                tics += !is_small;
                next = *next == ',' ? next + 1 : NULL;
            }
            assert_in_range(tics, 2, 12);
            free(script);
        }
    for (int i = 0; i < 9; i++) {
        const double value = pow(3, i);
        char *script = NULL;
        size_t size = 0, labels = 0;
        double left, right, values[] = {value, value};
        struct nvt_extent extent = {value, value};
        FILE *out = open_memstream(&script, &size);
        nvt_frame_log_range(&extent, 1.2, &left, &right);
        nvt_frame_log_x(&frame, left, right, values, 2, out);
        fclose(out);
        for (const char *at = strstr(script, "xtics ("); (at = strstr(at, "\" ")); at++)
            labels++;
        assert_in_range(labels, 2, 3);
        free(script);
    }
}

/* --- words --- */

static const char *word_row(const void *rows, size_t index)
{
    const char *const *texts = rows;
    return texts[index];
}

static void test_words(void **state)
{
    (void)state;
    static const char *const rows[] = {"linear size=64 batch=1", "linear size=64 batch=16", NULL};
    const struct nvt_words words = {rows, 2, word_row}, one = {rows, 1, word_row};
    char text[32];
    assert_int_equal(nvt_words_pick(&words, rows[1], 0, text, sizeof(text)), 8);
    assert_string_equal(text, "batch=16");
    nvt_words_pick(&words, rows[0], 0, text, sizeof(text));
    assert_string_equal(text, "batch=1"); /* which is no word of the second row */
    nvt_words_pick(&words, rows[0], 1, text, sizeof(text));
    assert_string_equal(text, "linear size=64");
    nvt_words_pick(&one, rows[0], 1, text, sizeof(text));
    assert_string_equal(text, rows[0]);
    assert_int_equal(nvt_words_pick(&one, rows[0], 0, text, sizeof(text)), 0);
    assert_int_equal(nvt_words_pick(&words, NULL, 1, text, sizeof(text)), 0);
    assert_int_equal(nvt_words_pick(&words, rows[0], 1, text, 10), 6);
    assert_string_equal(text, "linear");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_tics),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
