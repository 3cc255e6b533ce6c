/*
 * matmul_share: how much of each phase is matrix products, and what else it is (analyze/studies/phase_breakdown.h).
 *
 * With a device, kernels are told apart by their names. Without one there are ranges alone, and a
 * range may hold more than products: the share then lies between that of ranges that are nothing
 * but products and that of all ranges with products in them. A configuration that has none of these ranges does not
 * say where its products are: whether a range of it is products is left empty.
 *
 * What the phases of a configuration are made of together stands behind them: the kernel with the
 * most time in the forward pass need not be that of a whole step.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../studies/phase_breakdown.h"

#include "report.h"

#define NAMED_MOST 10 /* parts of a phase in the second table; the others are one row */

enum kind { NO_PRODUCTS, SOME_PRODUCTS, PRODUCTS, UNKNOWN };

/* What a part is: the ranges are those of the workload transformer (docs/workloads.md). */
static enum kind kind_of(const struct nvt_phase_part *part)
{
    static const char *const pure[] = {"attention.scores", "attention.values", "lm_head"};
    static const char *const mixed[] = {"attention", "mlp"};
    if (part->is_kernel)
        return part->is_product ? PRODUCTS : NO_PRODUCTS;
    for (size_t i = 0; i < NVT_COUNT_OF(pure); i++)
        if (!strcmp(part->name, pure[i]))
            return PRODUCTS;
    for (size_t i = 0; i < NVT_COUNT_OF(mixed); i++)
        if (!strcmp(part->name, mixed[i]))
            return SOME_PRODUCTS;
    return NO_PRODUCTS;
}

struct share {
    double all, low, high; /* ns */
    int is_known;          /* a part is of a kind that has products: else nothing is known */
};

static void count(struct share *share, const struct nvt_phase_part *part)
{
    enum kind kind = kind_of(part);
    share->all += part->own_ns;
    share->low += kind == PRODUCTS ? part->own_ns : 0;
    share->high += kind != NO_PRODUCTS ? part->own_ns : 0;
    share->is_known |= part->is_kernel || kind != NO_PRODUCTS;
}

static void put_share(struct nvt_table *table, const struct nvt_phase_part *part, const char *phase,
                      uint64_t runs, const struct share *share)
{
    const double n = (double)runs;
    nvt_table_put(table, part->configuration, phase, runs, share->all / n);
    if (share->is_known)
        nvt_table_more(table, share->low / n, share->high / n, 100 * share->low / share->all,
                       100 * share->high / share->all, part->is_kernel ? "kernels" : "ranges");
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
    enum kind kind;
    double count, own_ns;
};

/* The rows of a phase: `total` of them come, the longest first. */
struct listing {
    struct nvt_table *table;
    const char *phase;
    double runs, all; /* all: ns */
    size_t total, come;
    struct row others;
};

static void put_matmul_share_row(const struct listing *listing, const struct row *of)
{
    static const char *const words[] = {"no", "in part", "yes", NULL};
    struct nvt_table *table = listing->table;
    nvt_table_put(table, of->part->configuration, listing->phase, of->label, words[of->kind],
                  of->count / listing->runs, of->own_ns / listing->runs,
                  100 * of->own_ns / listing->all);
}

/* The next one: by its name, or to the others, whose row comes with the last. */
static void list(struct listing *listing, const struct row *row)
{
    struct row *others = &listing->others;
    char label[40];
    size_t left = listing->total - listing->come++;
    if (listing->total <= NAMED_MOST + 1 || listing->come <= NAMED_MOST) {
        put_matmul_share_row(listing, row);
        return;
    }
    if (!others->part)
        *others = (struct row){row->part, NULL, row->kind, 0, 0};
    if (others->kind != row->kind)
        others->kind = others->kind == UNKNOWN || row->kind == UNKNOWN ? UNKNOWN : SOME_PRODUCTS;
    others->count += row->count;
    others->own_ns += row->own_ns;
    if (left > 1)
        return;
    snprintf(label, sizeof(label), "(%zu others)", listing->total - NAMED_MOST);
    others->label = label;
    put_matmul_share_row(listing, others);
}

