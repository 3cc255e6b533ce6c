#include "check_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES ((size_t)256)
#define POISON      0xff /* NaN as float and as double, -1 as an index */

static void give_up(const char *why)
{
    fprintf(stderr, "check: %s\n", why);
    exit(2);
}

int check_call(struct check *check, void (*call)(struct check *, const int64_t *),
               const int64_t *shape)
{
    if (setjmp(check->no_memory))
        return -1;
    call(check, shape);
    return 0;
}

static void *host_memory(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        give_up("out of memory");
    return memory;
}

/* splitmix64 (Steele, Lea and Flood, 2014): the same numbers on every backend and in every
 * precision. */
static uint64_t next(struct check *check)
{
    uint64_t z = (check->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* In (0, 1]. */
static double uniform(struct check *check)
{
    return (double)((next(check) >> 11) + 1) / 9007199254740992.0;
}

static real normal(struct check *check)
{
    double radius = sqrt(-2 * log(uniform(check)));
    /* Rounded to float in any case: both sides shall see the same number. */
    return (real)(float)(radius * cos(6.283185307179586 * uniform(check)));
}

static size_t size_of(const struct check_array *array)
{
    static const size_t sizes[] = {[CHECK_REAL] = sizeof(real),
                                   [CHECK_FLOAT] = sizeof(float),
                                   [CHECK_INDEX] = sizeof(int32_t),
                                   [CHECK_HALF] = sizeof(nvt_half),
                                   [CHECK_BYTE] = sizeof(int8_t)};
    return array->type == CHECK_STORED ? nvt_backend_stored_bytes(array->precision)
                                       : sizes[array->type];
}

static size_t bytes_of(const struct check_array *array)
{
    return (size_t)array->count * size_of(array) + 2 * GUARD_BYTES;
}

/* An array full of poison, on the host only. */
static struct check_array *add_of(struct check *check, const char *name, enum check_role role,
                                  enum check_type type, enum nvt_precision precision, int64_t count)
{
    if (check->count == CHECK_ARRAYS_MOST)
        give_up("an operation with more arrays than there is room for");
    struct check_array *array = &check->arrays[check->count];
    array->name = name;
    array->role = role;
    array->type = type;
    array->precision = precision;
    array->count = count;
    array->host = (char *)host_memory(bytes_of(array));
    array->device = (char *)nvt_backend_alloc(0, bytes_of(array));
    check->count++;
    if (!array->device)
        longjmp(check->no_memory, 1);
    memset(array->host, POISON, bytes_of(array));
    return array;
}

static struct check_array *add(struct check *check, const char *name, enum check_role role,
                               enum check_type type, int64_t count)
{
    return add_of(check, name, role, type, NVT_FP32, count);
}

static void *body(const struct check_array *array)
{
    return array->host + GUARD_BYTES;
}

/* To the device: what the operation gets. */
static void *send(struct check_array *array)
{
    nvt_backend_to_device(array->device, array->host, bytes_of(array));
    return array->device + GUARD_BYTES;
}

static void fill_normal(struct check *check, struct check_array *array)
{
    for (int64_t i = 0; i < array->count; i++)
        ((real *)body(array))[i] = normal(check);
}

static void fill_positive(struct check *check, struct check_array *array)
{
    for (int64_t i = 0; i < array->count; i++)
        ((real *)body(array))[i] = (real)(float)(0.5 + uniform(check));
}

const real *check_in(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_REAL, count);
    fill_normal(check, array);
    return (const real *)send(array);
}

const real *check_positive(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_REAL, count);
    fill_positive(check, array);
    return (const real *)send(array);
}

const real *check_around_one(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_REAL, count);
    for (int64_t i = 0; i < count; i++)
        ((real *)body(array))[i] = (real)(float)(1 + normal(check));
    return (const real *)send(array);
}

const real *check_shares(struct check *check, const char *name, int64_t rows, int64_t columns)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_REAL, rows * columns);
    fill_positive(check, array);
    for (real *row = (real *)body(array); rows-- > 0; row += columns) {
        double sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += (double)row[i];
        for (int64_t i = 0; i < columns; i++)
            row[i] = (real)(float)((double)row[i] / sum);
    }
    return (const real *)send(array);
}

