/*
 * The operations of convolutional networks, and sums and thresholds of vectors.
 */
#include "../../kernels/ops/image.h"
#include "../../kernels/ops/vector.h"
#include "check_arrays.h"

/* --- images: samples, height, channels, size of the window --- */

/* One wider than high, strides of 2 where the window is larger than that. */
static struct nvt_window window_of(const int64_t *s)
{
    return nvt_window_of(s[0], s[1], s[1] + 1, s[2], s[3], s[3] > 2 ? 2 : 1, s[3] / 2);
}

static int64_t pixels(const struct nvt_window *w)
{
    return w->samples * w->height * w->width * w->channels;
}

static int64_t places(const struct nvt_window *w)
{
    return w->samples * w->out_height * w->out_width * w->channels;
}

OP(unroll)
{
    struct nvt_window w = window_of(s);
    const real *x = check_in(c, "x", pixels(&w));
    nvt_unroll(&w, check_out(c, "patches", places(&w) * s[3] * s[3]), x);
}

OP(unroll_backward)
{
    struct nvt_window w = window_of(s);
    const real *dpatches = check_in(c, "dpatches", places(&w) * s[3] * s[3]);
    nvt_unroll_backward(&w, check_out(c, "dx", pixels(&w)), dpatches);
}

OP(max_pool_forward)
{
    struct nvt_window w = window_of(s);
    const real *x = check_in(c, "x", pixels(&w));
    real *y = check_out(c, "y", places(&w));
    nvt_max_pool_forward(&w, y, check_out_indices(c, "at", places(&w)), x);
}

/* Places that a forward pass has chosen. */
OP(max_pool_backward)
{
    struct nvt_window w = window_of(s);
    const real *x = check_in(c, "x", pixels(&w)), *dy = check_in(c, "dy", places(&w));
    int32_t *at = check_out_indices(c, "at", places(&w));
    nvt_max_pool_forward(&w, check_out(c, "y", places(&w)), at, x);
    nvt_max_pool_backward(&w, check_out(c, "dx", pixels(&w)), dy, at);
}

OP(mean_pool_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1] * s[2]);
    nvt_mean_pool_forward(check_out(c, "y", s[0] * s[2]), x, s[0], s[1], s[2]);
}

OP(mean_pool_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[2]);
    nvt_mean_pool_backward(check_out(c, "dx", s[0] * s[1] * s[2]), dy, s[0], s[1], s[2]);
}

/* --- rows, n --- */

OP(batchnorm_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1]), *g = check_in(c, "g", s[1]);
    const real *b = check_in(c, "b", s[1]);
    real *y = check_out(c, "y", s[0] * s[1]), *m = check_out(c, "m", s[1]);
    nvt_batchnorm_forward(y, m, check_out(c, "r", s[1]), x, g, b, s[0], s[1], (real)1e-2);
}

OP(batchnorm_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[1]), *x = check_in(c, "x", s[0] * s[1]);
    const real *g = check_in(c, "g", s[1]), *m = check_in(c, "m", s[1]);
    const real *r = check_positive(c, "r", s[1]);
    real *dx = check_out(c, "dx", s[0] * s[1]), *dg = check_both(c, "dg", s[1]);
    nvt_batchnorm_backward(dx, dg, check_both(c, "db", s[1]), dy, x, g, m, r, s[0], s[1]);
}

OP(add)
{
    const real *x = check_in(c, "x", s[0] * s[1]);
    nvt_add(check_both(c, "y", s[0] * s[1]), x, s[0] * s[1]);
}

OP(relu_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1]);
    nvt_relu_forward(check_out(c, "y", s[0] * s[1]), x, s[0] * s[1]);
}

OP(relu_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[1]), *y = check_in(c, "y", s[0] * s[1]);
    nvt_relu_backward(check_out(c, "dx", s[0] * s[1]), dy, y, s[0] * s[1]);
}

#define IMAGES                                                                                     \
    {1, 4, 2, 2}, {3, 9, 5, 3},                                                                    \
    {                                                                                              \
        2, 16, 64, 7                                                                               \
    }

/* clang-format off */
const struct check_line check_images[] = {
    LINE(unroll, EXACT, IMAGES),
    LINE(unroll_backward, SUMS, IMAGES),
    LINE(max_pool_forward, EXACT, IMAGES),
    LINE(max_pool_backward, SUMS, IMAGES),
    LINE(mean_pool_forward, SUMS, IMAGES),
    LINE(mean_pool_backward, CLOSE, IMAGES),
    LINE(batchnorm_forward, SUMS, ROWS),
    LINE(batchnorm_backward, SUMS, ROWS),
    LINE(add, CLOSE, ROWS),
    LINE(relu_forward, EXACT, ROWS),
    LINE(relu_backward, EXACT, ROWS),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
