#include "optimizer.h"

#include "real_math.h"

struct adamw_args {
    real *w, *m, *v;
    const real *g;
    int64_t n;
    real rate, shrink, root_scale;
    struct nvt_adamw adamw;
};

NVT_KERNEL(adamw_step, adamw_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n) {
            real g = a.g[i] * a.adamw.gradient_scale;
            real m = a.adamw.beta1 * a.m[i] + (1 - a.adamw.beta1) * g;
            real v = a.adamw.beta2 * a.v[i] + (1 - a.adamw.beta2) * g * g;
            a.m[i] = m;
            a.v[i] = v;
            a.w[i] =
                a.w[i] * a.shrink - a.rate * m / (real_sqrt(v) * a.root_scale + a.adamw.epsilon);
        }
    }
}

void nvt_adamw_step(real *w, const real *g, real *m, real *v, int64_t n, int64_t step,
                    const struct nvt_adamw *adamw)
{
    double correction1 = 1 - pow((double)adamw->beta1, (double)step);
    double correction2 = 1 - pow((double)adamw->beta2, (double)step);
    struct adamw_args args = {w,
                              m,
                              v,
                              g,
                              n,
                              (real)((double)adamw->lr / correction1),
                              (real)(1 - (double)adamw->lr * (double)adamw->decay),
                              (real)(1 / sqrt(correction2)),
                              *adamw};
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
