#include "verdicts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/model/plain_names.h"

int nvt_verdicts_make(struct nvt_verdicts *verdicts, const struct nvt_comparison *comparison,
                      size_t side)
{
    const struct nvt_outcomes *outcomes = &comparison->outcomes;
    verdicts->items = calloc(outcomes->count + 1, sizeof(*verdicts->items));
    for (size_t i = 0; verdicts->items && i < outcomes->count; i++) {
        const struct nvt_outcome *row = &outcomes->rows[i];
        const char *name = row->group->name;
        const char *domain = row->group->kind == NVT_GROUP_RANGE ? strchr(name, ':') : NULL;
        if (row->side != side || nvt_is_sampled(row->group) || !nvt_outcome_has_both(row))
            continue;
        char *plain = nvt_plain_name(domain ? domain + 1 : name);
        if (!plain)
            return -1;
        verdicts->items[verdicts->count++] =
            (struct nvt_verdict_of){plain, row->group->kind, row->change->verdict};
    }
    return verdicts->items ? 0 : -1;
}

void nvt_verdicts_free(struct nvt_verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->count; i++)
        free(verdicts->items[i].name);
    free(verdicts->items);
    *verdicts = (struct nvt_verdicts){0};
}

static int is_named(const char *name, const char *pattern)
{
    for (; *pattern; pattern++)
        if (*pattern == '*' && isdigit((unsigned char)*name)) {
            while (isdigit((unsigned char)*name))
                name++;
        } else if (*pattern != *name++) {
            return 0;
        }
    return !*name;
}

int nvt_verdicts_tell(const struct nvt_verdicts *verdicts, const char *name, uint32_t kind,
                      int slower)
{
    size_t found = 0;
    if (kind != NVT_STACK_RANGE && kind != NVT_STACK_KERNEL)
        return 0;
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct nvt_verdict_of *item = &verdicts->items[i];
        if ((item->kind == NVT_GROUP_KERNEL) != (kind == NVT_STACK_KERNEL) ||
            !is_named(item->name, name))
            continue;
        if (item->verdict != (slower ? NVT_SLOWER : NVT_FASTER))
            return 0;
        found++;
    }
    return found > 0;
}
