/*
 * The timeline in the HTML document: the page of `view` and its data, as JSON of which the document's script makes a frame.
 */
#include <string.h>

#include "../../analyze/view/server.h"
#include "../../lib/count_of.h"
#include "../../lib/json.h"
#include "../document.h"

void nvt_document_html_json(const char *json, const char *id, FILE *out)
{
    /* In JSON '<' stands in texts alone: as an escape it ends nothing. */
    fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
    for (; *json; json++)
        if (*json == '<' || *json == '>' || *json == '&')
            fprintf(out, "\\u%04x", (unsigned)*json);
        else
            putc(*json, out);
    fputs("</script>\n", out);
}

/* The page from its header on; what stands before it loads files. */
static void put_page(FILE *out)
{
    static const char *const files[][2] = {{"html", ""}, {"css", "view.css"}, {"js", "view.js"}};
    struct nvt_buffer page = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(files); i++) {
        const char *text = nvt_view_file(files[i][1])->text;
        nvt_buffer_printf(&page, "%s\"%s\":", i ? "," : "{", files[i][0]);
        nvt_json_quote(&page, i ? text : strstr(text, "<header>"));
    }
    nvt_buffer_append(&page, "}", 2);
    if (!page.failed)
        nvt_document_html_json((const char *)page.data, "view", out);
    nvt_buffer_free(&page);
}

void nvt_document_html_timeline(const struct nvt_block *block, FILE *out)
{
    fputs(
        "<div class=\"timeline\"><noscript><p>The timeline needs scripts; the charts show the same "
        "without.</p></noscript></div>\n",
        out);
    nvt_document_html_json(block->text, "timeline", out);
    put_page(out);
}
