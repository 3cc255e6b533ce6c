/*
 * The trace model: what every reader fills and every analysis reads. No analysis knows a file
 * format; no reader knows an analysis.
 *
 * Data lies in columns (one array a field), because an analysis touches few fields of many rows.
 * Times are nanoseconds on one axis for the whole trace, host and device alike; where that axis
 * starts is in `origin_ns`. Names are ids in `strings`. Rows refer to each other by index.
 *
 * Life: nvt_trace_new, the reader appends rows with nvt_<table>_add, nvt_trace_finish sorts and
 * links them, analyses read, nvt_trace_free. After nvt_trace_finish a trace is immutable.
 */
#ifndef NVT_TRACE_H
#define NVT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/costs.h"
#include "../../lib/error.h"
#include "../../lib/strings.h"

#define NVT_NONE UINT32_MAX /* no such row */

/*
 * What a column of numbers refers to, if to anything. layout.h knows every column by the name of its type here: so
 * that tables can be written, read and checked without a line for each. Plain numbers refer to nothing.
 */
typedef uint32_t nvt_text; /* id in `strings`; 0 is the empty one: none, or unknown */
/* Row of a table; "or_none": or NVT_NONE; "and_1": the row's number and 1, 0 for none. */
typedef uint32_t nvt_process_row, nvt_process_or_none, nvt_thread_row, nvt_thread_or_none;
typedef uint32_t nvt_domain_row, nvt_counter_row, nvt_collective_and_1, nvt_call_frame_and_1;
typedef uint32_t nvt_detail_row; /* of ops alone, see there */
/* A time on the trace's axis, of 62 bits (nvt_clock_within), so that the difference of two is a number; "or_none": or INT64_MIN. */
typedef int64_t nvt_ns, nvt_ns_or_none;
/* What nvt_trace_finish makes of the others. */
typedef uint32_t nvt_linked_row, nvt_linked_count;
typedef int64_t nvt_linked_ns;
typedef uint16_t nvt_linked_level;

enum nvt_range_style { NVT_PUSH_POP, NVT_START_END };
enum nvt_range_flags {
    NVT_RANGE_UNCLOSED = 1,    /* no end was seen: `end` is threads.last_ns */
    NVT_RANGE_HAS_PAYLOAD = 2, /* `payload` is a number or text written by the program */
    NVT_RANGE_HAS_COLOR = 4,
    NVT_RANGE_CARRIED = 8, /* it began before what the trace has: `start` is where that begins */
    NVT_RANGE_CUT = 16,    /* it ends behind a window: what is done in it is not all in the trace */
};
/* Not all of it was seen: what it lasted is not known. */
#define NVT_RANGE_PARTIAL (NVT_RANGE_UNCLOSED | NVT_RANGE_CARRIED)
/* Not all that is done in it was seen: what counts per iteration leaves it out. */
#define NVT_RANGE_NOT_WHOLE (NVT_RANGE_PARTIAL | NVT_RANGE_CUT)
enum nvt_op_kind { NVT_OP_KERNEL, NVT_OP_MEMCPY, NVT_OP_MEMSET };
enum nvt_api_class { NVT_API_RUNTIME, NVT_API_DRIVER, NVT_API_LIBRARY, NVT_API_OTHER };
enum nvt_mpi_kind { NVT_MPI_OTHER, NVT_MPI_P2P, NVT_MPI_COLLECTIVE, NVT_MPI_WAIT, NVT_MPI_KINDS };
#define NVT_MPI_NONE INT32_MIN
enum nvt_cpu_sample_flags {
    NVT_CPU_SAMPLE_NO_CALLERS = 1, /* the function alone was looked for, not who called it */
    NVT_CPU_SAMPLE_PYTHON = 2,     /* times this: enum nvt_python_state, in four bits */
};
enum nvt_memory_kind { NVT_MEMORY_ALLOC, NVT_MEMORY_FREE };
/* What a sample of a counter says: how much there is, how much more since the one before, or since the start. */
enum nvt_counter_values { NVT_COUNTER_ABSOLUTE, NVT_COUNTER_DELTA, NVT_COUNTER_SINCE_START };
enum nvt_sample_flags {
    NVT_SAMPLE_BATCHED = 1, /* the program took the time, and handed the sample over later */
};

/* Who recorded: the profiler whose options would have recorded more. */
enum nvt_recorder { NVT_BY_NVTALLY, NVT_BY_NSYS, NVT_BY_PYTORCH, NVT_BY_OTHERS, NVT_RECORDERS };

/* One process image (a new one after exec). */
#define NVT_PROCESS_COLUMNS(X)                                                                     \
    X(int64_t, pid)                                                                                \
    X(int64_t, parent_pid)  /* -1: unknown */                                                      \
    X(nvt_text, name)       /* command line or executable */                                       \
    X(uint32_t, rank)       /* of a distributed job, NVT_NONE when unknown */                      \
    X(uint8_t, is_launcher) /* its file says that it only started the program (launchers.h) */     \
    X(uint8_t, is_fed)      /* as threads.waits: another thread ran, or waited for the outside */

