#include "sorted.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"

struct sorting {
    const struct nvt_model *model;
    const struct nvt_shown_table *table;
    const struct nvt_place *places;
    uint32_t count;
    uint32_t *ranks;   /* of each place by the columns so far */
    uint32_t *numbers; /* of each place's value in the next one, and then its rank by that alone */
};

/* A value that differs from the others. */
struct distinct {
    struct nvt_value value;
    uint64_t pair; /* instead of a value: two ranks */
    uint32_t number;
};

struct distincts {
    struct distinct *items;
    uint32_t count;
};

int nvt_can_sort(const struct nvt_shown_table *table, uint32_t column)
{
    const struct nvt_shown_column *what = &table->columns[column];
    /* Only of a kernel is a detail what the number says. */
    return what->kind != NVT_SHOWN_STORED ||
           table->layout->columns[what->stored].meaning != NVT_MEANS_DETAIL;
}

/* --- which values there are --- */

/* The item of a key of the map; a new one has no more than its number. NULL when out of memory. */
static struct distinct *item_of(struct nvt_map *map, struct distincts *distincts, uint64_t key,
                                int *is_new)
{
    uint32_t *at = nvt_map_at(map, key);
    if (!at)
        return NULL;
    *is_new = *at == NVT_MAP_NONE;
    if (*is_new) {
        if (nvt_grow(&distincts->items, distincts->count, sizeof(*distincts->items)))
            return NULL;
        distincts->items[distincts->count] = (struct distinct){.number = distincts->count};
        *at = distincts->count++;
    }
    return &distincts->items[*at];
}

/* The values of a column. Within a part, the same key is the same value. */
static int find_values(struct sorting *sorting, uint32_t column, struct distincts *distincts)
{
    struct nvt_map map = {0};
    uint64_t last = 0;
    int status = 0, is_new = 0;
    for (uint32_t i = 0; i < sorting->count && !status; i++) {
        const struct nvt_place *place = &sorting->places[i];
        const int is_first = !i || place->part != place[-1].part;
        const uint64_t key =
            nvt_model_key(sorting->model, sorting->table, column, place->part, place->row);
        if (!is_first && key == last) {
            sorting->numbers[i] = sorting->numbers[i - 1];
            continue;
        }
        if (is_first)
            nvt_map_free(&map);
        struct distinct *item = item_of(&map, distincts, key, &is_new);
        status = item ? 0 : -1;
        if (item && is_new)
            item->value =
                nvt_model_value(sorting->model, sorting->table, column, place->part, place->row);
        sorting->numbers[i] = item ? item->number : 0;
        last = key;
    }
    nvt_map_free(&map);
    return status;
}

/* The pairs that there are of ranks so far and by the next column. */
static int find_pairs(struct sorting *sorting, struct distincts *distincts)
{
    struct nvt_map map = {0};
    int status = 0, is_new = 0;
    for (uint32_t i = 0; i < sorting->count && !status; i++) {
        const uint64_t pair = (uint64_t)sorting->ranks[i] << 32 | sorting->numbers[i];
        struct distinct *item = item_of(&map, distincts, pair, &is_new);
        status = item ? 0 : -1;
        if (item)
            item->pair = pair;
        sorting->numbers[i] = item ? item->number : 0;
    }
    nvt_map_free(&map);
    return status;
}

/* --- in which order --- */

