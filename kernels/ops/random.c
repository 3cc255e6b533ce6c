#include "ops.h"

#include <math.h>

#include "philox.h"

void nvt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = counter[i];
    philox(out, key[0], key[1]);
}

struct normal_args {
    real *out;
    int64_t n;
    uint64_t seed, stream;
    real scale;
};

/* Two numbers in (0, 1] and [0, 1) give two normal ones. */
NVT_KERNEL(fill_normal, normal_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS / 2)
    {
        int64_t i = row * NVT_CHUNK_ELEMENTS + 2 * j;
        if (i < a.n) {
            uint32_t c[4];
            philox_block(c, (uint64_t)i, a.stream, a.seed);
            double u = ((double)c[0] + 1) / 4294967296.0, v = (double)c[1] / 4294967296.0;
            double radius = sqrt(-2 * log(u)) * (double)a.scale, angle = 6.283185307179586 * v;
            a.out[i] = (real)(radius * cos(angle));
            if (i + 1 < a.n)
                a.out[i + 1] = (real)(radius * sin(angle));
        }
    }
}

void nvt_random_normal(real *out, int64_t n, uint64_t seed, uint64_t stream, real scale)
{
    struct normal_args args = {out, n, seed, stream, scale};
    NVT_LAUNCH(fill_normal, NVT_CHUNKS(n), args);
}