/* What NVTX events cost a process, as its collector measured it. */
#define NVT_EVENT_COST_COLUMNS(X)                                                                  \
    X(nvt_process_row, process) X(uint32_t, ps) X(uint8_t, what) /* enum nvt_cost */

#define NVT_THREAD_COLUMNS(X)                                                                      \
    X(nvt_process_row, process)                                                                    \
    X(int64_t, tid)                                                                                \
    X(nvt_text, name)                                                                              \
    X(nvt_ns, last_ns)     /* last time in the trace */                                            \
    X(nvt_ns, ended_ns)    /* when its end, or that of the recording, was noticed; 0 unknown */    \
    X(uint64_t, events)    /* NVTX events recorded */                                              \
    X(uint64_t, dropped)   /* events and device records known to be lost */                        \
    X(uint64_t, waited_ns) /* time the thread waited for room in its ring */                       \
    X(int32_t, priority)   /* as the scheduler had it, with has_priority */                        \
    X(uint8_t, has_priority)                                                                       \
    X(nvt_text, waits) /* as it goes on behind the end: in that system call, or "running" */

/* What the thread of a push/pop range did on the CPU in it, ranges within included (record --trace counters): of those that the trace
 * has begin and end of, by these and the thread. UINT64_MAX: unknown. Chosen ones: the counters of NVT_FACT_CHOSEN. */
#define NVT_RANGE_COUNT_COLUMNS(X)                                                                 \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_thread_row, thread)                                                                      \
    X(uint64_t, cpu_ns)       /* CPU time, of the program and of the system for it */              \
    X(uint64_t, minor_faults) /* page faults without input or output */                            \
    X(uint64_t, major_faults) /* page faults that read from a disk */                              \
    X(uint64_t, voluntary)    /* times that it began to wait */                                    \
    X(uint64_t, involuntary)  /* times that another thread took its core */                        \
    X(uint64_t, cycles)       /* these in user code alone */                                       \
    X(uint64_t, instructions)                                                                      \
    X(uint64_t, cache_misses) /* of the last cache */                                              \
    X(uint64_t, branch_misses)                                                                     \
    X(uint64_t, migrations) /* times that it went on on another core */                            \
    X(uint64_t, chosen0) X(uint64_t, chosen1) X(uint64_t, chosen2) X(uint64_t, chosen3)

/* Push/pop ranges that began before what the trace has and never ended, with when they had begun; in each thread's order. */
#define NVT_CARRIED_COLUMNS(X)                                                                     \
    X(nvt_thread_row, thread) X(nvt_domain_row, domain) X(nvt_text, name) X(nvt_ns, begun)

/* Before what the trace has: of all events (what 0) how many, the longest pause, when the last one began, and anything last began or
 * ended; of push/pop ranges of a name (1) how many, and the longest one. */
#define NVT_EARLIER_COLUMNS(X)                                                                     \
    X(nvt_process_row, process)                                                                    \
    X(nvt_domain_row, domain)                                                                      \
    X(nvt_text, name)                                                                              \
    X(uint8_t, what) X(uint64_t, number) X(int64_t, longest) X(nvt_ns, begun) X(nvt_ns, moved)

/* The times in which a recording was under way, in order and apart; none: all the time (recorded_parts.h). All is known until `closed`. */
#define NVT_PART_COLUMNS(X) X(nvt_ns, start) X(nvt_ns, end) X(nvt_ns, closed)

/* NVTX domains; row 0 is always the default domain, whose name is empty. */
#define NVT_DOMAIN_COLUMNS(X)                                                                      \
    X(nvt_process_or_none, process) /* NVT_NONE: any */                                            \
    X(nvt_text, name)

/* NVTX ranges of both styles, sorted by (start, end descending) after nvt_trace_finish. */
#define NVT_RANGE_COLUMNS(X)                                                                       \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_thread_row, thread)     /* that opened it */                                             \
    X(nvt_thread_row, end_thread) /* that closed it; same as thread for push/pop */                \
    X(nvt_domain_row, domain)                                                                      \
    X(nvt_text, name)                                                                              \
    X(nvt_text, category) /* name of the category, 0 (empty) when there is none */                 \
    X(uint32_t, color)    /* ARGB */                                                               \
    X(nvt_text, payload)  /* text of the payload, with NVT_RANGE_HAS_PAYLOAD */                    \
    X(nvt_linked_row,                                                                              \
      parent) /* enclosing push/pop range of the same thread and domain, NVT_NONE */               \
    X(nvt_linked_count, children) /* direct push/pop children */                                   \
    X(nvt_linked_ns, children_ns) /* time in at least one of them */                               \
    X(nvt_linked_level, level)    /* 0: outermost of its thread and domain */                      \
    X(uint8_t, style)             /* enum nvt_range_style */                                       \
    X(uint8_t, flags)             /* enum nvt_range_flags */

