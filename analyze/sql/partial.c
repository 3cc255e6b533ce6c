#include "partial.h"

#include <stdlib.h>
#include <string.h>

#include "launched.h"
#include "sorted.h"

#define BLOCK     1024
#define SLOTS     ((size_t)2 * NVT_PARTIAL_GROUPS_MOST)
#define EXACT     (INT64_C(1) << 53)
#define NO_GROUP  UINT32_MAX
#define FEW       4096 /* groups that a table may have, however few rows it has */
#define ROWS_EACH 16   /* that pay for a further one */

struct making {
    struct nvt_model *model;
    const struct nvt_partial *what;
    struct nvt_partial_groups groups;
    uint64_t (*keys)[NVT_PARTIAL_COLUMNS_MOST]; /* of each group */
    uint32_t *slots;                            /* numbers of groups by the hash of their keys */
    size_t begin;                               /* first group of the part */
    uint64_t block[NVT_PARTIAL_COLUMNS_MOST][BLOCK];
    int64_t values[BLOCK];
    uint8_t is_null[BLOCK];
    uint32_t group_of[BLOCK]; /* NO_GROUP: a row of another kind */
};

int nvt_partial_has_key(const struct nvt_shown_table *table, uint32_t column)
{
    return nvt_can_sort(table, column);
}

int nvt_partial_has_sum(const struct nvt_shown_table *table, uint32_t column)
{
    return nvt_can_sort(table, column) &&
           !strcmp(nvt_shown_type(table, &table->columns[column]), "INTEGER");
}

/* Keys of `count` rows from `row` on. */
static void take_keys(struct making *making, size_t part, uint32_t row, uint32_t count)
{
    const struct nvt_partial *what = making->what;
    const struct nvt_trace *trace = making->model->parts[part].trace;
    for (uint32_t k = 0; k < what->key_count; k++) {
        const struct nvt_shown_column *column = &what->table->columns[what->keys[k]];
        uint64_t *out = making->block[k];
        if (column->kind == NVT_SHOWN_STORED && column->unknown != NVT_UNKNOWN_WITH_REGISTERS) {
            const struct nvt_layout_column *stored = &what->table->layout->columns[column->stored];
            const char *values = nvt_layout_values(trace, what->table->layout, column->stored);
            nvt_layout_take(stored, values + (size_t)row * stored->width, count, out);
            continue;
        }
        for (uint32_t i = 0; i < count; i++)
            out[i] = nvt_model_key(making->model, what->table, what->keys[k], part, row + i);
    }
}

