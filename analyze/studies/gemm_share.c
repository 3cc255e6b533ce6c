#include "gemm_share.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/one_of.h"
#include "../../lib/grow.h"

/* What is made, and of what. */
struct making {
    struct nvt_gemm_shares *made;
    const struct nvt_breakdown *parts;
    size_t named;
};

/* What a part is: the ranges are those of the workload transformer (docs/workloads.md). */
static enum nvt_gemm_kind kind_of(const struct nvt_phase_part *part)
{
    static const char *const pure[] = {"attention.scores", "attention.values", "lm_head"};
    static const char *const mixed[] = {"attention", "mlp"};
    if (part->is_kernel)
        return part->is_product ? NVT_ONLY_GEMM : NVT_NO_GEMM;
    return NVT_IS_ONE_OF(part->name, pure)    ? NVT_ONLY_GEMM
           : NVT_IS_ONE_OF(part->name, mixed) ? NVT_SOME_GEMM
                                              : NVT_NO_GEMM;
}

static void count(struct nvt_gemm_share *share, const struct nvt_phase_part *part)
{
    enum nvt_gemm_kind kind = kind_of(part);
    share->all += part->own_ns;
    share->low += kind == NVT_ONLY_GEMM ? part->own_ns : 0;
    share->high += kind != NVT_NO_GEMM ? part->own_ns : 0;
    share->is_known |= part->is_kernel || kind != NVT_NO_GEMM;
}

/* 0, or -1 when out of memory. */
static int add_share(struct making *making, const struct nvt_phase_part *part, const char *phase,
                     uint64_t runs, const struct nvt_gemm_share *sums)
{
    struct nvt_gemm_shares *made = making->made;
    if (nvt_grow(&made->items, made->count, sizeof(*made->items)))
        return -1;
    struct nvt_gemm_share *share = &made->items[made->count++];
    *share = *sums;
    share->configuration = part->configuration;
    share->phase = phase;
    share->runs = runs;
    share->is_of_kernels = part->is_kernel;
    return 0;
}

/* What a part is called, in a phase that may be nothing but it. Parts of a name have the same text. */
static const char *label_of(const struct nvt_phase_part *part, int is_alone)
{
    static const char *const alone[] = {"(all of forward)", "(all of backward)",
                                        "(all of optimizer)"};
    if (part->is_kernel || strcmp(part->name, nvt_phase_name(part->phase)) != 0)
        return part->name;
    return is_alone ? alone[part->phase] : "(in no range of its own)";
}

/* A part, of a phase or of several together. */
struct row {
    const struct nvt_phase_part *part; /* the first of it */
    const char *label;
    enum nvt_gemm_kind kind;
    double count, own_ns;
};

/* The rows of a phase: `total` of them come, the longest first. */
struct listing {
    const char *phase;
    double runs, all; /* all: ns */
    size_t total, come;
    struct row others;
};

/* 0, or -1 when out of memory. */
static int add_part(struct making *making, const struct listing *listing, const struct row *of,
                    size_t others)
{
    struct nvt_gemm_shares *made = making->made;
    if (nvt_grow(&made->parts, made->part_count, sizeof(*made->parts)))
        return -1;
    made->parts[made->part_count++] = (struct nvt_gemm_part){of->part->configuration,
                                                             listing->phase,
                                                             of->label,
                                                             others,
                                                             of->kind,
                                                             of->count / listing->runs,
                                                             of->own_ns / listing->runs,
                                                             100 * of->own_ns / listing->all};
    return 0;
}

/* The next one: by its name, or to the others, which come with the last. 0, or -1 when out of memory. */
static int list(struct making *making, struct listing *listing, const struct row *row)
{
    struct row *others = &listing->others;
    const size_t left = listing->total - listing->come++, named = making->named;
    if (listing->total <= named + 1 || listing->come <= named)
        return add_part(making, listing, row, 0);
    if (!others->part)
        *others = (struct row){row->part, NULL, row->kind, 0, 0};
    if (others->kind != row->kind)
        others->kind = others->kind == NVT_GEMM_UNKNOWN || row->kind == NVT_GEMM_UNKNOWN
                           ? NVT_GEMM_UNKNOWN
                           : NVT_SOME_GEMM;
    others->count += row->count;
    others->own_ns += row->own_ns;
    return left > 1 ? 0 : add_part(making, listing, others, listing->total - named);
}

/* A configuration, as far as its phases were gone through. */
struct whole {
    struct nvt_gemm_share share;
    uint64_t most_runs;
    struct row *rows; /* of all phases, room for all parts */
    size_t count, phases;
    int tells_ranges; /* it has ranges of a kind that has products: its others have none */
};

