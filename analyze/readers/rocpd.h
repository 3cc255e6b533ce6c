/*
 * Inside the reader of rocpd (rocpd.c): what rows of its tables refer to by id (rocpd_known.c).
 */
#ifndef NVT_ROCPD_H
#define NVT_ROCPD_H

#include "nsys.h"
#include "rocm.h"

/* Characters of the end of the names of a run's tables. */
#define NVT_ROCPD_SUFFIX 80

struct nvt_rocpd_kernel {
    uint32_t name, short_name, registers, lds;
};

struct nvt_rocpd_event {
    uint64_t correlation;
    uint32_t category, message;
};

/* Where something ran, as schema 4 has it; NVT_MAP_NONE: not known. */
struct nvt_rocpd_track {
    uint32_t process, thread, agent; /* rows, and one of agents */
    uint32_t stream;
};

struct nvt_rocpd {
    struct nvt_nsys nsys; /* its rows and cells; first, as rows are handed to it */
    /* id -> string, row or item */
    struct nvt_map strings, processes, threads, kernels, agents, events, categories, tracks, times,
        pmcs, dispatches;                   /* of counters -> string; event of a dispatch -> op */
    struct nvt_map sizes, counters, values; /* rocm.h; op << 32 | counter's name -> sample */
    struct nvt_rocpd_kernel *kernel;
    struct nvt_rocm_agent *agent;
    struct nvt_rocpd_event *event;
    struct nvt_rocpd_track *track;
    int64_t *time;
    uint32_t kernel_count, agent_count, event_count, track_count, time_count;
    int has_tracks;     /* schema 4: rows have ids of a track and of times */
    uint64_t unread[3]; /* rows of scratch memory, counters of no kernel, and samples */
};

static inline struct nvt_rocpd *nvt_rocpd_of(struct nvt_nsys *reader)
{
    return (struct nvt_rocpd *)(void *)reader;
}

/* What an id in a cell stands for; NVT_MAP_NONE: nothing. */
uint32_t nvt_rocpd_found(const struct nvt_map *map, struct nvt_nsys_table *table, int column);
/* The string of an id in a cell; 0: none. */
uint32_t nvt_rocpd_string(const struct nvt_map *map, struct nvt_nsys_table *table, int column);

/*
 * Where a row ran, by columns with ids of a process, a thread, an agent and a stream; in schema 4 each of them is the id of its track.
 * A row of processes or threads, one of `agent` (NVT_MAP_NONE: not known), and the number of the stream.
 */
uint32_t nvt_rocpd_process(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column);
uint32_t nvt_rocpd_thread(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column);
uint32_t nvt_rocpd_agent(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column);
uint32_t nvt_rocpd_stream(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column);
/* The times of a row, by the column of the first and the next one. 0, or 1: it has none. */
int nvt_rocpd_times(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, int column,
                    int64_t *start, int64_t *end);

/* The tables of a run that others refer to. 0, or -1 with err filled. */
int nvt_rocpd_read_known(struct nvt_rocpd *rocpd, const char *suffix);
/* Read one of the tables of a run. As nvt_nsys_read. */
int nvt_rocpd_read_table(struct nvt_rocpd *rocpd, const struct nvt_nsys_spec *spec,
                         const char *suffix);

#endif
