/*
 * Writing flat JSON objects: texts are escaped and made valid UTF-8 by replacement of bytes that are
 * none; numbers that JSON has no word for (infinite, NaN) become null.
 */
#ifndef NVT_JSON_H
#define NVT_JSON_H

#include <stdint.h>

#include "buffer.h"

/* An object being written into `out`, which it does not own. */
struct nvt_json {
    struct nvt_buffer *out;
    int members;
    int failed; /* out of memory: the object is not whole */
};

void nvt_json_begin(struct nvt_json *json, struct nvt_buffer *out);
void nvt_json_text(struct nvt_json *json, const char *key, const char *value); /* NULL: null */
void nvt_json_integer(struct nvt_json *json, const char *key, int64_t value);
void nvt_json_number(struct nvt_json *json, const char *key, double value); /* no digit is lost */
void nvt_json_numbers(struct nvt_json *json, const char *key, const double *values, size_t count);
void nvt_json_bool(struct nvt_json *json, const char *key, int value);
void nvt_json_null(struct nvt_json *json, const char *key);
/* Close it with a line feed behind. 0, or -1 when out of memory. */
int nvt_json_end(struct nvt_json *json);

/* Append a text with its quotes. 0, or -1 when out of memory. */
int nvt_json_quote(struct nvt_buffer *out, const char *text);

#endif
