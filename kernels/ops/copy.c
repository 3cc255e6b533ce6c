#include "copy.h"

#include "stored.h"

struct copy_args {
    real *out;
    const real *x;
    int64_t n;
    real value;
};

NVT_DEVICE real copied(real x, real y, const struct copy_args *a)
{
    (void)y;
    (void)a;
    return x;
}

NVT_DEVICE real filled(real x, real y, const struct copy_args *a)
{
    (void)x;
    (void)y;
    return a->value;
}

NVT_MAP(copy, copy_args, out, x, x, copied)
/* What was there is not looked at. */
NVT_MAP(fill_with, copy_args, out, x, x, filled)

void nvt_copy(real *out, const real *x, int64_t n)
{
    struct copy_args args = {out, x, n, 0};
    NVT_LAUNCH(copy, NVT_CHUNKS(n), args);
}

void nvt_fill(real *out, int64_t n, real value)
{
    struct copy_args args = {out, out, n, value};
    NVT_LAUNCH(fill_with, NVT_CHUNKS(n), args);
}

struct store_args {
    void *out;
    const real *x;
    int64_t n;
};

NVT_STORED_KERNEL(store_numbers, store_args)
{
    int64_t first = row * NVT_CHUNK_ELEMENTS, rest = a.n - first;
    nvt_stored *out = (nvt_stored *)a.out + first;
    FOR_THREADS(i, rest < NVT_CHUNK_ELEMENTS ? rest : NVT_CHUNK_ELEMENTS)
    {
        NVT_KEEP(out[i], NVT_READ(a.x[first + i]));
    }
}

void nvt_store(enum nvt_precision precision, void *out, const real *x, int64_t n)
{
    struct store_args args = {out, x, n};
    NVT_LAUNCH_STORED(precision, store_numbers, NVT_CHUNKS(n), args);
}
