#include "periodic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/one_of.h"
#include "../../lib/map.h"
#include "../../lib/sample.h"
#include "../model/loop_names.h"

#define LEAST_COUNT  16
#define LEAST_HITS   3
#define LEAST_PART   0.8
#define LEAST_SLOWER 1.25
#define DEVIATIONS   5
#define MOST_CHANCE  0.01
#define LEAST_SHARE  0.05
/* Of the longest iterations, between which periods are tried. */
#define CANDIDATES 64
/* Of the excess that the ranges that are named must hold, and the second of them. */
#define NAMED_PART  0.5
#define SECOND_PART 0.1
/* Of other iterations that may have a range if it is what makes the difference. */
#define OTHERS_PART 0.05

struct search {
    const struct nvt_beats *beats;
    double limit, median;
    uint32_t first; /* beat that is looked at */
    uint32_t slow;
    uint32_t *longest; /* CANDIDATES beats at most, by their numbers */
    uint32_t longest_count;
};

static int is_slow(const struct search *search, uint32_t beat)
{
    return nvt_beat_ns(&search->beats->items[beat]) > search->limit;
}

/* Median and limit; the longest ones. 0, or -1 when out of memory. */
static int find_usual(struct search *search)
{
    const uint32_t count = search->beats->count - search->first;
    double *values = malloc(count * sizeof(*values));
    search->longest = malloc(CANDIDATES * sizeof(*search->longest));
    if (!values || !search->longest) {
        free(values);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++)
        values[i] = nvt_beat_ns(&search->beats->items[search->first + i]);
    nvt_sample_sort(values, count);
    const double from = values[count > CANDIDATES ? count - CANDIDATES : 0];
    const double deviation = nvt_sample_deviation(values, count, &search->median);
    search->limit = fmax(LEAST_SLOWER * search->median, search->median + DEVIATIONS * deviation);
    free(values);
    for (uint32_t i = search->first; i < search->beats->count; i++) {
        search->slow += is_slow(search, i) ? 1 : 0;
        if (is_slow(search, i) && nvt_beat_ns(&search->beats->items[i]) >= from &&
            search->longest_count < CANDIDATES)
            search->longest[search->longest_count++] = i;
    }
    return 0;
}

/* What a period has that begins with a beat. */
static struct nvt_periodic try_period(const struct search *search, uint32_t every, uint32_t beat)
{
    struct nvt_periodic found = {.every = every,
                                 .phase = beat % every,
                                 .least_ns = search->limit,
                                 .usual_ns = search->median};
    for (uint32_t i = search->first + (every + found.phase - search->first % every) % every;
         i < search->beats->count; i += every) {
        /* What follows the last one is not known. */
        found.expected += is_slow(search, i) || i + 1 < search->beats->count;
        if (!is_slow(search, i))
            continue;
        found.hits++;
        found.hit_ns += nvt_beat_ns(&search->beats->items[i]);
        found.excess_ns += nvt_beat_ns(&search->beats->items[i]) - search->median;
    }
    if (found.hits < LEAST_HITS || found.hits < LEAST_PART * found.expected)
        found.excess_ns = 0;
    return found;
}

/* Between neighbours among the longest ones, and those next but one, as others may lie in between. */
static struct nvt_periodic find_best(const struct search *search)
{
    struct nvt_periodic best = {.every = 0};
    for (uint32_t i = 0; i < search->longest_count; i++)
        for (uint32_t k = i + 1; k < search->longest_count && k <= i + 3; k++) {
            const uint32_t every = search->longest[k] - search->longest[i];
            if (every < 2)
                continue;
            const struct nvt_periodic found = try_period(search, every, search->longest[i]);
            if (found.excess_ns > best.excess_ns)
                best = found;
        }
    return best;
}

/* How probable it is that slow iterations, wherever they fell, made any such period. */
static double chance_of(const struct search *search, const struct nvt_periodic *found)
{
    const double count = search->beats->count - search->first, periods = count / LEAST_HITS;
    const double misses = found->expected - found->hits;
    const double ways =
        lgamma(found->expected + 1.0) - lgamma(found->hits + 1.0) - lgamma(misses + 1);
    return exp(ways + found->hits * log(search->slow / count)) * periods * periods / 2;
}

/* --- which range it is ------------------------------------------------------------------------- */

/* Of a name and domain: its time in hits and in others, and how many of either have it; and the distance at which they have it. */
struct part {
    uint32_t name, domain, first, last;
    double hit_ns, other_ns;
    uint32_t hits, others;
    uint32_t every; /* iterations; 0: one alone has it, or they have it at several distances */
};