#define NVT_MARK_COLUMNS(X)                                                                        \
    X(nvt_ns, time)                                                                                \
    X(nvt_thread_row, thread)                                                                      \
    X(nvt_domain_row, domain)                                                                      \
    X(nvt_text, name)                                                                              \
    X(nvt_text, category)                                                                          \
    X(uint32_t, color)                                                                             \
    X(nvt_text, payload)                                                                           \
    X(uint8_t, flags)

/* NVTX counters, and those of the machine and of processes that a recorder samples. A group is a row for each of its numbers, `name` then "group.entry". */
#define NVT_COUNTER_COLUMNS(X)                                                                     \
    X(nvt_process_row, process)                                                                    \
    X(nvt_domain_row, domain)                                                                      \
    X(nvt_text, name)                                                                              \
    X(nvt_text, unit)         /* 0 (empty): unknown */                                             \
    X(nvt_text, description)  /* of the counter or group */                                        \
    X(uint8_t, values)        /* enum nvt_counter_values */                                        \
    X(uint8_t, is_further)    /* of a group whose first row is another: the same event */          \
    X(uint8_t, is_of_machine) /* not of its process alone: it counts within ranges of all */       \
    X(uint8_t, is_of_process) /* of its process, whose memory the recorder samples: no event */    \
    X(nvt_text, gpu)          /* that it is of, as devices have it; 0 none, or unknown */

/* Samples of counters, sorted by time. */
#define NVT_COUNTER_SAMPLE_COLUMNS(X)                                                              \
    X(nvt_ns, time)                                                                                \
    X(nvt_counter_row, counter)                                                                    \
    X(nvt_thread_row, thread) /* that handed it over */                                            \
    X(double, value)          /* in the counter's unit; finite */                                  \
    X(uint8_t, flags)         /* enum nvt_sample_flags */

/* Device operations, sorted by start. */
#define NVT_OP_COLUMNS(X)                                                                          \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_process_row, process)                                                                    \
    X(uint32_t, device)                                                                            \
    X(uint32_t, context)                                                                           \
    X(uint32_t, stream)                                                                            \
    X(uint64_t, correlation) /* of the API call that launched it, 0 unknown; per process */        \
    X(nvt_linked_row, api)   /* row of that call, NVT_NONE (set by nvt_trace_finish) */            \
    X(nvt_thread_or_none,                                                                          \
      thread) /* that launched it, NVT_NONE unknown (set by nvt_trace_finish, or the reader) */    \
    X(nvt_ns_or_none, launch) /* start of the launching call, or INT64_MIN when unknown */         \
    X(nvt_text, name)         /* demangled kernel name; "[CUDA memcpy Host-to-Device]" … */      \
    X(nvt_text, short_name)   /* kernel name without parameters and templates */                   \
    X(uint64_t, bytes)        /* of a copy or memset */                                            \
    X(nvt_detail_row,                                                                              \
      detail)             /* row of kernels, of migrations of a copy that is one, else NVT_NONE */ \
    X(uint8_t, kind)      /* enum nvt_op_kind */                                                   \
    X(uint8_t, copy_kind) /* CUpti_ActivityMemcpyKind */                                           \
    X(uint8_t, source_kind) /* CUpti_ActivityMemoryKind of the source */                           \
    X(uint8_t, target_kind) /* CUpti_ActivityMemoryKind of the destination */

/* What only kernels have; ops.detail points here, that of many operations to the same row. */
#define NVT_KERNEL_COLUMNS(X)                                                                      \
    X(uint32_t, grid_x)                                                                            \
    X(uint32_t, grid_y)                                                                            \
    X(uint32_t, grid_z)                                                                            \
    X(uint32_t, block_x)                                                                           \
    X(uint32_t, block_y)                                                                           \
    X(uint32_t, block_z)                                                                           \
    X(uint32_t, registers)              /* a thread */                                             \
    X(uint32_t, static_shared)          /* bytes a block */                                        \
    X(uint32_t, dynamic_shared)         /* bytes a block */                                        \
    X(uint64_t, local_memory)           /* bytes in all */                                         \
    X(uint64_t, graph)                  /* id of the graph it ran in, 0 none */                    \
    X(uint64_t, graph_node)             /* 0 none */                                               \
    X(nvt_collective_and_1, collective) /* row of collectives and 1, 0 none */

/* What only copies have that are pages of managed memory, moved by the driver (NVT_COPY_UNIFIED_…). */
#define NVT_MIGRATION_COLUMNS(X)                                                                   \
    X(uint64_t, address) /* of the first page; 0 unknown */                                        \
    X(uint8_t, cause)    /* CUpti_ActivityUnifiedMemoryMigrationCause */

