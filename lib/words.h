/*
 * Configurations as people read them: "workload key=value key=value …" are words, most of which are equal in all rows
 * of a table or chart. Equal words are printed once, the others distinguish the rows.
 */
#ifndef NVT_WORDS_H
#define NVT_WORDS_H

#include <stddef.h>

/* The text of row `index`, NULL for none. */
typedef const char *nvt_words_row(const void *rows, size_t index);

struct nvt_words {
    const void *rows;
    size_t count;
    nvt_words_row *row;
};

/*
 * Write the words of `text` that stand in every row (common = 1) or not in every one (0), a blank
 * between them, cut to the room there is. With fewer than two rows every word is common. Returns
 * the length.
 */
size_t nvt_words_pick(const struct nvt_words *words, const char *text, int common, char *out,
                      size_t size);

#endif
