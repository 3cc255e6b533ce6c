#include "merged_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int nvt_is_result(const char *key)
{
    return !strcmp(key, "status") || strstr(key, "_ns_");
}

int nvt_records_merge(const struct nvt_record *const *records, size_t count,
                      nvt_merged_number *number, void *context, struct nvt_record *out)
{
    int behind = 0;
    *out = *records[0];
    out->members = malloc((out->count + 1) * sizeof(*out->members));
    if (!out->members)
        return -1;
    for (size_t i = 0; i < out->count; i++) {
        struct nvt_member *member = &out->members[i];
        *member = records[0]->members[i];
        behind |= nvt_is_result(member->key);
        if (count < 2 || !behind || strlen(member->key) > 80 || member->type == NVT_VALUE_BOOL ||
            member->type == NVT_VALUE_TEXT)
            continue;
        member->number = number(context, member->key);
        member->type = isfinite(member->number) ? NVT_VALUE_NUMBER : NVT_VALUE_NULL;
    }
    return 0;
}

int nvt_merged_runs_make(struct nvt_merged_runs *made, struct nvt_runs *const *from, size_t count,
                         int (*make)(void *context, const struct nvt_runs *from,
                                     struct nvt_runs *to),
                         void *context)
{
    *made = (struct nvt_merged_runs){calloc(count + 1, sizeof(*made->items)), 0};
    if (!made->items)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct nvt_runs *runs = calloc(1, sizeof(*runs));
        if (!runs)
            return -1;
        made->items[made->count++] = runs;
        *runs = *from[i];
        runs->count = 0;
        runs->records = calloc(from[i]->count + 1, sizeof(*runs->records));
        if (!runs->records || make(context, from[i], runs))
            return -1;
    }
    return 0;
}

void nvt_merged_runs_free(struct nvt_merged_runs *made)
{
    for (size_t i = 0; i < made->count; i++) {
        struct nvt_runs *runs = made->items[i];
        for (size_t k = 0; runs->records && k < runs->count; k++)
            free(runs->records[k].members);
        free(runs->records);
        free(runs);
    }
    free(made->items);
    *made = (struct nvt_merged_runs){0};
}
