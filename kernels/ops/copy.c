#include "copy.h"

#include "real_math.h"

struct copy_args {
    real *out;
    const real *x; /* NULL: the value */
    int64_t n;
    real value;
};

NVT_KERNEL(copy, copy_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS)
    {
        int64_t i = NVT_ELEMENT(row, j);
        if (i < a.n)
            a.out[i] = a.x ? a.x[i] : a.value;
    }
}

void nvt_copy(real *out, const real *x, int64_t n)
{
    struct copy_args args = {out, x, n, 0};
    NVT_LAUNCH(copy, NVT_CHUNKS(n), args);
}

void nvt_fill(real *out, int64_t n, real value)
{
    struct copy_args args = {out, NULL, n, value};
    NVT_LAUNCH(copy, NVT_CHUNKS(n), args);
}
