/*
 * Reading a configuration's text.
 */
#include <stdlib.h>
#include <string.h>

#include "../workload.h"

/* The value of a key in "a=1 b=2", up to the next blank; NULL when there is none. */
static const char *find_value(const char *configuration, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = configuration; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, key, length) && at[length] == '=')
            return at + length + 1;
    return NULL;
}

int64_t nvt_configuration_number(const char *configuration, const char *key, int64_t missing)
{
    const char *value = find_value(configuration, key);
    return value ? strtoll(value, NULL, 10) : missing;
}

int nvt_configuration_is(const char *configuration, const char *key, const char *word)
{
    const char *value = find_value(configuration, key);
    size_t length = strlen(word);
    return value && !strncmp(value, word, length) && (!value[length] || value[length] == ' ');
}
