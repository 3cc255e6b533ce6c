#include "overview_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/kernel_times.h"
#include "../model/cuda_names.h"

/* What takes less of a unit, on CPU and GPU, is no row of its own; what takes this of the range around it stands for it. */
#define LEAST_SHARE 0.01
#define ALL_OF_IT   0.97

/* A node that may be a row. */
struct candidate {
    double weight; /* its share of a unit, at most that of the one above */
    uint32_t node;
    uint32_t above; /* the node whose row it is below; NVT_NONE: none */
    int is_hidden;  /* it is all of the one above */
};

static int by_weight(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static double larger(const struct nvt_overview_node *node)
{
    return node->gpu_ns > node->cpu_ns ? node->gpu_ns : node->cpu_ns;
}

/* Whether a node is all that the one above it is, on the CPU and on GPUs. */
static int is_all_of(const struct nvt_overview_node *node, const struct nvt_overview_node *above)
{
    return node->cpu_ns >= ALL_OF_IT * above->cpu_ns && node->gpu_ns >= ALL_OF_IT * above->gpu_ns;
}

/* Nodes come behind those above them. */
static void weigh(const struct nvt_overview *overview, const struct nvt_overview_tree *tree,
                  struct candidate *candidates)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct nvt_overview_node *node = &tree->nodes[i];
        struct candidate *candidate = &candidates[i];
        *candidate =
            (struct candidate){larger(node) / nvt_overview_whole(overview), i, node->parent, 0};
        if (node->parent == NVT_NONE)
            continue;
        const struct candidate *above = &candidates[node->parent];
        candidate->above = above->is_hidden ? above->above : node->parent;
        candidate->weight = fmin(candidate->weight, above->weight);
        candidate->is_hidden =
            !tree->with_every_name && is_all_of(node, &tree->nodes[candidate->above]);
    }
}

/* Rows below `above`, each before those below it, of the candidates that were picked: those with a place in `picked`. */
static int put_rows(struct nvt_overview *overview, const struct nvt_overview_tree *tree,
                    const struct candidate *picked, uint32_t count, uint32_t above, uint32_t level)
{
    for (uint32_t i = 0; i < count; i++) {
        if (picked[i].above != above)
            continue;
        const struct nvt_overview_node *node = &tree->nodes[picked[i].node];
        struct nvt_overview_row *row = &overview->rows[overview->row_count];
        *row = (struct nvt_overview_row){.name =
                                             strdup(nvt_strings_get(tree->names, node->name, NULL)),
                                         .level = level,
                                         .cpu_ns = node->cpu_ns,
                                         .gpu_ns = tree->has_gpu_time ? node->gpu_ns : NAN,
                                         .calls = node->calls,
                                         .weight = picked[i].weight};
        overview->row_count += row->name != NULL;
        if (!row->name || put_rows(overview, tree, picked, count, picked[i].node, level + 1))
            return -1;
    }
    return 0;
}

