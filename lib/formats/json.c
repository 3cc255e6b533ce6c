/*
 * JSON (RFC 8259): one table is an array of objects, several are an object of such arrays, keyed by
 * the tables' names (the second of a name gets "#2" behind it, and so on). A row a line. The keys of
 * a row are the headings with their units, as people read them.
 */
#include <string.h>

#include "../render.h"
#include "../text.h"

static int needs_escape(uint32_t character)
{
    return character < 0x20 || (character >= 0x7F && character < 0xA0) ||
           nvt_char_visible(character) != character;
}

/* Escapes keep every character, so nothing here has to be made visible. */
void nvt_render_json_text(const char *text, FILE *out)
{
    putc('"', out);
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        if (character == '"' || character == '\\')
            fprintf(out, "\\%c", (char)character);
        else if (character == '\n')
            fputs("\\n", out);
        else if (character == '\t')
            fputs("\\t", out);
        else if (needs_escape(character) && character < 0x10000)
            fprintf(out, "\\u%04x", character);
        else
            nvt_utf8_write(character, out);
    }
    putc('"', out);
}

void nvt_render_json_cell(const struct nvt_table *table, size_t row, size_t column, FILE *out)
{
    char number[NVT_NUMBER_MAX];
    if (nvt_table_is_null(table, row, column))
        fputs("null", out);
    else if (nvt_table_column(table, column)->type == NVT_TEXT)
        nvt_render_json_text(nvt_table_text(table, row, column), out);
    else
        fputs(nvt_render_number(table, row, column, 0, number), out);
}

static void put_heading(const struct nvt_column *column, FILE *out)
{
    char heading[NVT_NUMBER_MAX];
    nvt_render_json_text(nvt_render_heading(column, heading, sizeof(heading)), out);
}

static void put_rows(const struct nvt_table *table, FILE *out)
{
    putc('[', out);
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        fputs(row ? ",\n  {" : "\n  {", out);
        for (size_t column = 0; column < nvt_table_columns(table); column++) {
            fputs(column ? ", " : "", out);
            put_heading(nvt_table_column(table, column), out);
            fputs(": ", out);
            nvt_render_json_cell(table, row, column, out);
        }
        putc('}', out);
    }
    fputs(nvt_table_rows(table) ? "\n]" : "]", out);
}

static void put_key(const struct nvt_tables *tables, size_t index, FILE *out)
{
    const char *name = nvt_table_name(tables->items[index]);
    size_t earlier = 0;
    for (size_t i = 0; i < index; i++)
        earlier += !strcmp(nvt_table_name(tables->items[i]), name);
    char key[256];
    if (earlier)
        snprintf(key, sizeof(key), "%.200s#%zu", name, earlier + 1);
    else
        snprintf(key, sizeof(key), "%.200s", name);
    nvt_render_json_text(key, out);
}

int nvt_render_json(const struct nvt_tables *tables, FILE *out)
{
    if (tables->count == 1) {
        put_rows(tables->items[0], out);
        putc('\n', out);
        return 0;
    }
    putc('{', out);
    for (size_t i = 0; i < tables->count; i++) {
        fputs(i ? ",\n" : "\n", out);
        put_key(tables, i, out);
        fputs(": ", out);
        put_rows(tables->items[i], out);
    }
    fputs("\n}\n", out);
    return 0;
}
