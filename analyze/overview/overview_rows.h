/* Which rows an overview has: ranges of its tree, or kernels. */
#ifndef NVT_OVERVIEW_ROWS_H
#define NVT_OVERVIEW_ROWS_H

#include "overview.h"
#include "overview_tree.h"

/*
 * The ranges that take most of a unit, each with those around it, in the order in which they run; ranges that are all of the one
 * around them are left out, as that one stands for them, and named (`filled`), unless the tree has every name. 0, or -1 with err (out of memory).
 */
int nvt_overview_take_ranges(struct nvt_overview *overview, const struct nvt_overview_tree *tree,
                             struct nvt_error *err);

/* The tree of an overview whose GPU work is known: an iteration has what the GPUs worked in it, whoever launched that. Zero-initialised;
 * release with nvt_overview_tree_free, also after a failure. 0, or -1 with err (out of memory). */
int nvt_overview_take_tree(const struct nvt_overview *overview, const struct nvt_input *input,
                           const struct nvt_overview_units *units, struct nvt_overview_tree *tree,
                           struct nvt_error *err);

/* The kernels of all traces by their time, per unit. 0, or -1 with err (out of memory). */
int nvt_overview_take_kernels(struct nvt_overview *overview, const struct nvt_input *input,
                              struct nvt_error *err);

#endif
