/* Short names of kernels: what is left of telling ones, and which of them are told apart by it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "one_of.h"
#include "grow.h"
#include "kernel_names.h"

/* --- GEMMs and convolutions of libraries: words with '_' between them --- */

/* What of a name was written so far. */
struct label {
    char *out;
    size_t used;
    int has_type, has_tile;
};

static int begins_with(const char *word, const char *start)
{
    return !strncmp(word, start, strlen(start));
}

/* "80", "sm90", "v1", "5x": of versions. */
static int is_version(const char *word)
{
    static const char *const starts[] = {"sm", "v", ""};
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++) {
        const char *digits = word + strlen(starts[i]);
        if (begins_with(word, starts[i]) && isdigit((unsigned char)*digits) &&
            strspn(digits, "0123456789") + (digits[strlen(digits) - 1] == 'x') == strlen(digits))
            return 1;
    }
    return 0;
}

/* Says nothing where kernels are told apart. */
static int is_dull(const char *word)
{
    static const char *const dull[] = {"simt", "tensorop", "execute", "kernel", "cublas", "ffma",
                                       "n",    "t",        "h",       "v",      "bz",     "cudnn"};
    static const char *const starts[] = {"align", "stage", "warpsize", "warpgroupsize"};
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++)
        if (begins_with(word, starts[i]))
            return 1;
    return !*word || is_version(word) || NVT_IS_ONE_OF(word, dull);
}

/* The sizes of a tile: "128x256" of itself and of "tilesize128x256"; NULL: it is none. */
static const char *tile_of(const char *word)
{
    const char *digits = begins_with(word, "tilesize") ? word + strlen("tilesize") : word;
    const char *cross = strchr(digits, 'x');
    return isdigit((unsigned char)*digits) && cross && isdigit((unsigned char)cross[1]) ? digits
                                                                                        : NULL;
}

/* A type of numbers, "f32", or two of them, "f32f32"; returns the length of the first, 0: it is none. */
static size_t type_length(const char *word)
{
    static const char *const types[] = {"tf32", "bf16", "f64", "f32", "f16", "e4m3", "e5m2", "i8"};
    for (size_t i = 0; i < NVT_COUNT_OF(types); i++)
        if (begins_with(word, types[i]))
            return strlen(types[i]);
    return 0;
}

static void put_word(struct label *label, const char *word, size_t length)
{
    const size_t room = NVT_TELLING_NAME_MAX - label->used;
    const int put = snprintf(label->out + label->used, room, "%s%.*s", label->used ? " " : "",
                             (int)length, word);
    label->used += put < 0 ? 0 : (size_t)put < room ? (size_t)put : room - 1;
}

static void take_word(struct label *label, const char *word)
{
    const char *tile = tile_of(word);
    const size_t type = type_length(word);
    if (tile && !label->has_tile)
        put_word(label, tile, strlen(tile));
    else if (type && !label->has_type)
        put_word(label, word, type);
    else if (!tile && !type && !is_dull(word))
        put_word(label, word, strlen(word));
    label->has_tile |= tile != NULL;
    label->has_type |= type > 0;
}

/* The next word of a name, and where it goes on; 0: there is none, or it is too long to be one of a library. */
static int next_word(const char **at, char *word, size_t size)
{
    const size_t length = strcspn(*at, "_");
    if (!**at || length >= size)
        return 0;
    snprintf(word, size, "%.*s", (int)length, *at);
    *at += length + ((*at)[length] == '_');
    return 1;
}

enum { WORD = 64 };

static int put_gemm(const char *telling, struct label *label)
{
    char word[WORD];
    const int is_known = begins_with(telling, "cutlass_") || begins_with(telling, "nvjet_") ||
                         strstr(telling, "xmma_") || strstr(telling, "gemm_") ||
                         strstr(telling, "cudnn_");
    if (!is_known || strpbrk(telling, " <>():") || !strpbrk(telling, "0123456789"))
        return 0;
    while (next_word(&telling, word, sizeof(word)))
        take_word(label, word);
    return label->used && !*telling;
}

/* "NN" of Cijk_Ailk_Bljk: which operands of C = A B are transposed. */
static int put_layout(const char *a, const char *b, struct label *label)
{
    const int of_a = begins_with(a, "Alik") ? 'T' : begins_with(a, "Ailk") ? 'N' : 0;
    const int of_b = begins_with(b, "Bjlk") ? 'T' : begins_with(b, "Bljk") ? 'N' : 0;
    const char layout[] = {(char)of_a, (char)of_b};
    if (of_a && of_b)
        put_word(label, layout, sizeof(layout));
    return of_a && of_b;
}

