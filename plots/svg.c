#include "svg.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/render.h"

#define PLOT      "id=\"gnuplot_plot_"
#define BOX       "<polygon "
#define BOLD      "font-family=\"DejaVu Sans:Bold\""
#define BOLD_MADE "font-family=\"DejaVu Sans,Arial,sans-serif\" font-weight=\"bold\""

/* A picture on the way to another stream. */
struct svg {
    const char *at, *end;
    unsigned long plot; /* that `at` is in; 0: none */
    const char *tips;   /* the next one of this plot, or NULL */
};

static int starts(const struct svg *svg, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(svg->end - svg->at) >= length && !memcmp(svg->at, text, length);
}

static size_t boxes_of(const struct svg *svg)
{
    size_t count = 0;
    for (struct svg at = *svg; at.at < at.end && !starts(&at, PLOT); at.at++)
        count += (size_t)starts(&at, BOX);
    return count;
}

/* The first tip of a plot, NULL: there is none. */
static const char *tips_of(const char *tips, unsigned long plot)
{
    while (tips && *tips && strtoul(tips, NULL, 10) != plot) {
        tips = strchr(tips, '\n');
        tips += tips != NULL;
    }
    return tips && *tips ? tips : NULL;
}

static size_t tips_count(const char *tips, unsigned long plot)
{
    size_t count = 0;
    for (; tips && *tips && strtoul(tips, NULL, 10) == plot; count++) {
        tips = strchr(tips, '\n');
        tips += tips != NULL;
    }
    return count;
}

/* Begin with a plot, whose tips are only taken if they are as many as its boxes. */
static void enter_plot(struct svg *svg, const char *tips)
{
    svg->at += strlen(PLOT);
    svg->plot = strtoul(svg->at, NULL, 10);
    svg->tips = tips_of(tips, svg->plot);
    if (tips_count(svg->tips, svg->plot) != boxes_of(svg))
        svg->tips = NULL;
}

/* Write a box with its tip: gnuplot ends its tag with "/>". */
static void put_box(struct svg *svg, FILE *out)
{
    const char *end = memchr(svg->at, '>', (size_t)(svg->end - svg->at));
    const char *text = strchr(svg->tips, ' ');
    const char *stop = strchr(svg->tips, '\n');
    if (!end || end[-1] != '/' || !text || !stop || text > stop)
        return;
    char *tip = strndup(text + 1, (size_t)(stop - text - 1));
    if (tip) {
        fwrite(svg->at, 1, (size_t)(end - 1 - svg->at), out);
        fputs("><title>", out);
        nvt_render_html_text(tip, out);
        fputs("</title></polygon>", out);
        svg->at = end + 1;
    }
    free(tip);
    svg->tips = stop + 1;
}

/* Skip an element that gnuplot describes the picture by; whether it was one. */
static int skip_own(struct svg *svg)
{
    static const char *const elements[][2] = {{"<title>", "</title>"}, {"<desc>", "</desc>"}};
    for (size_t i = 0; i < 2; i++)
        if (starts(svg, elements[i][0])) {
            const char *end = memmem(svg->at, (size_t)(svg->end - svg->at), elements[i][1],
                                     strlen(elements[i][1]));
            if (end)
                svg->at = end + strlen(elements[i][1]);
            return end != NULL;
        }
    return 0;
}

int nvt_svg_finish(struct nvt_buffer *picture, const char *tips)
{
    char *made = NULL;
    size_t size = 0;
    struct svg svg = {(const char *)picture->data, (const char *)picture->data + picture->size, 0,
                      NULL};
    FILE *out = open_memstream(&made, &size);
    while (out && svg.at < svg.end) {
        const char *before = svg.at;
        if (skip_own(&svg))
            continue;
        if (starts(&svg, BOLD)) {
            fputs(BOLD_MADE, out);
            svg.at += strlen(BOLD);
        } else if (starts(&svg, PLOT)) {
            enter_plot(&svg, tips);
            fwrite(before, 1, (size_t)(svg.at - before), out);
        } else if (svg.tips && starts(&svg, BOX))
            put_box(&svg, out);
        if (svg.at == before)
            putc(*svg.at++, out);
    }
    if (!out || fclose(out)) {
        free(made);
        return -1;
    }
    picture->size = 0;
    const int failed = nvt_buffer_append(picture, made, size);
    free(made);
    return failed;
}

void nvt_svg_put_tip(int plot, const char *text, FILE *out)
{
    fprintf(out, "%d ", plot);
    for (; *text; text++)
        putc((unsigned char)*text < ' ' ? ' ' : *text, out);
    putc('\n', out);
}
