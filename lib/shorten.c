#include "shorten.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "text.h"

#define ELLIPSIS 0x2026

struct nvt_shorten_item {
    /* what is left of it without its middle: [text, head) and from `tail` on */
    const char *text, *head, *tail;
    /* bytes that it begins with as another one that looks the same then; 0: none does */
    size_t common;
};

static size_t width_at(const char **at)
{
    return (size_t)nvt_char_width(nvt_char_visible(nvt_utf8_next(at)));
}

/* Where the end of a text begins that takes so many columns at most. */
static const char *last(const char *text, size_t columns)
{
    size_t left = nvt_text_width(text);
    while (left > columns)
        left -= width_at(&text);
    return text;
}

static size_t put(const char *text, const char *end, FILE *out)
{
    size_t width = 0;
    while (text < end) {
        uint32_t character = nvt_char_visible(nvt_utf8_next(&text));
        nvt_utf8_write(character, out);
        width += (size_t)nvt_char_width(character);
    }
    return width;
}

static size_t put_ellipsis(FILE *out)
{
    nvt_utf8_write(ELLIPSIS, out);
    return 1;
}

static struct nvt_shorten_item cut(const char *text, size_t width)
{
    size_t head = (width - 1) / 2;
    return (struct nvt_shorten_item){text, nvt_text_skip(text, head), last(text, width - 1 - head),
                                     0};
}

int nvt_shorten_add(struct nvt_shorten *shorten, const char *text, size_t width)
{
    shorten->width = width;
    if (nvt_text_width(text) <= width)
        return 0;
    if (nvt_grow(&shorten->items, shorten->count, sizeof(*shorten->items)))
        return -1;
    shorten->items[shorten->count++] = cut(text, width);
    return 0;
}

static int compare_looks(const struct nvt_shorten_item *a, const struct nvt_shorten_item *b)
{
    size_t left = (size_t)(a->head - a->text), right = (size_t)(b->head - b->text);
    int order = memcmp(a->text, b->text, left < right ? left : right);
    if (!order && left != right)
        order = left < right ? -1 : 1;
    return order ? order : strcmp(a->tail, b->tail);
}

/* Those that look the same lie beside each other, and among them in the order of their bytes. */
static int compare(const void *left, const void *right)
{
    const struct nvt_shorten_item *a = left, *b = right;
    int order = compare_looks(a, b);
    return order ? order : strcmp(a->text, b->text);
}

/* Bytes of whole characters. */
static size_t in_common(const char *a, const char *b)
{
    size_t common = 0;
    while (a[common] && a[common] == b[common])
        common++;
    while (common && ((unsigned char)a[common] & 0xC0) == 0x80)
        common--;
    return common;
}

void nvt_shorten_finish(struct nvt_shorten *shorten)
{
    struct nvt_shorten_item *items = shorten->items;
    size_t count = 0;
    if (!shorten->count)
        return;
    qsort(items, shorten->count, sizeof(*items), compare);
    for (size_t i = 0; i < shorten->count; i++)
        if (!count || strcmp(items[count - 1].text, items[i].text) != 0)
            items[count++] = items[i];
    shorten->count = count;
    for (size_t i = 1; i < count; i++) {
        if (compare_looks(&items[i - 1], &items[i]) != 0)
            continue;
        size_t common = in_common(items[i - 1].text, items[i].text);
        if (common > items[i - 1].common)
            items[i - 1].common = common;
        items[i].common = common;
    }
}

/* Where the word begins in which texts begin to differ at `at`, if that is not long before, nor in front of `least`. */
static const char *word_before(const char *least, const char *at, size_t most)
{
    for (size_t back = 0; back < most && at - back > least; back++)
        if (strchr("_ ,:;<(/.=", at[-(ptrdiff_t)back - 1]))
            return at - back;
    return at;
}

/* "head…where it differs…", or up to its end, where that fits. */
static size_t put_difference(const struct nvt_shorten_item *item, size_t width, FILE *out)
{
    const char *head = nvt_text_skip(item->text, (width - 2) * 2 / 5);
    size_t used = put(item->text, head, out) + put_ellipsis(out), room = width - used;
    const char *from = word_before(head, item->text + item->common, room / 3);
    if (nvt_text_width(from) <= room) {
        const char *tail = last(item->text, room);
        return used + put(tail, tail + strlen(tail), out);
    }
    used += put(from, nvt_text_skip(from, room - 1), out);
    return used + put_ellipsis(out);
}

size_t nvt_shorten_put(const struct nvt_shorten *shorten, const char *text, size_t width, FILE *out)
{
    struct nvt_shorten_item item = cut(text, width);
    const struct nvt_shorten_item *known =
        shorten->count && shorten->width == width
            ? bsearch(&item, shorten->items, shorten->count, sizeof(item), compare)
            : NULL;
    if (known && known->common)
        return put_difference(known, width, out);
    return put(text, item.head, out) + put_ellipsis(out) +
           put(item.tail, item.tail + strlen(item.tail), out);
}

void nvt_shorten_free(struct nvt_shorten *shorten)
{
    free(shorten->items);
    *shorten = (struct nvt_shorten){0};
}
