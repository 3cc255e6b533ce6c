/* What is made of an SVG that gnuplot wrote: names of boxes as tips, and none of gnuplot's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../plots/svg.h"

static const char drawn[] =
    "<svg>\n<title>Gnuplot</title>\n<desc>Produced by GNUPLOT 5.4</desc>\n"
    "<g font-family=\"DejaVu Sans:Bold\" font-size=\"14\"><text>a title</text></g>\n"
    "<g id=\"gnuplot_plot_1\" ><title>'a.dat' using 1:2</title>\n"
    "<polygon fill = 'red' points = '1,2 '/><polygon fill = 'red' points = '3,4 '/></g>\n"
    "<g id=\"gnuplot_plot_2\" ><title>'' with labels</title><text>one</text></g>\n"
    "<g id=\"gnuplot_plot_13\" ><title>'a.dat' using 1:2</title>\n"
    "<polygon fill = 'blue' points = '5,6 '/></g>\n</svg>\n";

static char *finished(const char *tips)
{
    struct nvt_buffer picture = {0};
    assert_int_equal(nvt_buffer_append(&picture, drawn, strlen(drawn)), 0);
    assert_int_equal(nvt_svg_finish(&picture, tips), 0);
    assert_int_equal(nvt_buffer_append(&picture, "", 1), 0);
    return (char *)picture.data;
}

static void own_names_are_left_out(void **state)
{
    (void)state;
    char *svg = finished(NULL);
    assert_null(strstr(svg, "title>"));
    assert_null(strstr(svg, "desc"));
    assert_non_null(strstr(svg, "font-weight=\"bold\" font-size=\"14\"><text>a title"));
    assert_non_null(strstr(svg, "points = '1,2 '/><polygon"));
    free(svg);
}

static void boxes_have_tips(void **state)
{
    (void)state;
    char *tips = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&tips, &size);
    assert_non_null(out);
    nvt_svg_put_tip(1, "a<b>&\"c\"\n1 planted", out);
    nvt_svg_put_tip(1, "", out);
    nvt_svg_put_tip(13, "\xff third", out);
    fclose(out);
    char *svg = finished(tips);
    assert_non_null(strstr(svg, "points = '1,2 '><title>a&lt;b&gt;&amp;"));
    assert_non_null(strstr(svg, " 1 planted</title></polygon>"));
    assert_non_null(strstr(svg, "points = '3,4 '><title></title></polygon></g>"));
    assert_non_null(strstr(svg, "points = '5,6 '><title>"));
    assert_null(strstr(svg, "\xff"));
    free(svg);
    free(tips);
}

/* Tips that are not as many as the boxes could be others': none is better. */
static void tips_that_do_not_fit_are_left_out(void **state)
{
    (void)state;
    static const char *const wrong[] = {"1 one\n13 three\n", "1 one\n1 two\n1 more\n13 three\n",
                                        "2 one\n2 two\n13 three\n"};
    for (size_t i = 0; i < 3; i++) {
        char *svg = finished(wrong[i]);
        assert_non_null(strstr(svg, "points = '1,2 '/><polygon fill = 'red' points = '3,4 '/>"));
        assert_non_null(strstr(svg, "<title>three</title>"));
        free(svg);
    }
    char *svg = finished("");
    assert_null(strstr(svg, "title>"));
    free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_names_are_left_out),
        cmocka_unit_test(boxes_have_tips),
        cmocka_unit_test(tips_that_do_not_fit_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
