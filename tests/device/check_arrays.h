/*
 * Arrays for the operations of check_ops.c. Each has a guard on both sides; what is to be written
 * is poisoned first with NaN, what is only read is compared afterwards with what it was.
 */
#ifndef NVT_CHECK_ARRAYS_H
#define NVT_CHECK_ARRAYS_H

#include <setjmp.h>

#include "../../kernels/ops/half.h"
#include "check.h"

#define CHECK_ARRAYS_MOST 32

/* What an array holds. A float is one in the reference too. */
enum check_type { CHECK_REAL, CHECK_FLOAT, CHECK_INDEX, CHECK_HALF, CHECK_BYTE, CHECK_STORED };
enum check_role { CHECK_IN, CHECK_OUT, CHECK_SCRATCH };

struct check_array {
    const char *name;
    enum check_role role;
    char *device; /* with its guards */
    char *host;   /* what was put there, guards included */
    enum check_type type;
    enum nvt_precision precision; /* of stored numbers */
    int64_t count;
    /* What is expected of one that is written, else NULL. */
    double *values, *bounds;
};

struct check {
    uint64_t random;
    struct check_array arrays[CHECK_ARRAYS_MOST];
    int count;
    struct nvt_check_outcome *outcome;
    jmp_buf no_memory; /* where an operation ends that there is no memory for */
};

/* Call an operation of a table. 0, or -1: it was left where there was no memory on the device. */
int check_call(struct check *check, void (*call)(struct check *, const int64_t *),
               const int64_t *shape);

/* Arrays on the device, by name. Without memory there the operation ends; without any of the host's the program does,
 * with a line on stderr and 2. in: normal numbers. positive: in (0.5, 1.5). indices: in [0, bound). */
const real *check_in(struct check *check, const char *name, int64_t count);
const real *check_positive(struct check *check, const char *name, int64_t count);
/* Normal numbers around one, whose mean is more than what is left of them when they cancel out. */
const real *check_around_one(struct check *check, const char *name, int64_t count);
/* What a softmax gives: positive numbers of which each row adds up to one. */
const real *check_shares(struct check *check, const char *name, int64_t rows, int64_t columns);
const int32_t *check_indices(struct check *check, const char *name, int64_t count, int64_t bound);
/* A permutation of [0, count). */
const int32_t *check_permutation(struct check *check, const char *name, int64_t count);
/* Numbers given by the caller. */
const real *check_given(struct check *check, const char *name, const real *values, int64_t count);
/* Written by the operation: from poison, or added to normal numbers. */
real *check_out(struct check *check, const char *name, int64_t count);
real *check_both(struct check *check, const char *name, int64_t count);
real *check_both_positive(struct check *check, const char *name, int64_t count);
int32_t *check_out_indices(struct check *check, const char *name, int64_t count);

/* Given arrays of other types: positive floats in (0.5, 1.5), normal halves, integers in [-127, 127].
 */
const float *check_floats(struct check *check, const char *name, int64_t count);
const nvt_half *check_halves(struct check *check, const char *name, int64_t count);
/* Multiples of 1/64 in (-1, 1): up to 4096 of their products add up in float without rounding, in any order and even
 * where numbers are cut off instead of being rounded, as they are multiples of 2^-12 and stay below 2^12. */
const nvt_half *check_exact_halves(struct check *check, const char *name, int64_t count);
/* Zeros, ties, subnormals, infinities, NaN: a kind a row, or a column. */
const nvt_half *check_odd_halves(struct check *check, const char *name, int64_t rows, int64_t n,
                                 int by_column);
const int8_t *check_bytes(struct check *check, const char *name, int64_t count);
float *check_out_floats(struct check *check, const char *name, int64_t count);
nvt_half *check_out_halves(struct check *check, const char *name, int64_t count);
int8_t *check_out_bytes(struct check *check, const char *name, int64_t count);

/* Stored numbers of a precision (nvt_backend_stored_bytes): normal ones, which are rounded to it where they are real too, so
 * that all sides read the same; from poison. as_real: the same numbers as another array, of real. */
