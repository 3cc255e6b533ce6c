#include "proto_put.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void put_varint(struct nvt_buffer *out, uint64_t value)
{
    out->failed |= nvt_buffer_varint(out, value) != 0;
}

static void put_tag(struct nvt_buffer *out, uint32_t field, unsigned type)
{
    put_varint(out, (uint64_t)field << 3 | type);
}

void nvt_proto_number(struct nvt_buffer *out, uint32_t field, uint64_t value)
{
    put_tag(out, field, VARINT);
    put_varint(out, value);
}

void nvt_proto_fixed64(struct nvt_buffer *out, uint32_t field, uint64_t value)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    put_tag(out, field, FIXED64);
    out->failed |= nvt_buffer_append(out, bytes, sizeof(bytes)) != 0;
}

void nvt_proto_double(struct nvt_buffer *out, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    nvt_proto_fixed64(out, field, bits);
}

void nvt_proto_bytes(struct nvt_buffer *out, uint32_t field, const void *data, size_t size)
{
    put_tag(out, field, BYTES);
    put_varint(out, size);
    out->failed |= size && nvt_buffer_append(out, data, size);
}

void nvt_proto_text(struct nvt_buffer *out, uint32_t field, const char *text)
{
    nvt_proto_bytes(out, field, text, strlen(text));
}

void nvt_proto_message(struct nvt_buffer *out, uint32_t field, struct nvt_buffer *inner)
{
    nvt_proto_bytes(out, field, inner->data, inner->size);
    out->failed |= inner->failed;
    inner->size = 0;
}
