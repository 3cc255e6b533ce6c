#include "overhead.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "change.h"

#define SIGN_TEST_LEAST 6 /* pairs: 2 / 2^6 is the first below 0.05 */
#define TWINS_LEAST     3 /* iterations */

/* A record that may take part. */
struct run {
    const struct nvt_record *record;
    char *configuration;
    const char *level;
    int64_t warmup;
    const char *interleave;
    size_t turn;  /* how many runs alike came before it, */
    size_t input; /* and this is the directory or file it is in, */
    size_t place; /* and how many came before it in there */
};

struct runs {
    struct run *items;
    size_t count;
};

void nvt_slowdowns_free(struct nvt_slowdowns *overheads)
{
    for (size_t i = 0; i < overheads->count; i++) {
        free(overheads->rows[i].configuration);
        free(overheads->rows[i].phase);
    }
    free(overheads->rows);
    *overheads = (struct nvt_slowdowns){0};
}

/* The largest d with 2 · P(Binomial(count, 1/2) < d) <= 0.05. */
static size_t sign_test_rank(size_t count)
{
    double term = pow(0.5, (double)count), below = 0;
    size_t d = 0;
    while (d < count / 2 && 2 * (below + term) <= 0.05) {
        below += term;
        term *= (double)(count - d) / (double)(d + 1);
        d++;
    }
    return d;
}

void nvt_ratio_interval(double *ratios, size_t count, double *median, double *low, double *high)
{
    nvt_sample_sort(ratios, count);
    *median = nvt_sample_quantile(ratios, count, 0.5);
    *low = *high = NAN;
    size_t d = count >= SIGN_TEST_LEAST ? sign_test_rank(count) : 0;
    if (d) {
        *low = ratios[d - 1];
        *high = ratios[count - d];
    } else if (count >= 2) {
        double logs[SIGN_TEST_LEAST];
        struct nvt_summary summary;
        for (size_t i = 0; i < count; i++)
            logs[i] = log(ratios[i]);
        nvt_sample_summary(logs, count, &summary);
        *low = exp(summary.mean - summary.ci95);
        *high = exp(summary.mean + summary.ci95);
    }
}

/* --- runs ------------------------------------------------------------------------------------- */

static int is_alike(const struct run *a, const struct run *b)
{
    return a->warmup == b->warmup && !strcmp(a->interleave, b->interleave) &&
           !strcmp(a->configuration, b->configuration);
}

static void free_runs(struct runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        free(runs->items[i].configuration);
    free(runs->items);
}

/* Take a word "KEY=…" off a text. */
static void drop_word(char *text, const char *key)
{
    const size_t length = strlen(key);
    for (char *at = text; (at = strstr(at, key)); at++) {
        char *end = at + strcspn(at, " ");
        if ((at > text && at[-1] != ' ') || at[length] != '=')
            continue;
        end += *end == ' ';
        if (!*end && at > text)
            at--;
        memmove(at, end, strlen(end) + 1);
        return;
    }
}

static int read_run(struct run *run, const struct nvt_record *record)
{
    const char *workload = nvt_record_text(record, "workload");
    const char *interleave = nvt_record_text(record, "interleave");
    double warmup = nvt_record_number(record, "warmup");
    char *axes = nvt_record_configuration(record);
    *run = (struct run){.record = record, .level = nvt_record_text(record, "collect")};
    run->interleave = interleave ? interleave : "runs";
    run->warmup = warmup >= 0 && warmup <= 9e15 ? (int64_t)warmup : -1;
    /* Of published rows these stand among the axes. */
    if (axes) {
        drop_word(axes, "collect");
        drop_word(axes, "warmup");
    }
    if (!axes || asprintf(&run->configuration, "%s%s%s", workload ? workload : "?",
                          *axes ? " " : "", axes) < 0)
        run->configuration = NULL;
    free(axes);
    return run->configuration ? 0 : -1;
}

/* Runs that ended well and say how they were collected. */
static int read_runs(struct runs *runs, const struct nvt_input *input)
{
    size_t room = 1;
    for (size_t i = 0; i < input->run_count; i++)
        room += input->runs[i]->count;
    runs->items = calloc(room, sizeof(*runs->items));
    for (size_t i = 0; runs->items && i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            const char *status = nvt_record_text(record, "status");
            if (!nvt_record_text(record, "collect") || (status && strcmp(status, "ok")))
                continue;
            struct run *run = &runs->items[runs->count];
            if (read_run(run, record))
                return -1;
            run->input = i;
            for (size_t other = 0; other < runs->count; other++) {
                const struct run *before = &runs->items[other];
                int counts = is_alike(run, before) && !strcmp(run->level, before->level);
                run->turn += (size_t)counts;
                run->place += (size_t)(counts && before->input == i);
            }
            runs->count++;
        }
    return runs->items ? 0 : -1;
}

