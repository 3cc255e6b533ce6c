/*
 * How much of each phase is GEMMs, and what else it is, of the parts of phases (phase_breakdown.h).
 *
 * With a device, kernels are told apart by their names. Without one there are ranges alone, and a
 * range may hold more than products: the share then lies between that of ranges that are nothing
 * but products and that of all ranges with products in them. A configuration that has none of these ranges does not
 * say where its products are: whether a range of it is products is unknown.
 *
 * What the phases of a configuration are made of together stands behind them: the kernel with the
 * most time in the forward pass need not be that of a whole step.
 */
#ifndef NVT_GEMM_SHARE_H
#define NVT_GEMM_SHARE_H

#include "phase_breakdown.h"

enum nvt_gemm_kind { NVT_NO_GEMM, NVT_SOME_GEMM, NVT_ONLY_GEMM, NVT_GEMM_UNKNOWN };

/* A phase, or, "all", the phases of a configuration together. Times are ns of all its runs. */
struct nvt_gemm_share {
    const char *configuration, *phase;
    uint64_t runs;
    double all, low, high; /* all its time; products at least, and at most */
    int is_known;          /* a part is of a kind that has products: else nothing is known */
    int is_of_kernels;
};

/* What it is made of, the longest first. Times and counts are those of a run. */
struct nvt_gemm_part {
    const char *configuration, *phase;
    const char *name; /* NULL: the others, */
    size_t others;    /* of which there are so many */
    enum nvt_gemm_kind kind;
    double count, own_ns, share; /* share: %, of the phase */
};

/* Texts belong to the breakdown. Zero-initialise; release with nvt_gemm_shares_free, also after a failure. */
struct nvt_gemm_shares {
    struct nvt_gemm_share *items;
    struct nvt_gemm_part *parts;
    size_t count, part_count;
};

/* At most `named` parts of a phase by name: more are others, unless that is one alone. 0, or -1 when out of memory. */
int nvt_gemm_shares_make(struct nvt_gemm_shares *shares, const struct nvt_breakdown *parts,
                         size_t named);
void nvt_gemm_shares_free(struct nvt_gemm_shares *shares);

#endif
