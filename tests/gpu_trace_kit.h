/*
 * Rows of traces of a device, and one small trace, whose every number is worked out by hand:
 *
 *   time (ns)   0    115  215 220  280 300    380        520       720      1000
 *   main        step [0, 1000], in it forward [100, 300] and backward [400, 900]
 *   stream 7         gemm      gemm
 *   stream 9                       copy [280, 380], 2 MB
 *   stream 8                                              nccl [520, 720], launched by thread 12
 */
#ifndef NVT_TESTS_GPU_TRACE_KIT_H
#define NVT_TESTS_GPU_TRACE_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "../analyze/reports/report.h"

/* The id of a text. */
uint32_t gpu_string(struct nvt_trace *trace, const char *text);

/* Rows: a range of the first thread; a call of 10 ns; a kernel that it launched; what an allocator did, in MiB. */
void gpu_add_range(struct nvt_trace *trace, const char *name, int64_t start, int64_t end);
void gpu_add_call(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start);
void gpu_add_kernel(struct nvt_trace *trace, uint64_t correlation, uint32_t stream,
                    const char *name, int64_t start, int64_t end);
void gpu_add_memory(struct nvt_trace *trace, int64_t time, uint8_t kind, uint64_t mib,
                    uint64_t allocated, uint64_t reserved);

/* The report over traces, which are freed, as CSV without the line of headings. */
void gpu_expect_of(struct nvt_input_trace *inputs, size_t count, const char *name, unsigned flags,
                   const char *rows);

/* The same over so many traces like the one above. */
void gpu_expect(const char *name, unsigned flags, size_t traces, const char *rows);

#endif
