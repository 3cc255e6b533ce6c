#include "reference_pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "published.h"

#define REFERENCES NVT_COUNT_OF(((struct nvt_reference_pairs *)NULL)->references)

/* What is set side by side, by the end of a record's key; what has no unit, by the whole key. */
static const struct quantity {
    const char *end, *unit;
    double scale;
} quantities[] = {
    {"_ns_mean", "ms", 1e-6},
    {"_bytes", "MiB", 1 / (1024.0 * 1024.0)},
    {"throughput_samples_per_s", "samples/s", 1},
    {"sum", "", 1},
};

void nvt_reference_pairs_free(struct nvt_reference_pairs *pairs)
{
    for (size_t i = 0; i < REFERENCES; i++)
        nvt_runs_free(pairs->references[i]);
    free(pairs->rows);
    *pairs = (struct nvt_reference_pairs){0};
}

static const struct quantity *quantity_of(const struct nvt_member *member, size_t *stem)
{
    size_t length = strlen(member->key);
    for (size_t i = 0; i < NVT_COUNT_OF(quantities); i++) {
        size_t end = strlen(quantities[i].end);
        if (member->type != NVT_VALUE_NUMBER || length < end ||
            strcmp(member->key + length - end, quantities[i].end) ||
            (length > end && !*quantities[i].unit))
            continue;
        *stem = length == end ? length : length - end;
        return &quantities[i];
    }
    return NULL;
}

static double deviation(const struct nvt_record *record, const char *key, size_t stem, int n)
{
    char name[120];
    snprintf(name, sizeof(name), "%.*s_ns_std", (int)stem, key);
    double std = nvt_record_number(record, name);
    const char *divisor = nvt_record_text(record, "std_divisor");
    if (divisor && !strcmp(divisor, "n"))
        std *= n > 1 ? sqrt((double)n / (n - 1)) : NAN;
    return std;
}

static int append(struct nvt_reference_pairs *pairs, const struct nvt_reference_pair *row)
{
    if (nvt_grow(&pairs->rows, pairs->count, sizeof(*pairs->rows)))
        return -1;
    pairs->rows[pairs->count++] = *row;
    return 0;
}

/* The quantities that both have. */
static int add_pair(struct nvt_reference_pairs *pairs, struct nvt_reference_pair pair,
                    int iterations)
{
    for (size_t i = 0; i < pair.theirs->count; i++) {
        const struct nvt_member *member = &pair.theirs->members[i];
        size_t stem;
        const struct quantity *quantity = quantity_of(member, &stem);
        double ours = nvt_record_number(pair.ours, member->key);
        if (!quantity || !isfinite(ours) || strlen(member->key) > 100)
            continue;
        int is_time = !strcmp(quantity->unit, "ms");
        snprintf(pair.quantity, sizeof(pair.quantity), "%.*s", (int)stem, member->key);
        pair.unit = quantity->unit;
        pair.our_value = ours * quantity->scale;
        pair.their_value = member->number * quantity->scale;
        pair.our_std = pair.their_std = NAN;
        if (is_time) {
            pair.our_std = deviation(pair.ours, member->key, stem, 0) * quantity->scale;
            pair.their_std =
                deviation(pair.theirs, member->key, stem, iterations) * quantity->scale;
        }
        if (append(pairs, &pair))
            return -1;
    }
    return 0;
}

static int add_record(struct nvt_reference_pairs *pairs, const struct nvt_runs *runs,
                      const struct nvt_record *ours, const struct nvt_runs *theirs,
                      const struct nvt_layout *layout, int iterations)
{
    const char *status = nvt_record_text(ours, "status");
    if (status && strcmp(status, "ok"))
        return 0;
    for (size_t i = 0; i < theirs->count; i++) {
        const char *remark = layout->matches(ours, &theirs->records[i]);
        struct nvt_reference_pair pair = {
            .ours = ours, .theirs = &theirs->records[i], .runs = runs, .remark = remark};
        if (remark && add_pair(pairs, pair, iterations))
            return -1;
    }
    return 0;
}

/* Which reference a record has: its position, or REFERENCES. */
static size_t position_of(const struct nvt_record *record)
{
    const char *workload = nvt_record_text(record, "workload");
    const struct nvt_reference *wanted = workload ? nvt_reference_of(workload) : NULL;
    for (size_t i = 0; wanted && i < REFERENCES; i++)
        if (nvt_reference_at(i) == wanted)
            return i;
    return REFERENCES;
}

