/*
 * Whether a GPU's counters may be used here: by CUPTI, Nsight Compute, or nsys's GPU metrics. The driver says so in /proc, without a
 * context; whether another program has them at the moment is known only to who asks for them.
 *
 * RmProfilingAdminOnly of /proc/driver/nvidia/params is the driver's option NVreg_RestrictProfilingToAdminUsers
 * (https://developer.nvidia.com/ERR_NVGPUCTRPERM). Instances of MIG are below /proc/driver/nvidia/capabilities; nv-hostengine is NVIDIA's
 * DCGM, which samples the same counters.
 */
#ifndef NVT_GPU_COUNTERS_H
#define NVT_GPU_COUNTERS_H

#include <stddef.h>

enum nvt_gpu_counters {
    NVT_GPU_COUNTERS_NO_DRIVER, /* `why` is "" */
    NVT_GPU_COUNTERS_ALLOWED,   /* `why`: what may be in the way nevertheless */
    NVT_GPU_COUNTERS_REFUSED,   /* `why`: what to change */
    NVT_GPU_COUNTERS_UNKNOWN    /* `why`: which file cannot be read, or says nothing */
};

/* Of this machine and process. */
enum nvt_gpu_counters nvt_gpu_counters(char *why, size_t size);

/* The same with another folder in place of /proc; `is_admin`: the process has CAP_SYS_ADMIN. */
enum nvt_gpu_counters nvt_gpu_counters_in(const char *proc, int is_admin, char *why, size_t size);

#endif