static int is_hit(const struct search *search, const struct nvt_periodic *found, uint32_t beat)
{
    return nvt_is_periodic(found, search->beats, beat);
}

/* NULL when out of memory. */
static struct part *part_of(struct part **parts, uint32_t *count, struct nvt_map *places,
                            const struct nvt_ranges *ranges, uint32_t range)
{
    const uint32_t before = *count;
    struct part *part =
        nvt_map_item(places, (uint64_t)ranges->domain[range] << 32 | ranges->name[range], parts,
                     count, sizeof(*part));
    if (part && *count > before)
        *part = (struct part){
            .name = ranges->name[range], .domain = ranges->domain[range], .last = NVT_NONE};
    return part;
}

/* The time of all names of ranges of the loop's thread. 0, or -1 when out of memory. */
static int add_up(const struct search *search, const struct nvt_periodic *found,
                  struct part **parts, uint32_t *count)
{
    const struct nvt_beats *beats = search->beats;
    const struct nvt_ranges *ranges = &beats->trace->ranges;
    struct nvt_map places = {0};
    uint32_t at = search->first;
    int failed = 0;
    for (uint32_t i = 0; i < ranges->count && !failed; i++) {
        if (ranges->thread[i] != beats->thread || ranges->style[i] != NVT_PUSH_POP ||
            ranges->start[i] < beats->items[at].start || ranges->flags[i] & NVT_RANGE_PARTIAL ||
            i == beats->items[at].range || !nvt_thread_ranges_is_outermost(&beats->ranges, i))
            continue;
        while (at + 1 < beats->count && beats->items[at + 1].start <= ranges->start[i])
            at++;
        if (i == beats->items[at].range || ranges->start[i] >= beats->items[at].end)
            continue;
        struct part *part = part_of(parts, count, &places, ranges, i);
        failed = !part;
        if (failed)
            break;
        if (part->last == NVT_NONE)
            part->first = at;
        else if (part->last != at)
            part->every =
                part->last == part->first || part->every == at - part->last ? at - part->last : 0;
        const int hit = is_hit(search, found, at);
        *(hit ? &part->hit_ns : &part->other_ns) += (double)(ranges->end[i] - ranges->start[i]);
        *(hit ? &part->hits : &part->others) += part->last != at;
        part->last = at;
    }
    nvt_map_free(&places);
    return failed ? -1 : 0;
}

/* Iterations that are looked at and are no hits. */
static double others_of(const struct search *search, const struct nvt_periodic *found)
{
    return search->beats->count - search->first - found->hits;
}

/* Whether it is what sets the hits apart: they have it, most others have not. */
static int sets_apart(const struct search *search, const struct nvt_periodic *found,
                      const struct part *part)
{
    return part->hits >= LEAST_PART * found->hits &&
           part->others <= OTHERS_PART * others_of(search, found);
}

/* What the hits have of it more than the others have. */
static double more_of(const struct search *search, const struct nvt_periodic *found,
                      const struct part *part)
{
    return part->hit_ns - part->other_ns / fmax(others_of(search, found), 1) * found->hits;
}

/* The range with most of the difference, but for one; NULL: none has a tenth. */
static const struct part *largest_of(const struct search *search, const struct nvt_periodic *found,
                                     const struct part *parts, uint32_t count,
                                     const struct part *but)
{
    const struct part *largest = NULL;
    double most = SECOND_PART * found->excess_ns;
    for (uint32_t i = 0; i < count; i++) {
        const double ns = more_of(search, found, &parts[i]);
        if (&parts[i] == but || ns < most || (but && !sets_apart(search, found, &parts[i])))
            continue;
        largest = &parts[i];
        most = ns;
    }
    return largest;
}

/* The ranges with most of the difference, of `count` parts; whether the first is in all hits and in hardly any other iteration. */
static int name_it(const struct search *search, struct nvt_periodic *found,
                   const struct part *parts, uint32_t count)
{
    const struct part *part = largest_of(search, found, parts, count, NULL);
    const int is_proof = part && sets_apart(search, found, part) && part->hits == found->hits;
    for (const struct part *first = part; part && found->part_count < NVT_PERIODIC_PARTS;) {
        found->parts[found->part_count++] =
            (struct nvt_periodic_part){part->name, part->domain, more_of(search, found, part)};
        part = largest_of(search, found, parts, count, first);
    }
    if (found->part_count && nvt_periodic_ns(found) < NAMED_PART * found->excess_ns)
        found->part_count = 0;
    return is_proof && found->part_count > 0;
}

