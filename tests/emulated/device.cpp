/* Errors, versions, devices, and waiting for one. */
#include "emulated.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

std::recursive_mutex emulated_lock;
thread_local int emulated_device;
static thread_local cudaError_t last_error;

size_t emulated_number(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 10) : otherwise;
}

static int device_count()
{
    return static_cast<int>(emulated_number("EMULATED_DEVICES", 1));
}

bool emulated_fails(const char *call)
{
    static std::atomic<size_t> calls;
    const char *which = getenv("EMULATED_FAIL");
    size_t length = strlen(call);
    if (!which || strncmp(which, call, length) != 0 || which[length] != ':')
        return false;
    return ++calls == strtoull(which + length + 1, nullptr, 10);
}

static std::atomic<bool> is_lost;

bool emulated_is_lost()
{
    return is_lost;
}

void emulated_lose(const char *kernel)
{
    const char *which = getenv("EMULATED_LOSE");
    if (which && !strcmp(which, kernel))
        is_lost = true;
}

cudaError_t emulated_error(cudaError_t status)
{
    if (status != cudaSuccess)
        last_error = status;
    return status;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t status = last_error;
    last_error = cudaSuccess;
    return status;
}

const char *cudaGetErrorString(cudaError_t status)
{
    static const char *const texts[] = {"no error",
                                        "invalid argument",
                                        "out of memory",
                                        "invalid configuration argument",
                                        "no CUDA-capable device is detected",
                                        "invalid device ordinal",
                                        "invalid resource handle",
                                        "operation not permitted when stream is capturing",
                                        "operation failed due to a previous error during capture",
                                        "the operation cannot be performed in the present state",
                                        "unknown error"};
    return texts[status];
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    emulated_start_driver();
    ENTER();
    *count = device_count();
    return *count ? cudaSuccess : emulated_error(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    ENTER();
    if (device < 0 || device >= device_count())
        return emulated_error(cudaErrorInvalidDevice);
    emulated_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    ENTER();
    snprintf(properties->name, sizeof(properties->name),
             "emulated device %d: the processor, no GPU", device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = emulated_number("EMULATED_POOL", 1) != 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (emulated_spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    emulated_drain_all();
    emulated_tell_wait(call, nullptr);
    return cudaSuccess;
}
