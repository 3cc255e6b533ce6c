/*
 * What nvtally's exports say in the formats of other tools beyond those formats, so that its own readers
 * take it back (exports/) or leave it out (readers/).
 */
#ifndef NVT_INTERCHANGE_H
#define NVT_INTERCHANGE_H

#include <stdint.h>

/* nsys's SQLite schema. */
#define NVT_EXPORT_LAUNCH                                                                          \
    "[launch]" /* a call of no length: only the launch's thread and time are known */
#define NVT_EXPORT_CORRELATION                                                                     \
    (UINT64_C(1) << 40)                     /* from here on, ids were made up for such calls */
#define NVT_EXPORT_FACT    "NVTALLY_FACT:"  /* before the name of a fact in META_DATA_EXPORT */
#define NVT_EXPORT_PRODUCT "nvtally"        /* instead of nsys */
#define NVT_EXPORT_FORMAT  "NVTALLY_FORMAT" /* the format that was exported: who recorded it */
#define NVT_EXPORT_OS_CALL 27 /* ENUM_NSYS_EVENT_CLASS: TRACE_PROCESS_EVENT_OS_RUNTIME */
/* Functions of a stack that are written, and read, at most: the innermost ones. nsys has 256. */
#define NVT_EXPORT_STACK_DEPTH 512

/* Chrome's trace events: categories that our reader leaves out. */
#define NVT_EXPORT_MEMORY "allocator_memory" /* counters of what "[memory]" events have too */
/* Of counters that were sampled of the machine ("GPU 0: SM clock") and of a process, which are read as such. */
#define NVT_EXPORT_MACHINE "machine"
#define NVT_EXPORT_PROCESS "process_memory"
#define NVT_EXPORT_PATH    "critical_path"
#define NVT_EXPORT_UM      "unified_memory"
#define NVT_EXPORT_MPI     "mpi"

/* A key of the whole file: our export, with its version. */
#define NVT_EXPORT_OWN "nvtally"

#endif
