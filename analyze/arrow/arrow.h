/*
 * Arrow's C data interface: tables as streams of record batches, for pyarrow, pandas, polars, DuckDB and others. The three
 * structs are those of its specification (https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html),
 * word for word.
 *
 * Values of fixed width are borrowed where the other side may take them as they are. What they are borrowed from has an
 * owner, which every stream and every array holds until it is released, whatever is closed before.
 */
#ifndef NVT_ARROW_H
#define NVT_ARROW_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/error.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* What borrowed memory belongs to. `end` is called, once, when nobody holds it any more. */
struct nvt_arrow_owner {
    int references; /* atomic */
    void (*end)(struct nvt_arrow_owner *owner);
};

void nvt_arrow_hold(struct nvt_arrow_owner *owner);
void nvt_arrow_drop(struct nvt_arrow_owner *owner);

/* A column: format is Arrow's of its values ("l" 64-bit integers, "g" doubles, "U" texts …). Its texts are copied but for the format. */
struct nvt_arrow_field {
    const char *name, *format, *unit, *about;
    /* format of its indices, where the values stand in a dictionary; or NULL */
    const char *dictionary;
};

/* Where batches come from. All of them only read, as they may be called on any thread. */
struct nvt_arrow_source {
    struct nvt_arrow_owner *owner;
    size_t columns, batches;
    int64_t (*rows)(const struct nvt_arrow_source *source, size_t batch);
    void (*field)(const struct nvt_arrow_source *source, size_t column,
                  struct nvt_arrow_field *field);
    /* Fill a column's array. 0, or -1 when out of memory, with nothing to be released. */
    int (*fill)(const struct nvt_arrow_source *source, size_t batch, size_t column,
                struct ArrowArray *array);
    const void *context, *other; /* theirs */
};

/* A stream of a source, which is copied; it holds the owner. 0, or -1 when out of memory. */
int nvt_arrow_stream(const struct nvt_arrow_source *source, struct ArrowArrayStream *out);

/* Parts of `fill`. Buffers are malloc'ed and become the array's, also on failure, or (`owner` not NULL, of values) are borrowed. */
struct nvt_arrow_buffers {
    int64_t length, nulls;
    uint8_t *validity; /* a bit a value; NULL: none is null */
    void *offsets;     /* of texts: 64 bits each, one more than there are; else NULL */
    const void *values;
    struct nvt_arrow_owner *owner;
};

/* 0, or -1 when out of memory. */
int nvt_arrow_array(struct ArrowArray *array, const struct nvt_arrow_buffers *buffers);

/* Attach a dictionary of texts, borrowed from an owner: offsets and bytes. 0, or -1 when out of memory, when the array is released. */
int nvt_arrow_set_dictionary(struct ArrowArray *array, struct nvt_arrow_owner *owner,
                             const int64_t *offsets, const char *bytes, int64_t count);

/* A row is null. 0, or -1 when out of memory. */
int nvt_arrow_set_null(struct nvt_arrow_buffers *buffers, int64_t row);

/* Bits for `length` values, all of them set; malloc'ed, NULL when out of memory. nvt_arrow_clear: one of them is null. */
uint8_t *nvt_arrow_bits(int64_t length);
static inline void nvt_arrow_clear(uint8_t *bits, int64_t at)
{
    bits[at / 8] = (uint8_t)(bits[at / 8] & ~(1u << at % 8));
}

#endif