/* rocBLAS: Cijk_Ailk_Bljk_SB_MT64x64x8_… is "Tensile SB 64x64x8 NN". */
static int put_tensile(const char *telling, struct label *label)
{
    char a[WORD], b[WORD], word[WORD];
    if (!begins_with(telling, "Cijk_") || !next_word(&telling, word, sizeof(word)) ||
        !next_word(&telling, a, sizeof(a)) || !next_word(&telling, b, sizeof(b)))
        return 0;
    put_word(label, "Tensile", strlen("Tensile"));
    while (next_word(&telling, word, sizeof(word))) {
        if (begins_with(word, "MT") && tile_of(word + 2)) {
            put_word(label, word + 2, strlen(word + 2));
            return put_layout(a, b, label);
        }
        put_word(label, word, strlen(word));
    }
    return 0;
}

/* fmha_cutlassF_f32_aligned_64x64_rf_sm80 */
static int put_attention(const char *telling, struct label *label)
{
    static const char start[] = "fmha_cutlass";
    char word[WORD];
    if (!begins_with(telling, start) || !strchr("FB", telling[strlen(start)]))
        return 0;
    const char *pass = telling[strlen(start)] == 'F' ? "fmha forward" : "fmha backward";
    put_word(label, pass, strlen(pass));
    while (next_word(&telling, word, sizeof(word)))
        if (tile_of(word) || type_length(word))
            take_word(label, word);
    return 1;
}

/* "vectorized_elementwise_kernel add" */
static int put_operation(const char *telling, struct label *label)
{
    static const char *const shapes[][2] = {{"elementwise_kernel", "elementwise"},
                                            {"distribution_elementwise", "distribution"},
                                            {"reduce_kernel", "reduce"},
                                            {"multi_tensor_apply_kernel", "multi_tensor_apply"}};
    const char *operation = strchr(telling, ' ');
    for (size_t i = 0; i < NVT_COUNT_OF(shapes) && operation; i++) {
        const char *at = strstr(telling, shapes[i][0]);
        if (!at || at > operation)
            continue;
        put_word(label, shapes[i][1], strlen(shapes[i][1]));
        put_word(label, operation + 1, strlen(operation + 1));
        return 1;
    }
    return 0;
}

/* The label of a telling name, or that name. */
static void write_label(const char *telling, char out[NVT_TELLING_NAME_MAX])
{
    static int (*const known[])(const char *, struct label *) = {put_gemm, put_tensile,
                                                                 put_attention, put_operation};
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++) {
        struct label label = {.out = out};
        if (known[i](telling, &label))
            return;
    }
    snprintf(out, NVT_TELLING_NAME_MAX, "%s", telling);
}

/* Copies and graphs are written in brackets; a kernel behind the ranges around it has '/'. */
static int is_kernel(const char *name)
{
    return *name != '[' && strcspn(name, "/") >= strcspn(name, "(<");
}

static const char *telling_of(const char *name, char out[NVT_TELLING_NAME_MAX])
{
    if (is_kernel(name))
        return nvt_telling_name(name, strlen(name), out);
    snprintf(out, NVT_TELLING_NAME_MAX, "%s", name);
    return out;
}

const char *nvt_kernel_label(const char *name, char out[NVT_TELLING_NAME_MAX])
{
    char telling[NVT_TELLING_NAME_MAX];
    write_label(telling_of(name, telling), out);
    return out;
}

/* --- names that stand together --- */

/* How much of its name a kernel needs. */
enum need { LABEL, TELLING, WHOLE };

struct nvt_kernel_labelled {
    const char *name;
    char *label;      /* NULL: not yet */
    const char *next; /* where the words of the name begin that were not compared with others */
    enum need need;
    int is_alone; /* nothing else has its label */
};

