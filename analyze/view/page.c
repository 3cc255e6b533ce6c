/*
 * The page, built into the program from analyze/view/page.
 */
#include <stddef.h>
#include <string.h>

#include "server.h"

#define FILE_OF(name, file)                                                                        \
    __asm__(".pushsection .rodata, \"a\"\n"                                                        \
            ".global nvt_view_" #name "\n.global nvt_view_" #name "_end\n"                         \
            "nvt_view_" #name ":\n.incbin \"analyze/view/page/" file "\"\n"                        \
            "nvt_view_" #name "_end:\n.byte 0\n.popsection\n");                                    \
    extern const char nvt_view_##name[], nvt_view_##name##_end[]

FILE_OF(html, "view.html");
FILE_OF(js, "view.js");
FILE_OF(css, "view.css");

const struct nvt_view_file *nvt_view_file(const char *name)
{
    static const struct nvt_view_file files[] = {
        {"", "text/html; charset=utf-8", nvt_view_html, nvt_view_html_end},
        {"view.js", "text/javascript; charset=utf-8", nvt_view_js, nvt_view_js_end},
        {"view.css", "text/css; charset=utf-8", nvt_view_css, nvt_view_css_end},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (!strcmp(files[i].name, name))
            return &files[i];
    return NULL;
}