const int32_t *check_indices(struct check *check, const char *name, int64_t count, int64_t bound)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_INDEX, count);
    for (int64_t i = 0; i < count; i++)
        ((int32_t *)body(array))[i] = (int32_t)(next(check) % (uint64_t)bound);
    return (const int32_t *)send(array);
}

const int32_t *check_permutation(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_INDEX, count);
    int32_t *order = (int32_t *)body(array);
    for (int64_t i = 0; i < count; i++) {
        int64_t other = (int64_t)(next(check) % (uint64_t)(i + 1));
        order[i] = (int32_t)i; /* which `other` may be */
        order[i] = order[other];
        order[other] = (int32_t)i;
    }
    return (const int32_t *)send(array);
}

const real *check_given(struct check *check, const char *name, const real *values, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_REAL, count);
    memcpy(body(array), values, (size_t)count * sizeof(real));
    return (const real *)send(array);
}

real *check_out(struct check *check, const char *name, int64_t count)
{
    return (real *)send(add(check, name, CHECK_OUT, CHECK_REAL, count));
}

real *check_both(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_OUT, CHECK_REAL, count);
    fill_normal(check, array);
    return (real *)send(array);
}

real *check_both_positive(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_OUT, CHECK_REAL, count);
    fill_positive(check, array);
    return (real *)send(array);
}

int32_t *check_out_indices(struct check *check, const char *name, int64_t count)
{
    return (int32_t *)send(add(check, name, CHECK_OUT, CHECK_INDEX, count));
}

const float *check_floats(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_FLOAT, count);
    for (int64_t i = 0; i < count; i++)
        ((float *)body(array))[i] = (float)(0.5 + uniform(check));
    return (const float *)send(array);
}

const nvt_half *check_halves(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_HALF, count);
    for (int64_t i = 0; i < count; i++)
        ((nvt_half *)body(array))[i] = nvt_half_of((float)normal(check));
    return (const nvt_half *)send(array);
}

const nvt_half *check_exact_halves(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_HALF, count);
    for (int64_t i = 0; i < count; i++)
        ((nvt_half *)body(array))[i] = nvt_half_of((float)((int)(next(check) % 127) - 63) / 64.0f);
    return (const nvt_half *)send(array);
}

/* Of a kind: zeros of both signs; one NaN; one infinity; ties, as odd multiples of 2^-5 are whose largest is
 * 254 of them; subnormals. */
static nvt_half odd_half(struct check *check, int64_t kind, int is_first)
{
    uint64_t bits = next(check);
    switch (kind % 5) {
    case 0:
        return (nvt_half)(bits & 0x8000);
    case 1:
        return is_first ? 0x7e01 : nvt_half_of((float)normal(check));
    case 2:
        return is_first ? 0xfc00 : nvt_half_of((float)normal(check));
    case 3:
        return nvt_half_of((is_first ? 254.0f : (float)(2 * (int)(bits % 254) - 253)) / 32.0f);
    default:
        return (nvt_half)(bits & 0x83ff);
    }
}

const nvt_half *check_odd_halves(struct check *check, const char *name, int64_t rows, int64_t n,
                                 int by_column)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_HALF, rows * n);
    for (int64_t i = 0; i < rows * n; i++) {
        int64_t row = i / n, column = i % n;
        ((nvt_half *)body(array))[i] =
            by_column ? odd_half(check, column, !row) : odd_half(check, row, !column);
    }
    return (const nvt_half *)send(array);
}

const int8_t *check_bytes(struct check *check, const char *name, int64_t count)
{
    struct check_array *array = add(check, name, CHECK_IN, CHECK_BYTE, count);
    for (int64_t i = 0; i < count; i++)
        ((int8_t *)body(array))[i] = (int8_t)((int)(next(check) % 255) - 127);
    return (const int8_t *)send(array);
}

float *check_out_floats(struct check *check, const char *name, int64_t count)
{
    return (float *)send(add(check, name, CHECK_OUT, CHECK_FLOAT, count));
}

nvt_half *check_out_halves(struct check *check, const char *name, int64_t count)
{
    return (nvt_half *)send(add(check, name, CHECK_OUT, CHECK_HALF, count));
}

int8_t *check_out_bytes(struct check *check, const char *name, int64_t count)
{
    return (int8_t *)send(add(check, name, CHECK_OUT, CHECK_BYTE, count));
}

