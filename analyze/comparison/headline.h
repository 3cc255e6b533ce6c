/*
 * What a comparison comes to, a line a side: by how much the iteration has changed, or else what takes most of the time, and
 * how many others have.
 */
#ifndef NVT_HEADLINE_H
#define NVT_HEADLINE_H

#include "comparison.h"

struct nvt_headline {
    size_t side;
    const struct nvt_outcome *main; /* the comparison's; NULL: the sides have nothing in common */
    size_t slower, faster, same, cannot_tell; /* times that both sides have, but those of samples */
    size_t of_configurations;                 /* how many configurations these are of */
};

/*
 * Of a side against A. Its main row is that of its iterations or, where it has none, of the phase or range with most time on side A,
 * or else of the kernel; with several configurations it is none.
 */
struct nvt_headline nvt_headline_of(const struct nvt_comparison *comparison, size_t side);

#define NVT_HEADLINE_MAX 256

/*
 * "B is 4.1 % [3.6, 4.7] slower: iteration 14.7 ms → 15.3 ms"; "B: forward is …" where it has no iterations; "B is the same …";
 * "B: no difference found …, would have seen 2 %"; "B in 24 configurations: 3 slower, …". Returns out.
 */
const char *nvt_headline_text(const struct nvt_headline *headline, char out[NVT_HEADLINE_MAX]);

/* "3 slower, 2 faster, 10 the same, 4 that cannot be told", of what there are any; "" where there is one alone. Returns out. */
const char *nvt_headline_counts(const struct nvt_headline *headline, char out[NVT_HEADLINE_MAX]);

#endif
