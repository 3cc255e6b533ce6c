/*
 * Times, counts, sizes and paths as text for people: in the unit that fits, rounded to a few digits.
 * Each function writes into `out` and returns it.
 */
#ifndef NVT_QUANTITY_TEXT_H
#define NVT_QUANTITY_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define NVT_TIME_MAX 32

/* "345 ns", "12.3 µs", "16.0 ms": three digits in the unit that fits; "unknown" of NaN. NVT_TIME: the same until the
 * end of the block. */
const char *nvt_time_text(double ns, char out[NVT_TIME_MAX]);
#define NVT_TIME(ns) nvt_time_text((ns), (char[NVT_TIME_MAX]){0})

/* "12.5", "8940", "12840", "0.27": four digits, or all of a whole number; two of what is less than 1. */
const char *nvt_count_text(double count, char out[NVT_TIME_MAX]);
#define NVT_COUNT(count) nvt_count_text((count), (char[NVT_TIME_MAX]){0})

/* "1 copy", "16.4 copies": a count of what is called so, one and many. */
#define NVT_COUNTED_MAX 64
const char *nvt_counted_text(double count, const char *one, const char *many,
                             char out[NVT_COUNTED_MAX]);
#define NVT_COUNTED(count, one, many)                                                              \
    nvt_counted_text((count), (one), (many), (char[NVT_COUNTED_MAX]){0})

/* "999 B", "1.05 MB", "49.7 GB": three digits in the unit that fits, of 1000 of the one below. */
const char *nvt_bytes_text(double bytes, char out[NVT_TIME_MAX]);
#define NVT_BYTES(bytes) nvt_bytes_text((bytes), (char[NVT_TIME_MAX]){0})

/* A path in at most so many bytes: "/data/train.bin", or the end of a longer one, "…/train.bin". */
#define NVT_FILE_TEXT_MAX 84
const char *nvt_file_text(const char *path, size_t most, char out[NVT_FILE_TEXT_MAX]);

#define NVT_LINE_MAX 144

/* a + b·axis of times in ns: "12.3 µs + 456 ns·batch", "456 ns·batch - 12.3 µs". Returns out. */
const char *nvt_line_text(double a, double b, const char *axis, char out[NVT_LINE_MAX]);

/* "11.780 ms", to the microsecond or better, as viewers of traces show it. */
const char *nvt_moment_text(int64_t ns, char out[NVT_TIME_MAX]);
/* In the unit of the longest of several. */
const char *nvt_moment_text_of(int64_t ns, int64_t longest, char out[NVT_TIME_MAX]);

#endif