/* What else the driver does about managed memory: faults, and what it makes of memory that several want at once; sorted by start. */
#define NVT_UM_EVENT_COLUMNS(X)                                                                    \
    X(nvt_ns, start) /* the driver takes notice of it */                                           \
    X(nvt_ns, end)   /* it lets the device go on; `start` where there is only a moment */          \
    X(nvt_process_row, process)                                                                    \
    X(uint32_t, device)      /* that faults, is held up or maps; NVT_NONE: the host, or several */ \
    X(uint32_t, target)      /* whose memory is mapped, NVT_NONE: the host's, or it is no map */   \
    X(uint64_t, address)     /* of the page, or the first of the memory */                         \
    X(uint64_t, bytes)       /* of memory that is thrashed or mapped */                            \
    X(uint64_t, faults)      /* of a device on the page; of the host 1 */                          \
    X(uint64_t, pc)          /* of the host's instruction, 0 unknown */                            \
    X(nvt_text, instruction) /* as a string: its function, or else where it lies, "0x4005d0" */    \
    X(nvt_text, module)      /* string: the file that it is in */                                  \
    X(nvt_text, source)      /* string: the file that it was written in */                         \
    X(uint32_t, line)        /* of that, 0 unknown */                                              \
    X(uint8_t, kind)         /* enum nvt_um_kind */                                                \
    X(uint8_t, reason)       /* of a fault enum nvt_um_access, of a map enum nvt_um_map, else 0 */

/* What a framework says of the communication that a kernel does: PyTorch's of NCCL's and RCCL's. Its group is the communicator:
 * it is known by all of its columns, as programs give one name to several. */
#define NVT_COLLECTIVE_COLUMNS(X)                                                                  \
    X(nvt_text, name)    /* "allreduce", "_allgather_base" */                                      \
    X(nvt_text, type)    /* of an element: "Float", "BFloat16" */                                  \
    X(nvt_text, group)   /* name of the group of ranks */                                          \
    X(uint32_t, ranks)   /* in the group, 0 unknown */                                             \
    X(uint64_t, given)   /* elements that a rank gives */                                          \
    X(uint64_t, taken)   /* elements that a rank gets */                                           \
    X(nvt_text, members) /* ranks of the group: "0,1,8"; with "..." for those left out */          \
    X(nvt_text, purpose) /* of the group: "default_pg", "TENSOR_MODEL_PARALLEL_GROUP" */           \
    X(uint32_t, peer)    /* of a message: the rank at the other end, and 1; 0 unknown */

/* Which of its group's collectives the kernel of a launch is, where the framework counts them. */
#define NVT_SEQUENCE_COLUMNS(X)                                                                    \
    X(nvt_process_or_none, process) /* NVT_NONE: any */                                            \
    X(uint64_t, correlation)        /* of the kernel */                                            \
    X(uint64_t, number)

/* CUDA API calls on the host, sorted by start. */
#define NVT_API_COLUMNS(X)                                                                         \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_thread_row, thread)                                                                      \
    X(uint64_t, correlation)                                                                       \
    X(nvt_text, name)                                                                              \
    X(int32_t, result)             /* the call's return code */                                    \
    X(nvt_call_frame_and_1, frame) /* of who called: row of call_frames, and 1; 0 unknown */       \
    X(uint8_t, class)              /* enum nvt_api_class */

/* OS calls (record --trace osrt, nsys profile --trace=osrt): those that may block, sorted by start. lib/os_calls.h
 * knows what kind a name is of. The trace's extent is that of the others. */
#define NVT_OS_CALL_COLUMNS(X)                                                                     \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_thread_row, thread)                                                                      \
    X(nvt_text, name)                                                                              \
    X(int64_t, result)   /* what the call returned; of a pointer, whether it is one */             \
    X(nvt_text, file)    /* a path, "pipe", "socket 10.0.0.1:80"; 0 unknown */                     \
    X(uint64_t, address) /* of the lock or another object in its process, 0 unknown */             \
    X(nvt_text, caller)  /* the library or program that called, 0 unknown */                       \
    X(uint32_t, holder)  /* tid of the thread that held the lock, as far as is known; 0 unknown */ \
    X(uint64_t, bytes)   /* that it read or wrote, 0 unknown or none */                            \
    X(nvt_call_frame_and_1,                                                                        \
      frame) /* of who called, where it took long: row of call_frames, and 1; 0 unknown */         \
    X(uint8_t, flags) /* NVT_RANGE_UNCLOSED: no end was seen */

/* Calls that communicate with other ranks, sorted by start: of MPI, and of torch.distributed as far as their thread waits in them
 * (nvt_is_mpi_call says which). What a call does not say: NVT_MPI_NONE of a rank or tag, UINT64_MAX of bytes. */
