#include "loop_names.h"

#include <ctype.h>
#include <limits.h>
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

/* The last is an iteration only where nothing else is, in a program that has no backward: it infers. In the bits above KIND, a loop
 * has the string of its model's name and 1; 0: any model's. */
enum { NAMES = NVT_COUNT_OF(names), INFERENCE = NAMES, LONGEST = 24, KIND = 8 };

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

static unsigned kind_of(unsigned loop)
{
    return loop & ((1u << KIND) - 1);
}

int nvt_loop_is_inference(unsigned loop)
{
    return kind_of(loop) == INFERENCE;
}

/* Ranges of other threads that may begin between that of a pass and that of its model. */
#define MOST_BETWEEN 1000

/* The name of the model whose call a range `forward` is: that of the first range in it; NVT_NO_STRING: it has none. */
static uint32_t model_of(const struct nvt_trace *trace, uint32_t forward)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t last =
        ranges->count - forward > MOST_BETWEEN ? forward + MOST_BETWEEN : ranges->count - 1;
    for (uint32_t i = forward + 1; i <= last && ranges->start[i] < ranges->end[forward]; i++)
        if (ranges->thread[i] == ranges->thread[forward] && ranges->style[i] == NVT_PUSH_POP)
            return ranges->name[i];
    return NVT_NO_STRING;
}

int nvt_is_loop_name(const char *name, unsigned loop)
{
    return nvt_loop_of(name) == kind_of(loop);
}

int nvt_is_of_loop(const struct nvt_trace *trace, unsigned loop, uint32_t range)
{
    const unsigned model = loop >> KIND;
    return nvt_is_loop_name(nvt_name(trace, trace->ranges.name[range]), loop) &&
           (!model || model_of(trace, range) == model - 1);
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
    /* of each thread: when the last range of each name ends; INT64_MIN: there is none */
    int64_t (*until)[NAMES + 1];
    struct lengths pauses[NAMES + 1], ranges[NAMES + 1];
    uint32_t phases, phases_in[NAMES + 1], backwards;
    struct model *models; /* of each string, from the first pass that infers on */
};

/* Passes of models of a name. */
struct model {
    uint32_t calls;
    double ns;
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
static int add_model(struct search *search, uint32_t forward)
{
    const struct nvt_trace *trace = search->trace;
    const uint32_t name = model_of(trace, forward);
    if (!search->models)
        search->models =
            calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(*search->models));
    if (!search->models)
        return -1;
    if (name != NVT_NO_STRING) {
        search->models[name].calls++;
        search->models[name].ns +=
            (double)(trace->ranges.end[forward] - trace->ranges.start[forward]);
    }
    return 0;
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
    if (loop == INFERENCE && add_model(search, range))
        return -1;
    return add(&search->ranges[loop], end - start);
}

static double median_of(struct lengths *lengths)
{
    return nvt_sample_median(lengths->items, lengths->count);
}

static double total_of(const struct lengths *lengths)
{
    double sum = 0;
    for (uint32_t i = 0; i < lengths->count; i++)
        sum += lengths->items[i];
    return sum;
}

/* Forward passes of a program that infers over and over, and how many times as often another model may be called: those that
 * trace or compile one are few. */
#define LEAST_PASSES 3
#define MOST_MORE    5

/* `forward`, of the model with most time if there are several; 0: none is called over and over. */
static unsigned inference_of(const struct search *search)
{
    const uint32_t count = search->models ? nvt_strings_count(search->trace->strings) : 0;
    uint32_t several = 0, most = 0, best = NVT_NO_STRING;
    for (uint32_t i = 0; i < count; i++) {
        several += search->models[i].calls > 0;
        most = search->models[i].calls > most ? search->models[i].calls : most;
    }
    if (several < 2)
        return search->ranges[INFERENCE].count >= LEAST_PASSES ? INFERENCE : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct model *model = &search->models[i];
        if (model->calls >= LEAST_PASSES && model->calls >= most / MOST_MORE &&
            (best == NVT_NO_STRING || model->ns > search->models[best].ns))
            best = i;
    }
    return best < (UINT_MAX >> KIND) - 1 ? INFERENCE | (best + 1) << KIND : 0;
}

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
    return !best && !search->backwards ? inference_of(search) : best;
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
    free(search.models);
    free(search.known);
    free(search.until);
    return status;
}
