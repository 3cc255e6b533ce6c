/*
 * The reader of our own format: what DEVICE chunks say (lib/device_rows.h).
 */
#ifndef NVT_READ_NVT_DEVICE_H
#define NVT_READ_NVT_DEVICE_H

#include "../../lib/demangle.h"
#include "../../lib/device_rows.h"
#include "../../lib/trace_file.h"
#include "../../lib/map.h"
#include "../model/recorded_events.h"
#include "../model/trace.h"
#include "pools.h"

struct nvt_file_reader;
struct nvt_file_later;

/* The same moment on CUPTI's clock and on CLOCK_MONOTONIC, in ns. */
struct nvt_device_moment {
    uint32_t process; /* index in the file */
    uint64_t cupti;
    int64_t monotonic_ns;
};

/* A capture begins or ends. */
struct nvt_capture_edge {
    uint32_t process;
    uint64_t ticks;
    int begins;
};

/* What is known of a process's device records. */
struct nvt_device_process {
    uint32_t process;
    int is_used;        /* it has used devices */
    uint64_t delivered; /* ticks of the last hand-over, 0 none */
    int64_t until_ns;   /* what it is good for, of CLOCK_MONOTONIC; 0: these ticks */
    int final;          /* that was the last one, and the process knew it */
    uint64_t ended;     /* ticks at which its end was noticed, 0 unknown */
};

struct nvt_file_devices {
    struct nvt_demangler *demangler;
    int has_looked;              /* for the demangler */
    struct nvt_map kernel_names; /* mangled -> full name, model's ids */
    struct nvt_map short_names;  /* full -> short name */
    struct nvt_map callers;      /* file's process << 32 | tid -> index in threads */
    struct nvt_map contexts;     /* file's process << 32 | context -> device */
    struct {
        uint32_t process; /* index in the file */
        int64_t tid;
    } * threads;
    uint32_t thread_count;
    uint32_t *rows; /* of the model, of each of these threads, when all have been read */
    struct nvt_device_moment *moments;
    size_t moment_count;
    struct nvt_capture_edge *edges;
    size_t edge_count;
    struct nvt_device_process *processes;
    size_t process_count;
    /* Of each row of the model's memory that came from here. */
    struct nvt_pool_word *words;
    uint64_t *memory_calls; /* correlation id of the call, 0: none */
    size_t memory_count;
    struct nvt_recorded_events events;
    uint64_t lost_cupti, lost_ring, unknown, untimed;
};

/* What is known of a process, by its index in the file; NULL when out of memory. Good until the
 * next. */
struct nvt_device_process *nvt_file_device_process(struct nvt_file_devices *devices,
                                                   uint32_t process);

/*
 * Read a chunk about devices, in the order of the file. Where lanes are filled, the calls of a
 * DEVICE_COLUMNS chunk are left for a second step, which others than the next chunk's first may be
 * at: kernels and calls touch nothing in common. 0, or -1 when the chunk is malformed or there is no
 * memory. `reading` is nvt_device_chunk.h's, zero-initialised before the first chunk; `done` comes
 * behind each.
 */
struct nvt_device_reading;
int nvt_file_device_chunk(struct nvt_device_reading *reading, struct nvt_file_reader *reader,
                          const struct nvt_file_later *later, const uint8_t *payload);
int nvt_file_device_calls(struct nvt_device_reading *reading);
void nvt_file_device_done(struct nvt_device_reading *reading);

/* A thread of the process was last seen alive at `ticks` (THREAD_END). 0, or -1 when out of memory.
 */
int nvt_file_device_thread_end(struct nvt_file_reader *reader, uint32_t process, uint64_t ticks);

/* When all has been read: add the threads that only devices know. 0, or -1 when out of memory. */
int nvt_file_device_threads(struct nvt_file_reader *reader);

/* Then, and when the times of threads are converted: bring device times on the trace's axis, whose
 * zero is `origin` on CLOCK_MONOTONIC, link calls to threads, follow memory, and note what is
 * missing. It leaves ranges and marks alone. 0, or -1 when out of memory. */
int nvt_file_device_finish(struct nvt_file_reader *reader, int64_t origin);

/* Then, of a reader that fills lanes: the offset of each of `count` lanes, whose thread is set, or
 * their times converted; and those of operations, whose process is still in them. 0, 1 when
 * something lasts too long, or -1 when out of memory. */
int nvt_file_device_lanes(struct nvt_file_reader *reader, int64_t origin);

/* With --capture: leave out the NVTX ranges and marks that began outside of it. Before the times of
 * NVTX are converted. 0, or -1 when out of memory. */
int nvt_file_device_capture(struct nvt_file_reader *reader);

void nvt_file_device_free(struct nvt_file_devices *devices);

#endif
