#include "suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Longer names are not looked at. */
#define LONGEST 63

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned low = a < b ? a : b;
    return low < c ? low : c;
}

/* Levenshtein's distance, letters of both cases alike; lengths are at most LONGEST. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST + 1];
    size_t length = strlen(b);
    for (unsigned k = 0; k <= length; k++)
        row[k] = k;
    for (unsigned i = 1; *a; a++, i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= length; k++) {
            unsigned above = row[k];
            int differ = tolower((unsigned char)*a) != tolower((unsigned char)b[k - 1]);
            row[k] = least(above + 1, row[k - 1] + 1, diagonal + (unsigned)differ);
            diagonal = above;
        }
    }
    return row[length];
}

void nvt_suggest(struct nvt_suggestion *suggestion, const char *candidate)
{
    size_t length = strlen(suggestion->name);
    if (length > LONGEST || strlen(candidate) > LONGEST)
        return;
    unsigned far = distance(suggestion->name, candidate);
    /* Nothing of a short name may be left of it. */
    if (far > NVT_SUGGEST_DISTANCE || far >= length ||
        (suggestion->best && far >= suggestion->distance))
        return;
    suggestion->best = candidate;
    suggestion->distance = far;
}

const char *nvt_suggestion_text(const struct nvt_suggestion *suggestion, char *out, size_t size)
{
    if (suggestion->best)
        snprintf(out, size, " (did you mean '%s'?)", suggestion->best);
    else
        out[0] = 0;
    return out;
}
