/*
 * One source, two backends. A kernel is written over rows, in the common subset of C and CUDA C++:
 *
 *   struct scale_args { real *x; real factor; int64_t n; };
 *   NVT_KERNEL(scale, scale_args)            // sees `row` and `a`
 *   {
 *       FOR_THREADS(i, a.n)
 *           a.x[row * a.n + i] *= a.factor;
 *   }
 *   …
 *   struct scale_args a = {x, 2, n};
 *   NVT_LAUNCH(scale, rows, a);
 *
 * On the host a row is an iteration of an OpenMP loop and FOR_THREADS a plain loop; on a device a row is
 * a block and FOR_THREADS a strided loop over its threads, between which block_sum, block_max and
 * block_sync stand. A kernel must not let a thread miss one of those.
 *
 * An element-wise kernel is out[i] = value(x[i], y[i], &a) for all a.n of them, in rows of a chunk; out, x and y are members
 * of the arguments, and may be one array:
 *
 *   NVT_DEVICE real sum_of(real x, real y, const struct add_args *a) { … }
 *   NVT_MAP(add, add_args, out, x, y, sum_of)
 *   …
 *   NVT_LAUNCH(add, NVT_CHUNKS(n), a);
 *
 * One that moves numbers on where they are is update(e, g[i], &a) for all a.n of them: e has the i-th numbers of the
 * a.at[0] … a.at[count - 1], gives them new values, and g is another array. No two of them overlap.
 *
 *   NVT_DEVICE void step_of(real e[2], real g, const struct step_args *a) { … }
 *   NVT_UPDATE(step, step_args, 2, step_of)
 *
 * NVT_READ(x[i]) is x[i], of a number that no thread but this one writes in this launch, and this one not before it has
 * read it: then a device may read it ahead of what was written before, whatever the pointers are.
 *
 * Kernels belong into kernels/ops: that folder is compiled by nvcc for a device. The folders above it are
 * plain C in both libraries and, with NVT_NO_KERNELS, refuse to have any.
 *
 * `real` is float; tests compile the same sources with NVT_REAL_DOUBLE to check gradients.
 */
#ifndef NVT_BACKEND_H
#define NVT_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "../lib/backend_facts.h"
#include "../lib/error.h"

#ifdef NVT_REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* Element-wise kernels take this many elements a row. */
#define NVT_CHUNK_ELEMENTS 4096
#define NVT_CHUNKS(n)      (((n) + NVT_CHUNK_ELEMENTS - 1) / NVT_CHUNK_ELEMENTS)

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define NVT_BLOCK 256
/* Four turns at once, of those that are left at the end too: a thread that waits for one number at a time uses a third of
 * the memory's bandwidth. (That makes two loops: nothing may `break` out of it.) */
