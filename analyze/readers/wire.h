/*
 * Messages of Protocol Buffers, field by field, without their descriptions: the wire format of
 * protobuf.dev/programming-guides/encoding. Perfetto's traces and XLA's XPlanes are such messages. Nothing is copied and nothing is
 * allocated here but the outermost messages of a file, one at a time, as many bytes as there are.
 */
#ifndef NVT_WIRE_H
#define NVT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/error.h"

/* The longest outermost message that is read: an XPlane is one for each device. */
#define NVT_WIRE_MESSAGE (UINT64_C(1) << 30)
/* What was compressed grows at most so many times: traces of events 6 to 20 times. */
#define NVT_WIRE_RATIO 100

enum nvt_wire_type { NVT_WIRE_VARINT = 0, NVT_WIRE_64 = 1, NVT_WIRE_BYTES = 2, NVT_WIRE_32 = 5 };

/* What is left of a message. */
struct nvt_wire {
    const uint8_t *at, *end;
};

struct nvt_wire_field {
    uint32_t number;
    enum nvt_wire_type type;
    uint64_t value;      /* of a varint or a fixed number: its bits */
    const uint8_t *data; /* of bytes, a text or a message */
    size_t size;
};

/* The next field. 1; 0: there is none; -1: it is cut or malformed. Of bytes that are cut, `size` is what they should have. */
int nvt_wire_next(struct nvt_wire *wire, struct nvt_wire_field *field);

static inline struct nvt_wire nvt_wire_of(const uint8_t *data, size_t size)
{
    return (struct nvt_wire){data, data ? data + size : data};
}

/* The message in a field; an empty one where it holds none. */
static inline struct nvt_wire nvt_wire_in(const struct nvt_wire_field *field)
{
    return nvt_wire_of(field->data, field->type == NVT_WIRE_BYTES ? field->size : 0);
}

/* Numbers as they are declared: double, and the signed ones, which are written in as many bytes as their bits take. */
double nvt_wire_double(const struct nvt_wire_field *field);
static inline int64_t nvt_wire_int(const struct nvt_wire_field *field)
{
    return (int64_t)field->value;
}

/* The next number of a repeated field, packed or not: 1, or 0 behind the last. *packed is zero before the first. */
int nvt_wire_repeated(const struct nvt_wire_field *field, struct nvt_wire *packed, uint64_t *value);

/* Of the outermost message of a file: what is called for each of its fields that is a message. 0, or -1 with err filled. */
typedef int nvt_wire_handler(void *context, uint32_t number, struct nvt_wire message,
                             struct nvt_error *err);

/*
 * Read a file, plain or compressed by gzip. *cut: it ends within a field, or is damaged there; what came until then was handed over.
 * 0, or -1 with err filled: it cannot be read, no message came before that, or the handler failed.
 */
int nvt_wire_read(const char *path, nvt_wire_handler *handler, void *context, int *cut,
                  struct nvt_error *err);

/* Unpack a zlib stream, NVT_WIRE_RATIO-fold at most. The bytes, the caller's, and *size; NULL when damaged or out of memory. */
uint8_t *nvt_wire_inflate(const uint8_t *data, size_t packed, size_t *size);

/* The first bytes of a file, unpacked where it is gzip's: how many are in `out`, of `room`. */
size_t nvt_wire_head(const uint8_t *head, size_t size, uint8_t *out, size_t room);

#endif
