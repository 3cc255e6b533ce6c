/*
 * The grid tables of the transformer write-up: times of the forward and the backward pass in
 * seconds by size, a table a condition (warm-up, collector).
 */
#ifndef NVT_PUBLISHED_TRANSFORMER_H
#define NVT_PUBLISHED_TRANSFORMER_H

#include <stdio.h>

#include "../input/input.h"

/*
 * Print the records of the workload in this layout: a line that says the condition, then its table.
 * Standard deviations are those of the layout, which divide by n. 0, or -1 with err filled: there
 * is no such record.
 */
int nvt_published_transformer(struct nvt_input *input, FILE *out, struct nvt_error *err);

/* Print the records of the workload accumulate, whose sums its write-up has behind the tables: PyTorch's print of each, four
 * decimals; forms that were not published follow in the same way. 0, or -1 with err filled. */
int nvt_published_accumulate(struct nvt_input *input, FILE *out, struct nvt_error *err);

/* The words by which its sum of a form ("fp32", of the workload accumulate) is known; NULL of forms that it has
 * not. */
const char *nvt_published_sum_words(const char *form);

#endif