/* --- ranges that come at one distance ------------------------------------------------------------- */

/* What a range has that every n-th iteration has, however much they vary: it is the distance, not the time, that shows it. */
static struct nvt_periodic of_part(const struct search *search, const struct part *part)
{
    struct nvt_periodic found = {.every = part->every,
                                 .phase = part->first % part->every,
                                 .usual_ns = search->median,
                                 .excess_ns = part->hit_ns + part->other_ns,
                                 .part_count = 1};
    found.parts[0] = (struct nvt_periodic_part){part->name, part->domain, found.excess_ns};
    for (uint32_t i = part->first; i <= part->last; i += part->every) {
        found.hits++;
        found.hit_ns += nvt_beat_ns(&search->beats->items[i]);
    }
    found.expected = found.hits;
    return found;
}

/* The one with most time, of at least 3 and where they take a quarter longer than the median. */
static struct nvt_periodic find_regular(const struct search *search, const struct part *parts,
                                        uint32_t count)
{
    struct nvt_periodic best = {.every = 0};
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].every < 2 || parts[i].hits + parts[i].others < LEAST_HITS ||
            parts[i].last + parts[i].every < search->beats->count)
            continue;
        const struct nvt_periodic found = of_part(search, &parts[i]);
        if (found.excess_ns > best.excess_ns &&
            found.hit_ns >= LEAST_SLOWER * found.usual_ns * found.hits)
            best = found;
    }
    return best;
}

static int is_training(const struct nvt_trace *trace, const struct nvt_periodic *found)
{
    static const char *const begins[] = {"forward", "backward", "enumerate(DataLoader)#", "optim",
                                         "Optimizer"};
    const char *name = found->part_count ? nvt_name(trace, found->parts[0].name) : "";
    return NVT_BEGINS_WITH_ONE_OF(name, begins) || !strcmp(name, "loss") || !strcmp(name, "data");
}

/* Whether half of what the hits take longer lies in the ranges of the iterations themselves. */
static int is_in_ranges(const struct nvt_beats *beats, const struct nvt_periodic *found)
{
    const struct nvt_ranges *ranges = &beats->trace->ranges;
    double behind_ns = 0;
    for (uint32_t i = 0; i < beats->count; i++)
        if (nvt_is_periodic(found, beats, i))
            behind_ns +=
                fmax(0, (double)(beats->items[i].end - ranges->end[beats->items[i].range]));
    return 2 * behind_ns < found->excess_ns;
}

/* Whether it is worth a word. What a forward pass takes differs by the model and by its input, where programs infer. */
static int is_much(const struct search *search, const struct nvt_periodic *found)
{
    const struct nvt_beats *beats = search->beats;
    const int64_t from = beats->items[search->first].start;
    return found->excess_ns >= LEAST_SHARE * (double)(beats->items[beats->count - 1].end - from) &&
           !is_training(beats->trace, found) &&
           !(nvt_infers(beats->trace) && is_in_ranges(beats, found));
}

/* 0, or -1 when out of memory. */
static int find(const struct search *search, struct nvt_periodic *found)
{
    struct nvt_periodic best = find_best(search);
    struct part *parts = NULL;
    uint32_t count = 0;
    const int failed = add_up(search, &best, &parts, &count);
    if (!failed) {
        int is_proof = best.every && name_it(search, &best, parts, count);
        const struct nvt_periodic regular = find_regular(search, parts, count);
        /* Iterations that vary hide some of those that have the range. */
        if (regular.hits > best.hits && is_much(search, &regular)) {
            best = regular;
            is_proof = 1;
        }
        if (best.every && is_much(search, &best) &&
            (is_proof || chance_of(search, &best) <= MOST_CHANCE))
            *found = best;
    }
    free(parts);
    return failed;
}

int nvt_periodic_find(struct nvt_periodic *found, const struct nvt_beats *beats)
{
    struct search search = {.beats = beats, .first = NVT_PERIODIC_WARMUP};
    *found = (struct nvt_periodic){.every = 0};
    if (beats->count < NVT_PERIODIC_WARMUP + LEAST_COUNT)
        return 0;
    const int failed = find_usual(&search) || find(&search, found);
    found->is_slow =
        found->every && !found->part_count && !beats->is_guess && is_in_ranges(beats, found);
    free(search.longest);
    return failed ? -1 : 0;
}
