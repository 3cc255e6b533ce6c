/*
 * Optimizer steps over n weights w with gradients g, in the form and order of PyTorch's
 * torch.optim. The gradient is first multiplied by gradient_scale: 1, or what undoes a scaled loss.
 */
#ifndef NVT_OPTIMIZER_H
#define NVT_OPTIMIZER_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * AdamW (Loshchilov and Hutter, 2019), steps t from 1:
 *   w ← w · (1 − lr · decay)
 *   m ← b1 · m + (1 − b1) · g,  v ← b2 · v + (1 − b2) · g²
 *   w ← w − lr · m/(1 − b1ᵗ) / (√(v/(1 − b2ᵗ)) + epsilon)
 */
struct nvt_adamw {
    real lr, beta1, beta2, epsilon, decay, gradient_scale;
};
/* The step's number and what follows from it, on the device, so that a recorded step can be
 * replayed: clock[3] begins as zeros, and each step of all weights begins with one advance. */
#define NVT_ADAMW_CLOCK 3
void nvt_adamw_advance(real *clock, const struct nvt_adamw *adamw);
/* copy[n], stored numbers of the precision, is what w has become; or NULL. */
void nvt_adamw_step(enum nvt_precision precision, real *w, void *copy, const real *g, real *m,
                    real *v, int64_t n, const real *clock, const struct nvt_adamw *adamw);

/*
 * SGD with Nesterov momentum (Sutskever et al., 2013, as in PyTorch); momentum starts from zero:
 *   g ← g + decay · w,  b ← momentum · b + g,  w ← w − lr · (g + momentum · b)
 */
struct nvt_sgd {
    real lr, momentum, decay, gradient_scale;
};
void nvt_sgd_step(real *w, const real *g, real *b, int64_t n, const struct nvt_sgd *sgd);

#ifdef __cplusplus
}
#endif
#endif
