/*
 * Sums of the critical paths of several traces: how much of each kind of work, of each operation and call, of each range and of the
 * host's functions is on them. Of processes that have iterations these are about the second half of them.
 */
#ifndef NVT_PATH_SUMS_H
#define NVT_PATH_SUMS_H

#include "../model/groups.h"
#include "../path/critical_path.h"
#include "cpu_input.h"
#include "pairs.h"

/* The path of a process, or the part of it in its last iterations. */
struct nvt_path_part {
    const struct nvt_trace *trace;
    uint32_t process, iterations;       /* iterations: in that part, 0: it is the whole path */
    int64_t kinds[NVT_PATH_KINDS], all; /* ns */
    uint32_t inferred, handovers;       /* of the whole path */
};

/* Time of a range on the path, ns: on the device, between operations, and on the host. */
struct nvt_path_range {
    int64_t sides[3];
};

/* Begin with nvt_path_sums_init; release with nvt_path_sums_free. */
struct nvt_path_sums {
    struct nvt_path_part *parts; /* of each process, the whole path first */
    uint32_t part_count;
    uint32_t processes;          /* that have a path */
    struct nvt_groups on_path;   /* by kind and name: of host code the range, "" in none */
    struct nvt_groups all;       /* by kind and name: all there is, on the path or not */
    struct nvt_groups ranges;    /* by name ("": none); carry a struct nvt_path_range */
    int64_t path_ns;             /* of which on_path and ranges are parts */
    struct nvt_cpu_input cpu;    /* samples of the input */
    struct nvt_groups functions; /* by name and module */
    struct nvt_pairs code;       /* host code on the path: whole 0, the functions' groups */
    int64_t code_weight;
    uint64_t samples;  /* on the path */
    uint64_t inferred; /* steps */
    int has_iterations;
    int is_blind; /* the trace that was added last has no path, as calls are missing (critical_path.h) */
};

struct nvt_path_sums nvt_path_sums_init(const struct nvt_input *input);

/* Add the paths of a trace; `flags` say how operations belong to ranges (device/project.h). 0, or -1 with err filled. */
int nvt_path_sums_add(struct nvt_path_sums *sums, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err);

/* Once all traces are added: sorts the functions. 0, or -1 with err filled: out of memory now or before. */
int nvt_path_sums_finish(struct nvt_path_sums *sums, struct nvt_error *err);
void nvt_path_sums_free(struct nvt_path_sums *sums);

/* Whether all of a kind is added up, be it on the path or not. */
static inline int nvt_path_has_total(uint32_t kind)
{
    return kind <= NVT_PATH_COPY || kind == NVT_PATH_CALL || kind == NVT_PATH_SYSTEM;
}

/* What is on the path of the kind and name of a group of all: without values, nothing is. NULL when out of memory. */
const struct nvt_group *nvt_path_sums_of(struct nvt_path_sums *sums, const struct nvt_group *all);

#endif
