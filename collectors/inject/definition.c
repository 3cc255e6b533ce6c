#include "definition.h"

#include <string.h>

#include "../../lib/pages.h"

/* Elements of a list of semantics that are looked at: one that goes round ends here. */
#define MOST_SEMANTICS 64

int nvt_definition_new(struct nvt_definition_writer *out, size_t bytes)
{
    bytes = (bytes + 4095) & ~(size_t)4095;
    *out = (struct nvt_definition_writer){nvt_pages_new(bytes), 0, bytes};
    return out->data ? 0 : -1;
}

void nvt_definition_free(struct nvt_definition_writer *out)
{
    munmap(out->data, out->capacity);
}

void nvt_put(struct nvt_definition_writer *out, const void *data, size_t size)
{
    if (out->capacity - out->size < size)
        size = out->capacity - out->size;
    if (!size)
        return;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

void nvt_put_number(struct nvt_definition_writer *out, uint64_t number)
{
    nvt_put(out, &number, sizeof(number));
}

size_t nvt_text_length(const char *text)
{
    return text ? strnlen(text, NVT_TEXT_MOST) : 0;
}

void nvt_put_text(struct nvt_definition_writer *out, const char *text)
{
    size_t length = nvt_text_length(text);
    nvt_put_number(out, length);
    nvt_put(out, text ? text : "", length);
}

const nvtxSemanticsHeader_t *nvt_semantics_find(const nvtxSemanticsHeader_t *list, uint16_t id,
                                                size_t size)
{
    for (int i = 0; list && i < MOST_SEMANTICS; list = list->next, i++)
        if (list->semanticId == id && list->structSize >= size)
            return list;
    return NULL;
}

const nvtxSemanticsCounter_t *nvt_counter_semantics(const nvtxSemanticsHeader_t *list)
{
    return (const nvtxSemanticsCounter_t *)nvt_semantics_find(list, NVTX_SEMANTIC_ID_COUNTERS_V1,
                                                              sizeof(nvtxSemanticsCounter_t));
}

void nvt_put_meaning(struct nvt_definition_writer *out, const nvtxSemanticsCounter_t *semantics)
{
    nvt_put_number(out, semantics ? semantics->flags : 0);
    nvt_put_number(out, semantics ? semantics->unitScaleNumerator : 0);
    nvt_put_number(out, semantics ? semantics->unitScaleDenominator : 0);
    nvt_put_text(out, semantics ? semantics->unit : NULL);
}
