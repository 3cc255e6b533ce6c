#include "rank_outliers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/sample.h"

#define LEAST_RANKS 4
#define LEAST_SHARE 0.05
#define DEVIATIONS  5
/* Of a normal distribution, by its median absolute deviation. */

/* What can be compared of it with the others: NaN, nothing. */
static double value_of(const struct nvt_rank_outliers *job, uint32_t rank,
                       enum nvt_rank_value value)
{
    const struct nvt_rank *item = &job->all.ranks.items[rank];
    const struct nvt_rank_share *share = job->all.shares ? &job->all.shares[rank] : NULL;
    switch (value) {
    case NVT_RANK_COMPUTE:
        return share ? share->compute : (double)item->compute;
    case NVT_RANK_IDLE:
        return share ? share->idle : (double)item->idle;
    case NVT_RANK_COMMUNICATION:
        return share ? share->communication : (double)item->communication;
    default:
        return item->peak < 0 ? NAN : (double)item->peak;
    }
}

static double span_of(const struct nvt_rank_outliers *job, uint32_t rank)
{
    return job->all.shares ? nvt_straggler_span(&job->all, rank)
                           : (double)job->all.ranks.items[rank].span;
}

/* --- what is usual --- */

static uint32_t stage_of(const struct nvt_rank *rank)
{
    return rank->places[NVT_AXIS_PIPELINE];
}

/* The median of values and their deviation; `values` are then in another order. */
static void find_usual(double *values, size_t count, double *median, double *deviation)
{
    *median = *deviation = NAN;
    if (count < LEAST_RANKS)
        return;
    *deviation = nvt_sample_deviation(values, count, median);
}

/* Of all ranks of the stage that a rank is the first of. `values` has room for all. */
static void find_usual_of(struct nvt_rank_outliers *job, uint32_t first, double *values)
{
    struct nvt_usual_rank usual;
    const struct nvt_rank *items = job->all.ranks.items;
    const uint32_t count = job->all.ranks.count;
    for (enum nvt_rank_value value = 0; value < NVT_RANK_VALUES; value++) {
        size_t known = 0;
        for (uint32_t i = first; i < count; i++) {
            const double of = value_of(job, i, value);
            if (stage_of(&items[i]) == stage_of(&items[first]) && !isnan(of))
                values[known++] = of;
        }
        find_usual(values, known, &usual.median[value], &usual.deviation[value]);
    }
    for (uint32_t i = first; i < count; i++)
        if (stage_of(&items[i]) == stage_of(&items[first]))
            job->usual[i] = usual;
}

static int is_first_of_stage(const struct nvt_ranks *ranks, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (stage_of(&ranks->items[i]) == stage_of(&ranks->items[rank]))
            return 0;
    return 1;
}

/* --- what is not --- */

/* By how much a value is apart from what is usual, where that is much; else 0. */
static double excess_of(const struct nvt_rank_outliers *job, uint32_t rank,
                        enum nvt_rank_value value)
{
    const double median = job->usual[rank].median[value];
    const double apart = value_of(job, rank, value) - median;
    const double least = LEAST_SHARE * (value == NVT_RANK_PEAK ? median : span_of(job, rank));
    /* NaN is no excess. */
    return fabs(apart) >= least && fabs(apart) > DEVIATIONS * job->usual[rank].deviation[value]
               ? apart
               : 0;
}

static void append(char *out, size_t size, const char *text)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, size - used, "%s%s", used ? ", " : "", text);
}

const char *nvt_rank_outlier_text(const struct nvt_rank_outliers *job, uint32_t rank, char *out,
                                  size_t size)
{
    static const struct {
        enum nvt_rank_value value;
        int is_of_time; /* what it differs by is a part of the rank's time, else of the median */
        const char *more, *less;
    } texts[] = {{NVT_RANK_COMPUTE, 0, "computes longer", "computes less"},
                 {NVT_RANK_IDLE, 1, "is idle longer", "is idle less"},
                 {NVT_RANK_COMMUNICATION, 1, "communicates longer", "communicates less"},
                 {NVT_RANK_PEAK, 0, "more memory", "less memory"}};
    const double span = span_of(job, rank);
    out[0] = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++) {
        const double excess = excess_of(job, rank, texts[i].value);
        const double whole = texts[i].is_of_time ? span : job->usual[rank].median[texts[i].value];
        char text[80];
        if (excess == 0 || !(whole > 0))
            continue;
        snprintf(text, sizeof(text), "%s (%+.1f %%%s)", excess > 0 ? texts[i].more : texts[i].less,
                 100 * excess / whole, texts[i].is_of_time ? " of its time" : "");
        append(out, size, text);
    }
    for (uint32_t i = 0; i < job->all.count; i++)
        if (job->all.items[i].rank == rank) {
            char text[80];
            snprintf(text, sizeof(text), "straggler (%s)",
                     nvt_late_cause_text((enum nvt_late_cause)job->all.items[i].cause));
            append(out, size, text);
        }
    return out[0] ? out : NULL;
}

/* What is waited for each rank. */
static void add_waits(struct nvt_rank_outliers *job)
{
    for (uint32_t i = 0; i < job->all.blame.wait_count; i++) {
        const struct nvt_rank_wait *wait = &job->all.blame.waits[i];
        const double ns = nvt_rank_wait_ns(wait);
        job->caused[wait->late] += ns;
        job->waiting[wait->late] += ns > 0;
    }
    for (uint32_t i = 0; i < job->all.ranks.count; i++)
        job->caused[i] /= job->waiting[i] ? job->waiting[i] : 1;
}

int nvt_rank_outliers_make(struct nvt_rank_outliers *job, const struct nvt_input *input,
                           struct nvt_error *err)
{
    if (nvt_stragglers_make(&job->all, input, NULL, 0, err))
        return -1;
    const size_t room = (size_t)job->all.ranks.count + 1;
    job->usual = calloc(room, sizeof(*job->usual));
    job->caused = calloc(room, sizeof(*job->caused));
    job->waiting = calloc(room, sizeof(*job->waiting));
    double *values = malloc(room * sizeof(*values));
    int status =
        job->usual && job->caused && job->waiting && values ? 0 : nvt_fail(err, "out of memory");
    if (!status)
        add_waits(job);
    for (uint32_t i = 0; i < job->all.ranks.count && !status; i++)
        if (is_first_of_stage(&job->all.ranks, i))
            find_usual_of(job, i, values);
    free(values);
    return status;
}

void nvt_rank_outliers_free(struct nvt_rank_outliers *job)
{
    nvt_stragglers_free(&job->all);
    free(job->usual);
    free(job->caused);
    free(job->waiting);
}
