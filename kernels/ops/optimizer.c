#include "optimizer.h"

#include "real_math.h"

struct adamw_args {
    real *w, *m, *v, *clock;
    const real *g, *time; /* time: the clock, of a step */
    int64_t n;
    struct nvt_adamw adamw;
};

/* clock: t, lr / (1 − b1ᵗ), 1 / √(1 − b2ᵗ). */
NVT_KERNEL(adamw_advance, adamw_args)
{
    FOR_THREADS(i, 1)
    {
        double t = (double)a.clock[row] + 1;
        a.clock[row] = (real)t;
        a.clock[row + 1] = (real)((double)a.adamw.lr / (1 - pow((double)a.adamw.beta1, t)));
        a.clock[row + 2] = (real)(1 / sqrt(1 - pow((double)a.adamw.beta2, t)));
    }
}

NVT_KERNEL(adamw_step, adamw_args)
{
    real rate = a.time[1], root_scale = a.time[2];
    real shrink = 1 - a.adamw.lr * a.adamw.decay;
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n) {
            real g = a.g[i] * a.adamw.gradient_scale;
            real m = a.adamw.beta1 * a.m[i] + (1 - a.adamw.beta1) * g;
            real v = a.adamw.beta2 * a.v[i] + (1 - a.adamw.beta2) * g * g;
            a.m[i] = m;
            a.v[i] = v;
            a.w[i] = a.w[i] * shrink - rate * m / (real_sqrt(v) * root_scale + a.adamw.epsilon);
        }
    }
}

void nvt_adamw_advance(real *clock, const struct nvt_adamw *adamw)
{
    struct adamw_args args = {NULL, NULL, NULL, clock, NULL, NULL, 1, *adamw};
    NVT_LAUNCH(adamw_advance, 1, args);
}

void nvt_adamw_step(real *w, const real *g, real *m, real *v, int64_t n, const real *clock,
                    const struct nvt_adamw *adamw)
{
    struct adamw_args args = {w, m, v, NULL, g, clock, n, *adamw};
    NVT_LAUNCH(adamw_step, NVT_CHUNKS(n), args);
}

struct sgd_args {
    real *w, *b;
    const real *g;
    int64_t n;
    struct nvt_sgd sgd;
};

NVT_KERNEL(sgd_step, sgd_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n) {
            real g = a.g[i] * a.sgd.gradient_scale + a.sgd.decay * a.w[i];
            real b = a.sgd.momentum * a.b[i] + g;
            a.b[i] = b;
            a.w[i] -= a.sgd.lr * (g + a.sgd.momentum * b);
        }
    }
}

void nvt_sgd_step(real *w, const real *g, real *b, int64_t n, const struct nvt_sgd *sgd)
{
    struct sgd_args args = {w, b, g, n, *sgd};
    NVT_LAUNCH(sgd_step, NVT_CHUNKS(n), args);
}
