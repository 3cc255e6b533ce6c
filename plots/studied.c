#include "studied.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/input/merged_records.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/sample.h"

/* From the one that disturbs least on; what else a record says comes behind them. */
static const char *const levels[] = {"off", "control", "nvtx", "kernel", "full", "nsys"};
#define LEVELS NVT_COUNT_OF(levels)

/* A record, and what is known of it. */
struct place {
    const struct nvt_record *record;
    char *key;
    size_t group; /* index of the first record of the same configuration */
    size_t level;
    double warmup; /* -1: unknown */
};

/* --- which records are of one configuration --- */

static int is_any_of(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (!strcmp(key, *keys))
            return 1;
    return 0;
}

/* Whether a member tells how a configuration was run, not which one it is. Published records have
 * such members among their axes. */
static int tells_how(const char *key, unsigned flags)
{
    static const char *const how[] = {"collect", "repeat", "interleave", "seed", NULL};
    return is_any_of(key, how) || (!strcmp(key, "warmup") && !(flags & NVT_STUDIED_WARMUPS));
}

/* What is the same in all rows of a configuration, as a text; malloc'ed, NULL: out of memory. */
static char *key_of(const struct nvt_record *record, unsigned flags)
{
    static const char *const behind[] = {"date", "iterations", NULL};
    static const char *const results[] = {"status", "source"};
    struct nvt_buffer text = {0};
    int failed = 0;
    for (size_t i = 0; i < record->count && !nvt_is_result(record->members[i].key); i++)
        if (!tells_how(record->members[i].key, flags) && !is_any_of(record->members[i].key, behind))
            failed |= nvt_buffer_printf(&text, "%s=%s\n", record->members[i].key,
                                        record->members[i].text);
    for (size_t i = 0; i < NVT_COUNT_OF(results); i++) {
        const char *value = nvt_record_text(record, results[i]);
        failed |= nvt_buffer_printf(&text, "%s\n", value ? value : "");
    }
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

/* --- which of them are shown --- */

static size_t level_of(const struct nvt_record *record)
{
    const char *collect = nvt_record_text(record, "collect");
    size_t level = 0;
    while (collect && level < LEVELS && strcmp(collect, levels[level]))
        level++;
    return level;
}

/* Each record's place; the first ones of a configuration are groups of their own. 0, or -1: out of
 * memory. */
static int fill_places(const struct nvt_runs *runs, unsigned flags, struct place *places)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        double warmup = nvt_record_number(record, "warmup");
        char *key = key_of(record, flags);
        size_t group = 0;
        if (!key)
            return -1;
        while (group < i && (places[group].group != group || strcmp(places[group].key, key) != 0))
            group++;
        places[i] = (struct place){record, key, group, level_of(record), warmup >= 0 ? warmup : -1};
    }
    return 0;
}

/* Whether `a` is rather shown than `b`, a record of the same configuration. */
static int is_better(const struct place *a, const struct place *b)
{
    return a->level != b->level ? a->level < b->level : a->warmup > b->warmup;
}

static const struct place *best_of(const struct place *places, size_t count, size_t group)
{
    const struct place *best = &places[group];
    for (size_t i = group + 1; i < count; i++)
        if (places[i].group == group && is_better(&places[i], best))
            best = &places[i];
    return best;
}

/* Append the records of a group that are shown to `members`. Returns how many. */
static size_t take_group(const struct place *places, size_t count, size_t group,
                         const struct nvt_record **members)
{
    const struct place *best = best_of(places, count, group);
    size_t taken = 0;
    for (size_t i = group; i < count; i++)
        if (places[i].group == group && !is_better(best, &places[i]))
            members[taken++] = places[i].record;
    return taken;
}

/* Say that a group has rows which are not shown, once. */
static void say_left_out(struct nvt_studied *studied, const struct place *places, size_t count,
                         size_t group)
{
    const struct place *best = best_of(places, count, group);
    const char *collect = nvt_record_text(best->record, "collect");
    for (size_t i = group; i < count && !*studied->left_out; i++)
        if (places[i].group != group)
            continue;
        else if (places[i].level != best->level)
            snprintf(studied->left_out, sizeof(studied->left_out),
                     "Of rows that differ only in what was collected, those with collect=%.40s.",
                     collect ? collect : "off");
        else if (places[i].warmup < best->warmup)
            snprintf(studied->left_out, sizeof(studied->left_out),
                     "Of rows that differ only in their warm-ups, those with warmup=%.0f.",
                     best->warmup);
}

/* --- repetitions together --- */

static int ends_in(const char *key, const char *end)
{
    size_t length = strlen(key), size = strlen(end);
    return length >= size && !strcmp(key + length - size, end);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static double deviation_of(const double *values, size_t count)
{
    double mean = mean_of(values, count), sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(sum / (double)(count - 1)) : NAN;
}

/* The numbers behind a key in all records that have one, ascending. Returns how many. */
static size_t numbers_of(const struct nvt_record *const *records, size_t count, const char *key,
                         double *values)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        double value = nvt_record_number(records[i], key);
        if (isfinite(value))
            values[found++] = value;
    }
    if (found)
        nvt_sample_sort(values, found);
    return found;
}

/* Repetitions, and room for a number of each. */
struct several {
    const struct nvt_record *const *records;
    size_t count;
    double *values;
};

static double together(void *context, const char *key)
{
    const struct several *of = context;
    double *values = of->values;
    char mean[96];
    int is_deviation = ends_in(key, "_std");
    snprintf(mean, sizeof(mean), "%.*s%s", (int)(strlen(key) - (is_deviation ? 4 : 0)), key,
             is_deviation ? "_mean" : "");
    size_t found = numbers_of(of->records, of->count, mean, values);
    if (!found)
        return NAN;
    if (is_deviation)
        return deviation_of(values, found);
    if (ends_in(key, "_min"))
        return values[0];
    if (ends_in(key, "_max"))
        return values[found - 1];
    if (ends_in(key, "_median"))
        return (values[(found - 1) / 2] + values[found / 2]) / 2;
    return mean_of(values, found);
}

