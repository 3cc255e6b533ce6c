#include "top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/map.h"
#include "../../lib/text.h"
#include "overview_rows.h"

enum { OPEN_AT_FIRST = 2 /* levels */ };

/* --- rows --- */

static int take_tree(struct nvt_top *top)
{
    const struct nvt_overview_tree *tree = &top->tree;
    top->count = tree->count;
    top->rows = calloc((size_t)tree->count + 1, sizeof(*top->rows));
    for (uint32_t i = 0; top->rows && i < tree->count; i++) {
        const struct nvt_overview_node *node = &tree->nodes[i];
        struct nvt_top_row *row = &top->rows[i];
        *row = (struct nvt_top_row){.name = nvt_strings_get(tree->names, node->name, NULL),
                                    .parent = node->parent,
                                    .cpu_ns = node->cpu_ns,
                                    .gpu_ns = tree->has_gpu_time ? node->gpu_ns : NAN,
                                    .calls = node->calls};
        if (node->parent != NVT_NONE) {
            row->depth = top->rows[node->parent].depth + 1;
            top->rows[node->parent].children++;
        }
        row->is_open = row->depth + 1 < OPEN_AT_FIRST;
    }
    return top->rows ? 0 : -1;
}

static int take_kernels(struct nvt_top *top)
{
    top->count = top->overview.row_count;
    top->rows = calloc((size_t)top->count + 1, sizeof(*top->rows));
    for (uint32_t i = 0; top->rows && i < top->count; i++) {
        const struct nvt_overview_row *row = &top->overview.rows[i];
        top->rows[i] = (struct nvt_top_row){.name = row->name,
                                            .parent = NVT_NONE,
                                            .cpu_ns = row->cpu_ns,
                                            .gpu_ns = row->gpu_ns,
                                            .calls = row->calls};
    }
    return top->rows ? 0 : -1;
}

/* --- which are shown --- */

/* What is not known comes last. */
static double key_of(const struct nvt_top *top, uint32_t row)
{
    const struct nvt_top_row *of = &top->rows[row];
    const double key = top->sort == NVT_TOP_CPU   ? of->cpu_ns
                       : top->sort == NVT_TOP_GPU ? of->gpu_ns
                                                  : of->calls;
    return top->sort == NVT_TOP_RUN ? -(double)row : isnan(key) ? -1 : key;
}

/* Brothers of a row, from its first child on: each the next one in the order that is wanted. */
struct links {
    uint32_t *first, *next; /* NVT_NONE: none */
};

struct keyed {
    double key;
    uint32_t row;
};

static int by_key(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row > b->row ? -1 : a->row < b->row;
}

/* The smallest first, as each is put in front of those before it. */
static void link_rows(const struct nvt_top *top, struct keyed *order, struct links *links)
{
    for (uint32_t i = 0; i < top->count; i++)
        order[i] = (struct keyed){key_of(top, i), i};
    for (uint32_t i = 0; i <= top->count; i++)
        links->first[i] = NVT_NONE;
    qsort(order, top->count, sizeof(*order), by_key);
    for (uint32_t i = 0; i < top->count; i++) {
        const uint32_t row = order[i].row, parent = top->rows[row].parent;
        uint32_t *first = &links->first[parent == NVT_NONE ? top->count : parent];
        links->next[row] = *first;
        *first = row;
    }
}

/* 0, or -1 when out of memory. */
static int choose_rows(struct nvt_top *top)
{
    const size_t room = (size_t)top->count + 1;
    struct keyed *order = malloc(room * sizeof(*order));
    struct links links = {malloc(room * sizeof(uint32_t)), malloc(room * sizeof(uint32_t))};
    const int status = order && links.first && links.next ? 0 : -1;
    if (!status) {
        link_rows(top, order, &links);
        uint32_t at = links.first[top->count];
        top->shown_count = 0;
        while (at != NVT_NONE) {
            top->shown[top->shown_count++] = at;
            uint32_t next = top->rows[at].is_open ? links.first[at] : NVT_NONE;
            while (next == NVT_NONE && at != NVT_NONE) {
                next = links.next[at];
                at = top->rows[at].parent;
            }
            at = next;
        }
    }
    free(order);
    free(links.first);
    free(links.next);
    return status;
}

/* The row that is chosen; NVT_NONE: there is none. */
static uint32_t chosen(const struct nvt_top *top)
{
    return top->cursor < top->shown_count ? top->shown[top->cursor] : NVT_NONE;
}

/* Choose a row, or, where it is not shown, the one that it lies in. */
static void choose(struct nvt_top *top, uint32_t row)
{
    while (row != NVT_NONE) {
        for (uint32_t i = 0; i < top->shown_count; i++)
            if (top->shown[i] == row) {
                top->cursor = i;
                return;
            }
        row = top->rows[row].parent;
    }
    top->cursor = 0;
}

/* Choose the rows that are shown again; the cursor stays on its row. Without memory for it nothing changes. */
static void rearrange(struct nvt_top *top)
{
    const uint32_t row = chosen(top);
    if (!choose_rows(top))
        choose(top, row);
}

/* --- the whole --- */

/* What could not be read of the first such trace, and of how many more. */
static void set_warning(struct nvt_top *top, const struct nvt_input *input)
{
    size_t more = 0;
    char others[40] = "";
    const struct nvt_trace *first = NULL;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        more += trace->warning && first;
        first = first || !trace->warning ? first : trace;
    }
    if (more)
        snprintf(others, sizeof(others), "; and of %zu more", more);
    if (first)
        snprintf(top->warning, sizeof(top->warning), "%.200s: %.250s%s", nvt_file_name(first->path),
                 first->warning, others);
}

