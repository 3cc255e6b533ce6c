/*
 * The names by which nsys's reports group kernels, chosen as in "cuda_gpu_kern_sum:base" (Nsight Systems User Guide,
 * "Statistical Reports": [:nvtx-name][:base|:mangled]; mangled names are not recorded).
 */
#ifndef NVT_KERNEL_NAMING_H
#define NVT_KERNEL_NAMING_H

#include "../../lib/buffer.h"
#include "../input/input.h"
#include "../model/groups.h"
#include "../model/trace.h"

/* Combined with |; 0: whole names. */
enum nvt_kernel_naming_flags {
    NVT_KERNEL_BASE = 1, /* without templates and parameters: ops.short_name */
    /* "range/kernel", as in nsys, by the innermost range that it was launched in; "kernel" where there is
     * none */
    NVT_KERNEL_NVTX = 2,
};

struct nvt_kernel_naming {
    const struct nvt_trace *trace;
    unsigned flags;
    uint32_t *innermost; /* range of each operation, NVT_NONE: none; NULL: not asked for */
};

/*
 * Names of a finished trace's operations as the input wants them: its naming, and its project_flags for the range that an operation
 * belongs to.
 * 0, or -1 with err filled (out of memory). Release with nvt_kernel_naming_free, also after a failure.
 */
int nvt_kernel_naming_make(struct nvt_kernel_naming *naming, const struct nvt_trace *trace,
                           const struct nvt_input *input, struct nvt_error *err);
void nvt_kernel_naming_free(struct nvt_kernel_naming *naming);

/* A grid or a block as nsys's columns GridXYZ and BlockXYZ have it. Returns text. */
#define NVT_SHAPE_MAX 48
const char *nvt_shape_text(uint32_t x, uint32_t y, uint32_t z, char text[NVT_SHAPE_MAX]);

/* The name of an operation among those of groups, whose current trace it is of. */
uint32_t nvt_kernel_naming_key(const struct nvt_kernel_naming *naming, struct nvt_groups *groups,
                               uint32_t op);

/* The name of an operation, in `text` until that is used again. NULL when out of memory. */
const char *nvt_kernel_naming_text(const struct nvt_kernel_naming *naming, uint32_t op,
                                   struct nvt_buffer *text);

#endif
