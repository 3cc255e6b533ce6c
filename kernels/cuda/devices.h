/*
 * The devices of this process and their streams: what device.cu, memory.cu and peers.cu share. A device comes up when a
 * thread first uses it, so that a process that works on one has no context, no stream and no memory on the others.
 */
#ifndef NVT_CUDA_DEVICES_H
#define NVT_CUDA_DEVICES_H

#include "device.h"

/* A stream, and what belongs to it alone. */
struct nvt_cuda_lane {
    cudaStream_t stream; /* NULL: not made yet */
    cublasHandle_t handle;
    void *workspace; /* the handle's */
};

struct nvt_cuda_device {
    int number;                 /* CUDA's */
    int is_up;                  /* it has a context, pool and stream 0 */
    int is_used;                /* since nvt_backend_start */
    unsigned reaches;           /* a bit for each device whose memory this one reaches by itself */
    cudaMemPool_t pool;         /* NULL: it has none */
    cudaStream_t memory_stream; /* on which memory comes and goes; nothing else waits in it */
    int stream_count;           /* made so far, without memory's */
    struct nvt_cuda_lane lanes[NVT_STREAMS_MOST];
};

/* The devices by their numbers here, 0 first; that of this thread, and its stream's. */
struct nvt_cuda_device *nvt_cuda_device_at(int device);
struct nvt_cuda_device *nvt_cuda_here(void);
struct nvt_cuda_lane *nvt_cuda_lane(void);

/* How many have been used since nvt_backend_start. */
int nvt_cuda_used_devices(void);

/* Between the two calls CUDA's current device is this one; the thread's streams stay where they are. Nothing is called where
 * it is the thread's own. */
void nvt_cuda_enter(int device);
void nvt_cuda_leave(void);

/* Keep a first failure that no call of CUDA has told. */
void nvt_cuda_keep(const char *what, const char *why, int is_full);

/* That device's memory pool, if it has one: 0, or -1, noted. It is the current one. */
int nvt_cuda_prepare_pool(struct nvt_cuda_device *device);
/* Give back to the devices in use what their pools keep. Waits for all of them. */
void nvt_cuda_empty_pools(void);

/* Let the device, which has just come up, and those that are up reach each other's memory where they can, so that copies between
 * them need not go by the host. It is the current one. */
void nvt_cuda_meet_peers(int device);

#endif
