/*
 * The CUDA backend's devices: their start, streams and errors. A process has those that CUDA_VISIBLE_DEVICES leaves; of
 * several ranks on one host each has one, in turn. Streams wait for nothing but the events that they are told to.
 */
#include "devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first_failure[256];
static int was_full; /* for want of memory something has failed that does not answer with NULL */
static struct nvt_cuda_device devices[NVT_DEVICES_MOST];
static int device_count = 1; /* that this process may use */

/* Where this thread is: a device by its number here, and a stream of it. */
static thread_local struct {
    int device, stream;
    int current; /* the device that CUDA was told last: another one for a moment, or if telling it failed */
    int is_told; /* CUDA was told the device; it begins with the first one that it sees */
} here;

/* --- errors --- */

void nvt_cuda_keep(const char *what, const char *why, int is_full)
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
        nvt_cuda_keep(what, cudaGetErrorString(status), status == cudaErrorMemoryAllocation);
    return status != cudaSuccess;
}

int nvt_cublas_note(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        nvt_cuda_keep(what, cublasGetStatusString(status), status == CUBLAS_STATUS_ALLOC_FAILED);
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

/* --- devices --- */

struct nvt_cuda_device *nvt_cuda_device_at(int device)
{
    return &devices[device];
}

struct nvt_cuda_device *nvt_cuda_here(void)
{
    return &devices[here.device];
}

struct nvt_cuda_lane *nvt_cuda_lane(void)
{
    return &nvt_cuda_here()->lanes[here.stream];
}

/* The first one always is: that is where threads begin. */
static int is_used(int device)
{
    return !device || __atomic_load_n(&devices[device].is_used, __ATOMIC_RELAXED);
}

int nvt_cuda_used_devices(void)
{
    int count = 0;
    for (int i = 0; i < device_count; i++)
        count += is_used(i);
    return count;
}

void nvt_cuda_enter(int device)
{
    if (device != here.current && !nvt_cuda_note(cudaSetDevice(devices[device].number), "a device"))
        here.current = device;
}

void nvt_cuda_leave(void)
{
    nvt_cuda_enter(here.device);
}

/* Which of the devices is this rank's, by the launcher's count of ranks on this host; -1: it is nobody's rank. */
static int device_of_rank(int count)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};
    for (int i = 0; i < 3; i++) {
        const char *rank = getenv(names[i]);
        if (rank && *rank)
            return atoi(rank) > 0 ? atoi(rank) % count : 0;
    }
    return -1;
}

/* The ranks of a host share its devices; whoever is alone has all of them. */
static void choose_devices(int count)
{
    int of_rank = device_of_rank(count);
    device_count = of_rank >= 0 ? 1 : count < NVT_DEVICES_MOST ? count : NVT_DEVICES_MOST;
    for (int i = 0; i < device_count; i++)
        devices[i].number = of_rank >= 0 ? of_rank : i;
}

/*
 * The stream and memory's, unless they are there. A device takes what it is given from a few queues, 8 as a rule, which are
 * dealt out to streams as they are made, and what waits in one holds up the streams that share it. So no others are made
 * than are used: a rank's partition computes, sends and receives on five. The device is the current one.
 */
static int make_stream(struct nvt_cuda_device *device, int index)
{
    cudaStream_t made = NULL;
    cudaError_t status = cudaSuccess;
    pthread_mutex_lock(&lock);
    if (!device->memory_stream)
        status = cudaStreamCreateWithFlags(&device->memory_stream, cudaStreamNonBlocking);
    if (!device->lanes[index].stream && status == cudaSuccess) {
        status = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
        if (status == cudaSuccess) {
            device->lanes[index].stream = made;
            device->stream_count++;
        }
    }
    pthread_mutex_unlock(&lock);
    return nvt_cuda_note(status, "a stream");
}

/* The device is the current one and has its context. */
static int come_up(struct nvt_cuda_device *device)
{
    if (nvt_cuda_prepare_pool(device) || make_stream(device, 0))
        return -1;
    device->is_up = 1;
    return 0;
}

