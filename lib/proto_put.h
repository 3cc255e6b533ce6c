/*
 * Writing messages of Protocol Buffers, field by field (protobuf.dev/programming-guides/encoding): what Perfetto's traces are made of.
 * A message within another is written into a buffer of its own first. Where there is no memory, `failed` of the buffer is set.
 */
#ifndef NVT_PROTO_PUT_H
#define NVT_PROTO_PUT_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* Any whole number and enumeration; one below zero as its 64 bits, as int32 and int64 have it. */
void nvt_proto_number(struct nvt_buffer *out, uint32_t field, uint64_t value);
void nvt_proto_fixed64(struct nvt_buffer *out, uint32_t field, uint64_t value);
void nvt_proto_double(struct nvt_buffer *out, uint32_t field, double value);
void nvt_proto_bytes(struct nvt_buffer *out, uint32_t field, const void *data, size_t size);
void nvt_proto_text(struct nvt_buffer *out, uint32_t field, const char *text);
/* The message in `inner`, which is empty afterwards. */
void nvt_proto_message(struct nvt_buffer *out, uint32_t field, struct nvt_buffer *inner);

#endif
