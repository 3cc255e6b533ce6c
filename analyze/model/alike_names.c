#include "alike_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

/* Where a number has so many values among names that are alike but for numbers, it tells nothing. */
enum { ALIKE_LEAST = 4 };

/* Numbers of a name that are looked at, and values of each that are told apart. */
enum { SLOTS = 8 };

/* What is known of the names that differ in numbers alone: the different values of each number. */
struct pattern {
    uint64_t values[SLOTS][ALIKE_LEAST];
    uint8_t count[SLOTS];
};

struct patterns {
    struct nvt_strings *texts; /* names with a '*' for each number */
    struct pattern *items;     /* by their ids */
    size_t capacity;
};

/* Write a name with a '*' for the numbers that `which`, a bit for each, has. The length. */
static size_t write_starred(const char *name, size_t length, unsigned which, char *out)
{
    size_t used = 0;
    unsigned slot = 0;
    for (size_t i = 0; i < length; slot++) {
        for (; i < length && !isdigit((unsigned char)name[i]); i++)
            out[used++] = name[i];
        int is_star = slot < SLOTS ? (int)(which >> slot & 1) : 0;
        if (is_star && i < length)
            out[used++] = '*';
        for (; i < length && isdigit((unsigned char)name[i]); i++)
            if (!is_star)
                out[used++] = name[i];
    }
    return used;
}

static void note_value(struct pattern *pattern, unsigned slot, uint64_t value)
{
    uint8_t known = 0;
    while (known < pattern->count[slot] && pattern->values[slot][known] != value)
        known++;
    if (known == pattern->count[slot] && known < ALIKE_LEAST)
        pattern->values[slot][pattern->count[slot]++] = value;
}

/* Note the numbers of a name; large ones come round. */
static void note_values(struct pattern *pattern, const char *name, size_t length)
{
    unsigned slot = 0;
    for (size_t i = 0; i < length && slot < SLOTS;) {
        if (!isdigit((unsigned char)name[i])) {
            i++;
            continue;
        }
        uint64_t value = 1; /* 07 is not 7 */
        for (; i < length && isdigit((unsigned char)name[i]); i++)
            value = value * 10 + (uint64_t)(name[i] - '0');
        note_value(pattern, slot++, value);
    }
}

/* The pattern of a name, new or old; NULL: out of memory. `text` has room for the name. */
static struct pattern *pattern_of(struct patterns *patterns, const char *name, size_t length,
                                  char *text)
{
    uint32_t id = nvt_strings_add(patterns->texts, text,
                                  write_starred(name, length, (1u << SLOTS) - 1, text));
    if (id == NVT_NO_STRING)
        return NULL;
    if (nvt_reserve_zeroed(&patterns->items, &patterns->capacity, (size_t)id + 1,
                           sizeof(*patterns->items)))
        return NULL;
    return &patterns->items[id];
}

/* The name that stands for one and those that are like it. NVT_NO_STRING: out of memory. */
static uint32_t alike_of(struct nvt_strings *names, const struct pattern *pattern, uint32_t name,
                         char *text)
{
    size_t length;
    const char *own = nvt_strings_get(names, name, &length);
    unsigned which = 0;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        which |= (unsigned)(pattern->count[slot] >= ALIKE_LEAST) << slot;
    if (!which)
        return name;
    return nvt_strings_add(names, text, write_starred(own, length, which, text));
}

/* Two rounds over all names: what values their numbers have, and what stands for each. 0 or -1. */
static int match_names(struct nvt_strings *names, struct patterns *patterns, uint32_t count,
                       uint32_t *alike)
{
    int status = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < count && !status; i++) {
            size_t length;
            const char *name = nvt_strings_get(names, i, &length);
            char *text = malloc(length + 1);
            struct pattern *pattern = text ? pattern_of(patterns, name, length, text) : NULL;
            if (pattern && !round)
                note_values(pattern, name, length);
            else if (pattern)
                alike[i] = alike_of(names, pattern, i, text);
            status = !pattern || (round && alike[i] == NVT_NO_STRING) ? -1 : 0;
            free(text);
        }
    return status;
}

uint32_t *nvt_alike_names(struct nvt_strings *names, int *has_alike)
{
    const uint32_t count = nvt_strings_count(names);
    struct patterns patterns = {.texts = nvt_strings_new()};
    uint32_t *alike = calloc((size_t)count + 1, sizeof(*alike));
    int status = patterns.texts && alike ? match_names(names, &patterns, count, alike) : -1;
    for (uint32_t i = 0; i < count && !status; i++)
        *has_alike |= alike[i] != i;
    nvt_strings_free(patterns.texts);
    free(patterns.items);
    if (status) {
        free(alike);
        return NULL;
    }
    return alike;
}

/* The names of the ranges, each once, by their ids: in names, and their places in it in `place`. 0, or -1. */
static int take_names(const struct nvt_trace *trace, struct nvt_strings *names, uint32_t *place)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    for (size_t i = 0; i < nvt_strings_count(trace->strings); i++)
        place[i] = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count; i++) {
        size_t length;
        uint32_t *at = &place[ranges->name[i]];
        if (*at != NVT_NONE)
            continue;
        const char *name = nvt_strings_get(trace->strings, ranges->name[i], &length);
        if ((*at = nvt_strings_add(names, name, length)) == NVT_NO_STRING)
            return -1;
    }
    return 0;
}

/* Names of the trace for what stands for each. 0, or -1. */
static int put_names(struct nvt_trace *trace, const struct nvt_strings *names,
                     const uint32_t *place, uint32_t *alike, uint32_t count, uint32_t *example)
{
    struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const char *name = nvt_strings_get(names, alike[i], &length);
        const int is_other = alike[i] != i;
        alike[i] = nvt_strings_add(trace->strings, name, length);
        if (alike[i] == NVT_NO_STRING)
            return -1;
        *example = is_other && *example == NVT_NO_STRING ? alike[i] : *example;
    }
    for (uint32_t i = 0; i < ranges->count; i++)
        ranges->name[i] = alike[place[ranges->name[i]]];
    return 0;
}

int nvt_alike_ranges(struct nvt_trace *trace, uint32_t least, uint32_t *example, uint32_t *names,
                     struct nvt_error *err)
{
    struct nvt_strings *texts = nvt_strings_new();
    uint32_t *place = malloc((nvt_strings_count(trace->strings) + 1) * sizeof(*place));
    uint32_t *alike = NULL;
    const uint32_t none = texts ? (uint32_t)nvt_strings_count(texts) : 0; /* the empty one */
    int has_alike = 0, status = !texts || !place || take_names(trace, texts, place) ? -1 : 0;
    *example = NVT_NO_STRING;
    *names = texts ? (uint32_t)nvt_strings_count(texts) - none : 0;
    if (!status && *names > least) {
        alike = nvt_alike_names(texts, &has_alike);
        status = alike ? put_names(trace, texts, place, alike, *names + none, example) : -1;
    }
    nvt_strings_free(texts);
    free(place);
    free(alike);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}
