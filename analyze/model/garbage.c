#include "garbage.h"

#include <stdlib.h>

#include "../../lib/one_of.h"

static int collects(const char *name)
{
    /* CPython's (gc_collect_main, gc_collect_region …), and Boehm's. */
    static const char *const prefixes[] = {"gc_collect", "GC_mark_"};
    return NVT_BEGINS_WITH_ONE_OF(name, prefixes);
}

uint8_t *nvt_garbage_frames(const struct nvt_trace *trace)
{
    const struct nvt_call_frames *frames = &trace->call_frames;
    uint8_t *garbage = calloc((size_t)frames->count + 1, 1);
    /* Callers are lower rows. */
    for (uint32_t i = 0; garbage && i < frames->count; i++)
        garbage[i] = (frames->parent[i] && garbage[frames->parent[i] - 1]) ||
                     collects(nvt_name(trace, frames->name[i]));
    return garbage;
}
