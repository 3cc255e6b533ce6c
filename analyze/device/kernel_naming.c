#include "kernel_naming.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "project.h"

const char *nvt_shape_text(uint32_t x, uint32_t y, uint32_t z, char text[NVT_SHAPE_MAX])
{
    *text = 0;
    if (x)
        snprintf(text, NVT_SHAPE_MAX, "%4" PRIu32 " %4" PRIu32 " %4" PRIu32, x, y, z);
    return text;
}

static int keep_innermost(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct nvt_kernel_naming *naming = context;
    if (count && naming->trace->ops.kind[op] == NVT_OP_KERNEL)
        naming->innermost[op] = ranges[count - 1];
    return 0;
}

int nvt_kernel_naming_make(struct nvt_kernel_naming *naming, const struct nvt_trace *trace,
                           const struct nvt_input *input, struct nvt_error *err)
{
    size_t size = ((size_t)trace->ops.count + 1) * sizeof(*naming->innermost);
    *naming = (struct nvt_kernel_naming){.trace = trace, .flags = input->naming};
    if (!(input->naming & NVT_KERNEL_NVTX))
        return 0;
    naming->innermost = malloc(size);
    if (!naming->innermost)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    memset(naming->innermost, 0xff, size);
    return nvt_project(trace, input->project_flags, keep_innermost, naming, err);
}

void nvt_kernel_naming_free(struct nvt_kernel_naming *naming)
{
    free(naming->innermost);
    *naming = (struct nvt_kernel_naming){.trace = NULL};
}

static uint32_t range_of(const struct nvt_kernel_naming *naming, uint32_t op)
{
    return naming->innermost ? naming->innermost[op] : NVT_NONE;
}

/* The string of an operation's name without a range: of a copy its own. */
static uint32_t string_of(const struct nvt_kernel_naming *naming, uint32_t op)
{
    const struct nvt_ops *ops = &naming->trace->ops;
    int is_base = naming->flags & NVT_KERNEL_BASE && ops->kind[op] == NVT_OP_KERNEL;
    return is_base ? ops->short_name[op] : ops->name[op];
}

const char *nvt_kernel_naming_text(const struct nvt_kernel_naming *naming, uint32_t op,
                                   struct nvt_buffer *text)
{
    const struct nvt_trace *trace = naming->trace;
    const char *kernel = nvt_name(trace, string_of(naming, op));
    uint32_t range = range_of(naming, op);
    if (range == NVT_NONE)
        return kernel;
    text->size = 0;
    if (nvt_buffer_printf(text, "%s/%s", nvt_name(trace, trace->ranges.name[range]), kernel) ||
        nvt_buffer_append(text, "", 1))
        return NULL;
    return (const char *)text->data;
}

uint32_t nvt_kernel_naming_key(const struct nvt_kernel_naming *naming, struct nvt_groups *groups,
                               uint32_t op)
{
    if (range_of(naming, op) == NVT_NONE)
        return nvt_groups_string(groups, string_of(naming, op));
    struct nvt_buffer text = {0};
    const char *name = nvt_kernel_naming_text(naming, op, &text);
    if (!name)
        groups->failed = 1;
    uint32_t key = nvt_groups_text(groups, name ? name : "");
    nvt_buffer_free(&text);
    return key;
}