int nvt_reference_pairs_find(const struct nvt_input *input, struct nvt_reference_pairs *pairs,
                             struct nvt_error *err)
{
    const struct nvt_layout *layouts[REFERENCES] = {0};
    int known = 0;
    for (size_t r = 0; r < input->run_count; r++)
        for (size_t i = 0; i < input->runs[r]->count; i++) {
            const struct nvt_record *record = &input->runs[r]->records[i];
            size_t at = position_of(record);
            if (at == REFERENCES)
                continue;
            known = 1;
            const struct nvt_reference *reference = nvt_reference_at(at);
            if (!pairs->references[at])
                pairs->references[at] = nvt_reference_runs(reference, &layouts[at], err);
            if (!pairs->references[at])
                return -1;
            if (add_record(pairs, input->runs[r], record, pairs->references[at], layouts[at],
                           reference->iterations))
                return nvt_fail(err, "out of memory");
        }
    if (!known)
        return nvt_fail(
            err,
            "there are no published figures for what was run here; see nvtally reference --help");
    return pairs->count
               ? 0
               : nvt_fail(
                     err,
                     "none of these configurations was published; see nvtally reference WORKLOAD");
}

static void put_pair(struct nvt_table *table, const struct nvt_reference_pair *pair,
                     const char *configuration)
{
    const size_t at = position_of(pair->ours);
    const char *device = nvt_record_text(pair->ours, "device");
    nvt_table_put(table, nvt_record_text(pair->ours, "workload"), configuration, pair->quantity,
                  pair->unit, pair->our_value, pair->our_std, pair->their_value, pair->their_std,
                  pair->their_value > 0 ? pair->our_value / pair->their_value : NAN,
                  device ? device : nvt_runs_provenance(pair->runs).device,
                  at < REFERENCES ? nvt_reference_at(at)->device : NULL,
                  nvt_record_source(pair->ours), nvt_text_if_any(pair->remark));
}

static void title_of(const struct nvt_reference_pairs *pairs, char *title, size_t size)
{
    size_t used = (size_t)snprintf(title, size,
                                   "Comparison with published figures, which come from other "
                                   "machines (a ratio is no verdict)");
    for (size_t i = 0; i < REFERENCES; i++)
        if (pairs->references[i] && used < size)
            used += (size_t)snprintf(title + used, size - used, ". Published: %s; device: %s",
                                     nvt_reference_at(i)->title, nvt_reference_at(i)->device);
    if (used < size)
        snprintf(title + used, size - used, ". This run");
}

int nvt_reference_pairs_table(const struct nvt_input *input,
                              const struct nvt_reference_pairs *pairs, struct nvt_tables *tables,
                              struct nvt_error *err)
{
    static const struct nvt_column columns[] = {{"workload", NVT_NAMES},
                                                {"configuration", NVT_NAMES},
                                                {"quantity", NVT_NAMES},
                                                {"unit", NVT_NAMES},
                                                {"ours", NVT_REALS("", 4)},
                                                {"ours std", NVT_REALS("", 4)},
                                                {"published", NVT_REALS("", 4)},
                                                {"published std", NVT_REALS("", 4)},
                                                {"ours / published", NVT_REALS("", 3)},
                                                {"our device", NVT_NAMES},
                                                {"published device", NVT_NAMES},
                                                {"source", NVT_NAMES},
                                                {"remark", NVT_NAMES}};
    char title[1200];
    title_of(pairs, title, sizeof(title));
    const struct nvt_provenance provenance = nvt_input_provenance(input);
    struct nvt_table *table = nvt_table_new("reference", title, columns, NVT_COUNT_OF(columns));
    const struct nvt_record *last = NULL;
    char *configuration = NULL;
    if (!table)
        return nvt_fail(err, "out of memory");
    nvt_table_set_provenance(table, &provenance);
    for (size_t i = 0; i < pairs->count; i++) {
        if (pairs->rows[i].ours != last) {
            free(configuration);
            last = pairs->rows[i].ours;
            configuration = nvt_record_configuration(last);
        }
        put_pair(table, &pairs->rows[i], configuration);
    }
    free(configuration);
    if (nvt_table_failed(table, err)) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_tables_add(tables, table) ? nvt_fail(err, "out of memory") : 0;
}
