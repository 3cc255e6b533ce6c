/* Pictures in the HTML document: the <svg> that gnuplot wrote, as it is but for its ids. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/render.h"
#include "../document.h"
#include "../frame.h"

/* Whether a name of ours is to be set behind what was just written: ids and what refers to them. */
static int refers(const char *at, size_t *length)
{
    static const char *const starts[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++)
        if (!strncmp(at, starts[i], strlen(starts[i]))) {
            *length = strlen(starts[i]);
            return 1;
        }
    return 0;
}

/*
 * The <svg> element of a picture that gnuplot wrote, its ids made different from those of the other
 * pictures. In gnuplot's output '<' stands only at tags.
 */
static void put_svg(const char *svg, size_t number, FILE *out)
{
    int in_tag = 0;
    for (const char *at = svg; *at;) {
        size_t length = 1;
        in_tag = *at == '<' ? 1 : *at == '>' ? 0 : in_tag;
        int is_name = in_tag && refers(at, &length);
        fwrite(at, 1, length, out);
        if (is_name)
            fprintf(out, "p%zu-", number);
        at += length;
    }
}

/* Whether it has a row for itself. */
static int is_wide(const char *svg)
{
    const char *width = strstr(svg, "width=\"");
    return width && strtol(width + strlen("width=\""), NULL, 10) > NVT_FRAME_WIDTH;
}

int nvt_document_html_picture(const struct nvt_block *block, size_t number, FILE *out,
                              struct nvt_error *err)
{
    size_t size;
    char *picture = nvt_document_read(block->path, &size, err);
    const char *svg = picture ? strstr(picture, "<svg") : NULL;
    /* gnuplot writes neither; what does is not taken into a document that shall load nothing. */
    if (svg && (strstr(svg, "<script") || strstr(svg, "<image")))
        svg = NULL;
    if (picture && !svg)
        nvt_fail_at(err, block->path, -1, "is no plain SVG picture");
    if (svg) {
        fprintf(out, "<figure class=\"picture%s\" role=\"img\" aria-label=\"",
                is_wide(svg) ? " wide" : "");
        nvt_render_html_text(block->title, out);
        fputs("\">\n<div class=\"view\" tabindex=\"0\">", out);
        put_svg(svg, number, out);
        fputs("</div></figure>\n", out);
    }
    free(picture);
    return svg ? 0 : -1;
}