/* Whether the configuration whose parts begin at `from` does. */
static int tells_ranges(const struct nvt_breakdown *parts, size_t from)
{
    const char *configuration = parts->items[from].configuration;
    for (size_t i = from; i < parts->count && parts->items[i].configuration == configuration; i++)
        if (!parts->items[i].is_kernel && kind_of(&parts->items[i]) != NVT_NO_GEMM)
            return 1;
    return 0;
}

/* The row's part to those of its name. */
static void add_row(struct whole *whole, const struct row *row)
{
    size_t i = 0;
    while (i < whole->count && (whole->rows[i].label != row->label ||
                                whole->rows[i].part->is_kernel != row->part->is_kernel ||
                                whole->rows[i].part->is_product != row->part->is_product))
        i++;
    if (i == whole->count)
        whole->rows[whole->count++] = (struct row){row->part, row->label, row->kind, 0, 0};
    whole->rows[i].count += row->count;
    whole->rows[i].own_ns += row->own_ns;
}

static int by_own_time(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->own_ns < right->own_ns || left->own_ns > right->own_ns)
        return left->own_ns > right->own_ns ? -1 : 1;
    return strcmp(left->label, right->label);
}

/* What a configuration comes to, behind its phases. 0, or -1 when out of memory. */
static int add_whole(struct making *making, struct whole *whole, const struct nvt_phase_part *last)
{
    int failed = 0;
    struct listing listing = {"all", (double)whole->most_runs, whole->share.all, whole->count, 0,
                              {0}};
    if (whole->most_runs && whole->share.all > 0)
        failed = add_share(making, last, "all", whole->most_runs, &whole->share);
    if (whole->count)
        qsort(whole->rows, whole->count, sizeof(*whole->rows), by_own_time);
    for (size_t i = 0; i < whole->count && whole->phases > 1 && !failed; i++)
        failed = list(making, &listing, &whole->rows[i]);
    return failed;
}

/* A phase: parts [from, to). 0, or -1 when out of memory. */
static int add_phase(struct making *making, size_t from, size_t to, struct whole *whole)
{
    const struct nvt_breakdown *parts = making->parts;
    const char *name = nvt_phase_name(parts->items[from].phase);
    const uint64_t runs = nvt_breakdown_runs(parts, &parts->items[from]);
    /* Kernels, where there are any, stand behind the ranges. */
    const int by_kernel = parts->items[to - 1].is_kernel;
    struct nvt_gemm_share share = {0};
    size_t total = 0;
    int failed = 0;
    for (size_t i = from; i < to; i++)
        if (parts->items[i].is_kernel == by_kernel) {
            count(&share, &parts->items[i]);
            total++;
        }
    struct listing listing = {name, (double)runs, share.all, total, 0, {0}};
    for (size_t i = from; i < to && runs && share.all > 0 && !failed; i++) {
        const struct nvt_phase_part *part = &parts->items[i];
        const enum nvt_gemm_kind kind =
            by_kernel || whole->tells_ranges ? kind_of(part) : NVT_GEMM_UNKNOWN;
        const struct row row = {part, label_of(part, to - from == 1), kind, (double)part->count,
                                part->own_ns};
        if (part->is_kernel != by_kernel)
            continue;
        failed = list(making, &listing, &row);
        add_row(whole, &row);
    }
    if (runs && share.all > 0 && !failed)
        failed = add_share(making, &parts->items[to - 1], name, runs, &share);
    whole->phases += runs && share.all > 0;
    whole->share.all += share.all;
    whole->share.low += share.low;
    whole->share.high += share.high;
    whole->share.is_known |= share.is_known;
    whole->most_runs = runs > whole->most_runs ? runs : whole->most_runs;
    return failed;
}

int nvt_gemm_shares_make(struct nvt_gemm_shares *shares, const struct nvt_breakdown *parts,
                         size_t named)
{
    struct making making = {shares, parts, named};
    struct whole whole = {.rows = calloc(parts->count + 1, sizeof(*whole.rows))};
    int failed = !whole.rows;
    for (size_t from = 0, to; from < parts->count && !failed; from = to) {
        to = nvt_breakdown_phase_end(parts, from);
        if (!from || parts->items[from].configuration != parts->items[from - 1].configuration)
            whole.tells_ranges = tells_ranges(parts, from);
        failed = add_phase(&making, from, to, &whole);
        if (failed || (to < parts->count &&
                       parts->items[to].configuration == parts->items[from].configuration))
            continue;
        failed = add_whole(&making, &whole, &parts->items[to - 1]);
        whole = (struct whole){.rows = whole.rows};
    }
    free(whole.rows);
    return failed ? -1 : 0;
}

void nvt_gemm_shares_free(struct nvt_gemm_shares *shares)
{
    free(shares->items);
    free(shares->parts);
    *shares = (struct nvt_gemm_shares){.items = NULL};
}
