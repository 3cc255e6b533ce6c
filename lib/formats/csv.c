/*
 * Comma-separated values after RFC 4180, with lines that end in LF, as nsys has them. Control
 * characters other than tab and line ends become visible ones; everything else reads back as it
 * was.
 */
#include <string.h>

#include "../render.h"
#include "../text.h"

static void put_valid(uint32_t character, FILE *out)
{
    if (character != '\t' && character != '\n' && character != '\r')
        character = nvt_char_visible(character);
    nvt_utf8_write(character, out);
}

/* Most names need no second look: traces of millions of rows are written this way. */
static int is_plain(const char *text)
{
    if (*text == ' ')
        return 0;
    const char *at = text;
    for (; *at; at++)
        if (*at < ' ' || *at > '~' || *at == ',' || *at == '"')
            return 0;
    return at == text || at[-1] != ' ';
}

void nvt_render_csv_field(const char *text, FILE *out)
{
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    size_t length = strlen(text);
    int quoted = length && (strpbrk(text, ",\"\r\n") || text[0] == ' ' || text[length - 1] == ' ');
    if (quoted)
        putc('"', out);
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        if (character == '"')
            putc('"', out);
        put_valid(character, out);
    }
    if (quoted)
        putc('"', out);
}

int nvt_render_csv(const struct nvt_tables *tables, FILE *out)
{
    nvt_render_delimited(tables, ',', nvt_render_csv_field, out);
    return 0;
}
