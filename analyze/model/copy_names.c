/* Names of copies say what device made them, as titles of reports do (analyze/input/device_words.h). */
#include "copy_names.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/map.h"

static const char cuda[] = "[CUDA mem";

static const char *word_of(const char *backend)
{
    static const struct {
        const char *backend, *word;
    } words[] = {{"hip", "HIP"}, {"xpu", "XPU"}, {"npu", "NPU"}, {"tpu", "TPU"}};
    for (size_t i = 0; i < NVT_COUNT_OF(words) && backend; i++)
        if (!strcmp(words[i].backend, backend))
            return words[i].word;
    return NULL;
}

/* The string that stands for one; NVT_NO_STRING when out of memory. */
static uint32_t renamed(struct nvt_trace *trace, struct nvt_map *known, const char *word,
                        uint32_t name)
{
    char text[96];
    uint32_t *to = nvt_map_at(known, name);
    if (!to)
        return NVT_NO_STRING;
    if (*to != NVT_MAP_NONE)
        return *to;
    const char *old = nvt_name(trace, name);
    *to = name;
    if (!strncmp(old, cuda, sizeof(cuda) - 1)) {
        snprintf(text, sizeof(text), "[%s mem%s", word, old + sizeof(cuda) - 1);
        *to = nvt_strings_add_text(trace->strings, text);
    }
    return *to;
}

int nvt_copies_rename(struct nvt_trace *trace)
{
    const char *word = word_of(nvt_trace_meta(trace, "backend"));
    struct nvt_ops *ops = &trace->ops;
    struct nvt_map known = {0};
    int status = 0;
    for (uint32_t i = 0; word && i < ops->count && !status; i++) {
        if (ops->kind[i] != NVT_OP_MEMCPY && ops->kind[i] != NVT_OP_MEMSET)
            continue;
        const uint32_t name = renamed(trace, &known, word, ops->name[i]);
        if (name == NVT_NO_STRING)
            status = -1;
        else if (name != ops->name[i])
            ops->name[i] = ops->short_name[i] = name;
    }
    nvt_map_free(&known);
    return status;
}
