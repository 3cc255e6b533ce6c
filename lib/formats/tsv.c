/*
 * Tab-separated values. A field cannot hold a tab or a line end (IANA text/tab-separated-values),
 * so these are written \t, \n, \r and the backslash \\.
 */
#include "../render.h"
#include "../text.h"

static void field(const char *text, FILE *out)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        switch (character) {
        case '\t':
            fputs("\\t", out);
            break;
        case '\n':
            fputs("\\n", out);
            break;
        case '\r':
            fputs("\\r", out);
            break;
        case '\\':
            fputs("\\\\", out);
            break;
        default:
            nvt_utf8_write(nvt_char_visible(character), out);
        }
    }
}

int nvt_render_tsv(const struct nvt_tables *tables, FILE *out)
{
    nvt_render_delimited(tables, '\t', field, out);
    return 0;
}
