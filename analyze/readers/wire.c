#include "wire.h"

#include <string.h>

#include "../../lib/buffer.h"

static uint64_t little(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static int take_fixed(struct nvt_wire *wire, struct nvt_wire_field *field, unsigned bytes)
{
    if ((size_t)(wire->end - wire->at) < bytes)
        return -1;
    field->value = little(wire->at, bytes);
    wire->at += bytes;
    return 1;
}

static int take_bytes(struct nvt_wire *wire, struct nvt_wire_field *field)
{
    uint64_t size;
    const uint8_t *at = nvt_varint_get(wire->at, wire->end, &size);
    if (!at)
        return -1;
    field->size = (size_t)size;
    if (size > (uint64_t)(wire->end - at))
        return -1;
    field->data = at;
    wire->at = at + size;
    return 1;
}

int nvt_wire_next(struct nvt_wire *wire, struct nvt_wire_field *field)
{
    uint64_t tag = 0;
    if (wire->at == wire->end)
        return 0;
    const uint8_t *at = nvt_varint_get(wire->at, wire->end, &tag);
    *field = (struct nvt_wire_field){.number = (uint32_t)(tag >> 3)};
    if (!at || tag >> 3 == 0 || tag >> 3 >= UINT32_C(1) << 29)
        return -1;
    field->type = (enum nvt_wire_type)(tag & 7);
    wire->at = at;
    switch (tag & 7) {
    case NVT_WIRE_VARINT:
        at = nvt_varint_get(at, wire->end, &field->value);
        wire->at = at ? at : wire->at;
        return at ? 1 : -1;
    case NVT_WIRE_64:
        return take_fixed(wire, field, 8);
    case NVT_WIRE_32:
        return take_fixed(wire, field, 4);
    case NVT_WIRE_BYTES:
        return take_bytes(wire, field);
    default: /* groups, which nobody writes any more */
        return -1;
    }
}

double nvt_wire_double(const struct nvt_wire_field *field)
{
    double value;
    if (field->type == NVT_WIRE_32) {
        float single;
        uint32_t bits = (uint32_t)field->value;
        memcpy(&single, &bits, sizeof(single));
        return (double)single;
    }
    memcpy(&value, &field->value, sizeof(value));
    return field->type == NVT_WIRE_64 ? value : 0;
}

int nvt_wire_repeated(const struct nvt_wire_field *field, struct nvt_wire *packed, uint64_t *value)
{
    const int is_first = !packed->at;
    if (is_first)
        *packed = nvt_wire_in(field);
    if (field->type != NVT_WIRE_BYTES) {
        static const uint8_t none;
        packed->at = packed->end = &none;
        *value = field->value;
        return is_first;
    }
    const uint8_t *at = packed->at ? nvt_varint_get(packed->at, packed->end, value) : NULL;
    packed->at = at ? at : packed->end;
    return at != NULL;
}
