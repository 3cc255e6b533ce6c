/* matmul_share: how much of each phase is matrix products, and what else it is (studies/gemm_share.h). */
#include <stdio.h>

#include "../studies/gemm_share.h"
#include "report.h"

#define NAMED_MOST 10 /* parts of a phase in the second table; the others are one row */

static void put_share(struct nvt_table *table, const struct nvt_gemm_share *share)
{
    const double n = (double)share->runs;
    nvt_table_put(table, share->configuration, share->phase, share->runs, share->all / n);
    if (share->is_known)
        nvt_table_more(table, share->low / n, share->high / n, 100 * share->low / share->all,
                       100 * share->high / share->all, share->is_of_kernels ? "kernels" : "ranges");
}

static void put_part(struct nvt_table *table, const struct nvt_gemm_part *part)
{
    static const char *const words[] = {"no", "in part", "yes", NULL};
    char others[40];
    snprintf(others, sizeof(others), "(%zu others)", part->others);
    nvt_table_put(table, part->configuration, part->phase, part->name ? part->name : others,
                  words[part->kind], part->count, part->own_ns, part->share);
}

static int put_matmul_share(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_breakdown parts = {0};
    struct nvt_gemm_shares shares = {.items = NULL};
    int status = nvt_breakdown_make(&parts, making->input, making->err);
    if (!status)
        status = nvt_gemm_shares_make(&shares, &parts, NAMED_MOST);
    for (size_t i = 0; i < shares.count && !status; i++)
        put_share(table, &shares.items[i]);
    for (size_t i = 0; i < shares.part_count && !status; i++)
        put_part(making->tables[1], &shares.parts[i]);
    if (!status && !parts.count)
        nvt_note(making->input, "note: no range forward, backward or optimizer was found");
    nvt_gemm_shares_free(&shares);
    nvt_breakdown_free(&parts);
    return status;
}

static const struct nvt_table_kind more[] = {
    {.title = "Phases by operation, longest first",
     .columns = {{"configuration", NVT_NAMES},
                 {"phase", NVT_NAMES},
                 {"name", NVT_NAMES},
                 {"products", NVT_NAMES},
                 {"times a phase", NVT_REALS("", 1)},
                 {"time a phase", NVT_REALS("ns", 0)},
                 {"share", NVT_PERCENT}}},
    {.title = NULL},
};

const struct nvt_report nvt_report_matmul_share = {
    .name = "matmul_share",
    .about = "share of GEMMs in each phase, and its other operations",
    .needs = NVT_PROJECTS,
    .columns = {{"configuration", NVT_NAMES},
                {"phase", NVT_NAMES},
                {"n", NVT_COUNTS},
                {"time", NVT_REALS("ns", 0)},
                {"products at least", NVT_REALS("ns", 0)},
                {"products at most", NVT_REALS("ns", 0)},
                {"share at least", NVT_PERCENT},
                {"share at most", NVT_PERCENT},
                {"from", NVT_NAMES}},
    .title = "GEMMs by phase",
    .of_input = put_matmul_share,
    .more = more,
};
