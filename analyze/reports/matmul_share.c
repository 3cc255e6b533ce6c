/*
 * matmul_share: how much of each phase is matrix products, and what else it is (analyze/parts.h).
 *
 * With a device, kernels are told apart by their names. Without one there are ranges alone, and a
 * range may hold more than products: the share then lies between that of ranges that are nothing
 * but products and that of all ranges with products in them.
 */
#include <math.h>
#include <string.h>

#include "../parts.h"

#define OTHERS_MOST 10 /* parts of a phase in the second table */

enum { CONFIGURATION, PHASE, RUNS, TIME, LOW, HIGH, LOW_SHARE, HIGH_SHARE, BASIS };

static const struct nvt_column_spec columns[] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [RUNS] = {"n", "", NVT_INT, 0, 0},
    [TIME] = {"time", "ns", NVT_REAL, 0, 0},
    [LOW] = {"products at least", "ns", NVT_REAL, 0, 0},
    [HIGH] = {"products at most", "ns", NVT_REAL, 0, 0},
    [LOW_SHARE] = {"share at least", "%", NVT_REAL, 1, 0},
    [HIGH_SHARE] = {"share at most", "%", NVT_REAL, 1, 0},
    [BASIS] = {"from", "", NVT_TEXT, 0, 0},
};

enum { P_CONFIGURATION, P_PHASE, P_NAME, P_PRODUCTS, P_COUNT, P_TIME, P_SHARE };

static const struct nvt_column_spec part_columns[] = {
    [P_CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [P_PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [P_NAME] = {"name", "", NVT_TEXT, 0, 0},
    [P_PRODUCTS] = {"products", "", NVT_TEXT, 0, 0},
    [P_COUNT] = {"times a phase", "", NVT_REAL, 1, 0},
    [P_TIME] = {"time a phase", "ns", NVT_REAL, 0, 0},
    [P_SHARE] = {"share", "%", NVT_REAL, 1, 0},
};

enum kind { NO_PRODUCTS, SOME_PRODUCTS, PRODUCTS };

/* What a part is: the ranges are those of the workload transformer (docs/workloads.md). */
static enum kind kind_of(const struct nvt_part *part)
{
    static const char *const pure[] = {"attention.scores", "attention.values", "lm_head"};
    static const char *const mixed[] = {"attention", "mlp"};
    if (part->is_kernel)
        return nvt_is_matmul_kernel(part->name) ? PRODUCTS : NO_PRODUCTS;
    for (size_t i = 0; i < sizeof(pure) / sizeof(pure[0]); i++)
        if (!strcmp(part->name, pure[i]))
            return PRODUCTS;
    for (size_t i = 0; i < sizeof(mixed) / sizeof(mixed[0]); i++)
        if (!strcmp(part->name, mixed[i]))
            return SOME_PRODUCTS;
    return NO_PRODUCTS;
}

struct share {
    double all, low, high; /* ns */
    int is_known;          /* a part is of a kind that has products: else nothing is known */
};

static void count(struct share *share, const struct nvt_part *part)
{
    enum kind kind = kind_of(part);
    share->all += part->own_ns;
    share->low += kind == PRODUCTS ? part->own_ns : 0;
    share->high += kind != NO_PRODUCTS ? part->own_ns : 0;
    share->is_known |= part->is_kernel || kind != NO_PRODUCTS;
}

static void put_share(struct nvt_table *table, const struct nvt_part *part, const char *phase,
                      uint64_t runs, const struct share *share)
{
    const double n = (double)runs;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, CONFIGURATION, part->configuration);
    nvt_table_set_text(table, row, PHASE, phase);
    nvt_table_set_int(table, row, RUNS, (int64_t)runs);
    nvt_table_set_real(table, row, TIME, share->all / n);
    if (!share->is_known)
        return;
    nvt_table_set_real(table, row, LOW, share->low / n);
    nvt_table_set_real(table, row, HIGH, share->high / n);
    nvt_table_set_real(table, row, LOW_SHARE, 100 * share->low / share->all);
    nvt_table_set_real(table, row, HIGH_SHARE, 100 * share->high / share->all);
    nvt_table_set_text(table, row, BASIS, part->is_kernel ? "kernels" : "ranges");
}

static void put_part(struct nvt_table *table, const struct nvt_part *part, uint64_t runs,
                     double all)
{
    static const char *const words[] = {"no", "in part", "yes"};
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, P_CONFIGURATION, part->configuration);
    nvt_table_set_text(table, row, P_PHASE, nvt_phase_name(part->phase));
    int is_phase = !part->is_kernel && !strcmp(part->name, nvt_phase_name(part->phase));
    nvt_table_set_text(table, row, P_NAME, is_phase ? "(in no range of its own)" : part->name);
    nvt_table_set_text(table, row, P_PRODUCTS, words[kind_of(part)]);
    nvt_table_set_real(table, row, P_COUNT, (double)part->count / (double)runs);
    nvt_table_set_real(table, row, P_TIME, part->own_ns / (double)runs);
    nvt_table_set_real(table, row, P_SHARE, 100 * part->own_ns / all);
}

