/*
 * Pipe tables (GitHub Flavored Markdown). Every ASCII punctuation that could mean something is
 * escaped with a backslash (CommonMark 2.4); line ends become spaces.
 */
#include <stdlib.h>
#include <string.h>

#include "../compact_table.h"
#include "../render.h"
#include "../text.h"

void nvt_render_markdown_text(const char *text, FILE *out)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        if (character == '\n' || character == '\r')
            character = ' ';
        if (character < 0x80 && strchr("\\`*_{}[]<>#|~&$", (int)character))
            putc('\\', out);
        nvt_utf8_write(nvt_char_visible(character), out);
    }
}

static void put_markdown_row(const struct nvt_table *table, size_t row, FILE *out)
{
    char number[NVT_NUMBER_MAX];
    putc('|', out);
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        putc(' ', out);
        nvt_render_markdown_text(nvt_render_cell(table, row, column, number), out);
        fputs(" |", out);
    }
    putc('\n', out);
}

void nvt_render_markdown_rows(const struct nvt_table *table, FILE *out)
{
    put_markdown_row(table, SIZE_MAX, out);
    putc('|', out);
    for (size_t column = 0; column < nvt_table_columns(table); column++)
        fputs(nvt_table_column(table, column)->type == NVT_TEXT ? " :-- |" : " --: |", out);
    putc('\n', out);
    for (size_t row = 0; row < nvt_table_rows(table); row++)
        put_markdown_row(table, row, out);
}

static int render_markdown(const struct nvt_compact_table *compact, const struct nvt_tables *tables,
                           FILE *out)
{
    (void)tables;
    char *caption = nvt_compact_caption(compact);
    if (!caption)
        return -1;
    nvt_render_markdown_text(caption, out);
    fputs(*caption ? "\n\n" : "", out);
    free(caption);
    nvt_render_markdown_rows(compact->table, out);
    return 0;
}

int nvt_render_markdown(const struct nvt_tables *tables, FILE *out)
{
    return nvt_compact_each(tables, render_markdown, out);
}
