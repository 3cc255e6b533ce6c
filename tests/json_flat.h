/*
 * JSON for tests, each of its values by its path: "items.2.name". For a test that includes cmocka.h.
 */
#ifndef NVT_TESTS_JSON_FLAT_H
#define NVT_TESTS_JSON_FLAT_H

#include "../analyze/readers/json_stream.h"

struct json_flat_value {
    char *path, *text;
    enum nvt_json_type type;
};

struct json_flat {
    struct json_flat_value *values;
    size_t count;
};

/* What is no JSON fails the test. Release with json_flat_free. */
struct json_flat json_flat(const char *text);
void json_flat_free(struct json_flat *flat);

/* NULL: there is none. */
const struct json_flat_value *json_flat_at(const struct json_flat *flat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
