/*
 * Operations of the workloads, each a pair of plain functions, forward and backward. Arrays are dense,
 * row-major and on the device; shapes stand behind each argument. Gradients are added to what is there
 * where a function says "+=", else written.
 */
#ifndef NVT_OPS_H
#define NVT_OPS_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- random.c -------------------------------------------------------------------------------------- */

/*
 * n normal numbers of mean 0 and deviation `scale`: element i is a function of (seed, stream, i) alone,
 * the same on every backend up to the rounding of log and cos. Philox4x32-10 (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011) and the Box-Muller transform.
 */
void nvt_random_normal(real *out, int64_t n, uint64_t seed, uint64_t stream, real scale);

/* Philox4x32-10: the four words of block `counter` of the generator `key`. For tests and dropout. */
void nvt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* --- softmax.c ------------------------------------------------------------------------------------- */

/* p[rows][n] = softmax of each row of x[rows][n]. */
void nvt_softmax_forward(real *p, const real *x, int64_t rows, int64_t n);

/* dx[rows][n] = p · (dp − Σ p·dp): gradient of softmax given its output p and dp. */
void nvt_softmax_backward(real *dx, const real *p, const real *dp, int64_t rows, int64_t n);

/* --- linear.c -------------------------------------------------------------------------------------- */

/* y[rows][n] = x[rows][k] · w[n][k]ᵀ + b[n]. */
void nvt_linear_forward(real *y, const real *x, const real *w, const real *b, int64_t rows,
                        int64_t n, int64_t k);

/* y[rows][n] += b[n]; and db[n] += Σ rows of dy[rows][n]. */
void nvt_bias_forward(real *y, const real *b, int64_t rows, int64_t n);
void nvt_bias_backward(real *db, const real *dy, int64_t rows, int64_t n);

/* Mean squared error of y[n] against t[n]: dy = 2 (y − t) / n. The loss itself is returned by
 * nvt_mse_loss, which waits for the device. */
void nvt_mse_backward(real *dy, const real *y, const real *t, int64_t n);
double nvt_mse_loss(const real *y, const real *t, int64_t n);

/*
 * One Adam step (Kingma and Ba, 2015, algorithm 1; epsilon outside the root's bias correction as in
 * PyTorch): w, g, m, v of n elements, step counts from 1.
 */
struct nvt_adam {
    real lr, beta1, beta2, epsilon;
};
void nvt_adam_step(real *w, const real *g, real *m, real *v, int64_t n, int64_t step,
                   const struct nvt_adam *adam);

/* --- fragment.c: x[batch][fragments][width], one selector s[fragments][width] ------------------------ */

/* score[batch][fragments] = Σ_i x · s. */
void nvt_score_forward(real *score, const real *x, const real *s, int64_t batch, int64_t fragments,
                       int64_t width);
/* ds[fragments][width] += Σ_b dscore[b][f] · x[b][f][i]. */
void nvt_score_backward(real *ds, const real *dscore, const real *x, int64_t batch,
                        int64_t fragments, int64_t width);

/* xs = p · x and xm = (1 − p) · x, every feature of a fragment by its p[batch][fragments]. */
void nvt_blend_forward(real *xs, real *xm, const real *p, const real *x, int64_t batch,
                       int64_t fragments, int64_t width);
/* dp[batch][fragments] = Σ_i x · (dxs − dxm). */
void nvt_blend_backward(real *dp, const real *dxs, const real *dxm, const real *x, int64_t batch,
                        int64_t fragments, int64_t width);

/* chosen[batch] = argmax of each row of score[batch][fragments], the first among equals. */
void nvt_choose(int32_t *chosen, const real *score, int64_t batch, int64_t fragments);

/* xm = x with the chosen fragment of each sample set to zero. */
void nvt_mask_chosen(real *xm, const real *x, const int32_t *chosen, int64_t batch,
                     int64_t fragments, int64_t width);

/* rows[0 … count) = the samples that chose fragment f, in order, and *count of them. */
void nvt_find_rows(int32_t *rows, int32_t *count, const int32_t *chosen, int64_t batch, int64_t f);

/* packed[n][width] = fragment f of samples rows[n] of x; out[rows[n]] = packed[n], of `width` each. */
void nvt_gather_fragment(real *packed, const real *x, const int32_t *rows, int64_t n, int64_t f,
                         int64_t fragments, int64_t width);
void nvt_scatter_rows(real *out, const real *packed, const int32_t *rows, int64_t n, int64_t width);

/* out[batch][columns] = x[b][chosen[b]] · e[chosen[b]], e[fragments][width][columns]: every sample by
 * its own fragment in one launch. */
void nvt_expert_forward(real *out, const real *x, const real *e, const int32_t *chosen,
                        int64_t batch, int64_t fragments, int64_t width, int64_t columns);
/* The same by the form that both backends have; on a device the one above has a faster one. */
void nvt_expert_forward_rows(real *out, const real *x, const real *e, const int32_t *chosen,
                             int64_t batch, int64_t fragments, int64_t width, int64_t columns);
/* de[f][i][o] += Σ over samples b that chose f of x[b][f][i] · dout[b][o]. */
void nvt_expert_backward(real *de, const real *x, const real *dout, const int32_t *chosen,
                         int64_t batch, int64_t fragments, int64_t width, int64_t columns);

#ifdef __cplusplus
}
#endif
#endif