/* A configuration, as far as its phases were gone through. */
struct whole {
    struct share share;
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
        if (!parts->items[i].is_kernel && kind_of(&parts->items[i]) != NO_PRODUCTS)
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

/* What a configuration comes to, behind its phases. */
static void put_matmul_share_whole(struct whole *whole, const struct nvt_phase_part *last,
                                   struct nvt_table *table, struct nvt_table *made_of)
{
    struct listing listing = {
        made_of, "all", (double)whole->most_runs, whole->share.all, whole->count, 0, {0}};
    if (whole->most_runs && whole->share.all > 0)
        put_share(table, last, "all", whole->most_runs, &whole->share);
    if (whole->count)
        qsort(whole->rows, whole->count, sizeof(*whole->rows), by_own_time);
    for (size_t i = 0; i < whole->count && whole->phases > 1; i++)
        list(&listing, &whole->rows[i]);
}

/* A phase: parts [from, to). */
static void put_phase(const struct nvt_breakdown *parts, size_t from, size_t to,
                      struct nvt_table *table, struct nvt_table *made_of, struct whole *whole)
{
    const char *name = nvt_phase_name(parts->items[from].phase);
    const uint64_t runs = nvt_breakdown_runs(parts, &parts->items[from]);
    /* Kernels, where there are any, stand behind the ranges. */
    const int by_kernel = parts->items[to - 1].is_kernel;
    struct share share = {0};
    size_t total = 0;
    for (size_t i = from; i < to; i++)
        if (parts->items[i].is_kernel == by_kernel) {
            count(&share, &parts->items[i]);
            total++;
        }
    struct listing listing = {made_of, name, (double)runs, share.all, total, 0, {0}};
    for (size_t i = from; i < to && runs && share.all > 0; i++) {
        const struct nvt_phase_part *part = &parts->items[i];
        const enum kind kind = by_kernel || whole->tells_ranges ? kind_of(part) : UNKNOWN;
        const struct row row = {part, label_of(part, to - from == 1), kind, (double)part->count,
                                part->own_ns};
        if (part->is_kernel != by_kernel)
            continue;
        list(&listing, &row);
        add_row(whole, &row);
    }
    if (runs && share.all > 0)
        put_share(table, &parts->items[to - 1], name, runs, &share);
    whole->phases += runs && share.all > 0;
    whole->share.all += share.all;
    whole->share.low += share.low;
    whole->share.high += share.high;
    whole->share.is_known |= share.is_known;
    whole->most_runs = runs > whole->most_runs ? runs : whole->most_runs;
}

static int fill_matmul_share(const struct nvt_breakdown *parts, struct nvt_table *table,
                             struct nvt_table *made_of)
{
    struct whole whole = {.rows = calloc(parts->count + 1, sizeof(*whole.rows))};
    if (!whole.rows)
        return -1;
    for (size_t from = 0, to; from < parts->count; from = to) {
        to = nvt_breakdown_phase_end(parts, from);
        if (!from || parts->items[from].configuration != parts->items[from - 1].configuration)
            whole.tells_ranges = tells_ranges(parts, from);
        put_phase(parts, from, to, table, made_of, &whole);
        if (to < parts->count && parts->items[to].configuration == parts->items[from].configuration)
            continue;
        put_matmul_share_whole(&whole, &parts->items[to - 1], table, made_of);
        whole = (struct whole){.rows = whole.rows};
    }
    free(whole.rows);
    return 0;
}

static int put_matmul_share(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_breakdown parts = {0};
    int status = nvt_breakdown_make(&parts, making->input, making->err);
    if (!status)
        status = fill_matmul_share(&parts, table, making->tables[1]);
    if (!status && !parts.count)
        nvt_note(making->input, "note: no range forward, backward or optimizer was found");
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
