/* What diagnose keeps of a trace as bytes, for processes that share files (input/image.h). */
#include <stdlib.h>
#include <string.h>

#include "../input/image.h"
#include "../studies/rank_digest.h"
#include "diagnosed.h"

static void put_finding(const struct nvt_finding *finding, struct nvt_buffer *out)
{
    nvt_image_put(out, finding, 1, sizeof(*finding));
    nvt_image_put_constant(out, finding->cause);
    nvt_image_put_constant(out, finding->rule);
    nvt_image_put_constant(out, finding->per);
}

/* 0 or -1. */
static int take_finding(struct nvt_finding *finding, const struct nvt_trace *trace,
                        struct nvt_cursor *in)
{
    uint64_t count = 0;
    struct nvt_finding *from = nvt_image_take(in, &count, sizeof(*from));
    if (from && count == 1)
        *finding = *from;
    else
        in->at = NULL;
    free(from);
    finding->cause = nvt_image_take_constant(in);
    finding->rule = nvt_image_take_constant(in);
    finding->per = nvt_image_take_constant(in);
    finding->trace = finding->trace ? trace : NULL;
    return in->at ? 0 : -1;
}

void nvt_diagnosed_put(const struct nvt_input_trace *item, struct nvt_buffer *out)
{
    const struct nvt_diagnosed *diagnosed = item->diagnosed;
    size_t rules;
    (void)nvt_rules(&rules);
    nvt_ranks_put(item, out);
    nvt_image_put(out, diagnosed, diagnosed != NULL, sizeof(*diagnosed));
    if (!diagnosed)
        return;
    nvt_image_put(out, diagnosed->ends, diagnosed->ends ? rules : 0, sizeof(*diagnosed->ends));
    nvt_image_put_constant(out, diagnosed->idle.what);
    for (size_t i = 0; i < diagnosed->findings.count; i++)
        put_finding(&diagnosed->findings.items[i], out);
}

int nvt_diagnosed_take(struct nvt_input_trace *item, struct nvt_cursor *in)
{
    uint64_t count = 0, ends = 0;
    if (nvt_ranks_take(item, in))
        return -1;
    struct nvt_diagnosed *diagnosed = nvt_image_take(in, &count, sizeof(*diagnosed));
    if (!diagnosed)
        return in->at ? 0 : -1;
    const size_t findings = diagnosed->findings.count;
    diagnosed->findings = (struct nvt_findings){0};
    diagnosed->ends = nvt_image_take(in, &ends, sizeof(*diagnosed->ends));
    diagnosed->idle.what = nvt_image_take_constant(in);
    item->diagnosed = diagnosed;
    if (!in->at || findings > (uint64_t)(in->end - in->at) / sizeof(struct nvt_finding))
        return -1;
    for (size_t i = 0; i < findings; i++) {
        struct nvt_finding finding = {0};
        if (take_finding(&finding, item->trace, in) ||
            nvt_findings_add(&diagnosed->findings, &finding, NULL))
            return -1;
    }
    return 0;
}
