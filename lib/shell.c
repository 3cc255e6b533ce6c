#include "shell.h"

#include <string.h>

/* What no shell does anything with, wherever it stands in a word. */
static int is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c >= 0x80 || (c && strchr("%+,-./:=@_", c));
}

static int put_word(struct nvt_buffer *out, const char *word)
{
    const char *at = word;
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