static int by_node(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The name of a range that is left out, as the one around it has all of its time; each once, as far as there is room. */
static void note_filled(struct nvt_overview *overview, const char *name)
{
    char *filled = overview->filled;
    const size_t used = strlen(filled), length = strlen(name);
    for (const char *at = filled; (at = strstr(at, name)); at += length)
        if ((at == filled || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return;
    if (length && used + length + 3 < sizeof(overview->filled))
        snprintf(filled + used, sizeof(overview->filled) - used, "%s%s", used ? ", " : "", name);
}

int nvt_overview_take_ranges(struct nvt_overview *overview, const struct nvt_overview_tree *tree,
                             struct nvt_error *err)
{
    struct candidate *candidates = calloc((size_t)tree->count + 1, sizeof(*candidates));
    uint32_t shown = 0, picked = 0;
    overview->rows = calloc(NVT_OVERVIEW_ROWS, sizeof(*overview->rows));
    if (!candidates || !overview->rows) {
        free(candidates);
        return nvt_fail(err, "out of memory");
    }
    weigh(overview, tree, candidates);
    for (uint32_t i = 0; i < tree->count; i++)
        if (!candidates[i].is_hidden)
            candidates[shown++] = candidates[i];
        else
            note_filled(overview, nvt_strings_get(tree->names, tree->nodes[i].name, NULL));
    qsort(candidates, shown, sizeof(*candidates), by_weight);
    while (picked < shown && picked < NVT_OVERVIEW_ROWS &&
           (!picked || candidates[picked].weight >= LEAST_SHARE))
        picked++;
    qsort(candidates, picked, sizeof(*candidates), by_node);
    overview->left_out = shown - picked;
    int failed = put_rows(overview, tree, candidates, picked, NVT_NONE, 0);
    free(candidates);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

/* --- kernels --- */

static int by_time(const void *left, const void *right)
{
    const struct nvt_overview_row *a = left, *b = right;
    if (a->gpu_ns != b->gpu_ns)
        return a->gpu_ns < b->gpu_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* Kernels have their short names. 0, or -1 when out of memory. */
static int shorten_names(struct nvt_overview *overview)
{
    struct nvt_kernel_labels labels = {0};
    int failed = 0;
    for (uint32_t i = 0; i < overview->row_count && !failed; i++)
        failed = nvt_kernel_labels_add(&labels, overview->rows[i].name);
    failed = failed || nvt_kernel_labels_finish(&labels);
    /* The names that labels are found by stay until all are found. */
    char **names = calloc((size_t)overview->row_count + 1, sizeof(*names));
    failed = failed || !names;
    for (uint32_t i = 0; i < overview->row_count && !failed; i++) {
        names[i] = strdup(nvt_kernel_labels_get(&labels, overview->rows[i].name));
        failed = !names[i];
    }
    for (uint32_t i = 0; names && i < overview->row_count; i++) {
        char *unused = failed ? names[i] : overview->rows[i].name;
        overview->rows[i].name = failed ? overview->rows[i].name : names[i];
        free(unused);
    }
    free(names);
    nvt_kernel_labels_free(&labels);
    return failed ? -1 : 0;
}

int nvt_overview_take_kernels(struct nvt_overview *overview, const struct nvt_input *input,
                              struct nvt_error *err)
{
    struct nvt_groups kernels = {.item_size = sizeof(struct nvt_kernel_time)};
    int failed = 0;
    for (size_t i = 0; i < input->trace_count && !failed; i++)
        failed = nvt_kernel_times_add(&kernels, input->traces[i].trace);
    failed = failed || nvt_groups_failed(&kernels);
    overview->rows = failed ? NULL : calloc((size_t)kernels.count + 1, sizeof(*overview->rows));
    failed = failed || !overview->rows;
    for (uint32_t i = 0; i < kernels.count && !failed; i++) {
        const struct nvt_kernel_time *kernel = nvt_groups_item(&kernels, i);
        overview->rows[i] =
            (struct nvt_overview_row){.name = strdup(nvt_groups_part(&kernels, i, 0)),
                                      .cpu_ns = NAN,
                                      .gpu_ns = (double)kernel->ns / overview->units,
                                      .calls = (double)kernel->count / overview->units};
        failed = !overview->rows[i].name;
        overview->row_count += !failed;
    }
    nvt_groups_free(&kernels);
    if (failed)
        return nvt_fail(err, "out of memory");
    qsort(overview->rows, overview->row_count, sizeof(*overview->rows), by_time);
    for (uint32_t i = 0; i < overview->row_count; i++)
        overview->rows[i].weight = -(double)i;
    for (; overview->row_count > NVT_OVERVIEW_ROWS; overview->left_out++)
        free(overview->rows[--overview->row_count].name);
    overview->are_kernels = 1;
    return shorten_names(overview) ? nvt_fail(err, "out of memory") : 0;
}