const void *check_stored(struct check *check, const char *name, enum nvt_precision precision,
                         int64_t count);
void *check_out_stored(struct check *check, const char *name, enum nvt_precision precision,
                       int64_t count);
const real *check_as_real(struct check *check, const char *name, const void *stored);

/* A result: how many of an array of stored numbers are not what `whole`, on the device too, is when rounded to nearest, ties
 * to even. None is expected. */
void check_rounded(struct check *check, const char *name, const void *stored, const real *whole);

/* Poisoned too, and of no interest afterwards. */
real *check_scratch(struct check *check, const char *name, int64_t count);

/* Results that lie elsewhere: on the device, or a number. */
void check_result(struct check *check, const char *name, const real *device, int64_t count);
/* The last of these is a difference of larger numbers, by which its errors are to be measured: they can be all that is
 * left of it. */
void check_scale(struct check *check, double scale);
void check_number(struct check *check, const char *name, double value);

/*
 * The reference alone may say what an array that is written is exactly, instead of what it computes there, and by how
 * much each number of others may differ: fill both, for all numbers of the array.
 */
#ifdef NVT_REAL_DOUBLE
#define CHECK_IS_REFERENCE 1
#else
#define CHECK_IS_REFERENCE 0
#endif
struct check_expected {
    double *values, *bounds;
};
struct check_expected check_expect(struct check *check, const void *written);

/* A result of x − y, two arrays of halves that were written and of which that was said: zero, give or take both bounds. */
void check_difference(struct check *check, const char *name, const nvt_half *x, const nvt_half *y);

/* As many numbers on the host. Owned. */
double *check_host_numbers(int64_t count);

/* Wait, take the results over, look at guards and inputs, release. 0 or -1 with err; has_run: the operation was not
 * left for want of memory. */
int check_finish(struct check *check, int has_run, struct nvt_error *err);

/* --- tables --- */

/* An operation with a function that calls it; a table ends with a line without a name. */
struct check_line {
    struct nvt_check_entry entry;
    void (*call)(struct check *check, const int64_t *shape);
};
extern const struct check_line check_backend[], check_fragments[], check_language[],
    check_low_precision[], check_stored_numbers[], check_images[], check_pipeline[], check_broken[];

#define OP(name) static void name(struct check *c, const int64_t *s)
#define LINE(name, tolerance, ...)                                                                 \
    {                                                                                              \
        {#name, tolerance, {__VA_ARGS__}}, name                                                    \
    }

/* Exact where nothing is summed up; rounding alone; sums and functions of float. Products with ten bits: a device may cut
 * TF32's numbers off instead of rounding them. Bounds that follow from the formats (check_bounds.h). */
#define EXACT            0
#define CLOSE            1e-6
#define SUMS             2e-5
#define TEN_BIT_PRODUCTS 4e-3
#define DERIVED          1

/* clang-format off */
/* m, n, k, products; rows, n; n; batch, fragments, width, columns; groups, length, width,
 * 1 + causal; batch, size, fragments. */
#define MATRICES  {5, 7, 3, 2}, {1, 512, 300, 3}, {64, 96, 130, 5}, {16, 2048, 2048, 1}
#define ROWS      {3, 5}, {7, 300}, {33, 1024}, {1, 10007}
#define LENGTHS   {5}, {4097}, {100003}
#define FRAGMENTS {2, 2, 8, 40}, {5, 32, 4, 130}, {16, 4, 64, 512}, {3, 128, 16, 2048}
#define ATTENTION {2, 5, 4, 1}, {3, 97, 16, 2}, {4, 130, 64, 2}, {2, 257, 32, 1}
/* As attention, and of the lengths that a device has forms of its own for, and beyond them. */
#define SOFTMAX   ATTENTION, {1, 700, 1, 2}, {1, 1030, 1, 2}
#define LAYERS    {2, 64, 2}, {8, 256, 8}, {16, 512, 128}
/* clang-format on */

#endif