static int by_name(const void *left, const void *right)
{
    const struct nvt_kernel_labelled *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static const char *text_of(const struct nvt_kernel_labelled *item)
{
    return item->label ? item->label : item->name;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(text_of(left), text_of(right));
}

/* Of kernels of different names each is there once. */
static void drop_repeats(struct nvt_kernel_labels *labels)
{
    size_t kept = 0;
    qsort(labels->items, labels->count, sizeof(*labels->items), by_name);
    for (size_t i = 0; i < labels->count; i++)
        if (!kept || strcmp(labels->items[kept - 1].name, labels->items[i].name) != 0)
            labels->items[kept++] = labels->items[i];
    labels->count = kept;
}

int nvt_kernel_labels_add(struct nvt_kernel_labels *labels, const char *name)
{
    enum { LEAST = 1024 };
    if (!*name || !is_kernel(name))
        return 0;
    /* Kernels are few, and rows many. */
    if (labels->count >= LEAST && labels->count >= labels->limit) {
        drop_repeats(labels);
        labels->limit = 2 * labels->count;
    }
    if (labels->count == labels->capacity &&
        nvt_reserve(&labels->items, &labels->capacity, labels->count + 1, sizeof(*labels->items)))
        return -1;
    labels->items[labels->count++] = (struct nvt_kernel_labelled){.name = name};
    return 0;
}

/* A kernel's label or telling name. 0, or -1 when out of memory. */
static int set_label(struct nvt_kernel_labelled *item)
{
    char telling[NVT_TELLING_NAME_MAX], label[NVT_TELLING_NAME_MAX];
    telling_of(item->name, telling);
    write_label(telling, label);
    free(item->label);
    item->label = strdup(item->need == LABEL ? label : telling);
    return item->label ? 0 : -1;
}

/* Where names begin to differ: at the start of the word that does. */
static size_t difference(const struct nvt_kernel_labelled *items, size_t count)
{
    size_t common = strlen(items[0].name);
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < common; k++)
            if (items[i].name[k] != items[0].name[k])
                common = k;
    while (common && !strchr(" ,<(:", items[0].name[common - 1]))
        common--;
    return common;
}

/* The bytes of a name before its parameters. */
static size_t without_parameters(const char *name)
{
    size_t length, depth = 0;
    const char *word = nvt_short_name(name, strlen(name), &length);
    size_t at = (size_t)(word - name) + length;
    for (; name[at] && (depth || name[at] != '('); at++) {
        depth += name[at] == '<' || name[at] == '(';
        depth -= depth && (name[at] == ')' || (name[at] == '>' && name[at - 1] != '-'));
    }
    return at;
}