/* The bare run at the same place of what it is in, or where there is none at all, of the same turn. */
static const struct run *bare_of(const struct runs *runs, const struct run *run)
{
    const struct run *elsewhere = NULL;
    int has_own = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run *bare = &runs->items[i];
        if (strcmp(bare->level, "off") || !is_alike(bare, run))
            continue;
        if (bare->input == run->input && bare->place == run->place)
            return bare;
        has_own |= bare->input == run->input;
        if (bare->turn == run->turn)
            elsewhere = bare;
    }
    return has_own ? NULL : elsewhere;
}

/* --- ratios ----------------------------------------------------------------------------------- */

/* What a run took: the median of its iterations, or their mean where that is all there is. */
static double typical(const struct nvt_record *record, const char *phase)
{
    double median = nvt_record_phase_ns(record, phase, "median");
    return isfinite(median) ? median : nvt_record_phase_ns(record, phase, "mean");
}

static void measure_one_pair(struct nvt_slowdown_row *row, const struct nvt_record *bare,
                             const struct nvt_record *with)
{
    const struct nvt_record *const sides[] = {bare, with};
    double mean[2], std[2];
    size_t n[2];
    struct nvt_change change;
    for (int side = 0; side < 2; side++) {
        double iterations = nvt_record_number(sides[side], "iterations");
        mean[side] = nvt_record_phase_ns(sides[side], row->phase, "mean");
        std[side] = nvt_record_phase_ns(sides[side], row->phase, "std");
        n[side] = iterations >= 1 && iterations < 1e15 ? (size_t)iterations : 0;
    }
    row->ratio = mean[1] / mean[0];
    if (!isfinite(std[0]) || !isfinite(std[1]) || !n[0] || !n[1])
        return;
    nvt_change_from_summaries(mean, std, n, &change);
    row->low = change.low;
    row->high = change.high;
}

/* The recorder's processor time beside the time of the iterations that it recorded. NaN: not known. */
static double recorder_share(const struct nvt_record *record)
{
    double used = nvt_record_number(record, "recorder_cpu_ns");
    double timed = nvt_record_number(record, "timed_ns");
    return used >= 0 && timed > 0 ? used / timed : NAN;
}

/* The medians of all pairs. */
static void summarize(struct nvt_slowdown_row *row, double *const values[4], size_t share_count)
{
    double *const to[] = {&row->bare, &row->with, &row->recorder};
    const size_t counts[] = {row->pairs, row->pairs, share_count};
    for (size_t i = 0; i < 3; i++)
        if (counts[i])
            *to[i] = nvt_sample_median(values[i], counts[i]);
    if (row->pairs)
        nvt_ratio_interval(values[3], row->pairs, &row->ratio, &row->low, &row->high);
}

int nvt_interleave_is_own_bare(const char *interleave)
{
    return interleave && (!strcmp(interleave, "within") || !strcmp(interleave, "halves"));
}

static int is_its_own_bare(const struct run *run)
{
    return nvt_interleave_is_own_bare(run->interleave);
}

/* Whether its twins are too few: what comes first may meet a cold machine, and from TWINS_LEAST on it does not move the median. */
static int is_short(const struct run *run)
{
    return is_its_own_bare(run) && nvt_record_number(run->record, "iterations") < TWINS_LEAST;
}

struct pair {
    double without, with, ratio; /* of positive numbers, else there is none */
};

/* What a run says of a phase beside its bare one, or by itself. */
static struct pair pair_of(const struct runs *runs, const struct run *run, const char *phase)
{
    struct pair pair = {NAN, typical(run->record, phase), NAN};
    const struct run *bare = is_its_own_bare(run) ? run : bare_of(runs, run);
    if (is_short(run))
        return pair;
    if (bare == run) {
        pair.without = nvt_record_phase_ns(run->record, phase, "mute_median");
        pair.ratio = strcmp(run->interleave, "halves")
                         ? nvt_record_phase_ns(run->record, phase, "twins_ratio")
                         : pair.with / pair.without;
    } else if (bare) {
        pair.without = typical(bare->record, phase);
        pair.ratio = pair.with / pair.without;
    }
    return pair;
}

