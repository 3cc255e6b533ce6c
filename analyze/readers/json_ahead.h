/*
 * Parts of a JSON file's text (json_source.h) in their order, the items of each read ahead by threads. The thread that takes the parts
 * reads ahead as well while the one that it needs is not ready. A file of one part has no threads.
 */
#ifndef NVT_JSON_AHEAD_H
#define NVT_JSON_AHEAD_H

#include "json_scan.h"
#include "json_source.h"

struct nvt_json_part {
    struct nvt_buffer text;
    int64_t offset; /* of the text, in the whole */
    int status;     /* 1; 0: there is no more; -1: `err` */
    struct nvt_error err;
    /* so many bytes of the text are whole items, which `items` has; 0: none was read ahead */
    size_t closed;
    void *items; /* of struct nvt_json_ahead, NULL: could not be made */
    struct nvt_json_scan scan;
    int is_ready;
};

struct nvt_json_parts;

/* `ahead` NULL: nothing is read ahead. NULL with err filled. */
struct nvt_json_parts *nvt_json_parts_open(const char *path, const struct nvt_json_ahead *ahead,
                                           int repairs, struct nvt_error *err);

/* The next part, which is the caller's until the next call. Behind one whose status is not 1 there is none. */
struct nvt_json_part *nvt_json_parts_next(struct nvt_json_parts *parts);

/* Ends the threads. *repaired, unless NULL, gets how often something was repaired. */
void nvt_json_parts_close(struct nvt_json_parts *parts, uint64_t *repaired);

/* When no thread uses it any more. */
int nvt_json_parts_is_cut(const struct nvt_json_parts *parts);

#endif