/* Put more of its name behind what it is called. 0, or -1 when out of memory. */
static int append(struct nvt_kernel_labelled *item, const char *between, const char *text,
                  size_t length)
{
    const size_t used = strlen(item->label), size = used + strlen(between) + length + 1;
    if (nvt_resize(&item->label, size, 1))
        return -1;
    snprintf(item->label + used, size - used, "%s%.*s", between, (int)length, text);
    return 0;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Find out which of a group are alone. Returns how many are not. */
static size_t count_alike(struct nvt_kernel_labelled *items, size_t count)
{
    size_t alike = 0;
    qsort(items, count, sizeof(*items), by_text);
    for (size_t i = 0; i < count; i++) {
        items[i].is_alone = (!i || by_text(&items[i - 1], &items[i]) != 0) &&
                            (i + 1 == count || by_text(&items[i], &items[i + 1]) != 0);
        alike += !items[i].is_alone;
    }
    return alike;
}

/* The word of a name at `at` or behind it, or "", whose length *length gets. */
static const char *word_from(const char *at, size_t *length)
{
    while (*at && !is_word(*at))
        at++;
    for (*length = 0; is_word(at[*length]);)
        ++*length;
    return at;
}

/* Whether the next words of a group's names differ; *are_there: whether any has one. They are not passed. */
static int next_words_differ(const struct nvt_kernel_labelled *items, size_t count, int *are_there)
{
    size_t first_length, length;
    const char *first = word_from(items[0].next, &first_length);
    int differ = 0;
    *are_there = first_length > 0;
    for (size_t i = 1; i < count; i++) {
        const char *word = word_from(items[i].next, &length);
        *are_there |= length > 0;
        differ |= length != first_length || memcmp(word, first, length) != 0;
    }
    return differ;
}

/* "reduce sum …128" of those that are called the same: as many of the words in which their names differ as each of them needs, but
 * few. *are_alike: that was not enough, and nothing was added. 0, or -1 when out of memory. */
static int add_words(struct nvt_kernel_labelled *items, size_t count, int *are_alike)
{
    enum { MOST = 4 };
    const size_t length_before = strlen(items[0].label);
    size_t added = 0, length;
    int are_there = 1;
    for (size_t i = 0; i < count; i++) {
        items[i].next = items[i].name;
        items[i].is_alone = 0;
    }
    *are_alike = 1;
    while (*are_alike && added < MOST && are_there) {
        const int differ = next_words_differ(items, count, &are_there);
        for (size_t i = 0; i < count; i++) {
            const char *word = word_from(items[i].next, &length);
            items[i].next = word + length;
            if (differ && length && !items[i].is_alone &&
                append(&items[i], strlen(items[i].label) == length_before ? " …" : ", ", word,
                       length))
                return -1;
        }
        added += (size_t)differ;
        *are_alike = !differ || count_alike(items, count) > 0;
    }
    for (size_t i = 0; i < count && *are_alike; i++)
        items[i].label[length_before] = 0;
    return 0;
}

/* The same with all of their names from where they differ, without parameters if they differ before them. 0 or -1. */
static int add_rests(struct nvt_kernel_labelled *items, size_t count, int with_parameters)
{
    const size_t from = difference(items, count);
    for (size_t i = 0; i < count; i++) {
        const char *name = items[i].name;
        const size_t end = with_parameters ? strlen(name) : without_parameters(name);
        if (append(&items[i], " …", name + from, end > from ? end - from : 0))
            return -1;
    }
    return 0;
}

/* Tell those apart that are called the same. 0, or -1 when out of memory. */
static int set_differences(struct nvt_kernel_labelled *items, size_t count)
{
    const size_t length = strlen(items[0].label);
    int are_alike;
    if (add_words(items, count, &are_alike))
        return -1;
    for (int with_parameters = 0; are_alike && with_parameters < 2; with_parameters++) {
        for (size_t i = 0; i < count; i++)
            items[i].label[length] = 0;
        if (add_rests(items, count, with_parameters))
            return -1;
        are_alike = count_alike(items, count) > 0;
    }
    return 0;
}

/* Whether telling names tell some of those apart that have one label. */
static int do_telling_names_differ(const struct nvt_kernel_labelled *items, size_t count)
{
    char first[NVT_TELLING_NAME_MAX], other[NVT_TELLING_NAME_MAX];
    telling_of(items[0].name, first);
    for (size_t i = 1; i < count; i++)
        if (strcmp(first, telling_of(items[i].name, other)) != 0)
            return 1;
    return 0;
}

/* Give those of one text what they need, which is more than they had. 0, or -1 when out of memory. */
static int tell_apart(struct nvt_kernel_labels *labels, enum need need)
{
    int failed = 0;
    qsort(labels->items, labels->count, sizeof(*labels->items), by_text);
    for (size_t from = 0, to; from < labels->count && !failed; from = to) {
        struct nvt_kernel_labelled *items = labels->items + from;
        for (to = from + 1; to < labels->count && !by_text(items, &labels->items[to]); to++)
            ;
        if (to - from == 1)
            continue;
        if (need == WHOLE)
            failed = set_differences(items, to - from);
        else if (do_telling_names_differ(items, to - from))
            for (size_t i = 0; i < to - from; i++)
                items[i].need = need;
    }
    for (size_t i = 0; i < labels->count && need == TELLING && !failed; i++)
        if (labels->items[i].need == need)
            failed = set_label(&labels->items[i]);
    return failed;
}

int nvt_kernel_labels_finish(struct nvt_kernel_labels *labels)
{
    int failed = 0;
    if (!labels->count)
        return 0;
    drop_repeats(labels);
    for (size_t i = 0; i < labels->count && !failed; i++)
        failed = set_label(&labels->items[i]);
    failed = failed || tell_apart(labels, TELLING) || tell_apart(labels, WHOLE);
    qsort(labels->items, labels->count, sizeof(*labels->items), by_name);
    return failed ? -1 : 0;
}

const char *nvt_kernel_labels_get(const struct nvt_kernel_labels *labels, const char *name)
{
    const struct nvt_kernel_labelled key = {.name = name};
    const struct nvt_kernel_labelled *item =
        labels->count ? bsearch(&key, labels->items, labels->count, sizeof(*labels->items), by_name)
                      : NULL;
    return item ? text_of(item) : name;
}

void nvt_kernel_labels_free(struct nvt_kernel_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        free(labels->items[i].label);
    free(labels->items);
    *labels = (struct nvt_kernel_labels){0};
}
