/*
 * What somebody may have meant by a name that there is not: the nearest of those that there are.
 */
#ifndef NVT_SUGGEST_H
#define NVT_SUGGEST_H

#include <stddef.h>

/* Characters to be changed, added or left out, at most. */
#define NVT_SUGGEST_DISTANCE 2

/* Start with {.name = what was given}. */
struct nvt_suggestion {
    const char *name;
    const char *best; /* NULL: none is near enough */
    unsigned distance;
};

/* One of the names that there are; of two as near the first is kept. The text has to last. */
void nvt_suggest(struct nvt_suggestion *suggestion, const char *candidate);

/* " (did you mean 'best'?)" for a message, or "" where none is near. */
const char *nvt_suggestion_text(const struct nvt_suggestion *suggestion, char *out, size_t size);

#endif