#define NVT_MPI_CALL_COLUMNS(X)                                                                    \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_thread_row, thread)                                                                      \
    X(nvt_text, name)                                                                              \
    X(uint64_t,                                                                                    \
      communicator)       /* its handle in the process, 0 unknown; with `ranks` the same on all */ \
    X(uint64_t, sent)     /* bytes that the rank gives; of what it receives into, their room */    \
    X(uint64_t, received) /* bytes that it gets */                                                 \
    X(int32_t, peer)      /* the other rank in the communicator; of a collective its root */       \
    X(int32_t, tag)                                                                                \
    X(uint32_t, ranks)          /* of the communicator, 0 unknown: as of MPI */                    \
    X(nvt_text, group)          /* its name, where it is known by one */                           \
    X(uint64_t, sequence_and_1) /* which of its collectives it is, and 1; 0 unknown */             \
    X(uint8_t, kind)            /* enum nvt_mpi_kind */                                            \
    X(uint8_t, flags)           /* NVT_RANGE_UNCLOSED: no end was seen, `end` is threads.last_ns */

/* Waits for the device, as seen by the host; or, as NVT_SYNC_WAIT_EVENT, orders to a stream to wait. Of waits for an
 * event, where it was recorded: its operations before that call are what is waited for. */
#define NVT_SYNC_COLUMNS(X)                                                                        \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_process_row, process)                                                                    \
    X(uint32_t, device)                                                                            \
    X(uint32_t, context)                                                                           \
    X(uint32_t, stream)                                                                            \
    X(uint64_t, correlation)                                                                       \
    X(uint64_t, recorded)        /* correlation of the call that recorded the event, 0 unknown */  \
    X(uint32_t, recorded_stream) /* that it was recorded on, where that is known */                \
    X(uint8_t, type)             /* CUpti_ActivitySynchronizationType */

/* Memory allocated and freed, sorted by time. */
#define NVT_MEMORY_COLUMNS(X)                                                                      \
    X(nvt_ns, time)                                                                                \
    X(nvt_process_row, process)                                                                    \
    X(uint32_t, device)           /* NVT_NONE: the host */                                         \
    X(nvt_thread_or_none, thread) /* NVT_NONE: unknown */                                          \
    X(uint64_t, address)                                                                           \
    X(uint64_t, bytes)                                                                             \
    X(uint64_t, allocated) /* in use after it, as the allocator says; UINT64_MAX unknown */        \
    X(uint64_t, reserved)  /* held from the system after it; UINT64_MAX unknown */                 \
    X(nvt_text, source)    /* name of the allocator, pool or memory kind */                        \
    X(nvt_call_frame_and_1, frame) /* row of call_frames of who took it, and 1; 0 unknown */       \
    X(uint8_t, kind)               /* enum nvt_memory_kind */                                      \
    X(uint8_t, is_earlier)         /* it was before the window, at whose begin it now stands */

/* Functions on stacks, of what took memory, made a call or was sampled, as a tree: each once below each that called it. */
#define NVT_CALL_FRAME_COLUMNS(X)                                                                  \
    X(nvt_call_frame_and_1, parent) /* row of its caller and 1, a lower one; 0: there is none */   \
    X(nvt_text, name)   /* "forward (linear.py:117)", "at::matmul", of no known name "0x1234" */   \
    X(nvt_text, module) /* path of the library or program it is in; 0 unknown, or interpreted */

/* CPU samples (record --trace cpu, nsys profile --sample), sorted by time: each stands for CPU time that its thread
 * took, up to there. The trace's extent is that of the others, where there are others. */
#define NVT_CPU_SAMPLE_COLUMNS(X)                                                                  \
    X(nvt_ns, time)                                                                                \
    X(nvt_thread_row, thread)                                                                      \
    X(int64_t, cpu_ns) /* CPU time it stands for; 0 unknown */                                     \
    X(nvt_call_frame_and_1,                                                                        \
      frame)          /* row of call_frames of the innermost function, and 1; 0 unknown */         \
    X(uint8_t, flags) /* enum nvt_cpu_sample_flags */

/* What an allocator held from the system when its snapshot was taken, at the end of the trace. */
#define NVT_SEGMENT_COLUMNS(X)                                                                     \
    X(nvt_process_row, process)                                                                    \
    X(uint32_t, device) /* NVT_NONE: the host */                                                   \
    X(nvt_text, pool)   /* string: of the allocator */                                             \
    X(uint64_t, stream) /* its handle */                                                           \
    X(uint64_t, bytes)                                                                             \
    X(uint64_t, in_use)       /* bytes of blocks that were not free */                             \
    X(uint64_t, largest_free) /* bytes of a block */

/* Time that the profiler itself took. */
#define NVT_OVERHEAD_COLUMNS(X)                                                                    \
    X(nvt_ns, start)                                                                               \
    X(nvt_ns, end)                                                                                 \
    X(nvt_process_row, process)                                                                    \
    X(nvt_thread_or_none, thread) /* NVT_NONE: unknown */                                          \
    X(nvt_text, name)

