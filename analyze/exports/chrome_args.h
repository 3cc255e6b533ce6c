/*
 * What Chrome's trace events say of kernels, of their communication, of managed memory and of calls: pieces of JSON that the writer
 * (chrome.c) puts into an event. All return 0, or -1 when out of memory.
 */
#ifndef NVT_EXPORT_CHROME_ARGS_H
#define NVT_EXPORT_CHROME_ARGS_H

#include <stdio.h>

#include "../../lib/buffer.h"
#include "../model/sequences.h"

/*
 * Append to arguments what an operation has more: a copy its bytes and, where it is pages of managed memory, whose; a kernel its
 * shape, its graph and, in the words of PyTorch, what is known of its communication. `sequences`: nvt_sequences_map.
 */
int nvt_chrome_op(struct nvt_buffer *text, const struct nvt_trace *trace,
                  const struct nvt_map *sequences, uint32_t op);

/* "HtoD", of a copy's kind; "" where it is unknown. */
const char *nvt_chrome_way(uint8_t copy_kind);

/* The rank that all of it is of; NVT_NONE: there are several, or none is known. */
uint32_t nvt_chrome_rank(const struct nvt_trace *trace);

/* "rank 3", where processes have to say which they are of, in out; 0: it is none of these. */
int nvt_chrome_label(const struct nvt_trace *trace, uint32_t process, char *out, size_t size);

/* "GPU 0: NVIDIA H100 (of process 17)", "(of rank 3, process 17)", in out, which is returned. */
const char *nvt_chrome_device(const struct nvt_trace *trace, uint32_t process, uint32_t device,
                              char *out, size_t size);

/* Append category, name and arguments of a call of CUDA or of a library; who called ("stack", the innermost function first), where
 * that is known. */
int nvt_chrome_call(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t call);

/* Append category, name and arguments of an OS call: what is known of what it worked with. */
int nvt_chrome_os(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t call);

/* Append category, name and arguments of an MPI call. */
int nvt_chrome_mpi(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t call);

/* Append category, name and arguments of a row of um_events. */
int nvt_chrome_um(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t event);

/* Whether it has a length: a device waits. Others are moments. */
int nvt_chrome_um_lasts(const struct nvt_trace *trace, uint32_t event);

/* Write CPU samples, as V8's profiles, from `first` on, the file's time 0; *events counts the events of the file, as a comma stands between two. 0, or -1
 * when out of memory. */
int nvt_chrome_samples(const struct nvt_trace *trace, int64_t first, FILE *out, int *events);

/* Whether readers take a category for something else than the domain of a range. */
int nvt_chrome_is_taken(const char *category);

#endif
