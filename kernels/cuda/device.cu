/*
 * The CUDA backend's device: its start, streams, memory and errors. One device, the first that
 * CUDA_VISIBLE_DEVICES leaves; of several ranks on one host each takes the next. Streams wait for nothing but the events that they are told to.
 */
#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started;
static char first_failure[256];
static int was_full; /* for want of memory something has failed that does not answer with NULL */
static cudaMemPool_t pool;
static cudaStream_t streams[NVT_STREAMS_MOST];
static cublasHandle_t handles[NVT_STREAMS_MOST];
static void *workspaces[NVT_STREAMS_MOST]; /* of the handles */
static struct {
    void *memory;
    size_t bytes;
} scratch[NVT_STREAMS_MOST][2];
static int stream_count;           /* streams made so far */
static cudaStream_t memory_stream; /* on which memory comes and goes; nothing else waits in it */
static int device;                 /* of this process */
static thread_local int current;   /* this thread's stream */
static thread_local int chosen;    /* whether this thread was told the device */

/* --- errors --- */

static void keep(const char *what, const char *why, int is_full)
{
    pthread_mutex_lock(&lock);
    if (!first_failure[0]) {
        snprintf(first_failure, sizeof(first_failure), "%s: %s", what, why);
        was_full = is_full;
    }
    pthread_mutex_unlock(&lock);
}

/* A kernel is loaded when it is first launched, and that, too, takes memory. */
int nvt_cuda_note(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        keep(what, cudaGetErrorString(status), status == cudaErrorMemoryAllocation);
    return status != cudaSuccess;
}

int nvt_cublas_note(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        keep(what, cublasGetStatusString(status), status == CUBLAS_STATUS_ALLOC_FAILED);
    return status != CUBLAS_STATUS_SUCCESS;
}

/* Reading the error of a launch also forgets it, so it is not taken for that of the next call. */
void nvt_backend_launched(const char *kernel)
{
    nvt_cuda_note(cudaGetLastError(), kernel);
}

/* What is told once is forgotten: a context that is lost fails again at the next wait. */
int nvt_backend_failed(struct nvt_error *err)
{
    nvt_cuda_note(cudaGetLastError(), "the device");
    pthread_mutex_lock(&lock);
    int status = first_failure[0] ? nvt_fail(err, "CUDA: %s", first_failure) : 0;
    first_failure[0] = 0;
    pthread_mutex_unlock(&lock);
    return status;
}

int nvt_backend_was_full(void)
{
    pthread_mutex_lock(&lock);
    int is_full = was_full;
    was_full = 0;
    pthread_mutex_unlock(&lock);
    return is_full;
}

/* --- start --- */

/* "CUDA 13.0, driver 13.0, cuBLAS 13.0.2" */
static void describe_libraries(char *out, size_t size)
{
    int runtime = 0, driver = 0, parts[3] = {0};
    static const libraryPropertyType properties[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    for (int i = 0; i < 3; i++)
        cublasGetProperty(properties[i], &parts[i]);
    snprintf(out, size, "CUDA %d.%d, driver %d.%d, cuBLAS %d.%d.%d", runtime / 1000,
             runtime % 1000 / 10, driver / 1000, driver % 1000 / 10, parts[0], parts[1], parts[2]);
}

/* Why there is no device: CUDA itself calls a missing driver one that is too old. */
static int explain(cudaError_t status, struct nvt_error *err)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || !driver)
        return nvt_fail(err, "there is no CUDA driver (libcuda.so.1 is not found)");
    return nvt_fail(err, "%s", cudaGetErrorString(status));
}

/* Which of the devices is this rank's, by the launcher's count of ranks on this host. */
static int device_of_rank(int count)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};
    for (int i = 0; i < 3; i++) {
        const char *rank = getenv(names[i]);
        if (rank && *rank)
            return atoi(rank) > 0 ? atoi(rank) % count : 0;
    }
    return 0;
}

/* Freed memory stays with the pool until it is trimmed: the allocator above decides what goes back.
 */
static int prepare_pool(void)
{
    uint64_t threshold = UINT64_MAX;
    int supported = 0;
    cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    if (!supported)
        return 0;
    if (nvt_cuda_note(cudaDeviceGetDefaultMemPool(&pool, device), "the memory pool"))
        return -1;
    return nvt_cuda_note(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
                         "the memory pool");
}

/* What is unused goes back to the device. Nothing is that the host has not waited for. */
static void empty_pool(void)
{
    nvt_backend_sync();
    nvt_cuda_note(cudaMemPoolTrimTo(pool, 0), "the memory pool");
}

