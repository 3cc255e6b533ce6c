/*
 * Philox4x32-10, the counter-based generator: Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011. Four random words are a function of a counter of four words and a key of two,
 * so that any thread finds the numbers of any element, and finds them again in the backward pass.
 */
#ifndef NVT_PHILOX_H
#define NVT_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define NVT_BOTH static __host__ __device__ __forceinline__
#else
#define NVT_BOTH static inline
#endif

NVT_BOTH void philox_round(uint32_t *c, uint32_t key0, uint32_t key1)
{
    uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(b >> 32) ^ c1 ^ key0;
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c3 ^ key1;
    c[3] = (uint32_t)a;
}

/* The counter c becomes its four random words. */
NVT_BOTH void philox(uint32_t *c, uint32_t key0, uint32_t key1)
{
    for (int i = 0; i < 10; i++) {
        philox_round(c, key0, key1);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* The words of block `block` of the stream `stream` of a seed. */
NVT_BOTH void philox_block(uint32_t *words, uint64_t block, uint64_t stream, uint64_t seed)
{
    words[0] = (uint32_t)block;
    words[1] = (uint32_t)(block >> 32);
    words[2] = (uint32_t)stream;
    words[3] = (uint32_t)(stream >> 32);
    philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
}

#endif