/* The current device is another than the first: that it has its context, pool, stream and peers. */
static int join(int device)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    int status = 0;
    pthread_mutex_lock(&one_at_a_time);
    if (!devices[device].is_up) {
        status = nvt_cuda_note(cudaFree(NULL), "a device") || come_up(&devices[device]) ? -1 : 0;
        if (!status)
            nvt_cuda_meet_peers(device);
    }
    if (!status)
        __atomic_store_n(&devices[device].is_used, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

int nvt_backend_devices(void)
{
    return device_count;
}

int nvt_backend_device(void)
{
    return here.device;
}

int nvt_backend_use_device(int device)
{
    if (device == here.device)
        return 0;
    if (device < 0 || device >= device_count) {
        nvt_cuda_keep("a device", "beyond those that are there", 0);
        return -1;
    }
    nvt_cuda_enter(device);
    if (here.current != device || join(device)) {
        nvt_cuda_leave();
        return -1;
    }
    here.device = device;
    here.stream = 0;
    here.is_told = 1;
    return 0;
}

int nvt_backend_device_name(int device, char *name, size_t size)
{
    cudaDeviceProp properties;
    if (device < 0 || device >= device_count ||
        nvt_cuda_note(cudaGetDeviceProperties(&properties, devices[device].number), "a device"))
        return -1;
    snprintf(name, size, "%.127s", properties.name);
    return 0;
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

/* What cuBLAS takes for itself on the devices that want most. */
#define WORKSPACE_BYTES ((size_t)32 << 20)

/* A graph would take a workspace of cuBLAS's own anew for each of its products, whenever it runs. Where there is no
 * memory for one, that is what happens, and products with a bias have fewer forms: it is said once, and the next run tries
 * again. It is none of the pool's, as cuBLAS's own is not, and there until the end. */
static cublasStatus_t give_workspace(cublasHandle_t handle, struct nvt_cuda_lane *lane)
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
    lane->workspace = memory;
    return cublasSetWorkspace(handle, memory, WORKSPACE_BYTES);
}

/* What a run before this one left no room for. */
static void give_missing_workspaces(void)
{
    for (int d = 0; d < device_count; d++) {
        nvt_cuda_enter(d);
        for (int i = 0; i < NVT_STREAMS_MOST; i++) {
            struct nvt_cuda_lane *lane = &devices[d].lanes[i];
            if (lane->handle && !lane->workspace)
                nvt_cublas_note(give_workspace(lane->handle, lane), "cuBLAS");
        }
        nvt_cuda_leave();
    }
}

/* What a run before this one has left there is in the way of all that is none of the pools': cuBLAS's workspaces, and
 * kernels, which are loaded when they are first called. Whatever devices it used, the next one may use fewer. */
static void clean_up(void)
{
    nvt_cuda_empty_pools();
    give_missing_workspaces();
    for (int i = 0; i < device_count; i++)
        devices[i].is_used = 0;
}

int nvt_backend_start(struct nvt_backend_facts *facts, struct nvt_error *err)
{
    int count = 0;
    cudaDeviceProp properties;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || !count)
        return explain(status == cudaSuccess ? cudaErrorNoDevice : status, err);
    choose_devices(count);
    /* Where a run before this one left the thread. */
    if (here.device)
        here.device = here.stream = 0;
    here.current = 0;
    status = cudaSetDevice(devices[0].number);
    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(&properties, devices[0].number);
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
    facts->devices = device_count;
    if (devices[0].is_up)
        clean_up();
    else if (come_up(&devices[0]))
        return nvt_backend_failed(err);
    return 0;
}

/* --- streams --- */

cudaStream_t nvt_backend_stream(void)
{
    return nvt_cuda_lane()->stream;
}

void nvt_backend_use_stream(int index)
{
    struct nvt_cuda_device *device = nvt_cuda_here();
    if (index < 0 || index >= NVT_STREAMS_MOST) {
        nvt_cuda_keep("a stream", "beyond NVT_STREAMS_MOST", 0);
        return;
    }
    /* A thread begins with the first device that CUDA sees, which need not be this process's first. */
    if (!here.is_told && device->number &&
        nvt_cuda_note(cudaSetDevice(device->number), "the device"))
        return;
    here.is_told = 1;
    if (!make_stream(device, index))
        here.stream = index;
}

void *nvt_backend_stream_handle(void)
{
    return nvt_backend_stream();
}

/* On the device of the thread's stream, which is the current one: CUDA records no event on a stream of another. */
void *nvt_backend_event(void)
{
    cudaEvent_t event = NULL;
    if (nvt_cuda_note(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"))
        return NULL;
    nvt_cuda_note(cudaEventRecord(event, nvt_backend_stream()), "an event");
    return event;
}

/* The event may be another device's. */
void nvt_backend_wait_event(void *event)
{
    if (event)
        nvt_cuda_note(cudaStreamWaitEvent(nvt_backend_stream(), (cudaEvent_t)event, 0), "an event");
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

/* CUDA waits for one device at a time. What one still has to do can wait for another's events, but for nothing that is
 * given to it later. */
void nvt_backend_sync(void)
{
    for (int i = 0; i < device_count; i++)
        if (is_used(i)) {
            nvt_cuda_enter(i);
            nvt_cuda_note(cudaDeviceSynchronize(), "waiting for the device");
            nvt_cuda_leave();
        }
}

void *nvt_cublas_workspace(size_t *bytes)
{
    void *workspace = nvt_cuda_lane()->workspace;
    *bytes = workspace ? WORKSPACE_BYTES : 0;
    return workspace;
}

/* The stream first: it takes the workspace away. Sums are of float, also where a product is split into several whose parts
 * are added up: without this mode cuBLAS may round those to the result's halves first. */
cublasHandle_t nvt_cublas_handle(void)
{
    struct nvt_cuda_lane *lane = nvt_cuda_lane();
    pthread_mutex_lock(&lock);
    cublasHandle_t handle = lane->handle;
    pthread_mutex_unlock(&lock);
    if (handle)
        return handle;
    if (nvt_cublas_note(cublasCreate(&handle), "cuBLAS"))
        return NULL;
    if (nvt_cublas_note(cublasSetStream(handle, lane->stream), "cuBLAS") ||
        nvt_cublas_note(cublasSetMathMode(handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                        "cuBLAS") ||
        nvt_cublas_note(give_workspace(handle, lane), "cuBLAS")) {
        cublasDestroy(handle);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (!lane->handle)
        lane->handle = handle;
    pthread_mutex_unlock(&lock);
    return handle;
}