static uint64_t hash_of(const struct making *making, uint32_t at)
{
    uint64_t hash = 0;
    for (uint32_t k = 0; k < making->what->key_count; k++) {
        hash = (hash ^ making->block[k][at]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static int is_of(const struct making *making, uint32_t group, uint32_t at)
{
    for (uint32_t k = 0; k < making->what->key_count; k++)
        if (making->keys[group][k] != making->block[k][at])
            return 0;
    return 1;
}

/* A new group of the row at `at` of the block; there is room for it. */
static void add_group(struct making *making, size_t part, uint32_t row, uint32_t at)
{
    const size_t count = making->groups.count++;
    struct nvt_partial_group *group = &making->groups.items[count];
    *group = (struct nvt_partial_group){.part = part, .row = row};
    for (uint32_t s = 0; s < making->what->sum_count; s++)
        group->sums[s] = (struct nvt_partial_sum){.least = INT64_MAX, .greatest = INT64_MIN};
    for (uint32_t k = 0; k < making->what->key_count; k++)
        making->keys[count][k] = making->block[k][at];
}

/* The groups of a block's rows; their count of rows with it. 0, or 1: too many. */
static int find_groups(struct making *making, size_t part, uint32_t row, uint32_t count)
{
    const struct nvt_trace *trace = making->model->parts[part].trace;
    uint32_t last = NO_GROUP;
    for (uint32_t i = 0; i < count; i++) {
        making->group_of[i] = NO_GROUP;
        if (making->what->kind >= 0 && trace->ops.kind[row + i] != making->what->kind)
            continue;
        if (last == NO_GROUP || !is_of(making, last, i)) {
            size_t slot = hash_of(making, i) % SLOTS;
            while (making->slots[slot] != NO_GROUP && !is_of(making, making->slots[slot], i))
                slot = (slot + 1) % SLOTS;
            if (making->slots[slot] == NO_GROUP) {
                const size_t own = making->groups.count - making->begin;
                if (making->groups.count == NVT_PARTIAL_GROUPS_MOST ||
                    own > FEW + (row + i) / ROWS_EACH)
                    return 1;
                add_group(making, part, row + i, i);
                making->slots[slot] = (uint32_t)making->groups.count - 1;
            }
            last = making->slots[slot];
        }
        making->group_of[i] = last;
        making->groups.items[last].rows++;
    }
    return 0;
}

/* Values of a column that is added up. */
static void take_values(struct making *making, uint32_t column, size_t part, uint32_t row,
                        uint32_t count)
{
    const struct nvt_shown_table *table = making->what->table;
    const struct nvt_trace *trace = making->model->parts[part].trace;
    memset(making->is_null, 0, sizeof(making->is_null));
    if (table->columns[column].kind == NVT_SHOWN_DURATION && table->number == NVT_TABLE_ops) {
        for (uint32_t i = 0; i < count; i++)
            making->values[i] = trace->ops.end[row + i] - trace->ops.start[row + i];
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct nvt_value value = nvt_model_value(making->model, table, column, part, row + i);
        making->is_null[i] = value.type == NVT_VALUE_IS_NULL;
        making->values[i] = value.integer;
    }
}

/* 0, or 1: a sum becomes too large. */
static int add_values(struct making *making, uint32_t which, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (making->group_of[i] == NO_GROUP || making->is_null[i])
            continue;
        struct nvt_partial_sum *sum = &making->groups.items[making->group_of[i]].sums[which];
        const int64_t value = making->values[i];
        sum->count++;
        if (__builtin_add_overflow(sum->sum, value, &sum->sum) || sum->sum >= EXACT ||
            sum->sum <= -EXACT)
            return 1;
        sum->least = value < sum->least ? value : sum->least;
        sum->greatest = value > sum->greatest ? value : sum->greatest;
    }
    return 0;
}

static int make_part(struct making *making, size_t part)
{
    const struct nvt_partial *what = making->what;
    const uint32_t rows = nvt_layout_rows(making->model->parts[part].trace, what->table->layout);
    int status = 0;
    memset(making->slots, 0xff, SLOTS * sizeof(*making->slots));
    making->begin = making->groups.count;
    for (uint64_t at = 0; at < rows && !status; at += BLOCK) {
        const uint32_t row = (uint32_t)at, count = rows - row < BLOCK ? rows - row : BLOCK;
        take_keys(making, part, row, count);
        status = find_groups(making, part, row, count);
        for (uint32_t s = 0; s < what->sum_count && !status; s++) {
            take_values(making, what->sums[s], part, row, count);
            status = add_values(making, s, count);
        }
    }
    return status;
}

int nvt_partial_make(struct nvt_model *model, const struct nvt_partial *what,
                     struct nvt_partial_groups *groups, struct nvt_error *err)
{
    if (model->input->only_launches && !nvt_launched_can(what))
        return 1;
    for (uint32_t i = 0; i < what->key_count; i++)
        if (nvt_model_prepare(model, &what->table->columns[what->keys[i]], err))
            return -1;
    for (uint32_t i = 0; i < what->sum_count; i++)
        if (nvt_model_prepare(model, &what->table->columns[what->sums[i]], err))
            return -1;
    struct making *making = calloc(1, sizeof(*making));
    if (!making)
        return nvt_fail(err, "out of memory");
    making->model = model;
    making->what = what;
    /* Room for the most that there may be: only what comes takes memory. */
    making->slots = malloc(SLOTS * sizeof(*making->slots));
    making->keys = malloc(NVT_PARTIAL_GROUPS_MOST * sizeof(*making->keys));
    making->groups.items = calloc(NVT_PARTIAL_GROUPS_MOST, sizeof(*making->groups.items));
    int status = 0;
    if (!making->slots || !making->keys || !making->groups.items)
        status = nvt_fail(err, "out of memory");
    for (size_t part = 0; part < model->count && !status; part++)
        status = model->input->traces[part].launches
                     ? nvt_launched_add(model, what, part, &making->groups)
                     : make_part(making, part);
    free(making->keys);
    free(making->slots);
    if (status)
        free(making->groups.items);
    else
        *groups = making->groups;
    free(making);
    return status;
}

struct nvt_value nvt_partial_key(const struct nvt_model *model, const struct nvt_partial *what,
                                 uint32_t key, const struct nvt_partial_group *group)
{
    const struct nvt_shown_column *column = &what->table->columns[what->keys[key]];
    const int is_range = column->kind == NVT_SHOWN_RANGE_NAME;
    struct nvt_value value = {.type = NVT_VALUE_IS_NULL};
    if (!model->input->traces[group->part].launches || column->kind == NVT_SHOWN_FILE)
        return nvt_model_value(model, what->table, what->keys[key], group->part, group->row);
    if (is_range && group->in_range == NVT_NONE)
        return value;
    value.type = NVT_VALUE_IS_TEXT;
    value.text = nvt_strings_get(model->parts[group->part].trace->strings,
                                 is_range ? group->in_range : group->name, &value.length);
    return value;
}
