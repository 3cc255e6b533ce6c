/*
 * NVTX's callback modules: which of our functions answers which NVTX call.
 */
#ifndef NVT_INJECT_MODULES_H
#define NVT_INJECT_MODULES_H

#include <stddef.h>

#include <nvtx3/nvToolsExt.h>

#include "../../lib/clock.h"

struct nvt_callback {
    unsigned id; /* NVTX_CBID_… of its module */
    NvtxFunctionPointer function;
};

struct nvt_module {
    NvtxCallbackModule module;
    const struct nvt_callback *callbacks;
    size_t count;
};

extern const struct nvt_module nvt_module_core, nvt_module_core2; /* nvtx_core.c */
/* nvtx_resources.c */
extern const struct nvt_module nvt_module_cuda, nvt_module_cudart, nvt_module_opencl;

/* The callbacks of a core module that have a short path in this session, behind nvt_tasks_watch: those of --capture and --trace
 * counters, which look at every range, else those that read its clock. */
struct nvt_module nvt_module_short(NvtxCallbackModule module);

/* Modules of NVTX's extensions. */
struct nvt_extension {
    size_t module; /* NVTX_EXT_…_MODULEID */
    const struct nvt_callback *callbacks;
    size_t count;
};

extern const struct nvt_extension nvt_extension_payload;  /* nvtx_payload.c */
extern const struct nvt_extension nvt_extension_counters; /* nvtx_counters.c */
extern const struct nvt_extension nvt_extension_memory;   /* nvtx_memory.c */

#endif