/* What programs say a call belongs to (cuptiActivityPushExternalCorrelationId). */
#define NVT_EXTERNAL_COLUMNS(X)                                                                    \
    X(nvt_process_row, process)                                                                    \
    X(uint64_t, correlation) /* of the API call */                                                 \
    X(uint64_t, external)    /* the program's own id */                                            \
    X(uint32_t, kind)        /* CUpti_ExternalCorrelationKind: whose ids these are */

#define NVT_DEVICE_COLUMNS(X)                                                                      \
    X(nvt_process_or_none, process) /* NVT_NONE: any */                                            \
    X(uint32_t, device)                                                                            \
    X(nvt_text, name)                                                                              \
    X(uint64_t, memory_bytes)                                                                      \
    X(uint32_t, multiprocessors)                                                                   \
    X(uint32_t, capability) /* compute capability times 10: 90; 0 unknown */                       \
    X(nvt_text, gpu)        /* its UUID or place on the bus, equal in all processes; 0 unknown */

/* Names that the program gave to its devices, contexts, streams, events … */
#define NVT_RESOURCE_COLUMNS(X)                                                                    \
    X(nvt_process_or_none, process) /* NVT_NONE: any */                                            \
    X(nvt_text, type)               /* string: "device", "stream", "context", "event", … */      \
    X(uint64_t, handle)                                                                            \
    X(nvt_text, name)

/* Facts about the trace: "backend", "device", "date", "host", "command", … */
#define NVT_META_COLUMNS(X)                                                                        \
    X(nvt_text, key)                                                                               \
    X(nvt_text, value)

/*
 * Tables of the model: X(table member, row name, column list, times, owner, extent). A table that others refer to comes
 * before them. What is said of it here is all that sorting, windows, clocks and the extent need to know (layout.h):
 *
 * times   MOMENTS: rows have a `time`; SPANS: a `start` and an `end`; NESTED: as SPANS, and of those that start together
 *         the longer one comes first; TIMELESS: rows stay in the order in which they were added.
 * owner   the column that says whose a row is, and thus which window and which clock it goes by: THREAD, PROCESS, or
 *         COUNTER, whose process it is.
 * extent  WIDENS: the trace lasts at least from its first row to its last; WITHIN: it does not matter when they are;
 *         PARTLY: of some of them, see extent.c.
 */
#define NVT_TABLES(X)                                                                              \
    X(processes, process, NVT_PROCESS_COLUMNS, TIMELESS, NOBODY, WITHIN)                           \
    X(event_costs, event_cost, NVT_EVENT_COST_COLUMNS, TIMELESS, NOBODY, WITHIN)                   \
    X(threads, thread, NVT_THREAD_COLUMNS, TIMELESS, NOBODY, WITHIN)                               \
    X(domains, domain, NVT_DOMAIN_COLUMNS, TIMELESS, NOBODY, WITHIN)                               \
    X(ranges, range, NVT_RANGE_COLUMNS, NESTED, THREAD, WIDENS)                                    \
    X(range_counts, range_count, NVT_RANGE_COUNT_COLUMNS, SPANS, THREAD, WITHIN)                   \
    X(carried, carried_range, NVT_CARRIED_COLUMNS, TIMELESS, NOBODY, WITHIN)                       \
    X(earlier, earlier_pace, NVT_EARLIER_COLUMNS, TIMELESS, NOBODY, WITHIN)                        \
    X(parts, part, NVT_PART_COLUMNS, TIMELESS, NOBODY, WITHIN)                                     \
    X(marks, mark, NVT_MARK_COLUMNS, MOMENTS, THREAD, WIDENS)                                      \
    X(counters, counter, NVT_COUNTER_COLUMNS, TIMELESS, NOBODY, WITHIN)                            \
    X(counter_samples, counter_sample, NVT_COUNTER_SAMPLE_COLUMNS, MOMENTS, COUNTER, PARTLY)       \
    X(collectives, collective, NVT_COLLECTIVE_COLUMNS, TIMELESS, NOBODY, WITHIN)                   \
    X(kernels, kernel, NVT_KERNEL_COLUMNS, TIMELESS, NOBODY, WITHIN)                               \
    X(migrations, migration, NVT_MIGRATION_COLUMNS, TIMELESS, NOBODY, WITHIN)                      \
    X(ops, op, NVT_OP_COLUMNS, SPANS, PROCESS, WIDENS)                                             \
    X(um_events, um_event, NVT_UM_EVENT_COLUMNS, SPANS, PROCESS, WIDENS)                           \
    X(call_frames, call_frame, NVT_CALL_FRAME_COLUMNS, TIMELESS, NOBODY, WITHIN)                   \
    X(apis, api, NVT_API_COLUMNS, NESTED, THREAD, WIDENS)                                          \
    X(os_calls, os_call, NVT_OS_CALL_COLUMNS, NESTED, THREAD, WITHIN)                              \
    X(mpi_calls, mpi_call, NVT_MPI_CALL_COLUMNS, NESTED, THREAD, PARTLY)                           \
    X(syncs, sync, NVT_SYNC_COLUMNS, SPANS, PROCESS, WITHIN)                                       \
    X(cpu_samples, cpu_sample, NVT_CPU_SAMPLE_COLUMNS, MOMENTS, THREAD, PARTLY)                    \
    X(memory, memory_event, NVT_MEMORY_COLUMNS, MOMENTS, PROCESS, WIDENS)                          \
    X(segments, segment, NVT_SEGMENT_COLUMNS, TIMELESS, NOBODY, WITHIN)                            \
    X(overheads, overhead, NVT_OVERHEAD_COLUMNS, SPANS, PROCESS, WITHIN)                           \
    X(externals, external_id, NVT_EXTERNAL_COLUMNS, TIMELESS, NOBODY, WITHIN)                      \
    X(sequences, sequence, NVT_SEQUENCE_COLUMNS, TIMELESS, NOBODY, WITHIN)                         \
    X(devices, device, NVT_DEVICE_COLUMNS, TIMELESS, NOBODY, WITHIN)                               \
    X(resources, resource, NVT_RESOURCE_COLUMNS, TIMELESS, NOBODY, WITHIN)                         \
    X(meta, fact, NVT_META_COLUMNS, TIMELESS, NOBODY, WITHIN)

