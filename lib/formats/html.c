/*
 * HTML: the characters that mean something as entities, controls made visible. Cells that sort by
 * more than their text carry the bare value in data-v.
 */
#include <string.h>

#include "../render.h"
#include "../text.h"

enum { LONG_TEXT = 24 };

void nvt_render_html_text(const char *text, FILE *out)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        const char *entity = character == '&'    ? "&amp;"
                             : character == '<'  ? "&lt;"
                             : character == '>'  ? "&gt;"
                             : character == '"'  ? "&quot;"
                             : character == '\'' ? "&#39;"
                                                 : NULL;
        if (entity)
            fputs(entity, out);
        else
            nvt_utf8_write(nvt_char_visible(character), out);
    }
}

static void put_cell(const struct nvt_table *table, size_t row, size_t column, FILE *out)
{
    char number[NVT_NUMBER_MAX], bare[NVT_NUMBER_MAX];
    enum nvt_type type = nvt_table_column(table, column)->type;
    if (type == NVT_TEXT && strlen(nvt_table_text(table, row, column)) > LONG_TEXT)
        fputs("<td class=\"w\">", out); /* may be wrapped */
    else if (type == NVT_TEXT || type == NVT_BOOL)
        fputs("<td>", out);
    else
        fprintf(out, "<td class=\"n\" data-v=\"%s\">",
                nvt_render_number(table, row, column, 0, bare));
    nvt_render_html_text(nvt_render_cell(table, row, column, number), out);
    fputs("</td>", out);
}

void nvt_render_html_table(const struct nvt_table *table, FILE *out)
{
    char heading[NVT_NUMBER_MAX];
    fputs("<table>\n<thead><tr>", out);
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        enum nvt_type type = nvt_table_column(table, column)->type;
        fputs(type == NVT_TEXT || type == NVT_BOOL ? "<th>" : "<th class=\"n\">", out);
        nvt_render_html_text(nvt_render_cell(table, SIZE_MAX, column, heading), out);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        fputs("<tr>", out);
        for (size_t column = 0; column < nvt_table_columns(table); column++)
            put_cell(table, row, column, out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n", out);
}
