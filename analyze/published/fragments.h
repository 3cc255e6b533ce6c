/*
 * The output file of the fragment study's benchmark: a block a size and batch, the linear layer first, then the layer in
 * training and in inference, a paragraph a number of fragments. Times in ms with two decimals, peak
 * memory in MiB (which the file calls MB) with one. The file has only the looped inference; the
 * grouped one follows in a section of its own.
 */
#ifndef NVT_PUBLISHED_FRAGMENTS_H
#define NVT_PUBLISHED_FRAGMENTS_H

#include <stdio.h>

#include "../input/input.h"

/* Print the records of the workloads linear and fragmented as the file has them. 0, or -1 with err filled. */
int nvt_published_fragments(struct nvt_input *input, FILE *out, struct nvt_error *err);

#endif