static int compare_texts(const struct nvt_value *a, const struct nvt_value *b)
{
    const size_t common = a->length < b->length ? a->length : b->length;
    const int order = common ? memcmp(a->text, b->text, common) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Columns hold values of one type, or NULL. */
static int compare_values(const struct nvt_value *a, const struct nvt_value *b)
{
    if (a->type != b->type)
        return (a->type > b->type) - (a->type < b->type);
    switch (a->type) {
    case NVT_VALUE_IS_INT:
        return (a->integer > b->integer) - (a->integer < b->integer);
    case NVT_VALUE_IS_REAL:
        return (a->real > b->real) - (a->real < b->real);
    case NVT_VALUE_IS_TEXT:
        return compare_texts(a, b);
    default:
        return 0;
    }
}

static int compare(const void *left, const void *right)
{
    const struct distinct *a = left, *b = right;
    const int order = compare_values(&a->value, &b->value);
    return order ? order : (a->pair > b->pair) - (a->pair < b->pair);
}

/* Numbers become ranks. */
static int rank(struct sorting *sorting, struct distincts *distincts, int is_descending)
{
    uint32_t *ranks = malloc(((size_t)distincts->count + 1) * sizeof(*ranks));
    uint32_t next = 0;
    if (!ranks)
        return -1;
    if (distincts->count)
        qsort(distincts->items, distincts->count, sizeof(*distincts->items), compare);
    for (uint32_t i = 0; i < distincts->count; i++) {
        next += i && compare(&distincts->items[i - 1], &distincts->items[i]);
        ranks[distincts->items[i].number] = next;
    }
    for (uint32_t i = 0; i < sorting->count; i++) {
        const uint32_t own = ranks[sorting->numbers[i]];
        sorting->numbers[i] = is_descending ? next - own : own;
    }
    free(ranks);
    return 0;
}

/* By one more column. */
static int rank_by(struct sorting *sorting, const struct nvt_sorted_column *by, int is_first)
{
    struct distincts values = {0}, pairs = {0};
    int status =
        find_values(sorting, by->column, &values) || rank(sorting, &values, by->is_descending);
    if (!status && !is_first)
        status = find_pairs(sorting, &pairs) || rank(sorting, &pairs, 0);
    uint32_t *ranks = sorting->numbers;
    sorting->numbers = sorting->ranks;
    sorting->ranks = ranks;
    free(values.items);
    free(pairs.items);
    return status ? -1 : 0;
}

/* Put places behind each other by rank; those of one rank stay in order. */
static int distribute(const struct sorting *sorting, struct nvt_place *places)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < sorting->count; i++)
        most = sorting->ranks[i] > most ? sorting->ranks[i] : most;
    uint32_t *next = calloc((size_t)most + 2, sizeof(*next));
    struct nvt_place *sorted = malloc(((size_t)sorting->count + 1) * sizeof(*sorted));
    if (next && sorted) {
        for (uint32_t i = 0; i < sorting->count; i++)
            next[(size_t)sorting->ranks[i] + 1]++;
        for (size_t i = 1; i <= most; i++)
            next[i] += next[i - 1];
        for (uint32_t i = 0; i < sorting->count; i++)
            sorted[next[sorting->ranks[i]]++] = places[i];
        memcpy(places, sorted, sorting->count * sizeof(*places));
    }
    const int status = next && sorted ? 0 : -1;
    free(next);
    free(sorted);
    return status;
}

/* The last columns say nothing where rows are in their order already: that of ids, and of one trace that of time. */
static size_t without_own_order(const struct nvt_model *model, const struct nvt_shown_table *table,
                                const struct nvt_sorted_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct nvt_shown_column *what = &table->columns[columns[i].column];
        const int is_time = model->count == 1 && what->kind == NVT_SHOWN_STORED &&
                            table->layout->times != NVT_TIMELESS &&
                            what->stored == table->layout->start;
        if (!columns[i].is_descending &&
            (what->kind == NVT_SHOWN_ID || (is_time && i + 1 == count)))
            return i;
    }
    return count;
}

int nvt_sort_places(const struct nvt_model *model, const struct nvt_shown_table *table,
                    const struct nvt_sorted_column *columns, size_t count, struct nvt_place *places,
                    uint32_t places_count)
{
    struct sorting sorting = {
        .model = model, .table = table, .places = places, .count = places_count};
    const size_t deciding = without_own_order(model, table, columns, count);
    int status = 0;
    if (!deciding || !places_count)
        return 0;
    sorting.numbers = malloc((size_t)places_count * sizeof(*sorting.numbers));
    sorting.ranks = malloc((size_t)places_count * sizeof(*sorting.ranks));
    if (!sorting.numbers || !sorting.ranks)
        status = -1;
    for (size_t i = 0; i < deciding && !status; i++)
        status = rank_by(&sorting, &columns[i], i == 0);
    if (!status)
        status = distribute(&sorting, places);
    free(sorting.numbers);
    free(sorting.ranks);
    return status;
}
