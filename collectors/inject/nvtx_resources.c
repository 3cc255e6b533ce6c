/*
 * Names that programs give to CUDA and OpenCL objects. The handles of the driver and of the runtime
 * API are the same for streams and events; a device is named by its number.
 */
#include <string.h>

#include "../../lib/count_of.h"
#include "cupti_trace.h"
#include "events.h"
#include "modules.h"

static void name(uint32_t type, uint64_t handle, const char *text)
{
    nvt_define(NVT_DEFINE_RESOURCE, NULL, type, handle, text, text ? strlen(text) : 0);
    nvt_cupti_named(type, handle, text ? text : "");
}

static void name_wide(uint32_t type, uint64_t handle, const wchar_t *text)
{
    char narrow[1024];
    nvt_utf8(narrow, sizeof(narrow), text ? text : L"");
    name(type, handle, narrow);
}

/* NAMERS(object, type, resource): object_a and object_w for handles of that type. */
#define NAMERS(object, handle_type, resource)                                                      \
    static void object##_a(handle_type handle, const char *text)                                   \
    {                                                                                              \
        name(resource, (uint64_t)handle, text);                                                    \
    }                                                                                              \
    static void object##_w(handle_type handle, const wchar_t *text)                                \
    {                                                                                              \
        name_wide(resource, (uint64_t)handle, text);                                               \
    }
NAMERS(device, int, NVT_RESOURCE_DEVICE)
NAMERS(context, uintptr_t, NVT_RESOURCE_CONTEXT)
NAMERS(stream, uintptr_t, NVT_RESOURCE_STREAM)
NAMERS(event, uintptr_t, NVT_RESOURCE_EVENT)
NAMERS(opencl, uintptr_t, NVT_RESOURCE_OPENCL)

#define PAIR(id, object)                                                                           \
    {NVTX_CBID_##id##A, (NvtxFunctionPointer)object##_a},                                          \
    {                                                                                              \
        NVTX_CBID_##id##W, (NvtxFunctionPointer)object##_w                                         \
    }

static const struct nvt_callback cuda[] = {
    PAIR(CUDA_NameCuDevice, device),
    PAIR(CUDA_NameCuContext, context),
    PAIR(CUDA_NameCuStream, stream),
    PAIR(CUDA_NameCuEvent, event),
};

static const struct nvt_callback cudart[] = {
    PAIR(CUDART_NameCudaDevice, device),
    PAIR(CUDART_NameCudaStream, stream),
    PAIR(CUDART_NameCudaEvent, event),
};

static const struct nvt_callback opencl_names[] = {
    PAIR(OPENCL_NameClDevice, opencl),       PAIR(OPENCL_NameClContext, opencl),
    PAIR(OPENCL_NameClCommandQueue, opencl), PAIR(OPENCL_NameClMemObject, opencl),
    PAIR(OPENCL_NameClSampler, opencl),      PAIR(OPENCL_NameClProgram, opencl),
    PAIR(OPENCL_NameClEvent, opencl),
};

const struct nvt_module nvt_module_cuda = {NVTX_CB_MODULE_CUDA, cuda, NVT_COUNT_OF(cuda)};
const struct nvt_module nvt_module_cudart = {NVTX_CB_MODULE_CUDART, cudart, NVT_COUNT_OF(cudart)};
const struct nvt_module nvt_module_opencl = {NVTX_CB_MODULE_OPENCL, opencl_names,
                                             NVT_COUNT_OF(opencl_names)};
