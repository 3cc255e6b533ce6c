#include "gemm_label.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"

/* What of a name was written so far. */
struct label {
    char *out;
    size_t size, used;
    int has_type, has_tile;
};

static int begins_with(const char *word, const char *start)
{
    return !strncmp(word, start, strlen(start));
}

static int is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(word, words[i]))
            return 1;
    return 0;
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
    return !*word || is_version(word) || is_one_of(word, dull, NVT_COUNT_OF(dull));
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
    const int put = snprintf(label->out + label->used, label->size - label->used, "%s%.*s",
                             label->used ? " " : "", (int)length, word);
    label->used += put > 0 ? (size_t)put : 0;
    label->used = label->used < label->size ? label->used : label->size - 1;
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

int nvt_gemm_label(const char *name, char *out, size_t size)
{
    enum { WORD = 64 };
    char word[WORD];
    struct label label = {.out = out, .size = size};
    const int is_known = begins_with(name, "cutlass_") || begins_with(name, "nvjet_") ||
                         strstr(name, "xmma_") || strstr(name, "gemm_") || strstr(name, "cudnn_");
    if (!is_known || strpbrk(name, " <>():") || !strpbrk(name, "0123456789"))
        return 0;
    for (const char *at = name; *at;) {
        const size_t length = strcspn(at, "_");
        if (length >= WORD)
            return 0;
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        take_word(&label, word);
        at += length + (at[length] == '_');
    }
    return label.used > 0;
}
