#include "ops.h"

#include <math.h>

#ifdef __CUDACC__
#define BOTH static __host__ __device__ __forceinline__
#else
#define BOTH static inline
#endif

BOTH void philox_round(uint32_t *c, uint32_t key0, uint32_t key1)
{
    uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(b >> 32) ^ c1 ^ key0;
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c3 ^ key1;
    c[3] = (uint32_t)a;
}

BOTH void philox(uint32_t *c, uint32_t key0, uint32_t key1)
{
    for (int i = 0; i < 10; i++) {
        philox_round(c, key0, key1);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

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
            uint32_t c[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)a.stream,
                             (uint32_t)(a.stream >> 32)};
            philox(c, (uint32_t)a.seed, (uint32_t)(a.seed >> 32));
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
