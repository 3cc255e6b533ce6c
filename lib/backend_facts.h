/*
 * What a backend of the workloads is (host or CUDA), and what it reaches: what rows, env.json and the cache of peaks say
 * of it.
 */
#ifndef NVT_BACKEND_FACTS_H
#define NVT_BACKEND_FACTS_H

#include <stdint.h>

#define NVT_DEVICE_NAME_SIZE 128

/* What a backend is. */
struct nvt_backend_facts {
    char name[16];                     /* "host" or "cuda" */
    char device[NVT_DEVICE_NAME_SIZE]; /* the processor or the GPU; of several the first */
    char libraries[256]; /* what it computes with, and versions: "OpenBLAS 0.3.21 …" */
    uint64_t memory;     /* bytes that it may take at most, 0: it finds out by trying */
    int threads;         /* of the host that compute, 0 for a device */
    int devices;         /* that this process may use, at least 1 */
};

/* The precision in which a GEMM reads its inputs; sums are of at least float. How these lie in memory is the backend's to
 * say (nvt_backend_stored_bytes in kernels/backend.h). */
enum nvt_precision { NVT_FP32, NVT_TF32, NVT_BF16, NVT_FP16 };

/* The backend's peaks: the best of several runs of a large GEMM and a large copy. */
struct nvt_peak {
    double flops[4]; /* FLOP/s of a product by enum nvt_precision; 0 where it is emulated */
    /* Operations/s of a product of 8-bit integers, counted as FLOPs are; 0 where it is a plain loop. */
    double int8;
    double bytes; /* bytes/s of a copy, those read and those written */
};

#endif
