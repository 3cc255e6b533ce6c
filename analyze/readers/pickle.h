/*
 * Python's pickles as values: numbers, texts, lists and dicts. Nothing of a pickle is ever run: what would make an
 * object, call a function or import a module is an opaque value of kind OTHER.
 *
 * Source: CPython's Lib/pickletools.py, which describes every opcode of protocols 0 to 5. Frames, which only help a
 * reader to read ahead, are skipped.
 *
 * Memory: 16 bytes for each value, 4 for each place in a list or dict or in the memo, so some 2 to 4 bytes for each
 * byte of a file of PyTorch; of any file at most some 40. Texts stay in the file's bytes. A pickle may hold the same value in
 * many places, and hold itself: who goes down it has to bound the way.
 */
#ifndef NVT_PICKLE_H
#define NVT_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/error.h"

enum nvt_pickle_kind {
    NVT_PICKLE_NONE,
    NVT_PICKLE_BOOL,
    NVT_PICKLE_INT, /* what has more than 64 bits is OTHER; what has 64, without a sign, is as in uint64_t */
    NVT_PICKLE_REAL,
    NVT_PICKLE_TEXT, /* bytes too */
    NVT_PICKLE_LIST, /* tuples too */
    NVT_PICKLE_DICT,
    NVT_PICKLE_OTHER,
};

#define NVT_PICKLE_MISSING UINT32_MAX

/* A value; its number is its row. */
struct nvt_pickle_value {
    uint8_t kind;
    uint32_t size; /* of a text, bytes; of a list, values; of a dict, keys and values */
    union {
        int64_t integer;
        double real;
        const char *text; /* not terminated; within the bytes of the pickle */
        struct {
            uint32_t first, last; /* runs of items, or MISSING */
        } runs;
    } is;
};

/* Items that were put into a list or dict at a time. */
struct nvt_pickle_run {
    uint32_t first, count, next;
};

struct nvt_pickle {
    struct nvt_pickle_value *values;
    struct nvt_pickle_run *runs;
    uint32_t *items; /* values */
    uint32_t *stack, *marks, *memo;
    size_t value_count, run_count, item_count, stack_count, mark_count, memo_count;
    size_t value_capacity, run_capacity, item_capacity, stack_capacity, mark_capacity,
        memo_capacity;
    uint32_t root;
};

/* Whether bytes begin as a pickle of protocol 2 or later does. */
int nvt_is_pickle(const uint8_t *head, size_t size);

/*
 * Read a pickle. The bytes have to live as long as it. 0, or -1 with err filled, with the byte at which it is damaged
 * or cut. Zero-initialise; release with nvt_pickle_free, also after a failure.
 */
int nvt_pickle_read(struct nvt_pickle *pickle, const uint8_t *data, size_t size,
                    struct nvt_error *err);
void nvt_pickle_free(struct nvt_pickle *pickle);

/* A way through the items of a list, or the keys and values, one after the other, of a dict; of others there are none. */
struct nvt_pickle_walk {
    uint32_t run, at;
};
struct nvt_pickle_walk nvt_pickle_walk(const struct nvt_pickle *pickle, uint32_t value);
/* 1 and the next one; 0: there is none. */
int nvt_pickle_next(const struct nvt_pickle *pickle, struct nvt_pickle_walk *walk, uint32_t *item);

/* What a dict has under a key, the last one put there; NVT_PICKLE_MISSING where it has none, or is no dict. */
uint32_t nvt_pickle_find(const struct nvt_pickle *pickle, uint32_t dict, const char *key);

/* The number that a dict has under a key: an INT or BOOL, a REAL cut to a whole one; `absent` where there is none. */
int64_t nvt_pickle_integer(const struct nvt_pickle *pickle, uint32_t dict, const char *key,
                           int64_t absent);

/* Whether a value is a text, and this one. */
int nvt_pickle_is(const struct nvt_pickle *pickle, uint32_t value, const char *text);

static inline enum nvt_pickle_kind nvt_pickle_kind(const struct nvt_pickle *pickle, uint32_t value)
{
    return value < pickle->value_count ? (enum nvt_pickle_kind)pickle->values[value].kind
                                       : NVT_PICKLE_OTHER;
}

#endif
