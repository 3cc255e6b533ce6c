/*
 * JSON as a stream of events, plain or compressed by gzip: no document is ever in memory. Without zlib, what is compressed fails
 * with a message that says so.
 *
 * Limits, against files made to harm: NVT_JSON_DEPTH levels, NVT_JSON_TOKEN bytes in one value,
 * and what was compressed grows at most NVT_JSON_RATIO-fold (a trace of a real program: 11-fold).
 */
#ifndef NVT_JSON_STREAM_H
#define NVT_JSON_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/error.h"

#define NVT_JSON_DEPTH 64
#define NVT_JSON_TOKEN (4 << 20)
#define NVT_JSON_RATIO 100

enum nvt_json_type { NVT_JSON_NULL, NVT_JSON_FALSE, NVT_JSON_TRUE, NVT_JSON_NUMBER, NVT_JSON_TEXT };

/*
 * What is called as the file is read. Texts are not terminated and die with the call; numbers come
 * as they are written. Each returns 0, or -1 to end the reading, with err filled by its owner; `open` and `key` may return
 * NVT_JSON_SKIP: then nothing is called for what is in the bracket, up to its end and for that, or for the value of the key.
 */
#define NVT_JSON_SKIP        1
#define NVT_JSON_TEXT_WANTED 2

struct nvt_json_handler {
    int (*open)(void *context, int is_array);
    int (*close)(void *context);
    int (*key)(void *context, const char *text, size_t size);
    int (*value)(void *context, enum nvt_json_type type, const char *text, size_t size);
    /* Whether a file may end here, inside of its outermost array; NULL: no. */
    int (*may_end)(void *context);
    /* The file ends in the middle, plain or in its compressed form: whether what came until then
     * is taken (0) or not. NULL: it is not. */
    int (*cut)(void *context);
    /* The number of a key, above 0; and what `key` does with one of that number, or NVT_JSON_TEXT_WANTED, where that needs its text and
     * is called. NULL: keys have no numbers. */
    int (*number)(const char *text, size_t size);
    int (*known_key)(void *context, int number);
};

/*
 * How items of a long list of objects are read ahead, on other threads (json_ahead.h): `handler` is called for what is in a part of
 * the file, with what `make` made, which holds the items that were read whole until `take` has them. What is not a whole item ends
 * a part (-1): the stream reads it again, and says what is wrong.
 */
struct nvt_json_ahead {
    const struct nvt_json_handler *handler;
    int depth;                 /* of brackets around an item, at most */
    void *(*make)(void);       /* NULL when out of memory */
    int (*begin)(void *items); /* a part begins: 0, or -1 when out of memory */
    /* of the stream: whether the next value is an item of that list */
    int (*is_next)(void *context);
    int (*take)(void *context, void *items); /* 0, or -1 to end the reading, with err filled */
    void (*free)(void *items);
};

/*
 * Read a file. 0, or -1 with err filled: what it is that is no JSON and at which byte (of the
 * text, when that was compressed), or what the handler said, with the offset added. With `repaired`,
 * what is not quite JSON is made into it (json_repair.h), and *repaired says how often.
 */
int nvt_json_stream(const char *path, const struct nvt_json_handler *handler, void *context,
                    uint64_t *repaired, struct nvt_error *err);
/* The same; on one thread `ahead` is of no use, and nothing of it is called. */
int nvt_json_stream_ahead(const char *path, const struct nvt_json_handler *handler, void *context,
                          const struct nvt_json_ahead *ahead, uint64_t *repaired,
                          struct nvt_error *err);

#endif