/*
 * The stream and memory's, unless they are there. A device takes what it is given from a few queues, 8 as a rule, which are
 * dealt out to streams as they are made, and what waits in one holds up the streams that share it. So no others are made
 * than are used: a rank's partition computes, sends and receives on five.
 */
static int make_stream(int index)
{
    cudaStream_t made = NULL;
    cudaError_t status = cudaSuccess;
    pthread_mutex_lock(&lock);
    if (!memory_stream)
        status = cudaStreamCreateWithFlags(&memory_stream, cudaStreamNonBlocking);
    if (!streams[index] && status == cudaSuccess) {
        status = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
        if (status == cudaSuccess) {
            streams[index] = made;
            stream_count++;
        }
    }
    pthread_mutex_unlock(&lock);
    return nvt_cuda_note(status, "a stream");
}

/* What cuBLAS takes for itself on the devices that want most. */
#define WORKSPACE_BYTES ((size_t)32 << 20)

/* A graph would take a workspace of cuBLAS's own anew for each of its products, whenever it runs. Where there is no
 * memory for one, that is what happens, and products with a bias have fewer forms: it is said once, and the next run tries
 * again. It is none of the pool's, as cuBLAS's own is not, and there until the end. */
static cublasStatus_t give_workspace(cublasHandle_t handle, int stream)
{
    static int told;
    void *memory = NULL;
    if (cudaMalloc(&memory, WORKSPACE_BYTES) != cudaSuccess) {
        cudaGetLastError();
        if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
            fprintf(stderr,
                    "nvtally: the device has no %zu MiB left for cuBLAS to work in: its products "
                    "may take longer\n",
                    WORKSPACE_BYTES >> 20);
        return CUBLAS_STATUS_SUCCESS;
    }
    workspaces[stream] = memory;
    return cublasSetWorkspace(handle, memory, WORKSPACE_BYTES);
}

/* What a run before this one left no room for. */
static void give_missing_workspaces(void)
{
    for (int i = 0; i < NVT_STREAMS_MOST; i++)
        if (handles[i] && !workspaces[i])
            nvt_cublas_note(give_workspace(handles[i], i), "cuBLAS");
}

int nvt_backend_start(struct nvt_backend_facts *facts, struct nvt_error *err)
{
    int count = 0;
    cudaDeviceProp properties;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || !count)
        return explain(status == cudaSuccess ? cudaErrorNoDevice : status, err);
    device = device_of_rank(count);
    status = cudaSetDevice(device);
    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(&properties, device);
    /* The context: a device that others hold exclusively, or that is broken, shows only now. */
    if (status == cudaSuccess)
        status = cudaFree(NULL);
    if (status != cudaSuccess)
        return explain(status, err);
    snprintf(facts->name, sizeof(facts->name), "cuda");
    snprintf(facts->device, sizeof(facts->device), "%.127s", properties.name);
    describe_libraries(facts->libraries, sizeof(facts->libraries));
    facts->memory = 0;
    facts->threads = 0;
    /* What a run before this one has left there is in the way of all that is none of the pool's: cuBLAS's workspaces, and
     * kernels, which are loaded when they are first called. */
    if (started && pool)
        empty_pool();
    if (started)
        give_missing_workspaces();
    if (!started && (prepare_pool() || make_stream(0)))
        return nvt_backend_failed(err);
    started = 1;
    return 0;
}

/* --- streams --- */

cudaStream_t nvt_backend_stream(void)
{
    return streams[current];
}

void nvt_backend_use_stream(int index)
{
    if (index < 0 || index >= NVT_STREAMS_MOST) {
        keep("a stream", "beyond NVT_STREAMS_MOST", 0);
        return;
    }
    /* A thread begins with the first device, whatever the others have. */
    if (!chosen && device && nvt_cuda_note(cudaSetDevice(device), "the device"))
        return;
    chosen = 1;
    if (!make_stream(index))
        current = index;
}

void *nvt_backend_stream_handle(void)
{
    return streams[current];
}

