/*
 * Reports about what happened on devices, all of them listed in report.c. Their files say how each
 * is defined.
 */
#ifndef NVT_REPORT_CUDA_H
#define NVT_REPORT_CUDA_H

#include "report.h"

/* report_cuda_sum.c */
extern const struct nvt_report nvt_report_cuda_gpu_kern_sum;
extern const struct nvt_report nvt_report_cuda_gpu_kern_gb_sum;
extern const struct nvt_report nvt_report_cuda_api_sum;
extern const struct nvt_report nvt_report_cuda_gpu_mem_time_sum;
extern const struct nvt_report nvt_report_cuda_gpu_mem_size_sum;
extern const struct nvt_report nvt_report_cuda_gpu_sum;
/* report_cuda_exec.c */
extern const struct nvt_report nvt_report_cuda_kern_exec_sum;
/* report_cuda_trace.c */
extern const struct nvt_report nvt_report_cuda_gpu_trace;
extern const struct nvt_report nvt_report_cuda_api_trace;
/* report_nvtx_gpu_sum.c, report_nvtx_gpu_trace.c */
extern const struct nvt_report nvt_report_nvtx_kern_sum;
extern const struct nvt_report nvt_report_nvtx_gpu_proj_sum;
extern const struct nvt_report nvt_report_nvtx_gpu_proj_trace;
/* report_gpu_memory.c */
extern const struct nvt_report nvt_report_memory_peak;
extern const struct nvt_report nvt_report_memory_timeline;
/* report_gpu_tree.c */
extern const struct nvt_report nvt_report_range_tree;
/* report_gpu_idle.c, report_gpu_overlap.c */
extern const struct nvt_report nvt_report_gpu_idle;
extern const struct nvt_report nvt_report_overlap;
/* report_launch.c, report_iterations.c, report_stragglers.c */
extern const struct nvt_report nvt_report_launch_latency;
extern const struct nvt_report nvt_report_iterations;
extern const struct nvt_report nvt_report_stragglers;

#endif
