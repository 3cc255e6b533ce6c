/*
 * Memory of the CUDA backend's devices, and what moves bytes to and from it.
 */
#include "devices.h"

/* Freed memory stays with the pool until it is trimmed: the allocator above decides what goes back.
 */
int nvt_cuda_prepare_pool(struct nvt_cuda_device *device)
{
    uint64_t threshold = UINT64_MAX;
    int supported = 0;
    cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->number);
    if (!supported)
        return 0;
    if (nvt_cuda_note(cudaDeviceGetDefaultMemPool(&device->pool, device->number),
                      "the memory pool"))
        return -1;
    return nvt_cuda_note(
        cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &threshold),
        "the memory pool");
}

/* What is unused goes back to the devices. Nothing is that the host has not waited for. */
void nvt_cuda_empty_pools(void)
{
    /* They all have pools, or none has. */
    if (!nvt_cuda_device_at(0)->pool)
        return;
    nvt_backend_sync();
    for (int i = 0; i < nvt_backend_devices(); i++)
        if (nvt_cuda_device_at(i)->pool)
            nvt_cuda_note(cudaMemPoolTrimTo(nvt_cuda_device_at(i)->pool, 0), "the memory pool");
}

/* Streams are ordered by nobody here: where there are several, memory comes and goes on one of its own. A
 * thread that waited for the stream it computes on could wait for another rank's message, with locks held
 * that the thread needs which that rank waits for. */
static cudaStream_t stream_for_memory(const struct nvt_cuda_device *device)
{
    return device->stream_count > 1 || nvt_cuda_used_devices() > 1 ? device->memory_stream
                                                                   : nvt_backend_stream();
}

/* On a stream of its own it is there before it is handed out, as the others are in no order with it. */
static void *take(const struct nvt_cuda_device *device, size_t bytes, cudaStream_t stream)
{
    void *memory = NULL;
    cudaError_t status =
        device->pool ? cudaMallocAsync(&memory, bytes, stream) : cudaMalloc(&memory, bytes);
    if (status == cudaSuccess && device->pool && stream == device->memory_stream)
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
void *nvt_backend_alloc(int device, size_t bytes)
{
    const struct nvt_cuda_device *of = nvt_cuda_device_at(device);
    cudaStream_t stream = stream_for_memory(of);
    nvt_cuda_enter(device);
    void *memory = take(of, bytes, stream);
    nvt_cuda_leave();
    if (memory || !of->pool)
        return memory;
    nvt_cuda_empty_pools();
    nvt_cuda_enter(device);
    memory = take(of, bytes, stream);
    nvt_cuda_leave();
    return memory;
}

void nvt_backend_free(int device, void *memory)
{
    const struct nvt_cuda_device *of = nvt_cuda_device_at(device);
    /* Other streams than this thread's may have used it, or another device's that copied to it: the order of one stream is
     * not enough then. */
    if (of->pool && (of->stream_count > 1 || nvt_cuda_used_devices() > 1))
        nvt_backend_sync();
    nvt_cuda_enter(device);
    nvt_cuda_note(of->pool ? cudaFreeAsync(memory, stream_for_memory(of)) : cudaFree(memory),
                  "memory");
    nvt_cuda_leave();
}

void nvt_backend_zero(void *memory, size_t bytes)
{
    nvt_cuda_note(cudaMemsetAsync(memory, 0, bytes, nvt_backend_stream()), "memset");
}

/* The copy waits for what this thread's stream was given before it, and for nothing else. */
void nvt_backend_to_host(void *host, const void *device, size_t bytes)
{
    cudaStream_t stream = nvt_backend_stream();
    nvt_cuda_note(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream),
                  "copy to the host");
    nvt_cuda_note(cudaStreamSynchronize(stream), "copy to the host");
}

void nvt_backend_to_device(void *device, const void *host, size_t bytes)
{
    cudaStream_t stream = nvt_backend_stream();
    nvt_cuda_note(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream),
                  "copy to the device");
    nvt_cuda_note(cudaStreamSynchronize(stream), "copy to the device");
}
