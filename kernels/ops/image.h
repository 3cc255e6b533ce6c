/*
 * Operations on images x[samples][height][width][channels], channels last, so that a convolution is one
 * matrix product of unrolled patches.
 */
#ifndef NVT_IMAGE_H
#define NVT_IMAGE_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A square window over images: each of height × width × channels gives out_height × out_width places. */
struct nvt_window {
    int64_t samples, height, width, channels;
    int64_t size, stride, padding;
    int64_t out_height, out_width; /* (height + 2·padding − size) / stride + 1, by nvt_window_of */
};
struct nvt_window nvt_window_of(int64_t samples, int64_t height, int64_t width, int64_t channels,
                                int64_t size, int64_t stride, int64_t padding);

/* patches[samples · out_height · out_width][size · size · channels], zero outside of the image; and back:
 * dx = the sum of what its places have in dpatches, in a fixed order. */
void nvt_unroll(const struct nvt_window *window, real *patches, const real *x);
void nvt_unroll_backward(const struct nvt_window *window, real *dx, const real *dpatches);

/* The largest of each window and channel, the first among equals, padding left out; at[] is its place in
 * the image (y · width + x). dx = Σ of dy over the windows that chose it. */
void nvt_max_pool_forward(const struct nvt_window *window, real *y, int32_t *at, const real *x);
void nvt_max_pool_backward(const struct nvt_window *window, real *dx, const real *dy,
                           const int32_t *at);

/* y[samples][channels] = mean over `places` of x[samples][places][channels], and its gradient. */
void nvt_mean_pool_forward(real *y, const real *x, int64_t samples, int64_t places,
                           int64_t channels);
void nvt_mean_pool_backward(real *dx, const real *dy, int64_t samples, int64_t places,
                            int64_t channels);

/*
 * Batch normalisation while training (Ioffe and Szegedy, 2015): columns of x[rows][n] by their own mean m
 * and deviation, y = g · (x − m) · r + b with r = 1/√(var + eps), var dividing by rows. Running statistics
 * are not kept. The gradient as for layer normalisation, by columns:
 * dx = g · r · (dy − mean(dy) − h · mean(dy · h)), h = (x − m) · r.
 */
void nvt_batchnorm_forward(real *y, real *m, real *r, const real *x, const real *g, const real *b,
                           int64_t rows, int64_t n, real eps);
void nvt_batchnorm_backward(real *dx, real *dg, real *db, const real *dy, const real *x,
                            const real *g, const real *m, const real *r, int64_t rows, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