/* The parts from `from` on that are of one configuration and phase, of the kind that counts. */
static size_t end_of_phase(const struct nvt_parts *parts, size_t from)
{
    size_t to = from;
    while (to < parts->count &&
           parts->items[to].configuration == parts->items[from].configuration &&
           parts->items[to].phase == parts->items[from].phase)
        to++;
    return to;
}

static void fill(const struct nvt_parts *parts, struct nvt_table *table, struct nvt_table *others)
{
    struct share whole = {0};
    uint64_t most_runs = 0;
    for (size_t from = 0, to; from < parts->count; from = to) {
        const struct nvt_part *first = &parts->items[from];
        struct share share = {0};
        size_t shown = 0;
        const uint64_t runs = nvt_parts_runs(parts, first);
        to = end_of_phase(parts, from);
        /* Kernels, where there are any, stand behind the ranges. */
        const int by_kernel = parts->items[to - 1].is_kernel;
        for (size_t i = from; i < to; i++)
            if (parts->items[i].is_kernel == by_kernel)
                count(&share, &parts->items[i]);
        for (size_t i = from; i < to && runs && share.all > 0; i++)
            if (parts->items[i].is_kernel == by_kernel && shown++ < OTHERS_MOST)
                put_part(others, &parts->items[i], runs, share.all);
        if (runs && share.all > 0)
            put_share(table, &parts->items[to - 1], nvt_phase_name(first->phase), runs, &share);
        whole.all += share.all;
        whole.low += share.low;
        whole.high += share.high;
        whole.is_known |= share.is_known;
        most_runs = runs > most_runs ? runs : most_runs;
        if (to < parts->count && parts->items[to].configuration == first->configuration)
            continue;
        if (most_runs && whole.all > 0)
            put_share(table, &parts->items[to - 1], "all", most_runs, &whole);
        whole = (struct share){0};
        most_runs = 0;
    }
}

static int make(struct nvt_report_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_parts parts = {0};
    struct nvt_table *others = NULL;
    int status = nvt_parts_make(&parts, input, err);
    struct nvt_table *table =
        status ? NULL
               : nvt_report_table(&nvt_report_matmul_share, input, "Matrix products by phase", err);
    if (table)
        others = nvt_table_new("matmul_share", "What phases are made of, the longest first",
                               part_columns, sizeof(part_columns) / sizeof(part_columns[0]));
    if (others) {
        nvt_table_set_provenance(others, nvt_table_provenance(table));
        fill(&parts, table, others);
        if (!parts.count)
            nvt_note(input, "note: no range forward, backward or optimizer was found");
    } else if (table) {
        nvt_table_free(table);
        table = NULL;
        nvt_fail(err, "out of memory");
    }
    nvt_parts_free(&parts);
    status = nvt_report_add(tables, table, err);
    if (status)
        nvt_table_free(others);
    return status ? status : nvt_report_add(tables, others, err);
}

const struct nvt_report nvt_report_matmul_share = {
    .name = "matmul_share",
    .about = "share of matrix products in each phase, and what else it is made of",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