#define NVT_ROW_FIELD(type, field)    type field;
#define NVT_COLUMN_FIELD(type, field) type *field;
#define NVT_DECLARE_TABLE(member, row, columns, ...)                                               \
    struct nvt_##row {                                                                             \
        columns(NVT_ROW_FIELD)                                                                     \
    };                                                                                             \
    struct nvt_##member {                                                                          \
        uint32_t count, capacity;                                                                  \
        columns(NVT_COLUMN_FIELD)                                                                  \
    };
NVT_TABLES(NVT_DECLARE_TABLE)

struct nvt_trace {
    struct nvt_strings *strings;
    char *path;         /* the file it came from */
    const char *format; /* the name of a reader: static text */
    uint32_t step_name; /* string: ranges that its recorder calls iterations; 0: it names none */
    enum nvt_recorder recorder;             /* as that reader states it (readers/reader.h), */
    int tells_mpi_peers, lacks_page_faults; /* as that reader states them */
    int64_t origin_ns;         /* CLOCK_REALTIME at time 0 of the axis, 0 when unknown */
    int64_t first_ns, last_ns; /* of anything in it (set by nvt_trace_finish) */
    int64_t levels_ns; /* until when memory and counters are known: last_ns, or a window's end */
    int ops_unlinked; /* the reader has not set thread and launch of ops: nvt_trace_finish has to */
    int was_finished; /* its rows are those of a trace that was finished: what that notes is noted, and */
    int has_extent;    /* then: first_ns, last_ns and levels_ns are set */
    int is_part;       /* a window was cut out of it: results of the whole are not its own */
    int64_t before_ns; /* how much a window left out in front of first_ns (nvt_trace_begin) */
    int64_t cut_ns;  /* end of a window given by moments, behind which nothing is known; 0: none */
    int64_t open_ns; /* it has no end, or its threads have none: the last known of them; else 0 */
    int was_stopped; /* the command did not end by itself, with exit status 0 */
    int goes_on;     /* then: it is being recorded still */
    int is_late; /* what its processes did first is not in it: it was cut off, or not captured */
    int is_truncated;         /* the rest of its file could not be read: nvt_trace_warn_truncated */
    uint32_t *recent_kernels; /* of nvt_trace_kernel */
    /* What analyses found out of each string that was there when the trace was finished, 0: nothing yet; by whoever comes first, on any
     * thread. NULL: it is not kept. */
    _Atomic unsigned char *name_facts;
    uint32_t name_fact_count;
    const char *iteration; /* ranges that are iterations (nvt_iterations_set), not owned, or NULL */
    unsigned loop; /* where none are called iteration: the program's name for them (loop_names.h) */
    char *warning; /* one line about what could not be read, or NULL */
    char *notes;   /* lines, each with its '\n', about what is not in the recording, or NULL */
#define NVT_MEMBER(member, row, columns, ...) struct nvt_##member member;
    NVT_TABLES(NVT_MEMBER)
#undef NVT_MEMBER
};

/* An empty trace with the default domain in it. NULL when out of memory. */
struct nvt_trace *nvt_trace_new(const char *path, const char *format);
void nvt_trace_free(struct nvt_trace *trace);

/* When the whole trace begins, also where a window was cut out of it: moments count from here. */
static inline int64_t nvt_trace_begin(const struct nvt_trace *trace)
{
    int64_t begin;
    return __builtin_sub_overflow(trace->first_ns, trace->before_ns, &begin) ? trace->first_ns
                                                                             : begin;
}

