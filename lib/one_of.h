/*
 * Texts that are known by a list of words: is one of them, begins with one, or has one in it.
 */
#ifndef NVT_ONE_OF_H
#define NVT_ONE_OF_H

#include <stddef.h>
#include <string.h>

#include "count_of.h"

#define NVT_IS_ONE_OF(text, words) nvt_is_one_of((text), (words), NVT_COUNT_OF(words))
#define NVT_BEGINS_WITH_ONE_OF(text, words)                                                        \
    nvt_begins_with_one_of((text), (words), NVT_COUNT_OF(words))
#define NVT_HAS_ONE_OF(text, words) nvt_has_one_of((text), (words), NVT_COUNT_OF(words))

static inline int nvt_is_one_of(const char *text, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(text, words[i]) != 0)
        i++;
    return i < count;
}

static inline int nvt_begins_with_one_of(const char *text, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && strncmp(text, words[i], strlen(words[i])) != 0)
        i++;
    return i < count;
}

static inline int nvt_has_one_of(const char *text, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && !strstr(text, words[i]))
        i++;
    return i < count;
}

#endif