/* All pairs of this level and phase that the run is the first of. */
static int measure(struct nvt_slowdown_row *row, const struct runs *runs, const struct run *first)
{
    double *values = malloc(4 * runs->count * sizeof(*values));
    if (!values)
        return -1;
    double *const of[] = {values, values + runs->count, values + 2 * runs->count,
                          values + 3 * runs->count};
    const struct run *single = NULL;
    size_t shares = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run *run = &runs->items[i];
        if (strcmp(run->level, first->level) || !is_alike(run, first))
            continue;
        struct pair pair = pair_of(runs, run, row->phase);
        if (!(pair.with > 0) || !(pair.without > 0) || !(pair.ratio > 0))
            continue;
        single = run;
        of[0][row->pairs] = pair.without;
        of[1][row->pairs] = pair.with;
        double share = recorder_share(run->record);
        if (isfinite(share))
            of[2][shares++] = share;
        of[3][row->pairs++] = pair.ratio;
    }
    summarize(row, of, shares);
    if (single && row->pairs == 1 && !is_its_own_bare(single))
        measure_one_pair(row, bare_of(runs, single)->record, single->record);
    free(values);
    return 0;
}

static struct nvt_slowdown_row *add_row(struct nvt_slowdowns *overheads, const struct run *run,
                                        const char *phase, size_t length)
{
    if (nvt_grow(&overheads->rows, overheads->count, sizeof(*overheads->rows)))
        return NULL;
    struct nvt_slowdown_row *row = &overheads->rows[overheads->count];
    *row = (struct nvt_slowdown_row){.configuration = strdup(run->configuration),
                                     .level = run->level,
                                     .phase = strndup(phase, length),
                                     .warmup = run->warmup,
                                     .interleave = run->interleave,
                                     .source = nvt_record_source(run->record),
                                     .recorder = NAN,
                                     .bare = NAN,
                                     .with = NAN,
                                     .ratio = NAN,
                                     .low = NAN,
                                     .high = NAN};
    overheads->count++;
    return row->configuration && row->phase ? row : NULL;
}

/* A row for each phase of a run, which its record has as PHASE_ns_mean. */
static int add_phases(struct nvt_slowdowns *overheads, const struct runs *runs,
                      const struct run *run)
{
    static const char suffix[] = "_ns_mean";
    for (size_t i = 0; i < run->record->count; i++) {
        const struct nvt_member *member = &run->record->members[i];
        size_t length = strlen(member->key);
        if (length < sizeof(suffix) || strcmp(member->key + length - sizeof(suffix) + 1, suffix) ||
            !(member->number > 0))
            continue;
        struct nvt_slowdown_row *row =
            add_row(overheads, run, member->key, length - sizeof(suffix) + 1);
        if (!row || measure(row, runs, run))
            return -1;
    }
    return 0;
}

int nvt_slowdowns_make(struct nvt_slowdowns *overheads, const struct nvt_input *input,
                       struct nvt_error *err)
{
    struct runs runs = {0};
    int status = read_runs(&runs, input);
    for (size_t i = 0; i < runs.count && !status; i++) {
        const struct run *run = &runs.items[i];
        int is_off = !strcmp(run->level, "off");
        overheads->bare += is_off || is_its_own_bare(run);
        overheads->short_runs += (size_t)is_short(run);
        if (!is_off && !run->turn)
            status = add_phases(overheads, &runs, run);
    }
    free_runs(&runs);
    return status ? nvt_fail(err, "out of memory") : 0;
}

const char *nvt_slowdowns_caution(const struct nvt_slowdowns *overheads)
{
    size_t singles = 0, intervals = 0;
    for (size_t i = 0; i < overheads->count; i++) {
        const struct nvt_slowdown_row *row = &overheads->rows[i];
        intervals += isfinite(row->low) != 0;
        singles += isfinite(row->low) && row->pairs == 1;
    }
    if (!singles)
        return NULL;
    return singles == intervals
               ? "One pair of runs: the interval comes from its iterations alone and does not "
                 "include differences between runs; --repeat 6 does."
               : "Where there is one pair of runs, the interval comes from its iterations alone "
                 "and does not include differences between runs; --repeat 6 does.";
}
