/*
 * Texts that are too long for their place, cut so that those that differ look different: in the middle, and where
 * two would then look the same, so that the word is seen in which they begin to differ.
 */
#ifndef NVT_SHORTEN_H
#define NVT_SHORTEN_H

#include <stddef.h>
#include <stdio.h>

/* Texts that stand below each other, without those that have room; zero-initialise. */
struct nvt_shorten {
    struct nvt_shorten_item *items;
    size_t count;
    size_t width; /* columns of their place (lib/text.h) */
};

/* Add a text, which must outlive this, if it is wider than `width` (4 or more), which is the same for all. 0, or -1
 * when out of memory. */
int nvt_shorten_add(struct nvt_shorten *shorten, const char *text, size_t width);
/* When all are there. Takes as long as to sort them. */
void nvt_shorten_finish(struct nvt_shorten *shorten);

/* Write a text in `width` columns at most, of which one or two are "…"; one that was not added without its middle.
 * Characters are made visible. Returns the columns that it took. */
size_t nvt_shorten_put(const struct nvt_shorten *shorten, const char *text, size_t width,
                       FILE *out);

void nvt_shorten_free(struct nvt_shorten *shorten);

#endif
