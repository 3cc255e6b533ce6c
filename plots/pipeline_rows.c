#include "pipeline_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/published/gpipe.h"
#include "../lib/count_of.h"

/* What of the axes charts have no lines for. */
static const char *const same[] = {"model",          "schedule", "virtual_stages", "transport",
                                   "attention_axis", "batch",    "sequence",       "vocabulary",
                                   "d_model",        "layers",   "heads",          "d_ff"};
enum { SAME = NVT_COUNT_OF(same) };

static int is_same(const struct nvt_record *a, const struct nvt_record *b, const char *key)
{
    const char *left = nvt_record_text(a, key), *right = nvt_record_text(b, key);
    return !strcmp(left ? left : "", right ? right : "");
}

/* In what else a record differs from the first one, in `differ`: rows belong to a chart that differ in no more than what it
 * has lines for. */
static int belongs(const struct nvt_record *record, const struct nvt_record *first,
                   unsigned char differ[SAME])
{
    int is_ours = 1;
    for (size_t i = 0; i < SAME; i++)
        if (!is_same(record, first, same[i])) {
            differ[i] = 1;
            is_ours = 0;
        }
    return is_ours;
}

static void write_differ(const unsigned char differ[SAME], char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < SAME && used < size; i++)
        if (differ[i])
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", same[i]);
}

static void write_shared(const struct nvt_record *record, const unsigned char differ[SAME],
                         char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < SAME && used < size; i++) {
        const char *text = nvt_record_text(record, same[i]);
        /* Nothing lies between partitions of one process, unless there are others. */
        if (text && (strcmp(text, "local") != 0 || differ[i]))
            used += (size_t)snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", same[i],
                                     text);
    }
}

static int is_ours(const struct nvt_record *record)
{
    const char *status = nvt_record_text(record, "status");
    return nvt_record_is_of(record, "gpipe") && (!status || !strcmp(status, "ok")) &&
           nvt_record_number(record, "microbatches") >= 1;
}

