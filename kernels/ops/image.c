#include "image.h"

#include "real_math.h"

struct nvt_window nvt_window_of(int64_t samples, int64_t height, int64_t width, int64_t channels,
                                int64_t size, int64_t stride, int64_t padding)
{
    struct nvt_window window = {samples, height, width, channels, size, stride, padding, 0, 0};
    window.out_height = (height + 2 * padding - size) / stride + 1;
    window.out_width = (width + 2 * padding - size) / stride + 1;
    return window;
}

struct window_args {
    struct nvt_window w;
    real *out;
    const real *x;
    int32_t *at;
};

/* A row is a place of the output. */
NVT_KERNEL(unroll, window_args)
{
    const struct nvt_window *w = &a.w;
    int64_t line = w->size * w->channels, length = w->size * line;
    int64_t column = row % w->out_width, rest = row / w->out_width;
    int64_t top = rest % w->out_height * w->stride - w->padding, sample = rest / w->out_height;
    int64_t left = column * w->stride - w->padding;
    FOR_THREADS(i, length)
    {
        int64_t y = top + i / line, x = left + i % line / w->channels, c = i % w->channels;
        int inside = y >= 0 && y < w->height && x >= 0 && x < w->width;
        a.out[row * length + i] =
            inside ? a.x[((sample * w->height + y) * w->width + x) * w->channels + c] : 0;
    }
}

/* A row is a place of the image: it collects from the windows that it lies in. */
NVT_KERNEL(unroll_backward, window_args)
{
    const struct nvt_window *w = &a.w;
    int64_t length = w->size * w->size * w->channels;
    int64_t x = row % w->width, y = row / w->width % w->height, sample = row / w->width / w->height;
    FOR_THREADS(c, w->channels)
    {
        real sum = 0;
        for (int64_t i = 0; i < w->size; i++)
            for (int64_t j = 0; j < w->size; j++) {
                int64_t top = y + w->padding - i, left = x + w->padding - j;
                int64_t v = top / w->stride, u = left / w->stride;
                if (top < 0 || left < 0 || top % w->stride || left % w->stride ||
                    v >= w->out_height || u >= w->out_width)
                    continue;
                int64_t place = (sample * w->out_height + v) * w->out_width + u;
                sum += a.x[place * length + (i * w->size + j) * w->channels + c];
            }
        a.out[row * w->channels + c] = sum;
    }
}

NVT_KERNEL(max_pool_forward, window_args)
{
    const struct nvt_window *w = &a.w;
    int64_t u = row % w->out_width, v = row / w->out_width % w->out_height;
    int64_t sample = row / w->out_width / w->out_height;
    FOR_THREADS(c, w->channels)
    {
        real best = 0;
        int32_t place = -1;
        for (int64_t i = 0; i < w->size * w->size; i++) {
            int64_t y = v * w->stride - w->padding + i / w->size;
            int64_t x = u * w->stride - w->padding + i % w->size;
            if (y < 0 || y >= w->height || x < 0 || x >= w->width)
                continue;
            real value = a.x[((sample * w->height + y) * w->width + x) * w->channels + c];
            if (place < 0 || value > best) {
                best = value;
                place = (int32_t)(y * w->width + x);
            }
        }
        a.out[row * w->channels + c] = best;
        a.at[row * w->channels + c] = place;
    }
}

NVT_KERNEL(max_pool_backward, window_args)
{
    const struct nvt_window *w = &a.w;
    int64_t x = row % w->width, y = row / w->width % w->height, sample = row / w->width / w->height;
    FOR_THREADS(c, w->channels)
    {
        real sum = 0;
        for (int64_t i = 0; i < w->size * w->size; i++) {
            int64_t top = y + w->padding - i / w->size, left = x + w->padding - i % w->size;
            int64_t v = top / w->stride, u = left / w->stride;
            if (top < 0 || left < 0 || top % w->stride || left % w->stride || v >= w->out_height ||
                u >= w->out_width)
                continue;
            int64_t place = ((sample * w->out_height + v) * w->out_width + u) * w->channels + c;
            if (a.at[place] == (int32_t)(y * w->width + x))
                sum += a.x[place];
        }
        a.out[row * w->channels + c] = sum;
    }
}

void nvt_unroll(const struct nvt_window *window, real *patches, const real *x)
{
    struct window_args args = {*window, patches, x, NULL};
    NVT_LAUNCH(unroll, window->samples * window->out_height * window->out_width, args);
}

