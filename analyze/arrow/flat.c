#include "flat.h"

/* Zeros up to a multiple of `unit`, `before` bytes short of it. */
static void align(struct nvt_buffer *out, size_t unit, size_t before)
{
    static const char zeros[16];
    (void)nvt_buffer_append(out, zeros, (unit - (out->size + before) % unit) % unit);
}

/* Append zeros; where they begin. */
static uint32_t reserve(struct nvt_buffer *out, size_t size)
{
    const size_t place = out->size;
    if (!nvt_buffer_reserve(out, size)) {
        memset(out->data + place, 0, size);
        out->size += size;
    }
    return (uint32_t)place;
}

void nvt_flat_put(struct nvt_buffer *out, uint32_t place, uint64_t value, uint32_t size)
{
    if (!out->failed)
        memcpy(out->data + place, &value,
               size); /* the low bytes, as both sides are little-endian */
}

void nvt_flat_link(struct nvt_buffer *out, uint32_t place, uint32_t target)
{
    nvt_flat_put(out, place, target - place, 4);
}

uint32_t nvt_flat_root(struct nvt_buffer *out)
{
    return reserve(out, 4);
}

uint32_t nvt_flat_table(struct nvt_buffer *out, const uint8_t *sizes, uint32_t count,
                        uint32_t *places)
{
    uint32_t offsets[NVT_FLAT_FIELDS_MOST], size = 4;
    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = sizes[i] ? (size + sizes[i] - 1) / sizes[i] * sizes[i] : 0;
        size = sizes[i] ? offsets[i] + sizes[i] : size;
    }
    const uint32_t head = 4 + 2 * count;
    align(out, 8, head); /* so that the table is at a multiple of 8 */
    const uint32_t description = reserve(out, head);
    const uint32_t table = reserve(out, size);
    nvt_flat_put(out, description, head, 2);
    nvt_flat_put(out, description + 2, size, 2);
    nvt_flat_put(out, table, table - description, 4);
    for (uint32_t i = 0; i < count; i++) {
        nvt_flat_put(out, description + 4 + 2 * i, offsets[i], 2);
        places[i] = table + offsets[i];
    }
    return table;
}

uint32_t nvt_flat_vector(struct nvt_buffer *out, uint32_t count, uint32_t width)
{
    align(out, 8, 4);
    const uint32_t place = reserve(out, 4);
    nvt_flat_put(out, place, count, 4);
    return reserve(out, (size_t)count * width);
}

uint32_t nvt_flat_text(struct nvt_buffer *out, const char *text, uint32_t length)
{
    align(out, 4, 0);
    const uint32_t place = reserve(out, 4);
    nvt_flat_put(out, place, length, 4);
    (void)nvt_buffer_append(out, text, length);
    (void)nvt_buffer_append(out, "", 1);
    return place;
}
