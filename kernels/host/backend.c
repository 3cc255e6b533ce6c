/*
 * The host backend: plain memory, OpenMP loops, and OpenBLAS for matrix products.
 */
#include "../backend.h"
#include "../../lib/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(HAVE_CBLAS) && !defined(NVT_REAL_DOUBLE)
#include <cblas.h>
#endif

#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl_version.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)

/* Without a bound the system would promise memory that it has not got, and kill for it later. */
static uint64_t available_memory(void)
{
    char line[256];
    uint64_t kib = 0, bytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "MemAvailable:", 13)) {
            kib = strtoull(line + 13, NULL, 10);
            break;
        }
    if (file)
        fclose(file);
    file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (file && fgets(line, sizeof(line), file))
        bytes = strtoull(line, NULL, 10); /* "max": 0 */
    if (file)
        fclose(file);
    return bytes && bytes < kib << 10 ? bytes : kib << 10;
}

/* What products of 8-bit integers are built with; low_precision.c says when it is not used. */
static void describe_int8(char *libraries, size_t size)
{
#ifdef HAVE_DNNL
    size_t used = strlen(libraries);
    snprintf(libraries + used, size - used, ", oneDNN %d.%d.%d", DNNL_VERSION_MAJOR,
             DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
#else
    (void)libraries;
    (void)size;
#endif
}

int nvt_backend_start(struct nvt_backend_facts *facts, struct nvt_error *err)
{
    (void)err;
    snprintf(facts->name, sizeof(facts->name), "host");
    nvt_processor_name(facts->device, sizeof(facts->device));
    facts->memory = available_memory();
#ifdef _OPENMP
    facts->threads = omp_get_max_threads();
#else
    facts->threads = 1;
#endif
    facts->devices = 1;
#if defined(HAVE_CBLAS) && !defined(NVT_REAL_DOUBLE)
    snprintf(facts->libraries, sizeof(facts->libraries), "%s, %d threads", openblas_get_config(),
             openblas_get_num_threads());
#else
    snprintf(facts->libraries, sizeof(facts->libraries), "no BLAS: plain loops");
#endif
    describe_int8(facts->libraries, sizeof(facts->libraries));
    return 0;
}

void nvt_backend_sync(void)
{
}

int nvt_backend_graph_begin(struct nvt_error *err)
{
    return nvt_fail(err, "the host backend has no graphs");
}

void *nvt_backend_graph_end(struct nvt_error *err)
{
    nvt_fail(err, "the host backend has no graphs");
    return NULL;
}

void nvt_backend_graph_replay(void *graph)
{
    (void)graph;
}

void nvt_backend_graph_free(void *graph)
{
    (void)graph;
}

void nvt_backend_use_stream(int index)
{
    (void)index;
}

void *nvt_backend_stream_handle(void)
{
    return NULL;
}

void *nvt_backend_event(void)
{
    return NULL;
}

void nvt_backend_wait_event(void *event)
{
    (void)event;
}

void nvt_backend_free_event(void *event)
{
    (void)event;
}

/* OpenBLAS counts its threads for the whole process, OpenMP for each thread that begins a region. */
void nvt_backend_share(int workers)
{
#ifdef _OPENMP
    int cores = omp_get_num_procs(), limit = omp_get_thread_limit();
    int all = limit < cores ? limit : cores;
    const char *asked = getenv("OMP_NUM_THREADS");
    if (asked && atoi(asked) > 0 && atoi(asked) < all)
        all = atoi(asked);
    int mine = workers < all ? all / (workers > 0 ? workers : 1) : 1;
    omp_set_num_threads(mine);
#if defined(HAVE_CBLAS) && !defined(NVT_REAL_DOUBLE)
    openblas_set_num_threads(mine);
#endif
#else
    (void)workers;
#endif
}

int nvt_backend_failed(struct nvt_error *err)
{
    (void)err;
    return 0;
}

int nvt_backend_was_full(void)
{
    return 0;
}

/* Large blocks on large pages: fewer misses of the address cache, and fewer faults while timed. */
void *nvt_backend_alloc(int device, size_t bytes)
{
    void *memory = NULL;
    (void)device;
    if (posix_memalign(&memory, bytes < HUGE_PAGE ? 4096 : HUGE_PAGE, bytes))
        return NULL;
    if (bytes >= HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void nvt_backend_free(int device, void *memory)
{
    (void)device;
    free(memory);
}

int nvt_backend_devices(void)
{
    return 1;
}

int nvt_backend_device(void)
{
    return 0;
}

int nvt_backend_use_device(int device)
{
    return device ? -1 : 0;
}

int nvt_backend_device_name(int device, char *name, size_t size)
{
    if (device)
        return -1;
    nvt_processor_name(name, size);
    return 0;
}

int nvt_backend_reaches(int from, int to)
{
    return from == to;
}

void nvt_backend_copy_to(int device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memcpy(to, from, bytes);
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
/* A result that is large beside its inputs: OpenBLAS goes over it once for beta, which zeroing does faster (by a fifth
 * to a quarter of the whole product at 2048 by 2048 by 8). */
static int is_zeroed_before(int64_t m, int64_t n, int64_t k, real beta)
{
    return beta == 0 && k <= 64 && m * n >= INT64_C(1) << 20;
}

void nvt_backend_matmul(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                        real alpha, const real *a, const real *b, real beta, real *c)
{
    if (is_zeroed_before(m, n, k, beta)) {
        nvt_backend_zero(c, (size_t)(m * n) * sizeof(real));
        beta = 1;
    }
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

void nvt_backend_matmul(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                        real alpha, const real *a, const real *b, real beta, real *c)
{
    struct matmul_args args = {transpose_a, transpose_b, m, n, k, alpha, beta, a, b, c};
    NVT_LAUNCH(matmul, m, args);
}
#endif
