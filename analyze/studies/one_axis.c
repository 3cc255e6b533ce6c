#include "one_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../input/clocks.h"
#include "rank_clocks.h"

/* By collectives that do not end together more closely than this no clock is set. */
#define MOST_RESIDUAL_NS 1e6
/* What makes a drift: noise of ends makes one of a few residuals, and of few ends the residual may be small by chance. */
#define LEAST_RESIDUALS  10
#define LEAST_DRIFTED_NS 1e4
/* Between traces that stand by themselves. */
#define GAP_NS INT64_C(1000000000)

/* What a rank's clock is against the first's, as one line. */
static struct nvt_clock_fit clock_of(const struct nvt_trace *trace,
                                     const struct nvt_rank_clock_fit *clocks, uint32_t rank)
{
    const int64_t first = trace->first_ns, last = trace->last_ns,
                  begin = nvt_rank_clock_time(clocks, rank, first),
                  end = nvt_rank_clock_time(clocks, rank, last);
    const double drifted =
        (double)nvt_clock_since(nvt_clock_since(end, begin), nvt_clock_since(last, first));
    struct nvt_clock_fit clock = {.at = first,
                                  .offset = nvt_clock_since(begin, first),
                                  .residual_ns = clocks[rank].residual_ns,
                                  .count = clocks[rank].fit.count};
    if (last > first && fabs(drifted) > fmax(LEAST_RESIDUALS * clock.residual_ns, LEAST_DRIFTED_NS))
        clock.drift = drifted / (double)nvt_clock_since(last, first);
    else
        clock.offset += llround(drifted / 2);
    return clock;
}

/* Sets, each on the axis of its first trace. 0, or -1 with err. */
static int find_sets(const struct nvt_input *input, struct nvt_axis_place *places,
                     struct nvt_error *err)
{
    struct nvt_ranks ranks = {0};
    struct nvt_rank_pairs pairs = {0};
    struct nvt_rank_clock_fit *clocks = NULL;
    size_t first = 0;
    int status = nvt_ranks_find(&ranks, input, NULL, 0, err);
    if (!status)
        status = nvt_rank_pairs_make(&pairs, &ranks, err);
    if (!status && !(clocks = nvt_rank_clocks(&pairs)))
        status = nvt_fail(err, "out of memory");
    for (size_t i = 0; i < input->trace_count; i++)
        places[i] = (struct nvt_axis_place){.set = i};
    for (uint32_t i = 0; i < ranks.count && !status; i++) {
        const struct nvt_input_trace *from = ranks.items[i].from;
        const size_t trace = (size_t)(from - input->traces),
                     root = (size_t)(ranks.items[clocks[i].root].from - input->traces);
        first = i ? first : trace;
        if (places[trace].set != trace || trace == root || clocks[i].residual_ns > MOST_RESIDUAL_NS)
            continue;
        places[trace].set = root;
        places[trace].clock = clock_of(from->trace, clocks, i);
    }
    if (input->trace_count)
        places[first].by = NVT_AXIS_FIRST;
    for (size_t i = 0; i < input->trace_count; i++)
        if (i != first && places[i].set == first)
            places[i].by = NVT_AXIS_COLLECTIVES;
    free(clocks);
    nvt_rank_pairs_free(&pairs);
    nvt_ranks_free(&ranks);
    return status;
}

/* The clock of a trace that has the same but for a shift. */
static void place_by(struct nvt_axis_place *place, enum nvt_axis_by by, int64_t shift,
                     const struct nvt_axis_place *other)
{
    place->by = by;
    place->clock = other->clock;
    place->clock.at = nvt_clock_since(other->clock.at, shift);
    place->clock.offset = nvt_clock_sum(other->clock.offset, shift);
}

