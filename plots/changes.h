/*
 * What pictures and documents of a comparison are made of: the comparison, and the stacks of its sides.
 */
#ifndef NVT_CHANGES_H
#define NVT_CHANGES_H

#include "../analyze/comparison/comparison.h"
#include "../analyze/comparison/stack_changes.h"

/* Stacks of host time, of device time, and of processor time. */
enum { NVT_CHANGES_STACKS = 3 };

/* Zero-initialise; release with nvt_changes_free, also after a failure. */
struct nvt_changes {
    struct nvt_comparison comparison;
    struct nvt_stack_changes stacks[NVT_CHANGES_STACKS];
    struct nvt_strings *paths;            /* of all that was read */
    struct nvt_strings *commands;         /* that recorded it, each once */
    struct nvt_strings *names[NVT_SIDES]; /* of the sides' inputs, without folders */
};

/*
 * Read the sides that arguments name (nvt_comparison_make), as `how` says, of which command, window and iteration are taken. 0, or
 * -1 with err, also where they have no time in common, nor, with `memory`, a peak; the comparison has notes in both cases.
 */
int nvt_changes_read(struct nvt_changes *changes, const struct nvt_comparison_request *how,
                     int memory, int count, char **arguments, struct nvt_error *err);
void nvt_changes_free(struct nvt_changes *changes);

/* Whether a file would go over one of those that were read (NULL: none). 0, or -1 with err: it would. */
int nvt_changes_check_output(const struct nvt_strings *paths, const char *output,
                             struct nvt_error *err);

/* "A: before.nvt", "B: 3 inputs, after1.nvt …", cut to out[size]. */
void nvt_changes_side(const struct nvt_changes *changes, size_t side, char *out, size_t size);

/* A table without rows or columns, whose provenance is that of all sides. NULL when out of memory. */
struct nvt_table *nvt_changes_origin(const struct nvt_changes *changes, const char *title);

#endif
