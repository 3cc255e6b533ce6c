/*
 * Between the devices of a process: who reaches whose memory, and copies.
 *
 * A peer copy needs no access: without it the driver takes the bytes by way of the host. Access is one way, and is granted
 * twice, as cudaDeviceEnablePeerAccess is of cudaMalloc's memory and of no pool's, and cudaMemPoolSetAccess of a pool's
 * (CUDA programming guide, "Stream Ordered Memory Allocator: Device Accessibility for Multi-GPU Support").
 */
#include "devices.h"

/* Let the current device reach the memory of another. That there may be too many such pairs is no failure. */
static int reach(const struct nvt_cuda_device *from, const struct nvt_cuda_device *to)
{
    int can = 0;
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = from->number;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    cudaError_t status = cudaDeviceCanAccessPeer(&can, from->number, to->number);
    if (status == cudaSuccess && can) {
        status = cudaDeviceEnablePeerAccess(to->number, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
            status = cudaSuccess;
        if (status == cudaSuccess && to->pool)
            status = cudaMemPoolSetAccess(to->pool, &access, 1);
    }
    /* Or the next launch would find it. */
    cudaGetLastError();
    return can && status == cudaSuccess;
}

void nvt_cuda_meet_peers(int device)
{
    struct nvt_cuda_device *comes = nvt_cuda_device_at(device);
    for (int i = 0; i < nvt_backend_devices(); i++) {
        struct nvt_cuda_device *other = nvt_cuda_device_at(i);
        if (i == device || !other->is_up)
            continue;
        if (reach(comes, other))
            comes->reaches |= 1u << i;
        if (nvt_cuda_note(cudaSetDevice(other->number), "a device"))
            continue;
        if (reach(other, comes))
            other->reaches |= 1u << device;
        nvt_cuda_note(cudaSetDevice(comes->number), "a device");
    }
}

int nvt_backend_reaches(int from, int to)
{
    return from == to || nvt_cuda_device_at(from)->reaches >> to & 1;
}

/* On the sender's stream, whose device is the current one: what it sends is there then, and the event behind it is of that
 * device. */
void nvt_backend_copy_to(int device, void *to, const void *from, size_t bytes)
{
    nvt_cuda_note(cudaMemcpyPeerAsync(to, nvt_cuda_device_at(device)->number, from,
                                      nvt_cuda_here()->number, bytes, nvt_backend_stream()),
                  "copy to another device");
}
