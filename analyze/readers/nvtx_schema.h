/*
 * Inside of the reader of our own format: NVTX's payload schemas, as definitions hold them
 * (docs/trace-format.md), and the numbers of its predefined types.
 */
#ifndef NVT_NVTX_SCHEMA_H
#define NVT_NVTX_SCHEMA_H

#include "nvt.h"

/* Schemas nest; a cycle, which only a broken file has, ends here. */
#define NVT_SCHEMA_DEEPEST 8
/* Elements of an array that are read. */
#define NVT_SCHEMA_ELEMENTS 64

/* Schemas can refer to each other so that a few bytes stand for more than there is memory, or for
 * none and endless work. So all that is done with them takes as much off what is *left. -1: it was not
 * enough, and nothing is left. */
static inline int nvt_schema_spend(uint64_t *left, uint64_t amount)
{
    uint64_t taken = amount < *left ? amount : *left;
    *left -= taken;
    return taken < amount ? -1 : 0;
}

/* --- predefined types --- */

/* Size in bytes as LP64 Linux has it, 0 unknown, and what it is. */
struct nvt_nvtx_type {
    int size;
    char form; /* i signed, u unsigned, f float, d double, h half, b bfloat16, c character, x hex */
};
struct nvt_nvtx_type nvt_nvtx_type(uint64_t type);

/* Whether it is a text, of which there are bytes or a pointer. */
int nvt_nvtx_is_text(uint64_t type);

/* Little-endian integers of so many bytes. */
int64_t nvt_nvtx_signed(const uint8_t *data, int size);
uint64_t nvt_nvtx_unsigned(const uint8_t *data, int size);

/* A number of any form. */
double nvt_nvtx_value(struct nvt_nvtx_type type, const uint8_t *data);

/* --- schemas --- */

/* What the values of a counter are. */
struct nvt_meaning {
    uint64_t flags;                  /* NVTX_COUNTER_FLAG_… */
    uint64_t numerator, denominator; /* that a value is scaled by; 0: it is not */
    const uint8_t *unit;
    uint64_t unit_length;
};

struct nvt_schema {
    struct nvt_cursor entries; /* not yet read */
    uint64_t count;
    uint64_t size;
    /* Of nvt_schema_meaning. */
    struct nvt_cursor meanings;
    struct nvt_meaning meaning; /* that was read last, */
    uint64_t meaning_of;        /* of which entry */
    uint64_t meaning_count;     /* left */
};

struct nvt_schema_entry {
    uint64_t flags, type, detail, offset;
    const uint8_t *name;
    uint64_t name_length;
};

/* The definition of a schema or an enumeration; NULL: there is none. */
const struct nvt_blob *nvt_schema_find(const struct nvt_file_reader *reader,
                                       const struct nvt_file_process *process, uint64_t id);

/* Its head, up to the entries; then entry after entry. 0, or -1 when it is cut. */
int nvt_schema_open(const struct nvt_file_reader *reader, const struct nvt_blob *blob,
                    struct nvt_schema *schema);
int nvt_schema_next(struct nvt_schema *schema, struct nvt_schema_entry *entry);

/* A length of 8 bytes and so many bytes; NULL when it is cut. */
const uint8_t *nvt_cursor_text(struct nvt_cursor *cursor, uint64_t *length);

/* What a counter's values are, in a definition. 0, or -1 when it is cut. */
int nvt_meaning_read(struct nvt_cursor *cursor, struct nvt_meaning *meaning);

/* What the values of an entry are, NULL where it does not say; to be asked for entries in their order, when
 * nvt_schema_meanings has looked for where that stands. */
void nvt_schema_meanings(struct nvt_schema *schema);
const struct nvt_meaning *nvt_schema_meaning(struct nvt_schema *schema, uint64_t entry);

#endif
