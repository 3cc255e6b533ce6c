/*
 * Ranges as a tree of names, what they took on the host and on the devices, with and without what lies deeper.
 *
 * A node is a path of names, summed over its instances, threads and traces. Nesting is that of the
 * thread, across domains (model/nesting.h); start/end ranges stand at the top, because they do
 * not nest. Host time is time in the range, its own the same without the ranges directly in it;
 * where these overlap, that time counts once. Ranges that never ended last as
 * long as something is recorded of their thread.
 *
 * Device operations belong to ranges as device/project.h says; busy is the time in which at
 * least one of a range's operations ran (operations at the same time count once), its own that
 * of those that belong to no deeper range, and its span that from its first to its last operation.
 */
#ifndef NVT_RANGE_TREE_H
#define NVT_RANGE_TREE_H

#include "../../lib/map.h"
#include "../model/groups.h"

/* A path of names. Nodes come after their parents. */
struct nvt_range_node {
    uint32_t parent, name;      /* name: of the tree's names; parent: NVT_NONE, it is at the top */
    uint32_t first_child, next; /* of the same parent; NVT_NONE: there is none */
    uint32_t level, style;      /* style: 0 of push/pop ranges, 1 of start/end ranges */
    uint64_t instances, ops, ops_self, unfinished;
    int64_t host, host_self, busy, self, span; /* ns */
    /* in outermost push/pop ranges of those threads that have a range of the node */
    int64_t threads_ns;
    uint32_t counted; /* the thread of the current trace that was added to it last */
};

/* Zero-initialise; release with nvt_range_tree_free. */
struct nvt_range_tree {
    struct nvt_groups names;
    struct nvt_map by_path; /* (parent + 1) << 32 | name, style on top of the name -> node */
    struct nvt_map counted; /* node << 32 | thread, of the current trace */
    struct nvt_range_node *nodes;
    uint32_t count, first_root;
    int has_ops; /* a trace has device operations */
};

/* Add a trace; `flags` say how operations belong to ranges (device/project.h). 0, or -1 with err filled. */
int nvt_range_tree_add(struct nvt_range_tree *tree, const struct nvt_trace *trace, unsigned flags,
                       struct nvt_error *err);

/* All nodes, each before its children; those of one parent by their time on the devices, then on the host, greatest first. malloc'ed,
 * `count` of them; NULL when out of memory. */
uint32_t *nvt_range_tree_order(const struct nvt_range_tree *tree);

void nvt_range_tree_free(struct nvt_range_tree *tree);

#endif
