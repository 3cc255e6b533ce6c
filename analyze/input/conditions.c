#include "conditions.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

static const struct {
    enum nvt_condition condition;
    const char *key;
} conditions[] = {{NVT_OF_COLLECT, "collect"},
                  {NVT_OF_WARMUP, "warmup"},
                  {NVT_OF_INTERLEAVE, "interleave"},
                  {NVT_OF_REPEAT, "repeat"}};
#define CONDITIONS NVT_COUNT_OF(conditions)

static int varies(struct nvt_runs *const *runs, size_t run_count, const char *key)
{
    const char *first = NULL;
    for (size_t i = 0; i < run_count; i++)
        for (size_t k = 0; k < runs[i]->count; k++) {
            const char *text = nvt_record_text(&runs[i]->records[k], key);
            first = first ? first : text;
            if (text && strcmp(first, text))
                return 1;
        }
    return 0;
}

unsigned nvt_conditions_of(struct nvt_runs *const *runs, size_t run_count, unsigned of)
{
    unsigned varied = 0;
    for (size_t i = 0; i < CONDITIONS; i++)
        if (of & conditions[i].condition && varies(runs, run_count, conditions[i].key))
            varied |= conditions[i].condition;
    return varied;
}

const char *nvt_condition_text(const struct nvt_record *record, unsigned of,
                               char out[NVT_CONDITION_SIZE])
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < CONDITIONS; i++) {
        const char *text = nvt_record_text(record, conditions[i].key);
        /* What is an axis stands among them. */
        const struct nvt_member *member = nvt_record_find(record, conditions[i].key);
        if (of & conditions[i].condition && text &&
            !nvt_record_is_axis(record, (size_t)(member - record->members)))
            used += (size_t)snprintf(out + used, NVT_CONDITION_SIZE - used, "%s%s=%.30s",
                                     used ? " " : "", conditions[i].key, text);
    }
    return *out ? out : NULL;
}
