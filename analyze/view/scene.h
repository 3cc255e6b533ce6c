/*
 * The scene of a trace: its lanes, from top to bottom as they are drawn. A lane is what one thread, stream, device or
 * process does of one kind; its spans lie on tracks (track.h), or it is a curve: the level of a counter or of memory.
 *
 * A scene stays where it was made: its tracks refer to it. Names of spans are strings of the trace, and behind them those of nvt_scene_name alone. Their rows are of the
 * table that the kind says.
 */
#ifndef NVT_SCENE_H
#define NVT_SCENE_H

#include "../memory/levels.h"
#include "../model/counters.h"
#include "../model/trace.h"
#include "track.h"

/* Sections of a process, in the order in which they are drawn. */
enum nvt_view_kind {
    NVT_VIEW_ITERATIONS, /* row: of ranges */
    NVT_VIEW_RANGES,     /* ranges that a thread opened; row: of ranges */
    NVT_VIEW_MARKS,      /* row: of marks */
    NVT_VIEW_CALLS,      /* CUDA's and libraries' calls; row: of apis */
    NVT_VIEW_MPI_CALLS,  /* row: of mpi_calls */
    NVT_VIEW_OS_CALLS,   /* row: of os_calls */
    NVT_VIEW_SAMPLES, /* functions on the stacks of CPU samples, the outermost on top; row: of cpu_samples, the first of those that have
                            it without a break */
    NVT_VIEW_STREAM,  /* row: of ops */
    NVT_VIEW_GAPS, /* in which a device has nothing to do, named by the cause; row: of ops, the next one */
    NVT_VIEW_PATH,    /* critical path, named by the kind; row: its number in the path */
    NVT_VIEW_MEMORY,  /* curve, bytes: allocated on a device, or by the host */
    NVT_VIEW_COUNTER, /* curve, in the counter's unit */
    NVT_VIEW_KINDS
};

struct nvt_view_lane {
    enum nvt_view_kind kind;
    uint32_t process;                 /* NVT_NONE: several, or the machine's */
    uint32_t thread;                  /* of what threads do, else NVT_NONE */
    uint32_t device, context, stream; /* of what devices do, or of memory; NVT_NONE: the host */
    uint32_t item;                    /* of a curve: in `courses` or `levels` */
    uint32_t place; /* of the process among the others: by its rank, if it has one */
    int is_shared;  /* its tracks are the base's */
    int comes; /* 0 first; 1: of the machine; 2: of a process that has curves alone, such as a shell that started the program */
    struct nvt_tracks tracks;
};

/* Zero-initialise; release with nvt_scene_free, also after a failure. */
struct nvt_scene {
    const struct nvt_trace *trace; /* not owned */
    /* which has all that is here but the critical path; NULL: it is here */
    const struct nvt_scene *base;
    struct nvt_track_columns columns[NVT_VIEW_KINDS]; /* its own, of kinds whose spans are rows */
    struct nvt_view_lane *lanes;
    uint32_t count, capacity;
    uint32_t names; /* of spans are below this */
    /* of each that an operation has: 1 and its enum nvt_kernel_class; 0: none has it */
    uint8_t *classes;
    uint32_t iterations;
    struct nvt_counter_courses courses;
    struct nvt_levels levels;
};

/* Of a finished trace, which must outlive it. Without the critical path it takes half of the time. 0, or -1 with err filled (out of memory). */
int nvt_scene_make(struct nvt_scene *scene, const struct nvt_trace *trace, int has_path,
                   struct nvt_error *err);
/* The same with the critical path: `base` lacks it, must outlive it and may be in use. */
int nvt_scene_add_path(struct nvt_scene *scene, const struct nvt_scene *base,
                       struct nvt_error *err);
void nvt_scene_free(struct nvt_scene *scene);

/* A lane's name on its own: "1234 worker", "GPU 0 stream 7"; and "ranges", "API calls" … of a kind. */
void nvt_scene_label(const struct nvt_scene *scene, uint32_t lane, char *out, size_t size);
const char *nvt_view_kind_name(enum nvt_view_kind kind);

/* The text of a span's name: static, or the trace's. */
const char *nvt_scene_name(const struct nvt_scene *scene, uint32_t name);

/* A new lane, only valid until the next one; NULL when out of memory. */
struct nvt_view_lane *nvt_scene_add(struct nvt_scene *scene, enum nvt_view_kind kind,
                                    uint32_t process);

/* Add a lane for each thread that has CPU samples. 0, or -1 when out of memory. analyze/view/flame.c */
int nvt_scene_samples(struct nvt_scene *scene);

/* Bytes of memory that it takes. */
uint64_t nvt_scene_bytes(const struct nvt_scene *scene);

/* The extremes of a curve from one moment to another, with the level that it has at the first; *last is the level at the
 * end. 0 where it has none yet. */
int nvt_scene_bounds(const struct nvt_scene *scene, const struct nvt_view_lane *lane, int64_t from,
                     int64_t to, double *least, double *most, double *last);

/* Whether a lane is a curve. */
static inline int nvt_view_is_curve(enum nvt_view_kind kind)
{
    return kind == NVT_VIEW_MEMORY || kind == NVT_VIEW_COUNTER;
}

#endif
