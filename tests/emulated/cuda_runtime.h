/*
 * A stand-in for CUDA's runtime, for tests on machines without a device: the sources of
 * libnvtally-cuda.so, kernels and all, compiled by the C++ compiler and run by the processor. It is
 * no device: it says nothing about speed, and its results are never shown as a device's.
 *
 * It is as unkind as the rules allow, so that what holds here by chance is rare:
 *
 *   - A block's threads are threads: each has a stack, and they meet only at __syncthreads and in
 *     shuffles. Between these they run in an order that EMULATED_SEED makes; so do blocks. Shared
 *     memory holds NaN when a block begins. A thread that misses a barrier, or meets others at
 *     another one, ends the program with a line.
 *   - What is given to a stream runs when somebody waits, not before, and of several streams that
 *     could go on a random one does. Memory is filled with NaN when the stream gets to taking it,
 *     and nobody may touch it any more when the stream gets to giving it back, nor what lies
 *     behind it.
 *   - A copy, a memset or a product beyond an allocation ends the program with a line.
 *   - Devices have memory, pools, streams and events of their own. What a stream is given fails unless its device is the
 *     current one, and so does an event that is recorded on a stream of another device. While a device runs, nobody may
 *     touch the memory of one that it was not given access to (a kernel that does ends the program), and what calls of the
 *     runtime are given must be memory of the device that they say or whose stream they are given to. A wait for a device
 *     waits for no other.
 *
 * What it has is what the backend uses; anything else is missing when it is compiled. Environment:
 *   EMULATED_SEED=N        another order of everything that has none (1)
 *   EMULATED_MEMORY=BYTES  of the device (1 GiB); what the pool keeps counts
 *   EMULATED_POOL=0        a device without memory pools
 *   EMULATED_DEVICES=N     how many there are (1), 16 at most
 *   EMULATED_NUMBERED=1    devices of different kinds: each has its number in its name
 *   EMULATED_PEERS=0       no device can be given access to another's memory
 *   EMULATED_FAIL=CALL:N   the N-th call of that name fails with cudaErrorUnknown
 *   EMULATED_FULL=CALL:N   the N-th call of that name finds no memory
 *   EMULATED_LOSE=KERNEL   behind its launch every call of this process fails, as behind an illegal address
 *   EMULATED_REFUSE=FORM   products of 8-bit integers (int8), with a bias (bias), or without a workspace (bare) are
 *                          not supported
 *   EMULATED_IGNORE=LIST   barriers, waits, products and the mode of cuBLAS do nothing, frees are done at once, the device
 *                          never changes (devices), copies between devices are made by one that reaches the other's memory
 *                          only where it was given access (staging): to see that a test finds it. work: nothing is computed or moved, and no memory is
 *                          touched, so that what a run of any size would take is known in seconds
 */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

/* --- the language ------------------------------------------------------------------------------ */

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads)
/* One block runs at a time, so one copy does; the section lets it be poisoned as a whole. */
#define __shared__     static __attribute__((section("emulated_shared")))
#define __ldg(address) (*(address))

struct uint3 {
    unsigned x, y, z;
};

struct float2 {
    float x, y;
};

static inline float2 make_float2(float x, float y)
{
    return {x, y};
}

/* Where the thread that runs just now stands. */
struct emulated_place {
    uint3 thread, block;
};
extern emulated_place *emulated_here;
#define threadIdx (emulated_here->thread)
#define blockIdx  (emulated_here->block)

/* Wait for the block, or exchange with lane ^ step of the warp. `at` tells places in the source
 * apart. */
void emulated_barrier(int at, const char *file, int line);
uint64_t emulated_exchange(uint64_t bits, int step, int at, const char *file, int line);
#define __syncthreads() emulated_barrier(__COUNTER__, __FILE__, __LINE__)

template <typename T>
static inline T emulated_shuffle(T value, int step, int at, const char *file, int line)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(value));
    bits = emulated_exchange(bits, step, at, file, line);
    memcpy(&value, &bits, sizeof(value));
    return value;
}
/* All lanes take part: the mask is all ones wherever the sources use it. */
#define __shfl_xor_sync(mask, value, step)                                                         \
    emulated_shuffle(value, (static_cast<void>(mask), step), __COUNTER__, __FILE__, __LINE__)

/* A bit for each lane where it is so; the warp meets five times for it. */
static inline unsigned emulated_ballot(bool predicate, int at, const char *file, int line)
{
    unsigned bits = predicate ? 1u << threadIdx.x % 32 : 0;
    for (int step = 16; step; step /= 2)
        bits |= emulated_shuffle(bits, step, at, file, line);
    return bits;
}
#define __ballot_sync(mask, predicate)                                                             \
    emulated_ballot((static_cast<void>(mask), predicate), __COUNTER__, __FILE__, __LINE__)
#define __ffs(bits) __builtin_ffs(static_cast<int>(bits))

/* --- the runtime ------------------------------------------------------------------------------- */

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidConfiguration,
    cudaErrorNoDevice,
    cudaErrorInvalidDevice,
    cudaErrorInvalidResourceHandle,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorStreamCaptureInvalidated,
    cudaErrorIllegalState,
    cudaErrorPeerAccessAlreadyEnabled,
    cudaErrorUnknown,
};

typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct emulated_pool *cudaMemPool_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaDeviceAttr { cudaDevAttrMemoryPoolsSupported };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemAccessFlags { cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtReadWrite = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum { cudaStreamNonBlocking, cudaEventDisableTiming };

struct cudaDeviceProp {
    char name[256];
};

struct cudaMemAccessDesc {
    struct {
        cudaMemLocationType type;
        int id;
    } location;
    cudaMemAccessFlags flags;
};

cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t status);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *to, size_t count);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventDestroy(cudaEvent_t event);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);

/* Only nvcc knows <<<…>>>. */
void emulated_launch(const char *name, int64_t blocks, unsigned threads, cudaStream_t stream,
                     std::function<void()> thread);
#define NVT_START(kernel, blocks, threads, args)                                                   \
    emulated_launch(#kernel, blocks, threads, nvt_backend_stream(),                                \
                    [args_ = args] { kernel(args_); })

#endif
