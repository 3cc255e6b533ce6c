#include "dropout.h"

#include "philox.h"
#include "real_math.h"

struct dropout_args {
    real *y;
    const real *x;
    int64_t n;
    real scale;
    uint32_t threshold;
    uint64_t seed, stream;
};

/* Four elements share a block of random words. */
NVT_KERNEL(dropout, dropout_args)
{
    FOR_THREADS(j, NVT_CHUNK_ELEMENTS / 4)
    {
        int64_t first = NVT_ELEMENT(row, 4 * j);
        uint32_t words[4];
        philox_block(words, (uint64_t)first / 4, a.stream, a.seed);
#ifdef __CUDACC__
        if (first + 4 <= a.n && !(((uintptr_t)a.x | (uintptr_t)a.y) % sizeof(nvt_four))) {
            nvt_four four = *(const nvt_four *)(a.x + first);
            for (int k = 0; k < 4; k++)
                four.at[k] = words[k] >= a.threshold ? four.at[k] * a.scale : 0;
            *(nvt_four *)(a.y + first) = four;
            continue;
        }
#endif
        for (int64_t i = first; i < first + 4 && i < a.n; i++)
            a.y[i] = words[i - first] >= a.threshold ? a.x[i] * a.scale : 0;
    }
}

void nvt_dropout(real *y, const real *x, int64_t n, double rate, uint64_t seed, uint64_t stream)
{
    struct dropout_args args = {
        y, x, n, (real)(1 / (1 - rate)), (uint32_t)(rate * 4294967296.0), seed, stream};
    NVT_LAUNCH(dropout, NVT_CHUNKS(n), args);
}
