/*
 * The host backend: plain memory, OpenMP loops, and OpenBLAS for matrix products.
 */
#include "../backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(HAVE_CBLAS)
#include <cblas.h>
#endif

const char *nvt_backend_name(void)
{
    return "host";
}

const char *nvt_backend_device(void)
{
    static char name[128];
    char line[256];
    FILE *file = name[0] ? NULL : fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof(line), file)) {
        char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (value && value[1]) {
            value[strcspn(value, "\n")] = 0;
            snprintf(name, sizeof(name), "%s", value + 2);
            break;
        }
    }
    if (file)
        fclose(file);
    return name[0] ? name : "unknown processor";
}

int nvt_backend_start(struct nvt_error *err)
{
    (void)err;
    return 0;
}

void nvt_backend_sync(void)
{
}

void *nvt_backend_alloc(size_t bytes)
{
    void *memory = NULL;
    return posix_memalign(&memory, 4096, bytes) ? NULL : memory;
}

void nvt_backend_free(void *memory)
{
    free(memory);
}

void nvt_backend_zero(void *memory, size_t bytes)
{
    memset(memory, 0, bytes);
}

void nvt_backend_to_host(void *host, const void *device, size_t bytes)
{
    memcpy(host, device, bytes);
}

void nvt_backend_to_device(void *device, const void *host, size_t bytes)
{
    memcpy(device, host, bytes);
}

#if defined(HAVE_CBLAS) && !defined(NVT_REAL_DOUBLE)
void nvt_backend_matmul(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, real alpha,
                        const real *a, const real *b, real beta, real *c)
{
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a,
                (int)(transpose_a ? m : k), b, (int)(transpose_b ? k : n), beta, c, (int)n);
}
#else
struct matmul_args {
    int transpose_a, transpose_b;
    int64_t m, n, k;
    real alpha, beta;
    const real *a, *b;
    real *c;
};

NVT_KERNEL(matmul, matmul_args)
{
    FOR_THREADS(column, a.n)
    {
        real sum = 0;
        for (int64_t i = 0; i < a.k; i++)
            sum += a.a[a.transpose_a ? i * a.m + row : row * a.k + i] *
                   a.b[a.transpose_b ? column * a.k + i : i * a.n + column];
        real *out = &a.c[row * a.n + column];
        *out = a.alpha * sum + (a.beta != 0 ? a.beta * *out : 0);
    }
}

void nvt_backend_matmul(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, real alpha,
                        const real *a, const real *b, real beta, real *c)
{
    struct matmul_args args = {transpose_a, transpose_b, m, n, k, alpha, beta, a, b, c};
    NVT_LAUNCH(matmul, m, args);
}
#endif