void nvt_unroll_backward(const struct nvt_window *window, real *dx, const real *dpatches)
{
    struct window_args args = {*window, dx, dpatches, NULL};
    NVT_LAUNCH(unroll_backward, window->samples * window->height * window->width, args);
}

void nvt_max_pool_forward(const struct nvt_window *window, real *y, int32_t *at, const real *x)
{
    struct window_args args = {*window, y, x, at};
    NVT_LAUNCH(max_pool_forward, window->samples * window->out_height * window->out_width, args);
}

void nvt_max_pool_backward(const struct nvt_window *window, real *dx, const real *dy,
                           const int32_t *at)
{
    struct window_args args = {*window, dx, dy, (int32_t *)at};
    NVT_LAUNCH(max_pool_backward, window->samples * window->height * window->width, args);
}

/* --- means ------------------------------------------------------------------------------------------- */

struct mean_pool_args {
    real *out;
    const real *x;
    int64_t places, channels;
};

NVT_KERNEL(mean_pool_forward, mean_pool_args)
{
    FOR_THREADS(c, a.channels)
    {
        real sum = 0;
        for (int64_t i = 0; i < a.places; i++)
            sum += a.x[(row * a.places + i) * a.channels + c];
        a.out[row * a.channels + c] = sum / (real)a.places;
    }
}

NVT_KERNEL(mean_pool_backward, mean_pool_args)
{
    FOR_THREADS(i, a.places * a.channels)
    {
        a.out[row * a.places * a.channels + i] =
            a.x[row * a.channels + i % a.channels] / (real)a.places;
    }
}

void nvt_mean_pool_forward(real *y, const real *x, int64_t samples, int64_t places,
                           int64_t channels)
{
    struct mean_pool_args args = {y, x, places, channels};
    NVT_LAUNCH(mean_pool_forward, samples, args);
}

void nvt_mean_pool_backward(real *dx, const real *dy, int64_t samples, int64_t places,
                            int64_t channels)
{
    struct mean_pool_args args = {dx, dy, places, channels};
    NVT_LAUNCH(mean_pool_backward, samples, args);
}

/* --- batch normalisation: a row of the launch is a column -------------------------------------------- */

struct batchnorm_args {
    real *out, *m, *r, *dg, *db;
    const real *x, *dy, *g, *b;
    int64_t rows, n;
    real eps;
};

NVT_KERNEL(batchnorm_forward, batchnorm_args)
{
    real sum = 0, squares = 0;
    FOR_THREADS(i, a.rows)
    {
        sum += a.x[i * a.n + row];
    }
    real mean = block_sum(sum) / (real)a.rows;
    FOR_THREADS(i, a.rows)
    {
        real off = a.x[i * a.n + row] - mean;
        squares += off * off;
    }
    real r = 1 / real_sqrt(block_sum(squares) / (real)a.rows + a.eps);
    FOR_THREADS(i, a.rows)
    {
        a.out[i * a.n + row] = a.g[row] * (a.x[i * a.n + row] - mean) * r + a.b[row];
    }
    a.m[row] = mean;
    a.r[row] = r;
}

NVT_KERNEL(batchnorm_backward, batchnorm_args)
{
    real sum = 0, product = 0, mean = a.m[row], r = a.r[row];
    FOR_THREADS(i, a.rows)
    {
        real dy = a.dy[i * a.n + row];
        sum += dy;
        product += dy * (a.x[i * a.n + row] - mean) * r;
    }
    sum = block_sum(sum);
    product = block_sum(product);
    FOR_THREADS(i, a.rows)
    {
        real h = (a.x[i * a.n + row] - mean) * r;
        a.out[i * a.n + row] =
            a.g[row] * r * (a.dy[i * a.n + row] - sum / (real)a.rows - h * product / (real)a.rows);
    }
    FOR_THREADS(once, 1)
    {
        a.dg[row + once] += product;
        a.db[row + once] += sum;
    }
}

void nvt_batchnorm_forward(real *y, real *m, real *r, const real *x, const real *g, const real *b,
                           int64_t rows, int64_t n, real eps)
{
    struct batchnorm_args args = {y, m, r, NULL, NULL, x, NULL, g, b, rows, n, eps};
    NVT_LAUNCH(batchnorm_forward, n, args);
}

void nvt_batchnorm_backward(real *dx, real *dg, real *db, const real *dy, const real *x,
                            const real *g, const real *m, const real *r, int64_t rows, int64_t n)
{
    struct batchnorm_args args = {dx, (real *)m, (real *)r, dg, db, x, dy, g, NULL, rows, n, 0};
    NVT_LAUNCH(batchnorm_backward, n, args);
}
