/*
 * The words for CUDA's numbers, as nsys writes them, and short names of kernels. Every reader names
 * device operations through this file, so that a report over one format reads like one over
 * another.
 */
#ifndef NVT_CUDA_NAMES_H
#define NVT_CUDA_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/kernel_names.h"

/* Room for nvt_copy_name. */
#define NVT_COPY_NAME_MAX 64

/* Values of CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind and
 * CUpti_ActivitySynchronizationType (cupti_activity.h), which the model keeps. */
enum { NVT_COPY_UNKNOWN = 0, NVT_COPY_HTOD = 1, NVT_COPY_DTOH = 2, NVT_COPY_DTOD = 8 };
enum { NVT_COPY_HTOH = 9, NVT_COPY_PTOP = 10, NVT_COPY_UNIFIED_HTOD = 11 };
enum { NVT_COPY_UNIFIED_DTOH = 12, NVT_COPY_UNIFIED_DTOD = 13, NVT_COPY_KINDS = 14 };
enum { NVT_KIND_UNKNOWN, NVT_KIND_PAGEABLE, NVT_KIND_PINNED, NVT_KIND_DEVICE, NVT_KIND_ARRAY };
enum { NVT_KIND_MANAGED = 5, NVT_KINDS = 8 };
enum { NVT_SYNC_UNKNOWN, NVT_SYNC_EVENT, NVT_SYNC_WAIT_EVENT, NVT_SYNC_STREAM, NVT_SYNC_CONTEXT };
enum { NVT_SYNC_TYPES = 5 };
/* Records of managed memory other than copies of the kinds NVT_COPY_UNIFIED_…: the numbers of
 * CUpti_ActivityUnifiedMemoryCounterKind. */
enum nvt_um_kind {
    NVT_UM_CPU_FAULT = 3, /* the host touched a page that was not there */
    NVT_UM_GPU_FAULT,     /* a device did */
    NVT_UM_THRASHING,     /* memory goes back and forth between those that use it */
    NVT_UM_THROTTLING,    /* so one of them was held up for a while */
    NVT_UM_REMOTE_MAP,    /* or uses it from where it is */
};
/* CUpti_ActivityUnifiedMemoryAccessType, …MigrationCause and …RemoteMapCause: how many numbers there are, and those that
 * are asked for. */
enum nvt_um_access { NVT_UM_ACCESS_UNKNOWN, NVT_UM_ACCESSES = 5 };
enum nvt_um_move { NVT_UM_MOVE_UNKNOWN, NVT_UM_MOVE_USER, NVT_UM_MOVE_FAULT, NVT_UM_MOVES = 6 };
enum nvt_um_map { NVT_UM_MAP_UNKNOWN, NVT_UM_MAPS = 6 };
/* nsys's numbers of overhead, which are not CUPTI's: 0 undefined, 1 unknown. */
enum { NVT_OVERHEAD_UNKNOWN = 1, NVT_OVERHEAD_TYPES = 9 };

/* "Host-to-Device", "Pageable", "Stream sync" …; "Unknown" for a number without a word. */
const char *nvt_copy_label(unsigned kind);
const char *nvt_memory_label(unsigned kind);
const char *nvt_sync_label(unsigned type);
const char *nvt_overhead_label(unsigned type);

/* "CPU page fault", "Thrashing" …; "Unknown" for another number. Then nsys's words: "Read"; "Page fault"; and for maps, of
 * which it has none, in their manner. */
const char *nvt_um_label(unsigned kind);
const char *nvt_um_access_label(unsigned access);
const char *nvt_um_move_label(unsigned cause);
const char *nvt_um_map_label(unsigned cause);

/* Whether a kind of copy is pages of managed memory that the driver moved. */
int nvt_is_migration(unsigned copy_kind);

/* The number of a word of nvt_overhead_label; NVT_OVERHEAD_UNKNOWN for any other. */
unsigned nvt_overhead_type(const char *label);

/* The name of a copy, "[CUDA memcpy Host-to-Device]". Returns out. */
const char *nvt_copy_name(unsigned kind, char out[NVT_COPY_NAME_MAX]);

/* The name of every memset. */
#define NVT_MEMSET_NAME "[CUDA memset]"

/* Room for nvt_graph_name. */
#define NVT_GRAPH_NAME_MAX 48

/* The name of a CUDA graph that was recorded as a whole, "[CUDA graph 7]". Returns out. */
const char *nvt_graph_name(uint64_t graph, char out[NVT_GRAPH_NAME_MAX]);

/* Whether it is such a name. */
int nvt_is_graph_name(const char *name);

/* The length of an API call's name without the version of its entry point that CUPTI and nsys append:
 * cudaLaunchKernel of cudaLaunchKernel_v7000. */
size_t nvt_call_name_length(const char *name, size_t size);

/* Whether a text is a UUID and no more (8-4-4-4-12 hexadecimal digits), as exports of nsys have those of GPUs. A trace
 * model has "GPU-" before it, as CUDA has. */
int nvt_is_bare_uuid(const char *text);

#endif