/* Whether a trace can be placed by another one that is. */
static int try_place(struct nvt_axis_place *place, const struct nvt_trace *trace,
                     const struct nvt_axis_place *other, const struct nvt_trace *placed)
{
    const char *host = nvt_trace_meta(trace, "host"), *its = nvt_trace_meta(placed, "host");
    const struct nvt_rank_clock mark = nvt_rank_clock_of(trace), marked = nvt_rank_clock_of(placed);
    if (host && its && *host && !strcmp(host, its) && nvt_has_realtime(trace) &&
        nvt_has_realtime(placed))
        place_by(place, NVT_AXIS_HOST, nvt_realtime_shift(trace, placed), other);
    else if (mark.ranks && mark.ranks == marked.ranks)
        place_by(place, NVT_AXIS_MARK, nvt_clock_since(mark.to_rank0, marked.to_rank0), other);
    return place->by != NVT_AXIS_UNKNOWN;
}

/* A clock whose axis is another one's: a moment is that moment `of` of a trace that `onto` puts on that axis. */
static struct nvt_clock_fit moved(const struct nvt_trace *trace, const struct nvt_clock_fit *clock,
                                  const struct nvt_clock_fit *of, const struct nvt_clock_fit *onto)
{
    struct nvt_clock_fit whole = *clock;
    const int64_t first = trace->first_ns, last = trace->last_ns,
                  begin = nvt_clock_fit_apply(
                      onto, nvt_clock_fit_revert(of, nvt_clock_fit_apply(clock, first))),
                  end = nvt_clock_fit_apply(
                      onto, nvt_clock_fit_revert(of, nvt_clock_fit_apply(clock, last)));
    const double drifted =
        (double)nvt_clock_since(nvt_clock_since(end, begin), nvt_clock_since(last, first));
    whole.at = first;
    whole.offset = nvt_clock_since(begin, first);
    whole.drift = last > first ? drifted / (double)nvt_clock_since(last, first) : 0;
    return whole;
}

/* The others of a set, one of which was placed, and was on the set's axis by `of`. */
static void move_set(const struct nvt_input *input, struct nvt_axis_place *places, size_t placed,
                     const struct nvt_clock_fit *of)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (places[i].set == places[placed].set && !places[i].by) {
            places[i].by = NVT_AXIS_COLLECTIVES;
            places[i].clock =
                moved(input->traces[i].trace, &places[i].clock, of, &places[placed].clock);
        }
}

static void place_others(const struct nvt_input *input, struct nvt_axis_place *places)
{
    int more = 1;
    while (more) {
        more = 0;
        for (size_t i = 0; i < input->trace_count; i++)
            for (size_t k = 0; k < input->trace_count && !places[i].by; k++) {
                const struct nvt_clock_fit of = places[i].clock;
                if (!places[k].by || !try_place(&places[i], input->traces[i].trace, &places[k],
                                                input->traces[k].trace))
                    continue;
                more = 1;
                move_set(input, places, i, &of);
            }
    }
}

/* Put a set behind `end`; its own end. */
static int64_t place_set(const struct nvt_input *input, struct nvt_axis_place *places, size_t set,
                         int64_t end)
{
    int64_t begin = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (places[i].by || places[i].set != set)
            continue;
        const int64_t from = nvt_clock_fit_apply(&places[i].clock, trace->first_ns),
                      to = nvt_clock_fit_apply(&places[i].clock, trace->last_ns);
        begin = from < begin ? from : begin;
        last = to > last ? to : last;
    }
    const int64_t shift = nvt_clock_since(nvt_clock_sum(end, GAP_NS), begin);
    for (size_t i = 0; i < input->trace_count; i++)
        if (!places[i].by && places[i].set == set)
            places[i].clock.offset = nvt_clock_sum(places[i].clock.offset, shift);
    return nvt_clock_sum(last, shift);
}

/* Sets of which nothing is known, one behind the other. */
static void place_apart(const struct nvt_input *input, struct nvt_axis_place *places)
{
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < input->trace_count; i++) {
        const int64_t last = nvt_clock_fit_apply(&places[i].clock, input->traces[i].trace->last_ns);
        end = places[i].by && last > end ? last : end;
    }
    for (size_t i = 0; i < input->trace_count; i++)
        if (!places[i].by && places[i].set == i)
            end = place_set(input, places, i, end);
}

int nvt_one_axis(const struct nvt_input *input, struct nvt_axis_place *places,
                 struct nvt_error *err)
{
    if (find_sets(input, places, err))
        return -1;
    place_others(input, places);
    place_apart(input, places);
    return 0;
}
