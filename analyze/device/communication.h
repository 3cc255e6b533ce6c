/*
 * Which operations move data between devices or ranks. Copies are marked as such (peer to peer); kernels are known by
 * their names:
 *   - libraries by how their kernels begin: NCCL and RCCL ("ncclDevKernel_AllReduce_…"), NVSHMEM,
 *     MSCCL and MSCCL++, oneCCL;
 *   - others by the name of a collective in theirs, however it is written: PyTorch's symmetric
 *     memory ("multimem_all_reduce_kernel", "two_shot_all_reduce_kernel"), vLLM's, SGLang's and
 *     AITER's "cross_device_reduce_1stage", TensorRT-LLM's "oneShotAllReduceKernel" and
 *     "allreduce_fusion_kernel_oneshot_lamport";
 *   - DeepEP by its namespace, as its kernels are called "dispatch" and "combine".
 * Not taken for communication: what TorchInductor generates, which lists the operators that it came from
 * ("triton_poi_fused_all_reduce_add_0" computes with what was reduced), and kernels that are also GEMMs ("gemm" in the
 * name).
 */
#ifndef NVT_COMMUNICATION_H
#define NVT_COMMUNICATION_H

#include "../model/trace.h"

/* Whether a word, in small letters, is in a text: in whatever letters, with or without '_' within it. */
int nvt_names_word(const char *text, const char *word);

/* Whether a kernel communicates, by its name without parameters and templates, and by the whole name. */
int nvt_is_communication_name(const char *name, const char *whole);

int nvt_is_communication(const struct nvt_trace *trace, uint32_t op);

#endif
