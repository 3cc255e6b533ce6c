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

int emulated_device_count()
{
    return static_cast<int>(emulated_number("EMULATED_DEVICES", 1));
}

/* accesses[device][peer]: of what cudaMalloc gave. */
static bool accesses[emulated_devices_most][emulated_devices_most];

bool emulated_has_access(int device, int to)
{
    return device == to || accesses[device][to];
}

/* Whether it is the N-th call of that name, which a variable has as CALL:N. */
static bool is_named(const char *variable, const char *call, std::atomic<size_t> &calls)
{
    const char *which = getenv(variable);
    size_t length = strlen(call);
    if (!which || strncmp(which, call, length) != 0 || which[length] != ':')
        return false;
    return ++calls == strtoull(which + length + 1, nullptr, 10);
}

bool emulated_fails(const char *call)
{
    static std::atomic<size_t> calls;
    return is_named("EMULATED_FAIL", call, calls);
}

bool emulated_lacks(const char *call)
{
    static std::atomic<size_t> calls;
    return is_named("EMULATED_FULL", call, calls);
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
                                        "peer access is already enabled",
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
    *count = emulated_device_count();
    return *count ? cudaSuccess : emulated_error(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    ENTER();
    if (device < 0 || device >= emulated_device_count())
        return emulated_error(cudaErrorInvalidDevice);
    if (!emulated_ignores("devices"))
        emulated_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    ENTER();
    char number[16] = "";
    if (emulated_number("EMULATED_NUMBERED", 0))
        snprintf(number, sizeof(number), " %d", device);
    snprintf(properties->name, sizeof(properties->name), "emulated device%s: the processor, no GPU",
             number);
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
    emulated_drain_device(emulated_device);
    emulated_tell_wait(call, nullptr);
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER();
    *can = device != peer && emulated_number("EMULATED_PEERS", 1);
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (peer < 0 || peer >= emulated_device_count() || peer == emulated_device ||
        !emulated_number("EMULATED_PEERS", 1))
        return emulated_error(cudaErrorInvalidDevice);
    if (accesses[emulated_device][peer])
        return emulated_error(cudaErrorPeerAccessAlreadyEnabled);
    accesses[emulated_device][peer] = true;
    return cudaSuccess;
}