void *nvt_backend_event(void)
{
    cudaEvent_t event = NULL;
    if (nvt_cuda_note(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"))
        return NULL;
    nvt_cuda_note(cudaEventRecord(event, streams[current]), "an event");
    return event;
}

void nvt_backend_wait_event(void *event)
{
    if (event)
        nvt_cuda_note(cudaStreamWaitEvent(streams[current], (cudaEvent_t)event, 0), "an event");
}

/* One that has not happened yet is destroyed when it has. */
void nvt_backend_free_event(void *event)
{
    if (event)
        nvt_cuda_note(cudaEventDestroy((cudaEvent_t)event), "an event");
}

void nvt_backend_share(int workers)
{
    (void)workers;
}

void nvt_backend_sync(void)
{
    nvt_cuda_note(cudaDeviceSynchronize(), "waiting for the device");
}

void *nvt_cublas_workspace(size_t *bytes)
{
    *bytes = workspaces[current] ? WORKSPACE_BYTES : 0;
    return workspaces[current];
}

/* The stream first: it takes the workspace away. Sums are of float, also where a product is split into several whose parts
 * are added up: without this mode cuBLAS may round those to the result's halves first. */
cublasHandle_t nvt_cublas_handle(void)
{
    pthread_mutex_lock(&lock);
    cublasHandle_t handle = handles[current];
    pthread_mutex_unlock(&lock);
    if (handle)
        return handle;
    if (nvt_cublas_note(cublasCreate(&handle), "cuBLAS"))
        return NULL;
    if (nvt_cublas_note(cublasSetStream(handle, streams[current]), "cuBLAS") ||
        nvt_cublas_note(cublasSetMathMode(handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                        "cuBLAS") ||
        nvt_cublas_note(give_workspace(handle, current), "cuBLAS")) {
        cublasDestroy(handle);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (!handles[current])
        handles[current] = handle;
    pthread_mutex_unlock(&lock);
    return handle;
}

/* --- memory --- */

/* Streams are ordered by nobody here: where there are several, memory comes and goes on one of its own. A
 * thread that waited for the stream it computes on could wait for another rank's message, with locks held
 * that the thread needs which that rank waits for. */
static cudaStream_t stream_for_memory(void)
{
    return stream_count > 1 ? memory_stream : streams[current];
}

/* On a stream of its own it is there before it is handed out, as the others are in no order with it. */
static void *take(size_t bytes, cudaStream_t stream)
{
    void *memory = NULL;
    cudaError_t status =
        pool ? cudaMallocAsync(&memory, bytes, stream) : cudaMalloc(&memory, bytes);
    if (status == cudaSuccess && pool && stream == memory_stream)
        nvt_cuda_note(cudaStreamSynchronize(stream), "memory");
    if (status == cudaSuccess)
        return memory;
    /* Out of memory is an answer, not a failure, and must not be found by the next launch. */
    cudaGetLastError();
    if (status != cudaErrorMemoryAllocation)
        nvt_cuda_note(status, "memory");
    return NULL;
}

/* What the pool keeps in pieces of other sizes goes back to the device before it is called full. */
void *nvt_backend_alloc(size_t bytes)
{
    cudaStream_t stream = stream_for_memory();
    void *memory = take(bytes, stream);
    if (memory || !pool)
        return memory;
    empty_pool();
    return take(bytes, stream);
}

void nvt_backend_free(void *memory)
{
    if (!pool) {
        nvt_cuda_note(cudaFree(memory), "memory");
        return;
    }
    /* Other streams than this thread's may have used it: the order of one stream is not enough
     * then. */
    if (stream_count > 1)
        nvt_backend_sync();
    nvt_cuda_note(cudaFreeAsync(memory, stream_for_memory()), "memory");
}

/* Given back and taken in the order of the stream, so what still runs on it keeps its own. */
void *nvt_cuda_scratch(int which, size_t bytes)
{
    void *memory = scratch[current][which].memory;
    if (scratch[current][which].bytes >= bytes)
        return memory;
    /* Memory that a graph took would be gone outside of it. */
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(streams[current], &capture);
    if (capture != cudaStreamCaptureStatusNone) {
        keep("scratch memory", "there was no warm-up before the capture", 0);
        return NULL;
    }
    if (memory)
        nvt_backend_free(memory);
    memory = nvt_backend_alloc(bytes);
    scratch[current][which].memory = memory;
    scratch[current][which].bytes = memory ? bytes : 0;
    if (!memory)
        keep("scratch memory", "there is none left", 1);
    return memory;
}

void nvt_backend_zero(void *memory, size_t bytes)
{
    nvt_cuda_note(cudaMemsetAsync(memory, 0, bytes, streams[current]), "memset");
}

/* The copy waits for what this thread's stream was given before it, and for nothing else. */
void nvt_backend_to_host(void *host, const void *device, size_t bytes)
{
    nvt_cuda_note(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, streams[current]),
                  "copy to the host");
    nvt_cuda_note(cudaStreamSynchronize(streams[current]), "copy to the host");
}

void nvt_backend_to_device(void *device, const void *host, size_t bytes)
{
    nvt_cuda_note(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, streams[current]),
                  "copy to the device");
    nvt_cuda_note(cudaStreamSynchronize(streams[current]), "copy to the device");
}