#define FOR_THREADS(i, n)                                                                          \
    for (int64_t i##_ = threadIdx.x; i##_ < (n); i##_ += 4 * NVT_BLOCK)                            \
    _Pragma("unroll") for (int k_ = 0; k_ < 4; k_++) if (int64_t i = i##_ + k_ * NVT_BLOCK; i < (n))
#define NVT_READ(place) __ldg(&(place))
#define NVT_DEVICE      static __device__ __forceinline__
#define NVT_KERNEL(name, args)                                                                     \
    static __device__ void name##_row(int64_t row, struct args a);                                 \
    static __global__ void name(struct args a)                                                     \
    {                                                                                              \
        name##_row(blockIdx.x, a);                                                                 \
    }                                                                                              \
    static __device__ void name##_row(int64_t row, struct args a)
#define NVT_LAUNCH(name, rows, args) NVT_LAUNCH_THREADS(name, rows, NVT_BLOCK, args)
/* The same with blocks of another size, for kernels of a device alone. */
#define NVT_LAUNCH_THREADS(name, blocks, threads, args)                                            \
    do {                                                                                           \
        if ((blocks) > 0) {                                                                        \
            NVT_START(name, blocks, threads, args);                                                \
            nvt_backend_launched(#name);                                                           \
        }                                                                                          \
    } while (0)
#ifndef NVT_START /* tests/emulated has its own */
#define NVT_START(name, blocks, threads, args)                                                     \
    name<<<(unsigned)(blocks), threads, 0, nvt_backend_stream()>>>(args)
#endif
/* The stream of this thread; and: keep the error, if any, of the launch that was just made. */
cudaStream_t nvt_backend_stream(void);
void nvt_backend_launched(const char *kernel);

/* Sum or maximum over the block, the same in every thread. */
#define NVT_BLOCK_REDUCE(name, combine)                                                            \
    NVT_DEVICE real name(real value)                                                               \
    {                                                                                              \
        __shared__ real part[NVT_BLOCK / 32];                                                      \
        for (int step = 16; step; step /= 2) {                                                     \
            real other = __shfl_xor_sync(0xffffffffu, value, step);                                \
            value = combine;                                                                       \
        }                                                                                          \
        if (threadIdx.x % 32 == 0)                                                                 \
            part[threadIdx.x / 32] = value;                                                        \
        __syncthreads();                                                                           \
        value = part[0];                                                                           \
        for (int warp = 1; warp < NVT_BLOCK / 32; warp++) {                                        \
            real other = part[warp];                                                               \
            value = combine;                                                                       \
        }                                                                                          \
        __syncthreads();                                                                           \
        return value;                                                                              \
    }
NVT_BLOCK_REDUCE(block_sum, value + other)
NVT_BLOCK_REDUCE(block_max, value > other ? value : other)
#define NVT_SHARED   __shared__ /* an array that the threads of a row have in common */
#define block_sync() __syncthreads()

/* A chunk of an element-wise kernel: sixteen numbers a thread, all read before any is written. */
template <typename T> struct alignas(4 * sizeof(T)) nvt_four_of {
    T at[4];
};
typedef nvt_four_of<real> nvt_four;
template <typename T, typename X, typename F>
static __device__ __forceinline__ void nvt_map_chunk(int64_t row, int64_t n, T *out, const X *x,
                                                     const X *y, F value)
{
    const int turns = NVT_CHUNK_ELEMENTS / NVT_BLOCK / 4;
    int64_t first = row * NVT_CHUNK_ELEMENTS, rest = n - first;
    if (rest < NVT_CHUNK_ELEMENTS || ((uintptr_t)x | (uintptr_t)y) % sizeof(nvt_four_of<X>) ||
        (uintptr_t)out % sizeof(nvt_four_of<T>)) {
        for (int64_t i = threadIdx.x; i < rest && i < NVT_CHUNK_ELEMENTS; i += NVT_BLOCK)
            out[first + i] = value(x[first + i], y[first + i]);
        return;
    }
    nvt_four_of<X> xs[turns], ys[turns];
#pragma unroll
    for (int k = 0; k < turns; k++) {
        xs[k] = ((const nvt_four_of<X> *)(x + first))[threadIdx.x + k * NVT_BLOCK];
        ys[k] = ((const nvt_four_of<X> *)(y + first))[threadIdx.x + k * NVT_BLOCK];
    }
#pragma unroll
    for (int k = 0; k < turns; k++)
        ((nvt_four_of<T> *)(out + first))[threadIdx.x + k * NVT_BLOCK] = {
            {value(xs[k].at[0], ys[k].at[0]), value(xs[k].at[1], ys[k].at[1]),
             value(xs[k].at[2], ys[k].at[2]), value(xs[k].at[3], ys[k].at[3])}};
}
#define NVT_MAP(name, args, out, x, y, value)                                                      \
    NVT_KERNEL(name, args)                                                                         \
    {                                                                                              \
        nvt_map_chunk(row, a.n, a.out, a.x, a.y,                                                   \
                      [&](real x_, real y_) { return value(x_, y_, &a); });                        \
    }

/* A chunk of what moves on in place: twice eight numbers of each array a thread, all read before any is written. `made`
 * takes the places of four numbers of the first array, or of one, and what they have become. */
template <int COUNT, typename F, typename M>
static __device__ __forceinline__ void nvt_update_chunk(int64_t row, int64_t n, real *const *at,
                                                        const real *g, F update, M made)
{
    const int ahead = 2, fours = NVT_CHUNK_ELEMENTS / 4;
    int64_t first = row * NVT_CHUNK_ELEMENTS, rest = n - first;
    uintptr_t places = (uintptr_t)g;
    for (int c = 0; c < COUNT; c++)
        places |= (uintptr_t)at[c];
    if (rest < NVT_CHUNK_ELEMENTS || places % sizeof(nvt_four)) {
        for (int64_t i = threadIdx.x; i < rest && i < NVT_CHUNK_ELEMENTS; i += NVT_BLOCK) {
            real e[COUNT];
            for (int c = 0; c < COUNT; c++)
                e[c] = at[c][first + i];
            update(e, g[first + i]);
            for (int c = 0; c < COUNT; c++)
                at[c][first + i] = e[c];
            made(first + i, &e[0], 1);
        }
        return;
    }
    for (int i = threadIdx.x; i < fours; i += ahead * NVT_BLOCK) {
        nvt_four gs[ahead], es[COUNT][ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            gs[k] = ((const nvt_four *)(g + first))[i + k * NVT_BLOCK];
#pragma unroll
            for (int c = 0; c < COUNT; c++)
                es[c][k] = ((const nvt_four *)(at[c] + first))[i + k * NVT_BLOCK];
        }
#pragma unroll
        for (int k = 0; k < ahead; k++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                real e[COUNT];
#pragma unroll
                for (int c = 0; c < COUNT; c++)
                    e[c] = es[c][k].at[j];
                update(e, gs[k].at[j]);
#pragma unroll
                for (int c = 0; c < COUNT; c++)
                    es[c][k].at[j] = e[c];
            }
#pragma unroll
            for (int c = 0; c < COUNT; c++)
                ((nvt_four *)(at[c] + first))[i + k * NVT_BLOCK] = es[c][k];
            made(first + 4 * (i + k * NVT_BLOCK), es[0][k].at, 4);
        }
    }
}
#define NVT_UPDATE(name, args, count, update)                                                      \
    NVT_KERNEL(name, args)                                                                         \
    {                                                                                              \
        nvt_update_chunk<count>(                                                                   \
            row, a.n, a.at, a.g, [&](real *e_, real g_) { update(e_, g_, &a); },                   \
            [](int64_t, const real *, int) {});                                                    \
    }
#elif !defined(NVT_NO_KERNELS)
#define NVT_BLOCK              1
#define FOR_THREADS(i, n)      for (int64_t i = 0; i < (n); i++)
#define NVT_READ(place)        (place)
#define NVT_DEVICE             static inline
#define NVT_KERNEL(name, args) static void name(int64_t row, struct args a)
#ifdef _OPENMP
#define NVT_PARALLEL _Pragma("omp parallel for schedule(static) if (rows_ > 1)")
#else
#define NVT_PARALLEL
#endif
/* Few rows of little work are not worth waking threads for; the kernels here have long rows. */
#define NVT_LAUNCH(name, rows, args)                                                               \
    do {                                                                                           \
        const int64_t rows_ = (rows);                                                              \
        NVT_PARALLEL for (int64_t row_ = 0; row_ < rows_; row_++) name(row_, args);                \
    } while (0)
static inline real block_sum(real value)
{
    return value;
}
static inline real block_max(real value)
{
    return value;
}
#define NVT_SHARED
#define block_sync() ((void)0)
#define NVT_MAP(name, args, out, x, y, value)                                                      \
    NVT_KERNEL(name, args)                                                                         \
    {                                                                                              \
        const int64_t first_ = row * NVT_CHUNK_ELEMENTS, rest_ = a.n - first_;                     \
        for (int64_t i_ = first_;                                                                  \
             i_ < first_ + (rest_ < NVT_CHUNK_ELEMENTS ? rest_ : NVT_CHUNK_ELEMENTS); i_++)        \
            a.out[i_] = value(a.x[i_], a.y[i_], &a);                                               \
    }
#define NVT_UPDATE(name, args, count, update)                                                      \
    NVT_KERNEL(name, args)                                                                         \
    {                                                                                              \
        const int64_t first_ = row * NVT_CHUNK_ELEMENTS, rest_ = a.n - first_;                     \
        const int64_t end_ = first_ + (rest_ < NVT_CHUNK_ELEMENTS ? rest_ : NVT_CHUNK_ELEMENTS);   \
        for (int64_t i_ = first_; i_ < end_; i_++) {                                               \
            real e_[count];                                                                        \
            for (int c_ = 0; c_ < (count); c_++)                                                   \
                e_[c_] = a.at[c_][i_];                                                             \
            update(e_, a.g[i_], &a);                                                               \
            for (int c_ = 0; c_ < (count); c_++)                                                   \
                a.at[c_][i_] = e_[c_];                                                             \
        }                                                                                          \
    }
#else
#define NVT_DEVICE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- what a backend provides (kernels/host/backend.c, kernels/cuda/backend.cu) ------------------- */

/* Prepare the device and tell what it is. 0, or -1 with err when there is none. */
int nvt_backend_start(struct nvt_backend_facts *facts, struct nvt_error *err);

/* Wait until everything that was launched has ended. */
void nvt_backend_sync(void);

/* Whether anything has failed since this was last asked: 0, or -1 with err naming the first failure. */
int nvt_backend_failed(struct nvt_error *err);

/* Whether what nvt_backend_failed has told last failed for want of memory that is not nvt_backend_alloc's: the backend's own,
 * of its libraries, or a kernel's. Asking forgets it. */
int nvt_backend_was_full(void);

/* Raw memory of a device, for the caching allocator; NULL when there is none left. Any thread may ask for any device's, and
 * frees it for the same one. */
void *nvt_backend_alloc(int device, size_t bytes);
void nvt_backend_free(int device, void *memory);

/*
 * Devices, for work that is cut into parts: this process may use several, by numbers from 0, where every thread begins. The
 * host is one. What a thread launches after nvt_backend_use_device goes to stream 0 of that device, or stays on its stream
 * if it is on that device: 0, or -1 when there is no such device or it does not come up, which nvt_backend_failed tells; the
 * thread stays where it was then. Streams are numbered on each device by themselves. What is launched on a device may touch
 * its own memory alone, all but nvt_backend_copy_to: a copy on this thread's stream from its device's memory to
 * another's. nvt_backend_sync waits for all devices.
 */
#define NVT_DEVICES_MOST 16
int nvt_backend_devices(void); /* how many, once it has started */
int nvt_backend_device(void);  /* this thread's */
int nvt_backend_use_device(int device);
void nvt_backend_copy_to(int device, void *to, const void *from, size_t bytes);
/* Whether copies from one device to another go there straight, once both have been used. */
int nvt_backend_reaches(int from, int to);
/* 0, or -1 when there is no such device. */
int nvt_backend_device_name(int device, char *name, size_t size);

/*
 * Streams, for work that may overlap. What this thread launches from now on goes to stream `index` (0 is
 * where every thread begins). An event stands behind all that the thread's stream has been given so far;
 * a stream that waits for it runs nothing given later before that. NULL is an event that has passed. The
 * host has no streams: there events are NULL.
 */
#define NVT_STREAMS_MOST 96
void nvt_backend_use_stream(int index);
void *nvt_backend_stream_handle(void); /* this thread's, as CUDA knows it; NULL on the host */
void *nvt_backend_event(void);
void nvt_backend_wait_event(void *event); /* any number of times, on any thread */
void nvt_backend_free_event(void *event);

/* This thread is one of `workers` that compute at once: on the host it takes its share of the cores.
 * nvt_backend_share(1) takes all again. */
void nvt_backend_share(int workers);

/* Set bytes to zero; copy to and from the host (the copy to the host waits for the device). */
void nvt_backend_zero(void *memory, size_t bytes);
void nvt_backend_to_host(void *host, const void *device, size_t bytes);
void nvt_backend_to_device(void *device, const void *host, size_t bytes);

/*
 * Graphs: what this thread launches between begin and end is recorded and not run; it must take no memory,
 * wait for nothing and copy nothing to or from the host. A graph is run as a whole by replay, in the order
 * of the thread's stream. begin and end: 0 and the graph, or -1 and NULL with err; the host has none.
 */
int nvt_backend_graph_begin(struct nvt_error *err);
void *nvt_backend_graph_end(struct nvt_error *err);
void nvt_backend_graph_replay(void *graph);
void nvt_backend_graph_free(void *graph);

/*
 * c[m][n] = alpha · op(a)[m][k] · op(b)[k][n] + beta · c, all row-major and dense; op transposes where
 * its flag is set (a is then [k][m], b is [n][k]).
 */
void nvt_backend_matmul(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                        real alpha, const real *a, const real *b, real beta, real *c);

/* Many products of one shape: `count` times nvt_backend_matmul, the i-th of a + i·stride_a and so
 * on. */
struct nvt_matmul {
    int transpose_a, transpose_b;
    int64_t m, n, k;
    real alpha, beta;
    int64_t count, stride_a, stride_b, stride_c; /* strides in elements */
    enum nvt_precision precision;
    int c_is_stored; /* else c is real; sums are rounded once, as they are stored */
};
/* a and b are stored numbers of the precision. */
void nvt_backend_matmul_batched(const struct nvt_matmul *shape, const void *a, const void *b,
                                void *c);

/*
 * Stored numbers of a precision: as its products read them. Their bytes each: 2 of bf16 and fp16 on a device, rounded to
 * nearest and ties to even by the kernel that made them (kernels/ops/stored.h). Else they are `real`, and it is the product
 * that rounds them, as on the host. Arrays of stored numbers are `void *`.
 */
size_t nvt_backend_stored_bytes(enum nvt_precision precision);

/* Whether products of this precision are emulated: inputs rounded to it, then multiplied as float.
 * Such a product has the precision's numbers, never its speed. */
int nvt_backend_emulates(enum nvt_precision precision);

/*
 * c[m][n] = op(a)·op(b) of halves (IEEE binary16, as bits) with sums of float; not both transposed. The
 * device memory `scratch` holds nvt_backend_half_scratch bytes, which may be 0.
 */
size_t nvt_backend_half_scratch(int transpose_a, int64_t m, int64_t n, int64_t k);
void nvt_backend_matmul_half(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                             const uint16_t *a, const uint16_t *b, uint16_t *c, void *scratch);

/* c[m][n] = a[m][k]·b[n][k]ᵀ of 8-bit integers, exact as long as the sums fit 32 bits. */
void nvt_backend_matmul_int8(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b,
                             int32_t *c);

/* Whether these products are left to a plain loop, as the library's would not be exact, or has refused one so far: then
 * they have none of the machine's speed. */
int nvt_backend_int8_is_plain(void);

#ifdef __cplusplus
}
#endif
#endif
