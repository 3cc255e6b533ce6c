/*
 * Names that are alike but for their numbers, such as "step 1" to "step 5000": they are one, "step *". A
 * number becomes a '*' where names that are otherwise the same have four values of it or more; of few ("layer 1", "layer 2")
 * each is itself. Of a name the first eight numbers are looked at.
 */
#ifndef NVT_ALIKE_NAMES_H
#define NVT_ALIKE_NAMES_H

#include "trace.h"

/*
 * What stands for each of the names: ids of `names`, to which those with a '*' are added, by the ids that it had before;
 * *has_alike becomes 1 where there are any. malloc'ed, NULL when out of memory.
 */
uint32_t *nvt_alike_names(struct nvt_strings *names, int *has_alike);

/*
 * Give the ranges of a trace what stands for their names, where these are more than `least`. *example gets one with a '*' that
 * stands for others, *names how many names there were; NVT_NO_STRING where nothing changed. 0, or -1 with err (out of memory).
 */
int nvt_alike_ranges(struct nvt_trace *trace, uint32_t least, uint32_t *example, uint32_t *names,
                     struct nvt_error *err);

#endif
