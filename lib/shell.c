#include "shell.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

/* What no shell does anything with, wherever it stands in a word. */
static int is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c >= 0x80 || (c && strchr("%+,-./:=@_", c));
}

/* Whether a reader sees all characters of a word for what they are. */
static int is_visible(const char *word)
{
    for (uint32_t character; (character = nvt_utf8_next(&word)) != 0;)
        if (character == NVT_REPLACEMENT || nvt_char_visible(character) != character)
            return 0;
    return 1;
}

/* In $'…': bytes that do not stand for themselves as three octal digits, behind which no digit is taken for theirs. */
static int put_escaped(struct nvt_buffer *out, const char *word)
{
    int failed = nvt_buffer_append(out, "$'", 2);
    for (; *word && !failed; word++) {
        unsigned char c = (unsigned char)*word;
        if (c == '\n' || c == '\t')
            failed = nvt_buffer_append(out, c == '\n' ? "\\n" : "\\t", 2);
        else if (c < 0x20 || c >= 0x7F)
            failed = nvt_buffer_printf(out, "\\%03o", c);
        else
            failed = (strchr("'\\", c) && nvt_buffer_append(out, "\\", 1)) ||
                     nvt_buffer_append(out, word, 1);
    }
    return failed || nvt_buffer_append(out, "'", 1) ? -1 : 0;
}

static int put_word(struct nvt_buffer *out, const char *word)
{
    const char *at = word;
    if (!is_visible(word))
        return put_escaped(out, word);
    while (is_plain((unsigned char)*at))
        at++;
    if (*word && !*at)
        return nvt_buffer_append(out, word, (size_t)(at - word));
    int failed = nvt_buffer_append(out, "'", 1);
    for (; *word && !failed; word++)
        failed =
            *word == '\'' ? nvt_buffer_append(out, "'\\''", 4) : nvt_buffer_append(out, word, 1);
    return failed || nvt_buffer_append(out, "'", 1) ? -1 : 0;
}

int nvt_shell_join(struct nvt_buffer *out, char *const argv[])
{
    for (int i = 0; argv[i]; i++)
        if ((i && nvt_buffer_append(out, " ", 1)) || put_word(out, argv[i]))
            return -1;
    return 0;
}
