#include "short_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"

enum { KEYS_MOST = NVT_COUNT_OF(((struct nvt_short_words *)0)->keys) };

/* Whether a value says by itself what it is: "train", neither "8" nor "on". */
static int says_itself(const char *value, size_t length)
{
    static const char *const others[] = {"on", "off", "yes", "no", "true", "false", "none", "null"};
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++)
        if (strlen(others[i]) == length && !memcmp(others[i], value, length))
            return 0;
    return length > 1 && isalpha((unsigned char)*value);
}

/* The length of the key that a word needs; 0: it needs none. */
static size_t key_of(const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    if (!equals || equals == word)
        return 0;
    const size_t key = (size_t)(equals - word);
    return says_itself(equals + 1, length - key - 1) ? 0 : key;
}

static size_t find(const struct nvt_short_words *words, const char *key, size_t length)
{
    size_t i = 0;
    while (i < words->count &&
           (words->keys[i].length != length || memcmp(words->keys[i].text, key, length) != 0))
        i++;
    return i;
}

void nvt_short_words_add(struct nvt_short_words *words, const char *text)
{
    for (size_t length; *(text += strspn(text, " ")); text += length) {
        length = strcspn(text, " ");
        const size_t key = key_of(text, length);
        if (!key || words->count == KEYS_MOST || find(words, text, key) < words->count)
            continue;
        words->keys[words->count].text = text;
        words->keys[words->count++].length = key;
    }
}

/* As many letters of a key as no other one begins with; one with more than ASCII stays whole. */
static size_t short_length(const struct nvt_short_words *words, size_t which)
{
    const char *text = words->keys[which].text;
    size_t length = 1;
    for (size_t i = 0; i < words->count; i++)
        while (i != which && length < words->keys[which].length &&
               length <= words->keys[i].length && !memcmp(words->keys[i].text, text, length))
            length++;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]))
            return words->keys[which].length;
    return length;
}

void nvt_short_words_write(const struct nvt_short_words *words, const char *text, char *out,
                           size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t length; *(text += strspn(text, " ")) && used < size; text += length) {
        length = strcspn(text, " ");
        const size_t key = key_of(text, length), known = find(words, text, key);
        const char *equals = memchr(text, '=', length);
        const char *rest = !equals || equals == text ? text : key ? equals : equals + 1;
        const size_t letters = !key ? 0 : known < words->count ? short_length(words, known) : key;
        used += (size_t)snprintf(out + used, size - used, "%s%.*s%.*s", used ? " " : "",
                                 (int)letters, text, (int)(text + length - rest), rest);
    }
}

void nvt_short_words_tell(const struct nvt_short_words *words, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < words->count && used < size; i++) {
        const size_t length = short_length(words, i);
        if (length < words->keys[i].length)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s: %.*s", used ? ", " : "",
                                     (int)length, words->keys[i].text, (int)words->keys[i].length,
                                     words->keys[i].text);
    }
}
