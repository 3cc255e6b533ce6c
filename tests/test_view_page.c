/*
 * Colours of the page of `view`, as its script and its style state them: those that stand for something are told apart with every kind
 * of sight, and text, focus and paper differ enough, in light and dark.
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

#include "../analyze/view/server.h"
#include "../lib/count_of.h"

struct color {
    double red, green, blue; /* linear, 0 to 1 */
};

/* The text of a file of the page. Owned. */
static char *page(const char *name)
{
    const struct nvt_view_file *file = nvt_view_file(name);
    assert_non_null(file);
    char *text = strndup(file->text, (size_t)(file->end - file->text));
    assert_non_null(text);
    return text;
}

static double linear(unsigned value)
{
    const double part = value / 255.0;
    return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4); /* IEC 61966-2-1 */
}

/* "#rrggbb" or "#rgb". */
static struct color color_of(const char *text)
{
    unsigned digits[6], count = 0;
    assert_int_equal(*text, '#');
    for (; count < 6 && strspn(text + 1 + count, "0123456789abcdef"); count++) {
        const char digit = text[1 + count];
        digits[count] = (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    assert_true(count == 3 || count == 6);
    if (count == 3)
        return (struct color){linear(17 * digits[0]), linear(17 * digits[1]),
                              linear(17 * digits[2])};
    return (struct color){linear(16 * digits[0] + digits[1]), linear(16 * digits[2] + digits[3]),
                          linear(16 * digits[4] + digits[5])};
}

/* What is seen without one kind of cones: Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color
 * vision deficiency", 2009, severity 1. */
static const double sights[][9] = {
    {1, 0, 0, 0, 1, 0, 0, 0, 1},
    {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
    {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
    {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
};

static double within(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static struct color seen(struct color color, const double *sight)
{
    const double *m = sight;
    return (struct color){
        within(m[0] * color.red + m[1] * color.green + m[2] * color.blue),
        within(m[3] * color.red + m[4] * color.green + m[5] * color.blue),
        within(m[6] * color.red + m[7] * color.green + m[8] * color.blue),
    };
}

static double root(double part)
{
    return part > 0.008856 ? cbrt(part) : 7.787 * part + 16.0 / 116;
}

static double luminance(struct color color)
{
    return 0.2126729 * color.red + 0.7151522 * color.green + 0.0721750 * color.blue;
}

/* CIE 1976 L*a*b*, white D65. */
static void to_lab(struct color color, double lab[3])
{
    const double x = 0.4124564 * color.red + 0.3575761 * color.green + 0.1804375 * color.blue,
                 y = luminance(color),
                 z = 0.0193339 * color.red + 0.1191920 * color.green + 0.9503041 * color.blue;
    lab[0] = 116 * root(y) - 16;
    lab[1] = 500 * (root(x / 0.95047) - root(y));
    lab[2] = 200 * (root(y) - root(z / 1.08883));
}

static double distance(struct color left, struct color right)
{
    double a[3], b[3];
    to_lab(left, a);
    to_lab(right, b);
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

/* Colours of a list of the script that begins with a text. How many. */
static size_t colors_of(const char *script, const char *begin, struct color *colors, size_t most)
{
    const char *at = strstr(script, begin);
    assert_non_null(at);
    const char *end = at + strcspn(at, ";");
    size_t count = 0;
    for (at = strchr(at, '#'); at && at < end && count < most; at = strchr(at + 1, '#'))
        colors[count++] = color_of(at);
    return count;
}

/* Classes of operations and causes of idle time: 12 is some five times what is just seen to differ. */
static void test_palettes(void **state)
{
    (void)state;
    static const struct {
        const char *begin;
        size_t count;
    } lists[] = {{"CLASSES = [", 6}, {"CAUSES = {", 7}};
    char *script = page("view.js");
    for (size_t list = 0; list < NVT_COUNT_OF(lists); list++) {
        struct color colors[8];
        assert_int_equal(colors_of(script, lists[list].begin, colors, lists[list].count),
                         lists[list].count);
        for (size_t sight = 0; sight < NVT_COUNT_OF(sights); sight++)
            for (size_t i = 0; i < lists[list].count; i++)
                for (size_t k = 0; k < i; k++) {
                    const double differ =
                        distance(seen(colors[i], sights[sight]), seen(colors[k], sights[sight]));
                    if (differ < 12)
                        fail_msg("%s colours %zu and %zu differ by %.1f with sight %zu",
                                 lists[list].begin, k, i, differ, sight);
                }
    }
    free(script);
}

/* A colour of the style's light or dark part. */
static struct color styled(const char *style, int is_dark, const char *name)
{
    const char *at = strstr(style, is_dark ? "(prefers-color-scheme: dark)" : ":root");
    char key[32];
    snprintf(key, sizeof(key), "--%s: ", name);
    assert_non_null(at);
    at = strstr(at, key);
    assert_non_null(at);
    return color_of(at + strlen(key));
}

static double contrast(struct color left, struct color right)
{
    const double a = luminance(left), b = luminance(right);
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

/* WCAG 2.1: 7 for text (AAA), 4.5 for what is said next to it, 3 for what shows the focus and what is selected. */
static void test_contrast(void **state)
{
    (void)state;
    char *style = page("view.css");
    for (int is_dark = 0; is_dark < 2; is_dark++) {
        const struct color paper = styled(style, is_dark, "paper"),
                           shade = styled(style, is_dark, "shade");
        assert_true(contrast(styled(style, is_dark, "ink"), paper) >= 7);
        assert_true(contrast(styled(style, is_dark, "ink"), shade) >= 7);
        assert_true(contrast(styled(style, is_dark, "faint"), paper) >= 4.5);
        assert_true(contrast(styled(style, is_dark, "mark"), paper) >= 3);
        assert_true((luminance(paper) < 0.5) == is_dark);
    }
    free(style);
}

/* Text on events: dark on all but those of DARK, which have light text. */
static void test_text_on_events(void **state)
{
    (void)state;
    char *script = page("view.js");
    struct color colors[10], dark[10];
    const size_t darks = colors_of(script, "DARK = [", dark, 10);
    const struct color ink = color_of("#1a1a1a"), light = color_of("#fefefe");
    assert_int_equal(darks, 2);
    for (size_t i = 0; i < darks; i++)
        assert_true(contrast(light, dark[i]) >= 4.5);
    static const char *const lists[] = {"COLORS = [", "CAUSES = {", "CLASSES = ["};
    for (size_t list = 0; list < NVT_COUNT_OF(lists); list++) {
        const size_t count = colors_of(script, lists[list], colors, 10);
        assert_true(count >= 6);
        for (size_t i = 0; i < count; i++)
            if (contrast(light, colors[i]) < 4.5 && contrast(ink, colors[i]) < 4.2)
                fail_msg("%s colour %zu: %.1f", lists[list], i, contrast(ink, colors[i]));
    }
    free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_palettes),
        cmocka_unit_test(test_contrast),
        cmocka_unit_test(test_text_on_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
