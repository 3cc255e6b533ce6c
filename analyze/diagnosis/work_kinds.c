#include "work_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

static const struct {
    enum nvt_work_kind kind;
    const char *module, *name;
} known[] = {
#define WORK(kind, module, name) {NVT_WORK_##kind, module, name},
#include "work_kinds.def"
#undef WORK
};

/* Whether a text is a pattern's, whose '*' stand for anything. */
static int fits(const char *pattern, const char *text)
{
    const char *star = NULL, *again = text;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++again;
        } else
            return 0;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

enum nvt_work_kind nvt_work_kind(const struct nvt_sampled_function *function)
{
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        if (fits(known[i].module, function->module) && fits(known[i].name, function->name))
            return known[i].kind;
    return function->owner == NVT_OF_INTERPRETER ? NVT_WORK_INTERPRETS : NVT_WORK_NONE;
}

/* Whether it says nothing of what is called from there. */
static int is_of_innermost(enum nvt_work_kind kind)
{
    return kind == NVT_WORK_SPINS || kind >= NVT_WORK_COMPUTES;
}

static int is_own(const struct nvt_work *work, uint32_t function)
{
    return work->kinds[function] == NVT_WORK_NONE && nvt_is_own_function(work->functions, function);
}

int nvt_work_make(struct nvt_work *work, const struct nvt_sampled_functions *functions)
{
    const struct nvt_call_frames *frames = &functions->trace->call_frames;
    work->functions = functions;
    work->kinds = malloc((size_t)functions->count + 1);
    work->around = malloc((size_t)frames->count + 1);
    work->caller = malloc(((size_t)frames->count + 1) * sizeof(*work->caller));
    if (!work->kinds || !work->around || !work->caller)
        return -1;
    for (uint32_t i = 0; i < functions->count; i++)
        work->kinds[i] = (uint8_t)nvt_work_kind(&functions->items[i]);
    for (uint32_t i = 0; i < frames->count; i++) {
        uint32_t function = functions->of_frame[i], parent = frames->parent[i];
        uint8_t kind = work->kinds[function];
        if (is_of_innermost(kind))
            kind = NVT_WORK_NONE;
        work->around[i] = kind;
        work->caller[i] = i + 1;
        if (is_own(work, function))
            continue;
        work->caller[i] = parent ? work->caller[parent - 1] : 0;
        if (parent && work->around[parent - 1] < kind)
            work->around[i] = work->around[parent - 1];
    }
    return 0;
}

void nvt_work_free(struct nvt_work *work)
{
    free(work->kinds);
    free(work->around);
    free(work->caller);
    *work = (struct nvt_work){0};
}

enum nvt_work_kind nvt_work_of(const struct nvt_work *work, uint32_t sample)
{
    const uint32_t frame = work->functions->trace->cpu_samples.frame[sample];
    if (!frame)
        return NVT_WORK_NONE;
    uint32_t function = work->functions->of_frame[frame - 1];
    uint8_t kind = work->kinds[function], around = work->around[frame - 1];
    if (is_own(work, function))
        return work->functions->items[function].owner == NVT_OF_PYTHON ? NVT_WORK_INTERPRETS
                                                                       : NVT_WORK_NONE;
    return kind < around ? kind : around;
}
