#include "nccl_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

const char *nvt_nccl_named(void)
{
    const char *path = getenv("NVTALLY_NCCL");
    return path && *path ? path : NULL;
}

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Among the toolkit's libraries, which the system need not know. */
static void *open_from_toolkit(void)
{
    char path[4096];
    const char *home = getenv("CUDA_HOME");
    snprintf(path, sizeof(path), "%.4000s/lib64/libnccl.so.2",
             home && *home ? home : "/usr/local/cuda");
    return open_library(path);
}

void *nvt_nccl_library(struct nvt_error *err)
{
    const char *path = nvt_nccl_named();
    char why[300] = "";
    void *handle = open_library(path ? path : "libnccl.so.2");
    if (!handle)
        snprintf(why, sizeof(why), "%s", dlerror());
    if (!handle && !path)
        handle = open_from_toolkit();
    if (!handle)
        nvt_fail(err,
                 "--transport nccl: NCCL was not found (%s): install libnccl2, or set NVTALLY_NCCL "
                 "to a library",
                 why);
    return handle;
}