/* --- a directory --- */

/* What is needed while the records of a directory are gone through. */
struct work {
    struct place *places;
    const struct nvt_record **members; /* of a group */
    double *values;
};

/* Append the records of a group to `to`. */
static int add_group(const struct work *work, size_t count, size_t group, unsigned flags,
                     struct nvt_studied *studied, struct nvt_runs *to)
{
    size_t taken = take_group(work->places, count, group, work->members);
    size_t each = flags & NVT_STUDIED_REPEATS ? 1 : taken;
    say_left_out(studied, work->places, count, group);
    studied->repeats = taken > studied->repeats ? taken : studied->repeats;
    for (size_t i = 0; i < taken; i += each) {
        struct several of = {work->members + i, each, work->values};
        if (nvt_records_merge(of.records, each, together, &of, &to->records[to->count++]))
            return -1;
    }
    return 0;
}

/* What directories are gone through for. */
struct wish {
    unsigned flags;
    struct nvt_studied *studied;
};

static int add_runs(void *context, const struct nvt_runs *from, struct nvt_runs *to)
{
    const struct wish *wish = context;
    struct work work = {calloc(from->count + 1, sizeof(*work.places)),
                        calloc(from->count + 1, sizeof(*work.members)),
                        calloc(from->count + 1, sizeof(*work.values))};
    int failed = !work.places || !work.members || !work.values ||
                 fill_places(from, wish->flags, work.places);
    for (size_t i = 0; i < from->count && !failed; i++)
        if (work.places[i].group == i)
            failed = add_group(&work, from->count, i, wish->flags, wish->studied, to);
    for (size_t i = 0; work.places && i < from->count; i++)
        free(work.places[i].key);
    free(work.places);
    free((void *)work.members);
    free(work.values);
    return failed ? -1 : 0;
}

int nvt_studied_of(const struct nvt_input *input, unsigned flags, struct nvt_studied *studied,
                   struct nvt_error *err)
{
    *studied = (struct nvt_studied){.repeats = 1};
    struct wish wish = {flags, studied};
    studied->input.plain_names = input->plain_names;
    int failed =
        nvt_merged_runs_make(&studied->made, input->runs, input->run_count, add_runs, &wish);
    studied->input.runs = studied->made.items;
    studied->input.run_count = studied->made.count;
    return failed ? nvt_fail(err, "out of memory") : 0;
}

void nvt_studied_free(struct nvt_studied *studied)
{
    nvt_merged_runs_free(&studied->made);
    nvt_buffer_free(&studied->input.notes);
    *studied = (struct nvt_studied){0};
}

void nvt_studied_notes(const struct nvt_studied *studied, const char *bars, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    if (studied->repeats > 1)
        snprintf(text, sizeof(text), "Means of up to %zu repetitions%s%s%s.", studied->repeats,
                 bars ? "; " : "", bars ? bars : "",
                 bars ? ": ± one standard deviation between their means" : "");
    else if (bars)
        snprintf(text, sizeof(text), "%c%s: ± one standard deviation.", bars[0] & ~0x20, bars + 1);
    else
        text[0] = 0;
    nvt_frame_note(frame, text);
    nvt_frame_note(frame, studied->left_out);
}

struct nvt_spread nvt_spread_of(const struct nvt_record *record, const char *name)
{
    static const char *const ends[] = {"_median", "_min", "_max", "_mean"};
    double values[NVT_COUNT_OF(ends)];
    char key[96];
    for (size_t i = 0; i < NVT_COUNT_OF(ends); i++) {
        snprintf(key, sizeof(key), "%s%s", name, ends[i]);
        values[i] = nvt_record_number(record, key);
    }
    if (!(values[0] > 0))
        return (struct nvt_spread){values[3], NAN, NAN, 1};
    if (!(values[1] > 0 && values[1] <= values[0] && values[2] >= values[0]))
        return (struct nvt_spread){values[0], NAN, NAN, 0};
    return (struct nvt_spread){values[0], values[1], values[2], 0};
}

void nvt_extent_add_spread(struct nvt_extent *extent, const struct nvt_spread *spread)
{
    if (spread->at > 0)
        nvt_extent_add(extent, spread->at, spread->at);
    if (spread->low > 0)
        nvt_extent_add(extent, spread->low, spread->high);
}

unsigned nvt_spread_kinds(const struct nvt_spread *spread)
{
    if (!(spread->at > 0))
        return 0;
    return (spread->is_mean ? NVT_SPREAD_MEANS : NVT_SPREAD_MEDIANS) |
           (spread->low > 0 ? NVT_SPREAD_BARS : 0);
}

void nvt_studied_spread_notes(const struct nvt_studied *studied, unsigned kinds,
                              struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT], of[64] = "";
    if (studied->repeats > 1)
        snprintf(of, sizeof(of), " of up to %zu repetitions", studied->repeats);
    snprintf(text, sizeof(text), "%s%s%s%s.", kinds & NVT_SPREAD_MEDIANS ? "Medians" : "Means", of,
             !(kinds & NVT_SPREAD_BARS) ? "" : "; bars: from the shortest iteration to the longest",
             (kinds & NVT_SPREAD_MEANS) && (kinds & NVT_SPREAD_MEDIANS)
                 ? "; means where no median is known"
                 : "");
    nvt_frame_note(frame, text);
    nvt_frame_note(frame, studied->left_out);
}