static int by_place(const void *left, const void *right)
{
    const struct nvt_pipeline_row *a = left, *b = right;
    const int keys[][2] = {{a->engine, b->engine},
                           {a->partitions, b->partitions},
                           {a->checkpoint, b->checkpoint},
                           {a->microbatches, b->microbatches}};
    for (int i = 0; i < 4; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static struct nvt_pipeline_row row_of(const struct nvt_record *record)
{
    const char *engine = nvt_record_text(record, "engine");
    const char *checkpoint = nvt_record_text(record, "checkpoint");
    struct nvt_pipeline_row row = {
        (int)nvt_record_number(record, "partitions"),
        (int)nvt_record_number(record, "microbatches"),
        checkpoint && (!strcmp(checkpoint, "true") || !strcmp(checkpoint, "on")),
        engine && !strcmp(engine, "torchgpipe"),
        nvt_record_number(record, "peak_activation_bytes") / NVT_MEBIBYTE,
        nvt_record_number(record, "throughput_samples_per_s"),
        NAN};
    /* First order: of batch / (forward + backward), the two taken as independent. */
    double forward = nvt_record_number(record, "forward_ns_std");
    double backward = nvt_record_number(record, "backward_ns_std");
    double time = nvt_record_number(record, "forward_ns_mean") +
                  nvt_record_number(record, "backward_ns_mean");
    row.deviation = row.throughput * sqrt(forward * forward + backward * backward) / time;
    return row;
}

void nvt_pipeline_rows_free(struct nvt_pipeline_rows *rows)
{
    nvt_studied_free(&rows->studied);
    free(rows->items);
}

void nvt_schedules_add(struct nvt_schedules *schedules, const char *schedule)
{
    for (size_t i = 0; i < schedules->count; i++)
        if (!strcmp(schedules->names[i], schedule))
            return;
    if (schedules->count < NVT_SCHEDULES_MOST && strlen(schedule) < NVT_SCHEDULE_MAX)
        snprintf(schedules->names[schedules->count++], NVT_SCHEDULE_MAX, "%s", schedule);
}

const char *nvt_schedule_of(const char *configuration, char out[NVT_SCHEDULE_MAX])
{
    static const char key[] = " schedule=";
    const char *at = configuration ? strstr(configuration, key) : NULL;
    at = at ? at + sizeof(key) - 1 : "";
    snprintf(out, NVT_SCHEDULE_MAX, "%.*s", (int)strcspn(at, " "), at);
    return out;
}

const char *nvt_schedule_suffix(const struct nvt_schedules *schedules, size_t i,
                                char out[NVT_SCHEDULE_SUFFIX])
{
    const char *name = schedules->names[i];
    int is_word = *name != 0;
    for (const char *c = name; *c; c++)
        is_word &= isalnum((unsigned char)*c) != 0;
    if (!i)
        *out = 0;
    else if (is_word)
        snprintf(out, NVT_SCHEDULE_SUFFIX, "-%s", name);
    else
        snprintf(out, NVT_SCHEDULE_SUFFIX, "-%zu", i + 1);
    return out;
}

static const char *schedule_of(const struct nvt_record *record)
{
    const char *schedule = nvt_record_text(record, "schedule");
    return schedule ? schedule : "";
}

void nvt_pipeline_schedules(const struct nvt_input *input, struct nvt_schedules *schedules)
{
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++)
            if (is_ours(&input->runs[i]->records[k]))
                nvt_schedules_add(schedules, schedule_of(&input->runs[i]->records[k]));
}

int nvt_pipeline_rows_read(const struct nvt_input *from, const char *schedule,
                           struct nvt_pipeline_rows *rows)
{
    const struct nvt_record *first = NULL;
    unsigned char differ[SAME] = {0};
    size_t most = 0;
    *rows = (struct nvt_pipeline_rows){0};
    if (nvt_studied_of(from, 0, &rows->studied, NULL))
        return -1;
    const struct nvt_input *input = &rows->studied.input;
    for (size_t i = 0; i < input->run_count; i++)
        most += input->runs[i]->count;
    rows->items = malloc((most + 1) * sizeof(*rows->items));
    for (size_t i = 0; rows->items && i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            if (!is_ours(record) || strcmp(schedule_of(record), schedule) != 0)
                continue;
            first = first ? first : record;
            if (!belongs(record, first, differ)) {
                rows->others++;
                continue;
            }
            rows->launched += nvt_gpipe_is_of_launches(record) ? 1 : 0;
            rows->items[rows->count] = row_of(record);
            rows->engines[rows->items[rows->count++].engine] = 1;
        }
    if (!rows->items)
        return -1;
    if (rows->count) {
        qsort(rows->items, rows->count, sizeof(*rows->items), by_place);
        write_shared(first, differ, rows->shared, sizeof(rows->shared));
        write_differ(differ, rows->differ, sizeof(rows->differ));
    }
    return 0;
}

static int are_of_one_pipeline(const struct nvt_pipeline_row *a, const struct nvt_pipeline_row *b)
{
    return a->engine == b->engine && a->partitions == b->partitions;
}

int nvt_pipeline_row_begins(const struct nvt_pipeline_rows *rows, size_t i)
{
    const struct nvt_pipeline_row *row = &rows->items[i], *before = row - 1;
    return !i || !are_of_one_pipeline(row, before) || row->checkpoint != before->checkpoint;
}

/* Nearer than a line is wide, about. */
static int are_close(double a, double b)
{
    return fabs(a - b) <= 0.01 * fmax(fabs(a), fabs(b));
}

static double value_of(const struct nvt_pipeline_row *row, int is_throughput)
{
    return is_throughput ? row->throughput : row->memory;
}

int nvt_pipeline_row_is_covered(const struct nvt_pipeline_rows *rows, size_t i, int is_throughput)
{
    const struct nvt_pipeline_row *items = rows->items;
    size_t pairs = 0, close = 0, stretch = 0, longest = 0, plain = i, checked, end = i;
    while (plain && are_of_one_pipeline(&items[plain - 1], &items[i]))
        plain--;
    while (end < rows->count && are_of_one_pipeline(&items[end], &items[i]))
        end++;
    for (checked = plain; checked < end && !items[checked].checkpoint;)
        checked++;
    for (const size_t middle = checked; plain < middle && checked < end;) {
        int difference = items[plain].microbatches - items[checked].microbatches;
        if (!difference) {
            int hides = are_close(value_of(&items[plain], is_throughput),
                                  value_of(&items[checked], is_throughput));
            stretch = hides ? stretch + 1 : 0;
            longest = stretch > longest ? stretch : longest;
            close += hides ? 1 : 0;
            pairs++;
        }
        plain += difference <= 0;
        checked += difference >= 0;
    }
    return pairs && (close == pairs || longest > 1);
}