int nvt_top_make(struct nvt_top *top, const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_overview_units units = {0};
    top->tree.with_others = 1;
    int status = nvt_overview_make(&top->overview, input, err);
    if (!status && !top->overview.are_kernels)
        status = nvt_overview_units_make(&units, input, err) ||
                 nvt_overview_take_tree(&top->overview, input, &units, &top->tree, err);
    nvt_overview_units_free(&units);
    if (status)
        return -1;
    for (size_t i = 0; i < input->trace_count; i++)
        top->goes_on |= input->traces[i].trace->goes_on;
    set_warning(top, input);
    if (top->overview.are_kernels ? take_kernels(top) : take_tree(top))
        return nvt_fail(err, "out of memory");
    top->shown = malloc(((size_t)top->count + 1) * sizeof(*top->shown));
    return top->shown && !choose_rows(top) ? 0 : nvt_fail(err, "out of memory");
}

void nvt_top_free(struct nvt_top *top)
{
    nvt_overview_free(&top->overview);
    nvt_overview_tree_free(&top->tree);
    free(top->rows);
    free(top->shown);
    *top = (struct nvt_top){0};
}

/* A row within another, by its name among those of `names`. */
static uint64_t place_of(const struct nvt_top *top, uint32_t row, uint32_t parent,
                         struct nvt_strings *names)
{
    return (uint64_t)(parent + 1) << 32 | nvt_strings_add_text(names, top->rows[row].name);
}

int nvt_top_keep(struct nvt_top *top, struct nvt_top *before)
{
    struct nvt_strings *names = nvt_strings_new();
    struct nvt_map places = {0};
    uint32_t *old = malloc(((size_t)top->count + 1) * sizeof(*old));
    const uint32_t row = chosen(before);
    uint32_t same = NVT_NONE;
    int status = names && old ? 0 : -1;
    for (uint32_t i = 0; i < before->count && !status; i++)
        status = nvt_map_set(&places, place_of(before, i, before->rows[i].parent, names), i);
    for (uint32_t i = 0; i < top->count && !status; i++) {
        const uint32_t parent = top->rows[i].parent;
        old[i] = NVT_NONE;
        if (parent == NVT_NONE || old[parent] != NVT_NONE)
            old[i] = nvt_map_get(
                &places, place_of(top, i, parent == NVT_NONE ? NVT_NONE : old[parent], names));
        if (old[i] != NVT_NONE)
            top->rows[i].is_open = before->rows[old[i]].is_open;
        if (old[i] != NVT_NONE && old[i] == row)
            same = i;
    }
    top->sort = before->sort;
    top->shows_findings = before->shows_findings;
    top->shows_keys = before->shows_keys;
    top->line = before->line;
    top->first = before->first;
    if (!status)
        status = choose_rows(top);
    if (!status)
        choose(top, same);
    nvt_map_free(&places);
    nvt_strings_free(names);
    free(old);
    return status;
}

static void open_all(struct nvt_top *top, int is_open)
{
    for (uint32_t i = 0; i < top->count; i++)
        top->rows[i].is_open = is_open;
    rearrange(top);
}

static void open_row(struct nvt_top *top, enum nvt_top_key key)
{
    const uint32_t row = chosen(top);
    if (row == NVT_NONE)
        return;
    struct nvt_top_row *of = &top->rows[row];
    if (key == NVT_TOP_CLOSE && (!of->is_open || !of->children)) {
        choose(top, of->parent == NVT_NONE ? row : of->parent);
        return;
    }
    of->is_open = key == NVT_TOP_TOGGLE ? !of->is_open : key == NVT_TOP_OPEN;
    rearrange(top);
}

static uint32_t moved(uint32_t at, enum nvt_top_key key, size_t lines, uint32_t last)
{
    const uint32_t page = lines > 1 ? (uint32_t)lines - 1 : 1;
    const uint32_t by = key == NVT_TOP_UP || key == NVT_TOP_DOWN ? 1 : page;
    if (key == NVT_TOP_FIRST)
        return 0;
    if (key == NVT_TOP_LAST)
        return last;
    if (key == NVT_TOP_UP || key == NVT_TOP_PAGE_UP)
        return at > by ? at - by : 0;
    return at + by < last ? at + by : last;
}

void nvt_top_press(struct nvt_top *top, enum nvt_top_key key, size_t lines)
{
    if (key == NVT_TOP_KEYS || top->shows_keys) /* any key leads back */
        top->shows_keys = !top->shows_keys;
    else if (key == NVT_TOP_FINDINGS || (key == NVT_TOP_BACK && top->shows_findings))
        top->shows_findings = !top->shows_findings;
    else if (key <= NVT_TOP_LAST && top->shows_findings)
        top->line = moved(top->line, key, lines, UINT16_MAX); /* drawing knows how many there are */
    else if (key <= NVT_TOP_LAST)
        top->cursor = moved(top->cursor, key, lines, top->shown_count ? top->shown_count - 1 : 0);
    else if (top->shows_findings || key == NVT_TOP_BACK || key == NVT_TOP_OTHER)
        return;
    else if (key == NVT_TOP_OPEN_ALL || key == NVT_TOP_CLOSE_ALL)
        open_all(top, key == NVT_TOP_OPEN_ALL);
    else if (key == NVT_TOP_SORT) {
        top->sort = (enum nvt_top_sort)((top->sort + 1) % NVT_TOP_SORTS);
        rearrange(top);
    } else
        open_row(top, key);
}
