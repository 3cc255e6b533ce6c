#include "repeats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/one_of.h"
#include "../../lib/sample.h"
#include "merged_records.h"

/* Whether a member may differ between repetitions, before the results. */
static int is_of_one(const char *key)
{
    static const char *const keys[] = {"repeat", "date", "seed", "iterations"};
    return NVT_IS_ONE_OF(key, keys);
}

/* The next member from *at on that says what was run, NULL where the results begin. */
static const struct nvt_member *next(const struct nvt_record *record, size_t *at)
{
    while (*at < record->count && is_of_one(record->members[*at].key))
        ++*at;
    return *at < record->count && !nvt_is_result(record->members[*at].key)
               ? &record->members[(*at)++]
               : NULL;
}

static int is_repetition(const struct nvt_record *left, const struct nvt_record *right)
{
    const char *ended = nvt_record_text(left, "status"), *other = nvt_record_text(right, "status");
    if (!nvt_record_text(left, "repeat") || !nvt_record_text(right, "repeat") ||
        strcmp(ended ? ended : "", other ? other : ""))
        return 0;
    for (size_t i = 0, k = 0;;) {
        const struct nvt_member *a = next(left, &i), *b = next(right, &k);
        if (!a || !b)
            return !a && !b;
        if (strcmp(a->key, b->key) || a->type != b->type || strcmp(a->text, b->text))
            return 0;
    }
}

/* --- the numbers of several --- */

struct several {
    const struct nvt_record **records;
    size_t count;
};

static double number(const struct nvt_record *record, const char *base, int length,
                     const char *what)
{
    char key[160];
    snprintf(key, sizeof(key), "%.*s%s", length, base, what);
    return nvt_record_number(record, key);
}

/* Of a time's base, "forward_ns": all iterations. NaN where no record has a mean. */
static struct nvt_summary time_of(const struct several *of, const char *base, int length)
{
    struct nvt_summary all = {.n = 0, .mean = NAN, .std = NAN, .min = NAN, .max = NAN};
    for (size_t i = 0; i < of->count; i++) {
        const struct nvt_record *record = of->records[i];
        double n = nvt_record_number(record, "iterations");
        struct nvt_summary one = {.n = n >= 1 && n < 1e15 ? (size_t)n : 1,
                                  .mean = number(record, base, length, "_mean"),
                                  .std = number(record, base, length, "_std"),
                                  .min = number(record, base, length, "_min"),
                                  .max = number(record, base, length, "_max"),
                                  .median = NAN,
                                  .ci95 = NAN};
        one.sum = one.mean * (double)one.n;
        if (isfinite(one.mean))
            nvt_summary_add(&all, &one);
    }
    return all;
}

/* Greatest, sum or mean of the numbers behind a key, NaN: there is none. */
enum how { GREATEST, SUM, MEAN };

static double numbers_of(const struct several *of, const char *key, enum how how)
{
    double sum = 0, greatest = -INFINITY;
    size_t found = 0;
    for (size_t i = 0; i < of->count; i++) {
        double value = nvt_record_number(of->records[i], key);
        if (!isfinite(value))
            continue;
        found++;
        sum += value;
        greatest = fmax(greatest, value);
    }
    if (!found)
        return NAN;
    return how == GREATEST ? greatest : how == SUM ? sum : sum / (double)found;
}

/* What stands behind a key, a result's, for all of them. */
static double together(void *context, const char *key)
{
    const struct several *of = context;
    const char *end = strrchr(key, '_');
    const int length = end ? (int)(end - key) : 0;
    if (length > 3 && !strncmp(end - 3, "_ns_", 4)) {
        struct nvt_summary time = time_of(of, key, length);
        if (!strcmp(end, "_mean"))
            return time.mean;
        if (!strcmp(end, "_std"))
            return time.std;
        if (!strcmp(end, "_min"))
            return time.min;
        if (!strcmp(end, "_max"))
            return time.max;
        if (!strcmp(end, "_median"))
            return NAN;
    }
    return numbers_of(of, key, strstr(key, "peak") || strstr(key, "reserved") ? GREATEST : MEAN);
}

/* As if all iterations had been of one run: their number stands before the results. */
static int put_together(struct several *of, struct nvt_record *out)
{
    if (nvt_records_merge(of->records, of->count, together, of, out))
        return -1;
    for (size_t i = 0; i < out->count && of->count > 1; i++) {
        struct nvt_member *member = &out->members[i];
        if (strcmp(member->key, "iterations") || member->type == NVT_VALUE_BOOL ||
            member->type == NVT_VALUE_TEXT)
            continue;
        member->number = numbers_of(of, member->key, SUM);
        member->type = isfinite(member->number) ? NVT_VALUE_NUMBER : NVT_VALUE_NULL;
    }
    return 0;
}

/* --- a directory --- */

static int add_runs(void *context, const struct nvt_runs *from, struct nvt_runs *to)
{
    struct several of = {calloc(from->count + 1, sizeof(*of.records)), 0};
    char *taken = calloc(from->count + 1, 1);
    int failed = !of.records || !taken;
    (void)context;
    for (size_t i = 0; i < from->count && !failed; i++) {
        if (taken[i])
            continue;
        of.records[0] = &from->records[i];
        of.count = 1;
        int repeats = nvt_record_text(of.records[0], "repeat") != NULL;
        for (size_t k = i + 1; repeats && k < from->count; k++)
            if (!taken[k] && is_repetition(&from->records[i], &from->records[k])) {
                taken[k] = 1;
                of.records[of.count++] = &from->records[k];
            }
        failed = put_together(&of, &to->records[to->count++]);
    }
    free((void *)of.records);
    free(taken);
    return failed ? -1 : 0;
}

int nvt_repeats_together(struct nvt_input *input, struct nvt_input *together, struct nvt_error *err)
{
    struct nvt_merged_runs made;
    int failed = nvt_merged_runs_make(&made, input->runs, input->run_count, add_runs, NULL);
    *together = *input;
    input->notes = (struct nvt_buffer){0};
    together->traces = NULL;
    together->trace_count = 0;
    together->runs = made.items;
    together->run_count = made.count;
    return failed ? nvt_fail(err, "out of memory") : 0;
}

void nvt_repeats_free(struct nvt_input *together, struct nvt_input *input)
{
    struct nvt_merged_runs made = {together->runs, together->run_count};
    input->notes = together->notes;
    nvt_merged_runs_free(&made);
    *together = (struct nvt_input){0};
}
