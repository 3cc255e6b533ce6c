/*
 * Whether a comparison tells of a change: what the boxes of its flame graphs, which have no interval of their own, are coloured by.
 */
#ifndef NVT_VERDICTS_H
#define NVT_VERDICTS_H

#include "../analyze/comparison/comparison.h"
#include "../analyze/studies/stacks.h"

struct nvt_verdicts {
    struct nvt_verdict_of {
        char *name; /* as stacks have it: without domain and numbers of its own */
        enum nvt_compared_kind kind;
        enum nvt_verdict verdict;
    } * items;
    size_t count;
};

/* Those of a side against A, for ranges and kernels. 0, or -1 when out of memory; nvt_verdicts_free in any case. */
int nvt_verdicts_make(struct nvt_verdicts *verdicts, const struct nvt_comparison *comparison,
                      size_t side);
void nvt_verdicts_free(struct nvt_verdicts *verdicts);

/* Whether all of that name and kind (enum nvt_stack_kind) are slower, or faster; a '*' in the name stands for any number. What is
 * not compared is not told. */
int nvt_verdicts_tell(const struct nvt_verdicts *verdicts, const char *name, uint32_t kind,
                      int slower);

#endif
