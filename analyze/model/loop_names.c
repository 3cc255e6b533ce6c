#include "loop_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "recording.h"

/* Without numbers and what stands between words. */
static const char *const names[] = {
    "iteration",      "iter",         "step",          "batch",          "minibatch",
    "trainiteration", "trainiter",    "trainstep",     "trainbatch",     "trainingiteration",
    "trainingiter",   "trainingstep", "trainingbatch", "epochiteration", "epochiter",
    "epochstep",      "epochbatch",   "globalstep",    "forward"};

/* The last is an iteration only where nothing else is, in a program that has no backward: it infers. */
enum { NAMES = NVT_COUNT_OF(names), INFERENCE = NAMES, LONGEST = 24 };

unsigned nvt_loop_of(const char *name)
{
    char letters[LONGEST];
    size_t used = 0;
    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;
        if (isalpha(c) && used + 1 < LONGEST)
            letters[used++] = (char)tolower(c);
        else if (!isdigit(c) && !strchr(" _-#:/.=()[]", c))
            return 0;
    }
    letters[used] = 0;
    for (unsigned i = 0; i < NAMES; i++)
        if (!strcmp(letters, names[i]))
            return i + 1;
    return 0;
}

int nvt_loop_is_inference(unsigned loop)
{
    return loop == INFERENCE;
}

/* --- which of them lie like iterations --- */

/* Lengths, or pauses, of the ranges of a name. */
struct lengths {
    double *items;
    uint32_t count;
};

struct search {
    const struct nvt_trace *trace;
    uint8_t *known; /* of each string: nvt_loop_of and 1; 0: not looked at */
    int64_t (*until)
        [NAMES +
         1]; /* of each thread: when the last range of each name ends; INT64_MIN: there is none */
    struct lengths pauses[NAMES + 1], ranges[NAMES + 1];
    uint32_t phases, phases_in[NAMES + 1], backwards;
};

static int add(struct lengths *lengths, int64_t ns)
{
    if (nvt_grow(&lengths->items, lengths->count, sizeof(*lengths->items)))
        return -1;
    lengths->items[lengths->count++] = (double)ns;
    return 0;
}

static unsigned loop_of(struct search *search, uint32_t range)
{
    const uint32_t string = search->trace->ranges.name[range];
    uint8_t *known = &search->known[string];
    if (!*known)
        *known = (uint8_t)(nvt_loop_of(nvt_name(search->trace, string)) + 1);
    return *known - 1u;
}

static int is_backward(const char *name)
{
    return !strcmp(name, "backward") || !strcmp(name, "optimizer");
}

/* 0, or -1 when out of memory. */
static int add_range(struct search *search, uint32_t range)
{
    const struct nvt_ranges *ranges = &search->trace->ranges;
    const int64_t start = ranges->start[range], end = ranges->end[range];
    int64_t *until = search->until[ranges->thread[range]];
    const unsigned loop = loop_of(search, range);
    const char *name = nvt_name(search->trace, ranges->name[range]);
    search->backwards += (uint32_t)is_backward(name);
    if (is_backward(name) || loop == INFERENCE) {
        search->phases++;
        for (unsigned i = 1; i <= NAMES; i++)
            search->phases_in[i] += until[i] >= end;
    }
    if (loop == INFERENCE && !nvt_is_recorders_range(search->trace, range))
        return 0;
    if (!loop || (until[loop] != INT64_MIN && start < until[loop]))
        return 0;
    if (until[loop] != INT64_MIN && add(&search->pauses[loop], start - until[loop]))
        return -1;
    until[loop] = end;
    return add(&search->ranges[loop], end - start);
}

static double median_of(struct lengths *lengths)
{
    struct nvt_summary summary;
    nvt_sample_summary(lengths->items, lengths->count, &summary);
    return summary.median;
}

static double total_of(const struct lengths *lengths)
{
    double sum = 0;
    for (uint32_t i = 0; i < lengths->count; i++)
        sum += lengths->items[i];
    return sum;
}

/* Between forward passes of a program that infers over and over. */
#define LEAST_PAUSES 2

static unsigned best_of(struct search *search)
{
    unsigned best = 0;
    double most = 0;
    for (unsigned i = 1; i < INFERENCE; i++) {
        if (!search->pauses[i].count || 2 * search->phases_in[i] < search->phases)
            continue;
        const double all = total_of(&search->ranges[i]);
        if (all <= most || median_of(&search->pauses[i]) > median_of(&search->ranges[i]))
            continue;
        best = i;
        most = all;
    }
    const int infers = !search->backwards && search->pauses[INFERENCE].count >= LEAST_PAUSES;
    return !best && infers ? INFERENCE : best;
}

int nvt_loop_find(const struct nvt_trace *trace, unsigned *loop)
{
    struct search search = {.trace = trace,
                            .known = calloc((size_t)nvt_strings_count(trace->strings) + 1, 1),
                            .until =
                                malloc(((size_t)trace->threads.count + 1) * sizeof(*search.until))};
    int status = search.known && search.until ? 0 : -1;
    for (uint32_t i = 0; i < trace->threads.count && !status; i++)
        for (unsigned k = 0; k <= NAMES; k++)
            search.until[i][k] = INT64_MIN;
    for (uint32_t i = 0; i < trace->ranges.count && !status; i++)
        if (!(trace->ranges.flags[i] & NVT_RANGE_PARTIAL))
            status = add_range(&search, i);
    *loop = status ? 0 : best_of(&search);
    for (unsigned i = 0; i <= NAMES; i++) {
        free(search.pauses[i].items);
        free(search.ranges[i].items);
    }
    free(search.known);
    free(search.until);
    return status;
}
