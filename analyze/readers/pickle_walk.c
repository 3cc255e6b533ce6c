#include "pickle.h"

#include <stdlib.h>
#include <string.h>

void nvt_pickle_free(struct nvt_pickle *pickle)
{
    free(pickle->values);
    free(pickle->runs);
    free(pickle->items);
    free(pickle->stack);
    free(pickle->marks);
    free(pickle->memo);
    *pickle = (struct nvt_pickle){0};
}

int nvt_is_pickle(const uint8_t *head, size_t size)
{
    return size > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

struct nvt_pickle_walk nvt_pickle_walk(const struct nvt_pickle *pickle, uint32_t value)
{
    enum nvt_pickle_kind kind = nvt_pickle_kind(pickle, value);
    if (kind != NVT_PICKLE_LIST && kind != NVT_PICKLE_DICT)
        return (struct nvt_pickle_walk){NVT_PICKLE_MISSING, 0};
    return (struct nvt_pickle_walk){pickle->values[value].is.runs.first, 0};
}

int nvt_pickle_next(const struct nvt_pickle *pickle, struct nvt_pickle_walk *walk, uint32_t *item)
{
    if (walk->run == NVT_PICKLE_MISSING)
        return 0;
    const struct nvt_pickle_run *run = &pickle->runs[walk->run];
    *item = pickle->items[run->first + (size_t)walk->at];
    if (++walk->at == run->count)
        *walk = (struct nvt_pickle_walk){run->next, 0};
    return 1;
}

int nvt_pickle_is(const struct nvt_pickle *pickle, uint32_t value, const char *text)
{
    if (nvt_pickle_kind(pickle, value) != NVT_PICKLE_TEXT)
        return 0;
    const struct nvt_pickle_value *is = &pickle->values[value];
    return is->size == strlen(text) && !memcmp(is->is.text, text, is->size);
}

uint32_t nvt_pickle_find(const struct nvt_pickle *pickle, uint32_t dict, const char *key)
{
    uint32_t name, value, found = NVT_PICKLE_MISSING;
    if (nvt_pickle_kind(pickle, dict) != NVT_PICKLE_DICT)
        return NVT_PICKLE_MISSING;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, dict);
    while (nvt_pickle_next(pickle, &walk, &name) && nvt_pickle_next(pickle, &walk, &value))
        if (nvt_pickle_is(pickle, name, key))
            found = value;
    return found;
}

int64_t nvt_pickle_integer(const struct nvt_pickle *pickle, uint32_t dict, const char *key,
                           int64_t absent)
{
    uint32_t value = nvt_pickle_find(pickle, dict, key);
    switch (nvt_pickle_kind(pickle, value)) {
    case NVT_PICKLE_INT:
    case NVT_PICKLE_BOOL:
        return pickle->values[value].is.integer;
    case NVT_PICKLE_REAL:
        if (pickle->values[value].is.real >= -9e18 && pickle->values[value].is.real <= 9e18)
            return (int64_t)pickle->values[value].is.real;
        return absent;
    default:
        return absent;
    }
}