real *check_scratch(struct check *check, const char *name, int64_t count)
{
    return (real *)send(add(check, name, CHECK_SCRATCH, CHECK_REAL, count));
}

/* --- stored numbers --- */

/* To bfloat16, the upper half of a float: nearest, ties to even. Finite numbers and infinity. */
static uint16_t bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float bf16_value(uint16_t stored)
{
    uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The number that a precision has for this one. */
static real rounded_to(enum nvt_precision precision, real value)
{
    return precision == NVT_BF16   ? (real)bf16_value(bf16_of((float)value))
           : precision == NVT_FP16 ? (real)nvt_half_value(nvt_half_of((float)value))
                                   : value;
}

static int is_short(enum nvt_precision precision)
{
    return nvt_backend_stored_bytes(precision) == sizeof(uint16_t);
}

static real stored_value(enum nvt_precision precision, const void *numbers, int64_t i)
{
    if (!is_short(precision))
        return ((const real *)numbers)[i];
    const uint16_t bits = ((const uint16_t *)numbers)[i];
    return precision == NVT_BF16 ? (real)bf16_value(bits) : (real)nvt_half_value(bits);
}

const void *check_stored(struct check *check, const char *name, enum nvt_precision precision,
                         int64_t count)
{
    struct check_array *array = add_of(check, name, CHECK_IN, CHECK_STORED, precision, count);
    for (int64_t i = 0; i < count; i++) {
        const real value = normal(check);
        if (!is_short(precision))
            ((real *)body(array))[i] = rounded_to(precision, value);
        else
            ((uint16_t *)body(array))[i] =
                precision == NVT_BF16 ? bf16_of((float)value) : nvt_half_of((float)value);
    }
    return send(array);
}

void *check_out_stored(struct check *check, const char *name, enum nvt_precision precision,
                       int64_t count)
{
    return send(add_of(check, name, CHECK_OUT, CHECK_STORED, precision, count));
}

/* --- results --- */

static double *new_result(struct check *check, const char *name, int64_t count)
{
    struct nvt_check_outcome *outcome = check->outcome;
    if (outcome->count == NVT_CHECK_RESULTS)
        give_up("an operation with more results than there is room for");
    struct nvt_check_array *result = &outcome->results[outcome->count++];
    snprintf(result->name, sizeof(result->name), "%s", name);
    result->count = count;
    result->scale = 0;
    result->bounds = NULL;
    result->values = (double *)host_memory((size_t)count * sizeof(double));
    return result->values;
}

void check_result(struct check *check, const char *name, const real *device, int64_t count)
{
    double *values = new_result(check, name, count);
    real *host = (real *)host_memory((size_t)count * sizeof(real));
    nvt_backend_to_host(host, device, (size_t)count * sizeof(real));
    for (int64_t i = 0; i < count; i++)
        values[i] = (double)host[i];
    free(host);
}

void check_scale(struct check *check, double scale)
{
    check->outcome->results[check->outcome->count - 1].scale = scale;
}

void check_number(struct check *check, const char *name, double value)
{
    new_result(check, name, 1)[0] = value;
}

static struct check_array *find(struct check *check, const void *device)
{
    for (int i = 0; i < check->count; i++)
        if (check->arrays[i].device + GUARD_BYTES == (const char *)device)
            return &check->arrays[i];
    give_up("numbers are expected where there is no array");
    return NULL;
}

const real *check_as_real(struct check *check, const char *name, const void *stored)
{
    const struct check_array *from = find(check, stored);
    struct check_array *array = add(check, name, CHECK_IN, CHECK_REAL, from->count);
    for (int64_t i = 0; i < array->count; i++)
        ((real *)body(array))[i] = stored_value(from->precision, body(from), i);
    return (const real *)send(array);
}

void check_rounded(struct check *check, const char *name, const void *stored, const real *whole)
{
    const struct check_array *array = find(check, stored);
    size_t bytes = (size_t)array->count * size_of(array);
    void *numbers = host_memory(bytes);
    real *reals = (real *)host_memory((size_t)array->count * sizeof(real));
    int64_t others = 0;
    nvt_backend_to_host(numbers, stored, bytes);
    nvt_backend_to_host(reals, whole, (size_t)array->count * sizeof(real));
    for (int64_t i = 0; i < array->count; i++)
        others += stored_value(array->precision, numbers, i) !=
                  (is_short(array->precision) ? rounded_to(array->precision, reals[i]) : reals[i]);
    check_number(check, name, (double)others);
    free(numbers);
    free(reals);
}

double *check_host_numbers(int64_t count)
{
    return (double *)host_memory((size_t)count * sizeof(double));
}

struct check_expected check_expect(struct check *check, const void *written)
{
    struct check_array *array = find(check, written);
    array->values = check_host_numbers(array->count);
    array->bounds = check_host_numbers(array->count);
    return (struct check_expected){array->values, array->bounds};
}

void check_difference(struct check *check, const char *name, const nvt_half *x, const nvt_half *y)
{
    const struct check_array *left = find(check, x), *right = find(check, y);
    int64_t count = left->count;
    size_t bytes = (size_t)count * sizeof(nvt_half);
    nvt_half *xs = (nvt_half *)host_memory(bytes), *ys = (nvt_half *)host_memory(bytes);
    double *values = new_result(check, name, count), *bounds = NULL;
    nvt_backend_to_host(xs, x, bytes);
    nvt_backend_to_host(ys, y, bytes);
    if (CHECK_IS_REFERENCE)
        bounds = check->outcome->results[check->outcome->count - 1].bounds =
            check_host_numbers(count);
    for (int64_t i = 0; i < count; i++) {
        values[i] = bounds ? 0 : (double)nvt_half_value(xs[i]) - (double)nvt_half_value(ys[i]);
        if (bounds)
            bounds[i] = left->bounds[i] + right->bounds[i];
    }
    free(xs);
    free(ys);
}

static int guards_hold(const struct check_array *array, const char *now)
{
    size_t end = bytes_of(array) - GUARD_BYTES;
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if ((unsigned char)now[i] != POISON || (unsigned char)now[end + i] != POISON)
            return 0;
    return 1;
}

static double value_of(const struct check_array *array, const void *values, int64_t i)
{
    switch (array->type) {
    case CHECK_FLOAT:
        return (double)((const float *)values)[i];
    case CHECK_INDEX:
        return (double)((const int32_t *)values)[i];
    case CHECK_HALF:
        return (double)nvt_half_value(((const nvt_half *)values)[i]);
    case CHECK_BYTE:
        return (double)((const int8_t *)values)[i];
    case CHECK_STORED:
        return (double)stored_value(array->precision, values, i);
    default:
        return (double)((const real *)values)[i];
    }
}

static void take_over(struct check *check, struct check_array *array, const char *now)
{
    double *values = new_result(check, array->name, array->count);
    if (array->values) {
        memcpy(values, array->values, (size_t)array->count * sizeof(double));
        check->outcome->results[check->outcome->count - 1].bounds = array->bounds;
        array->bounds = NULL;
        return;
    }
    for (int64_t i = 0; i < array->count; i++)
        values[i] = value_of(array, now + GUARD_BYTES, i);
}

static int look_at(struct check *check, struct check_array *array, struct nvt_error *err)
{
    char *now = (char *)host_memory(bytes_of(array));
    int status = 0;
    nvt_backend_to_host(now, array->device, bytes_of(array));
    if (!guards_hold(array, now))
        status = nvt_fail(err, "wrote beside %s", array->name);
    else if (array->role == CHECK_IN && memcmp(now, array->host, bytes_of(array)))
        status = nvt_fail(err, "changed its input %s", array->name);
    else if (array->role == CHECK_OUT)
        take_over(check, array, now);
    free(now);
    return status;
}

int check_finish(struct check *check, int has_run, struct nvt_error *err)
{
    int status = has_run ? 0 : nvt_fail(err, "out of device memory");
    nvt_backend_sync();
    for (int i = 0; i < check->count && !status; i++)
        status = look_at(check, &check->arrays[i], err);
    for (int i = 0; i < check->count; i++) {
        free(check->arrays[i].host);
        free(check->arrays[i].values);
        free(check->arrays[i].bounds);
        if (check->arrays[i].device)
            nvt_backend_free(0, check->arrays[i].device);
    }
    /* A call that failed is the cause of whatever was seen, and none of the next operation's. */
    return nvt_backend_failed(err) ? -1 : status;
}
