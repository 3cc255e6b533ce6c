#include "label.h"

#include <ctype.h>
#include <string.h>

#include "../lib/text.h"

#define LABEL_MAX 62 /* characters of a name */

/* Take the end of a text off, if it ends so; whether it did. */
static int take_off(const char *text, size_t *used, const char *end)
{
    size_t length = strlen(end);
    if (*used < length || memcmp(text + *used - length, end, length) != 0)
        return 0;
    *used -= length;
    return 1;
}

/* Take off the namespace that a text ends with; behind a template's brackets there is none. */
static void take_namespace_off(char *text, size_t *used, size_t size)
{
    size_t end = *used;
    if (take_off(text, used, "(anonymous namespace)") || take_off(text, used, "<unnamed>"))
        return;
    while (*used && (isalnum((unsigned char)text[*used - 1]) || text[*used - 1] == '_'))
        (*used)--;
    if (*used == end && size - end > 2) {
        text[(*used)++] = ':';
        text[(*used)++] = ':';
    }
}

/* A kernel's name without "void", namespaces and the types of numbers: what tells instances of a
 * template apart is behind them, and a label has no room for both. */
static void shorten(const char *name, char *out, size_t size)
{
    size_t used = 0;
    name += strncmp(name, "void ", 5) ? 0 : 5;
    for (; *name && used + 1 < size; name++)
        if (name[0] == ':' && name[1] == ':') {
            take_namespace_off(out, &used, size);
            name++;
        } else {
            out[used++] = *name;
            if (isdigit((unsigned char)name[1]))
                take_off(out, &used, "(int)");
        }
    out[used] = 0;
}

void nvt_label_put(const char *text, FILE *out)
{
    size_t left = LABEL_MAX;
    for (uint32_t character; left && (character = nvt_utf8_next(&text)) != 0; left--) {
        if (character < 0x20)
            character = ' ';
        if (character == '"' || character == '\'')
            character = 0x2019;
        if (character == '\\')
            character = '/';
        nvt_utf8_write(nvt_char_visible(character), out);
    }
    fputs(!left && *text ? "…" : "", out);
}

void nvt_label_put_kernel(const char *name, FILE *out)
{
    char shorter[4 * LABEL_MAX + 4];
    shorten(name, shorter, sizeof(shorter));
    nvt_label_put(shorter, out);
}
