/*
 * Configurations as labels that have little room: of "batch=8 mode=train fragments=128" what is left is "b=8 train f=128", and
 * a note tells what the letters are.
 */
#ifndef NVT_SHORT_WORDS_H
#define NVT_SHORT_WORDS_H

#include <stddef.h>

/* Keys that have a short form. They belong to the texts that they were taken from. */
struct nvt_short_words {
    struct {
        const char *text;
        size_t length;
    } keys[8];
    size_t count;
};

/* Take the keys of words "key=value key=value …"; beyond the eighth they stay whole. */
void nvt_short_words_add(struct nvt_short_words *words, const char *text);

/* Write such words with keys of as few letters as tell them apart; a word that is no number, nor says yes or no, needs none.
 * Cut to out[size]. */
void nvt_short_words_write(const struct nvt_short_words *words, const char *text, char *out,
                           size_t size);

/* Write "b: batch, f: fragments", "" if no key is shorter. */
void nvt_short_words_tell(const struct nvt_short_words *words, char *out, size_t size);

#endif
