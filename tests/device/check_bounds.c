#include "check_bounds.h"

#include <stdlib.h>

#include "../bounds.h"

/* Lines of k numbers each. Owned. */
struct lines {
    double *at;
    int64_t count, k;
    double *norm, *top; /* Σ|v| and max|v| of each */
};

static struct lines new_lines(int64_t count, int64_t k)
{
    struct lines lines = {check_host_numbers(count * k), count, k, check_host_numbers(count),
                          check_host_numbers(count)};
    return lines;
}

static void free_lines(const struct lines *lines)
{
    free(lines->at);
    free(lines->norm);
    free(lines->top);
}

static void measure_lines(const struct lines *lines)
{
    for (int64_t i = 0; i < lines->count; i++) {
        lines->norm[i] = lines->top[i] = 0;
        for (int64_t j = 0; j < lines->k; j++) {
            double size = fabs(lines->at[i * lines->k + j]);
            lines->norm[i] += size;
            lines->top[i] = fmax(lines->top[i], size);
        }
    }
}

/* Of x[count][k], or of x[k][count] where `turned`. */
static struct lines lines_of_halves(const nvt_half *x, int turned, int64_t count, int64_t k)
{
    struct lines lines = new_lines(count, k);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < k; j++)
            lines.at[i * k + j] = (double)nvt_half_value(x[turned ? j * count + i : i * k + j]);
    measure_lines(&lines);
    return lines;
}

static struct lines lines_of_bytes(const int8_t *x, int64_t count, int64_t k)
{
    struct lines lines = new_lines(count, k);
    for (int64_t i = 0; i < count * k; i++)
        lines.at[i] = x[i];
    return lines;
}

static double dot(const struct lines *a, int64_t row, const struct lines *b, int64_t column,
                  double *magnitude)
{
    const double *x = a->at + row * a->k, *y = b->at + column * b->k;
    double sum = 0, size = 0;
    for (int64_t i = 0; i < a->k; i++) {
        sum += x[i] * y[i];
        size += fabs(x[i] * y[i]);
    }
    *magnitude = size;
    return sum;
}

void check_half_product(struct check *check, const nvt_half *out, int transpose_a, int transpose_b,
                        const nvt_half *a, const nvt_half *b, int64_t m, int64_t n, int64_t k)
{
    if (!CHECK_IS_REFERENCE)
        return;
    struct check_expected expected = check_expect(check, out);
    struct lines left = lines_of_halves(a, transpose_a, m, k);
    struct lines right = lines_of_halves(b, !transpose_b, n, k);
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            double magnitude, y = dot(&left, row, &right, column, &magnitude);
            expected.values[row * n + column] = y;
            expected.bounds[row * n + column] = bound_of_halves_cut(y, magnitude, k);
        }
    free_lines(&left);
    free_lines(&right);
}

void check_int8_product(struct check *check, const nvt_half *out, const nvt_half *x,
                        const nvt_half *w, int turned, int shared, int64_t m, int64_t n, int64_t k)
{
    if (!CHECK_IS_REFERENCE)
        return;
    struct check_expected expected = check_expect(check, out);
    struct lines left = lines_of_halves(x, 0, m, k), right = lines_of_halves(w, turned, n, k);
    double all = 0;
    for (int64_t i = 0; i < n; i++)
        all = fmax(all, right.top[i]);
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            double magnitude, y = dot(&left, row, &right, column, &magnitude);
            expected.values[row * n + column] = y;
            expected.bounds[row * n + column] =
                bound_of_int8(y, left.norm[row], right.norm[column], left.top[row],
                              shared ? all : right.top[column], k);
        }
    free_lines(&left);
    free_lines(&right);
}

static void expect_scaled(const struct check_expected *expected, int64_t at, double sum, double sa,
                          double sb)
{
    double y = sum * sa * sb / (127 * 127);
    expected->values[at] = y;
    expected->bounds[at] = bound_scaled(y, 0);
}

void check_scaled(struct check *check, const nvt_half *out, const int32_t *acc, const float *sa,
                  const float *sb, int shared, int64_t rows, int64_t n)
{
    if (!CHECK_IS_REFERENCE)
        return;
    struct check_expected expected = check_expect(check, out);
    for (int64_t i = 0; i < rows * n; i++)
        expect_scaled(&expected, i, (double)acc[i], (double)sa[i / n],
                      (double)sb[shared ? 0 : i % n]);
}

void check_scaled_product(struct check *check, const nvt_half *out, const int8_t *a,
                          const float *sa, const int8_t *b, const float *sb, int shared,
                          int64_t rows, int64_t n, int64_t k)
{
    if (!CHECK_IS_REFERENCE)
        return;
    struct check_expected expected = check_expect(check, out);
    struct lines left = lines_of_bytes(a, rows, k), right = lines_of_bytes(b, n, k);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < n; column++) {
            double magnitude, sum = dot(&left, row, &right, column, &magnitude);
            expect_scaled(&expected, row * n + column, sum, (double)sa[row],
                          (double)sb[shared ? 0 : column]);
        }
    free_lines(&left);
    free_lines(&right);
}
