/*
 * What kind of work a device operation is, for colours: by its kind or, of a kernel, by its name, which is all there is. Names are
 * those of NVIDIA's libraries (cuBLAS, cuDNN, CUTLASS, NCCL), of PyTorch, of what TorchInductor and Triton generate, and what a
 * kernel of anybody's says of itself ("flash_fwd_kernel", "my_gemm", "rms_norm"). What says nothing is of no class.
 */
#ifndef NVT_KERNEL_CLASS_H
#define NVT_KERNEL_CLASS_H

#include "../model/trace.h"

enum nvt_kernel_class {
    NVT_CLASS_GEMM, /* GEMMs and convolutions, and what their libraries do around them */
    NVT_CLASS_ATTENTION,
    NVT_CLASS_ELEMENTWISE, /* elementwise operations and reductions: norms, softmax, losses, optimizers */
    NVT_CLASS_COPY,        /* copies and memsets */
    NVT_CLASS_COMMUNICATION,
    NVT_CLASS_OTHER,
    NVT_KERNEL_CLASSES
};

/* "GEMM", "attention", "elementwise, reduction", "copy", "communication", "other kernels". */
const char *nvt_kernel_class_name(enum nvt_kernel_class class);

/* Of a kernel by its name without parameters and templates, and the whole. */
enum nvt_kernel_class nvt_kernel_class_of_name(const char *name, const char *whole);

/* Of an operation. One that is a whole CUDA graph is of no class. */
enum nvt_kernel_class nvt_kernel_class_of(const struct nvt_trace *trace, uint32_t op);

#endif
