#include "words.h"

#include <stdio.h>
#include <string.h>

/* Whether a text has the word, blanks or its ends around it. */
static int has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; at && *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == length && !memcmp(at, word, length))
            return 1;
        at += here;
    }
    return 0;
}

static int in_every_row(const struct nvt_words *words, const char *word, size_t length)
{
    for (size_t i = 0; i < words->count; i++)
        if (!has_word(words->row(words->rows, i), word, length))
            return 0;
    return 1;
}

size_t nvt_words_pick(const struct nvt_words *words, const char *text, int common, char *out,
                      size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *at = text; at && *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length && used + length + 2 <= size &&
            (words->count < 2 || in_every_row(words, at, length)) == (common != 0))
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? " " : "",
                                     (int)length, at);
        at += length;
    }
    return used;
}
