/*
 * What phases are made of: the ranges within them and, where the trace has a device, its kernels.
 * What the reports `matmul_share` and `attention` read.
 *
 * Phases, which of them count, and configurations are those of phases.h. A range's own time is that
 * without the ranges in it; of one in a phase of its own name it is the phase's. A kernel belongs to the phase that
 * launched it (project.h).
 */
#ifndef NVT_PHASE_BREAKDOWN_H
#define NVT_PHASE_BREAKDOWN_H

#include "phases.h"

struct nvt_phase_part {
    const char *configuration;
    enum nvt_phase phase;
    int is_kernel, is_product; /* is_product: a kernel that is a GEMM */
    /* Of the range (of the phase itself: what lies in no other), or the kernel's telling one (cuda_names.h). */
    const char *name;
    uint64_t count;
    /* summed: of a range with and without what lies in it; of a kernel the same */
    double ns, own_ns;
    double device_ns; /* of a range: of the operations launched in it */
    double flops;     /* declared */
};

struct nvt_breakdown {
    struct nvt_strings *strings;
    /* by configuration, phase, kind, and own time, the longest first */
    struct nvt_phase_part *items;
    uint32_t count;
};

/* Zero-initialise; release with nvt_breakdown_free. 0, or -1 with err (out of memory). */
int nvt_breakdown_make(struct nvt_breakdown *parts, const struct nvt_input *input,
                       struct nvt_error *err);
void nvt_breakdown_free(struct nvt_breakdown *parts);

/* The first part behind `from` that is of another configuration or phase. */
size_t nvt_breakdown_phase_end(const struct nvt_breakdown *parts, size_t from);

/* How often a phase ran: the count of the part that is the phase itself. */
uint64_t nvt_breakdown_runs(const struct nvt_breakdown *parts, const struct nvt_phase_part *like);

/*
 * Whether a kernel is a GEMM, by its whole name, mangled or not. What counts is its telling name (cuda_names.h), so not
 * what else it takes: FlashAttention's kernels take cutlass::half_t. Those of cuBLAS, cuBLASLt, CUTLASS and cuDNN have
 * gemm, xmma, cutlass, nvjet (Hopper's), matmul or one of the tensor core instructions in it, TensorRT-LLM's bmm, and
 * rocBLAS's and hipBLASLt's begin with Cijk_. What libraries launch to complete a product counts too: cublasLt's and
 * CUTLASS's sums of its parts (splitKreduce_kernel, ReduceSplitK) and cublasLt's epilogue.
 */
int nvt_is_matmul_kernel(const char *name);

#endif
