/* How the rows of a layout were measured, where they differ in it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "published.h"

static const char words[] = "Measured with ";

/* "key=value" at a text, of a condition that is known; its length, 0: it is none. */
static size_t known_word(const char *text)
{
    static const char *const keys[] = {"collect=", "warmup=", "interleave="};
    size_t length = strcspn(text, " :");
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (!strncmp(text, keys[i], strlen(keys[i])) && length > strlen(keys[i]))
            return length;
    return 0;
}

int nvt_log_condition(const char *line, char out[NVT_CONDITION_SIZE])
{
    const char *begin = nvt_log_value(line, words), *at = begin;
    for (size_t length; at && (length = known_word(at));) {
        at += length;
        if (*at == ':' && !at[1 + strspn(at + 1, " \t")] && at - begin < NVT_CONDITION_SIZE) {
            snprintf(out, NVT_CONDITION_SIZE, "%.*s", (int)(at - begin), begin);
            return 1;
        }
        at += *at == ' ';
    }
    return 0;
}

void nvt_published_condition(struct nvt_json *json, const char *condition)
{
    for (size_t length; (length = known_word(condition));) {
        char key[NVT_CONDITION_SIZE], *end;
        snprintf(key, sizeof(key), "%.*s", (int)length, condition);
        char *value = strchr(key, '=');
        *value++ = 0;
        double number = strtod(value, &end);
        if (!*end && isfinite(number))
            nvt_json_number(json, key, number);
        else
            nvt_json_text(json, key, value);
        condition += length;
        condition += *condition == ' ';
    }
}

nvt_condition_text_of *nvt_published_conditions(const struct nvt_record *const *records,
                                                size_t count)
{
    struct nvt_runs all = {.records = calloc(count + 1, sizeof(*all.records)), .count = count};
    struct nvt_runs *const runs[] = {&all};
    nvt_condition_text_of *conditions = malloc((count + 1) * sizeof(*conditions));
    if (!all.records || !conditions) {
        free(all.records);
        free(conditions);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        all.records[i] = *records[i];
    /* Repetitions are one row (repeats.h). */
    unsigned of = nvt_conditions_of(runs, 1, NVT_OF_ALL & ~(unsigned)NVT_OF_REPEAT);
    for (size_t i = 0; i < count; i++)
        nvt_condition_text(records[i], of, conditions[i]);
    free(all.records);
    return conditions;
}

size_t nvt_published_next_condition(const nvt_condition_text_of *conditions, size_t count,
                                    size_t from)
{
    for (; from < count; from++) {
        size_t before = 0;
        while (before < from && strcmp(conditions[before], conditions[from]) != 0)
            before++;
        if (before == from)
            break;
    }
    return from;
}

void nvt_published_put_condition(const char *condition, int is_first, FILE *out)
{
    if (*condition)
        fprintf(out, "%s%s%s:\n", is_first ? "" : "\n", words, condition);
}
