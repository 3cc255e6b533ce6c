/*
 * CPU samples, from a ring's records to rows of a chunk CPU_SAMPLES (docs/trace-format.md).
 *
 * Stacks are made here of what the thread has noted. Python's functions take the place of the interpreter's that run them;
 * below them stand the functions of libraries that the innermost of these has called. What libc and the collector do below the
 * first function of a thread is left out.
 */
#ifndef NVT_DRAIN_CPU_H
#define NVT_DRAIN_CPU_H

#include "../lib/frame_tree.h"
#include "drain.h"
#include "functions.h"

struct nvt_drain_cpu {
    struct nvt_output *output;
    uint32_t process, thread;
    struct nvt_map files; /* ids of the process -> numbers of nvt_functions */
    /* The chunk in the making. */
    struct nvt_frame_tree tree; /* numbers of frames, from 1 */
    uint32_t frame_count;
    struct nvt_buffer frames, rows;
    uint64_t sampled_ns;             /* CPU time that the rows stand for */
    uint32_t count, asked;           /* rows, and how many of them are of threads that waited */
    struct nvt_python_stacks python; /* of the others */
    uint64_t first, last;            /* ticks */
    int failed;                      /* a row is missing: no memory */
};

void nvt_drain_cpu_free(struct nvt_drain_cpu *cpu);

/* A file that the thread's samples may be in. */
void nvt_drain_cpu_define(struct nvt_drain_cpu *cpu, uint64_t id, const char *path, size_t length);

/* A record of a ring. */
void nvt_drain_cpu_take(struct nvt_drain_cpu *cpu, uint64_t ticks, const uint8_t *data,
                        size_t size);

/* Write what there is as a chunk, when there is enough of it or `force`. It is counted, and what could not be written, too. */
void nvt_drain_cpu_flush(struct nvt_drain_cpu *cpu, int force, struct nvt_drain_totals *totals);

#endif
