#include "optimizer.h"

#include "copy.h"
#include "real_math.h"
#include "stored.h"

struct adamw_args {
    real *at[3]; /* w, m, v */
    void *copy;  /* stored; NULL: none */
    const real *g, *clock;
    int64_t n;
    struct nvt_adamw adamw;
};

struct advance_args {
    real *clock;
    struct nvt_adamw adamw;
};

/* clock: t, lr / (1 − b1ᵗ), 1 / √(1 − b2ᵗ). */
NVT_KERNEL(adamw_advance, advance_args)
{
    FOR_THREADS(i, 1)
    {
        double t = (double)a.clock[row] + 1;
        a.clock[row] = (real)t;
        a.clock[row + 1] = (real)((double)a.adamw.lr / (1 - pow((double)a.adamw.beta1, t)));
        a.clock[row + 2] = (real)(1 / sqrt(1 - pow((double)a.adamw.beta2, t)));
    }
}

NVT_DEVICE void adamw_of(real e[3], real g, const struct adamw_args *a)
{
    real rate = NVT_READ(a->clock[1]), root_scale = NVT_READ(a->clock[2]);
    g *= a->adamw.gradient_scale;
    e[1] = a->adamw.beta1 * e[1] + (1 - a->adamw.beta1) * g;
    e[2] = a->adamw.beta2 * e[2] + (1 - a->adamw.beta2) * g * g;
    e[0] = e[0] * (1 - a->adamw.lr * a->adamw.decay) -
           rate * e[1] / (real_sqrt(e[2]) * root_scale + a->adamw.epsilon);
}

#ifdef __CUDACC__
template <typename T>
static __device__ void keep_made(void *copy, int64_t first, const real *made, int count)
{
    T *out = (T *)copy + first;
    if (!copy)
        return;
    if (count == 4 && !((uintptr_t)out % sizeof(nvt_four_of<T>))) {
        nvt_four_of<T> four;
#pragma unroll
        for (int i = 0; i < 4; i++)
            NVT_KEEP(four.at[i], made[i]);
        *(nvt_four_of<T> *)out = four;
        return;
    }
    for (int i = 0; i < count; i++)
        NVT_KEEP(out[i], made[i]);
}

NVT_STORED_KERNEL(adamw_step, adamw_args)
{
    nvt_update_chunk<3>(
        row, a.n, a.at, a.g, [&](real *e, real g) { adamw_of(e, g, &a); },
        [&](int64_t first, const real *made, int count) {
            keep_made<nvt_stored>(a.copy, first, made, count);
        });
}
#else
NVT_UPDATE(adamw_step, adamw_args, 3, adamw_of)
#endif

void nvt_adamw_advance(real *clock, const struct nvt_adamw *adamw)
{
    struct advance_args args = {clock, *adamw};
    NVT_LAUNCH(adamw_advance, 1, args);
}

void nvt_adamw_step(enum nvt_precision precision, real *w, void *copy, const real *g, real *m,
                    real *v, int64_t n, const real *clock, const struct nvt_adamw *adamw)
{
    struct adamw_args args = {{w, m, v}, copy, g, clock, n, *adamw};
    NVT_LAUNCH_STORED(precision, adamw_step, NVT_CHUNKS(n), args);
#ifndef __CUDACC__
    if (copy)
        nvt_store(precision, copy, w, n);
#endif
}

struct sgd_args {
    real *at[2]; /* w, b */
    const real *g;
    int64_t n;
    struct nvt_sgd sgd;
};

NVT_DEVICE void sgd_of(real e[2], real g, const struct sgd_args *a)
{
    g = g * a->sgd.gradient_scale + a->sgd.decay * e[0];
    e[1] = a->sgd.momentum * e[1] + g;
    e[0] -= a->sgd.lr * (g + a->sgd.momentum * e[1]);
}

NVT_UPDATE(sgd_step, sgd_args, 2, sgd_of)

void nvt_sgd_step(real *w, const real *g, real *b, int64_t n, const struct nvt_sgd *sgd)
{
    struct sgd_args args = {{w, b}, g, n, *sgd};
    NVT_LAUNCH(sgd_step, NVT_CHUNKS(n), args);
}
