/*
 * Axes of a sweep: an option that takes a list, "2,8,32" or "linear,train".
 */
#ifndef NVT_AXIS_H
#define NVT_AXIS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define NVT_AXIS_MOST 64 /* values of one axis */

struct nvt_axis {
    size_t count;
    int64_t values[NVT_AXIS_MOST]; /* numbers, or positions in the list of words */
};

/* Parse numbers in [least, most]. 0, or -1 with err naming the option. */
int nvt_axis_numbers(struct nvt_axis *axis, const char *option, const char *text, int64_t least,
                     int64_t most, struct nvt_error *err);

/*
 * Parse decimal numbers in [least, most], with as many digits behind the point as `scale`, a power
 * of ten, has noughts: values, least and most are in 1/scale. "4,4.3637" at 10000: 40000, 43637.
 */
int nvt_axis_decimals(struct nvt_axis *axis, const char *option, const char *text, int64_t scale,
                      int64_t least, int64_t most, struct nvt_error *err);

/* Write such a value without needless noughts. */
void nvt_axis_decimal_text(int64_t value, int64_t scale, char *out, size_t size);

/* Parse words out of a NULL-terminated list. 0, or -1 with err. */
int nvt_axis_words(struct nvt_axis *axis, const char *option, const char *text,
                   const char *const *words, struct nvt_error *err);

/* A single duration of more than 0 and less than 100 years: a number and ms, s, min or h. In ns. 0 or -1. */
int nvt_axis_duration(const char *text, int64_t *ns);

/* A single number of bytes from 1 to `most`; K, M or G (times 1024) may follow. 0 or -1. */
int nvt_axis_bytes(const char *text, uint64_t most, uint64_t *bytes);

#endif
