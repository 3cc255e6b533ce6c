/*
 * The page, built into the program from analyze/view/page.
 */
#include <stddef.h>
#include <string.h>

#include "../../lib/embed.h"
#include "server.h"
#include "../../lib/count_of.h"

NVT_EMBED(nvt_view_html, "analyze/view/page/view.html");
NVT_EMBED(nvt_view_js, "analyze/view/page/view.js");
NVT_EMBED(nvt_view_css, "analyze/view/page/view.css");

const struct nvt_view_file *nvt_view_file(const char *name)
{
    static const struct nvt_view_file files[] = {
        {"", "text/html; charset=utf-8", nvt_view_html, nvt_view_html_end},
        {"view.js", "text/javascript; charset=utf-8", nvt_view_js, nvt_view_js_end},
        {"view.css", "text/css; charset=utf-8", nvt_view_css, nvt_view_css_end},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(files); i++)
        if (!strcmp(files[i].name, name))
            return &files[i];
    return NULL;
}
