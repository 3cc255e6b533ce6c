/*
 * The ranges of an overview's units as a tree of names: what each takes of a unit, on the CPU and on GPUs.
 *
 * A node is a path of names (without numbers where four and more are alike, unless each is wanted). Of iterations the ranges of their own thread
 * count, below the iteration, and those of other threads during it below a root of their own, if they are wanted; without
 * iterations those of all threads. GPU work belongs to ranges as project.h says; it counts once
 * where operations run side by side on one GPU, and of several GPUs on average.
 */
#ifndef NVT_OVERVIEW_TREE_H
#define NVT_OVERVIEW_TREE_H

#include "overview_units.h"

struct nvt_overview_node {
    uint32_t parent; /* a lower row, or NVT_NONE */
    uint32_t name;   /* of `names` */
    /* Of a unit: the median, or the mean where less than half of the units have it or units' are_means. */
    double cpu_ns, gpu_ns, calls;
};

/* Zero-initialise but for the first two; release with nvt_overview_tree_free, also after a failure. */
struct nvt_overview_tree {
    int with_others;                 /* ranges of other threads than the iterations' are wanted */
    int with_every_name;             /* names that are alike are not one */
    uint32_t others;                 /* 1 and their root; 0: there are none */
    struct nvt_overview_node *nodes; /* in the order in which they were seen first */
    uint32_t count;
    struct nvt_strings *names;
    int has_ops;      /* GPU work was recorded, */
    int has_gpu_time; /* and counts for one of the nodes */
    int lends; /* some of it counts for ranges of another thread than the one that launched it */
};

/* 0, or -1 with err (out of memory). */
int nvt_overview_tree_make(struct nvt_overview_tree *tree, const struct nvt_input *input,
                           const struct nvt_overview_units *units, struct nvt_error *err);
void nvt_overview_tree_free(struct nvt_overview_tree *tree);

#endif
