/*
 * What the lanes of other profilers' Chrome traces are, by the names of their processes and threads. Each dialect is a row of the
 * table in kineto_dialects.c; sources:
 *
 *   XLA (JAX, TensorFlow 2)   /device:GPU:0 with "Stream #20(Compute)"; "XLA Modules", "XLA Ops", "Steps" and others are derived
 *                             (xla/tsl/profiler/utils/xplane_schema.h; a trace that JAX 0.10 wrote on a CPU)
 *   TensorFlow 1              /device:GPU:0/stream:all Compute, and the same operations again by stream:7
 *                             (tensorflow/python/client/timeline.py)
 *   Ascend                    "Ascend Hardware" with "Stream 2"; "Overlap Analysis" is derived (torch_npu's trace_view.json)
 *   rocprof (before v3)       "GPU0" with a thread a queue or stream, "COPY"; "CPU HIP API" and "CPU HSA API" are calls, "Markers and
 *                             Ranges" is ROCTx; "GPU Barriers0" are packets that wait (rocprofiler, bin/tblextr.py and sqlitedb.py).
 *                             Its events say their process, device and nanoseconds in their args
 *   torch.autograd.profiler   "CUDA functions", a thread a device (before Kineto, and with use_kineto=False)
 *
 * All of these write a lane's names in front of its events. Files that other tools have sorted may have them behind: then all names are
 * read first, and the file once more.
 */
#ifndef NVT_KINETO_DIALECTS_H
#define NVT_KINETO_DIALECTS_H

#include "kineto.h"

/* Take the event that was read, a complete one of no category that is known, if it is of a device's lane or of a derived one. 1: it
 * was; 0: it is the host's; -1 with err filled. */
int nvt_dialect_take(struct nvt_kineto *reader);

/* The name of a process, or of a thread of one, is about to be known. Notes whether it comes too late. */
void nvt_dialect_name(struct nvt_kineto *reader, const struct nvt_kineto_owner *process,
                      const struct nvt_kineto_owner *thread, const char *name);

/* rocprof's times in nanoseconds, which its args have, become the event's. */
void nvt_dialect_times(struct nvt_kineto_event *event);

/* An event of the host's that was added, on a thread, may have the correlation id of an operation, which it launched. 0, or -1 when
 * out of memory. */
int nvt_dialect_launch(struct nvt_kineto *reader, uint32_t thread);
/* Whether an event of the host's is a call of CUDA or HIP: XLA has them in the lanes of its threads, with a correlation id. */
int nvt_dialect_is_call(const struct nvt_kineto *reader);
/* Whether arrows (phases s and f, or t) of a category lead from a launch to its operation: "cpu_to_cuda", or rocprof's "DataFlow"
 * (kineto_rocprof.h). */
int nvt_dialect_follows(const char *category);
/* The launch of an operation by such an arrow. 1; 0: it is of another; -1 with err filled. */
int nvt_dialect_flow(struct nvt_kineto *reader);

/* XLA's details, "grid:8,1,1 block:128,1,1 regs:32" or "kind_src:pageable kind_dst:device size:4096", become the event's numbers. */
void nvt_dialect_details(struct nvt_kineto_event *event, const char *text, size_t size);

/* Give operations their launches, and note which lanes were left out. 0, or -1 when out of memory. */
int nvt_dialect_finish(struct nvt_kineto *reader);
void nvt_dialect_free(struct nvt_kineto_dialects *dialects);

#endif