/* Give back the memory of what grows with the events of a finished trace: of its tables processes, threads, domains, parts, marks,
 * MPI calls, devices, resources and facts stay (`ranges`: ranges, too), with all names. */
void nvt_trace_release_events(struct nvt_trace *trace, int ranges);

/*
 * nvt_process_add, nvt_thread_add, nvt_range_add, nvt_memory_event_add, nvt_fact_add … one for every table: append a copy of the row.
 * Returns its index, or NVT_NONE when out of memory (or past 2^32 - 2 rows).
 */
#define NVT_DECLARE_ADD(member, row, columns, ...)                                                 \
    uint32_t nvt_##row##_add(struct nvt_trace *trace, const struct nvt_##row *values);
NVT_TABLES(NVT_DECLARE_ADD)
#undef NVT_DECLARE_ADD

/*
 * nvt_range_reserve …: room for so many rows in all, so that a reader can fill columns at `count` and
 * behind it itself; they are zero. Room that is not used takes addresses, but no memory. 0, or -1
 * when out of memory.
 */
#define NVT_DECLARE_RESERVE(member, row, columns, ...)                                             \
    int nvt_##row##_reserve(struct nvt_trace *trace, uint64_t rows);
NVT_TABLES(NVT_DECLARE_RESERVE)
#undef NVT_DECLARE_RESERVE

/* Find a row or append it: the process with this pid (and no more than its pid known), the thread
 * of a process, the domain of a process by name. Index, or NVT_NONE when out of memory. */
uint32_t nvt_trace_process(struct nvt_trace *trace, int64_t pid);
uint32_t nvt_trace_thread(struct nvt_trace *trace, uint32_t process, int64_t tid);
uint32_t nvt_trace_domain(struct nvt_trace *trace, uint32_t process, const char *name);

/* A thread of the first process, which stand for those of the machine, which has none. Both are added where there is
 * none. NVT_NONE when out of memory. */
uint32_t nvt_trace_any_thread(struct nvt_trace *trace);

/* The value of a fact about the trace, NULL when it is not there; set one (0, or -1: out of memory), replacing an earlier one. */
const char *nvt_trace_meta(const struct nvt_trace *trace, const char *key);
int nvt_trace_set_meta(struct nvt_trace *trace, const char *key, const char *value);

/* The row of kernels like this one, found among those added last, or added: a trace has few. NVT_NONE when out of memory. */
uint32_t nvt_trace_kernel(struct nvt_trace *trace, const struct nvt_kernel *values);

/* Set trace->warning (the first one is kept), without the path, which the printer puts before it. */
void nvt_trace_warn(struct nvt_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Warn that only what stands before some place of the file was read: what the trace lacks may stand behind it (is_truncated). */
void nvt_trace_warn_truncated(struct nvt_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Events and device records of all threads that are known to be lost. */
uint64_t nvt_trace_lost(const struct nvt_trace *trace);

/* Add a line to trace->notes. */
void nvt_trace_note(struct nvt_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Check all tables (nvt_layout_check) and sort them by time, as NVT_TABLES has it; link ranges to their parents and levels (nesting by
 * time per thread and domain, ties by order of appending), ops to the API call with their correlation id and process. What ends before
 * it starts, if its reader leaves it in, is cut to zero length. 0, or -1 with err: out of memory, or a row refers to what is not there.
 * Rows must not be added after it.
 */
int nvt_trace_finish(struct nvt_trace *trace, struct nvt_error *err);

/* End the ranges whose end was never seen at the last moment of their threads, as threads.last_ns has it. */
void nvt_ranges_close(struct nvt_trace *trace);

/* What an operation is called for short: the id of a name. */
static inline uint32_t nvt_op_name(const struct nvt_trace *trace, uint32_t op)
{
    return trace->ops.short_name[op] ? trace->ops.short_name[op] : trace->ops.name[op];
}

/* Whether a call is one of CUDA's runtime or driver; a library's, such as cuBLAS's, has calls of its own within. */
static inline int nvt_is_cuda_call(const struct nvt_apis *apis, uint32_t i)
{
    return apis->class[i] == NVT_API_RUNTIME || apis->class[i] == NVT_API_DRIVER;
}

/* Whether a thread bears its process's number: it is the first one. */
static inline int nvt_is_main_thread(const struct nvt_trace *trace, uint32_t thread)
{
    return trace->threads.tid[thread] == trace->processes.pid[trace->threads.process[thread]];
}

static inline const char *nvt_name(const struct nvt_trace *trace, uint32_t id)
{
    return nvt_strings_get(trace->strings, id, NULL);
}

static inline const char *nvt_domain_name(const struct nvt_trace *trace, uint32_t domain)
{
    return nvt_name(trace, trace->domains.name[domain]);
}

#endif
