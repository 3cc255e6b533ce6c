#include "compare_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../input/ranks.h"
#include "../memory/levels.h"

static void free_peaks(struct nvt_peaks *peaks)
{
    free(peaks->configuration);
    free(peaks->name);
    for (size_t side = 0; side < NVT_SIDES; side++)
        free(peaks->sides[side].values);
}

int nvt_compared_memory_is_shared(const struct nvt_compared_memory *memory, size_t sides)
{
    for (size_t i = 0; i < memory->count; i++)
        for (size_t side = 1; side < sides && memory->items[i].sides[0].count; side++)
            if (memory->items[i].sides[side].count)
                return 1;
    return 0;
}

void nvt_compared_memory_free(struct nvt_compared_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        free_peaks(&memory->items[i]);
    free(memory->items);
    *memory = (struct nvt_compared_memory){0};
}

/* --- reading --- */

/* NULL when out of memory. */
static struct nvt_peaks *peaks_of(struct nvt_compared_memory *memory, const char *configuration,
                                  const char *name)
{
    for (size_t i = 0; i < memory->count; i++)
        if (!strcmp(memory->items[i].configuration, configuration) &&
            !strcmp(memory->items[i].name, name))
            return &memory->items[i];
    if (nvt_grow(&memory->items, memory->count, sizeof(*memory->items)))
        return NULL;
    struct nvt_peaks *peaks = &memory->items[memory->count];
    *peaks = (struct nvt_peaks){.configuration = strdup(configuration), .name = strdup(name)};
    memory->count++;
    return peaks->configuration && peaks->name ? peaks : NULL;
}

static int append_value(struct nvt_peaks *peaks, size_t side, double bytes)
{
    if (nvt_grow(&peaks->sides[side].values, peaks->sides[side].count, sizeof(bytes)))
        return -1;
    peaks->sides[side].values[peaks->sides[side].count++] = bytes;
    return 0;
}

static int add_value(struct nvt_compared_memory *memory, size_t side, const char *configuration,
                     const char *name, double bytes)
{
    struct nvt_peaks *peaks = peaks_of(memory, configuration, name);
    return peaks ? append_value(peaks, side, bytes) : -1;
}

static int add_record(struct nvt_compared_memory *memory, size_t side,
                      const struct nvt_record *record)
{
    double allocated = nvt_record_number(record, "peak_allocated_bytes");
    double reserved = nvt_record_number(record, "peak_reserved_bytes");
    char *configuration = nvt_record_configuration(record);
    int status = configuration ? 0 : -1;
    if (!status && allocated > 0)
        status = add_value(memory, side, configuration, "allocated", allocated);
    if (!status && reserved > 0)
        status = add_value(memory, side, configuration, "reserved", reserved);
    free(configuration);
    return status;
}

static int add_series(struct nvt_compared_memory *memory, size_t side, const char *configuration,
                      const struct nvt_input_trace *from, const struct nvt_level_series *series)
{
    char whose[96], name[128];
    uint32_t rank = nvt_input_rank(from, series->process);
    int64_t allocated = nvt_level_most(series, NULL);
    int64_t reserved = nvt_level_most_reserved(series, NULL);
    int used = series->device == NVT_NONE
                   ? snprintf(whose, sizeof(whose), "host, ")
                   : snprintf(whose, sizeof(whose), "device %u, ", series->device);
    if (rank != NVT_NO_RANK)
        snprintf(whose + used, sizeof(whose) - (size_t)used, "rank %u, ", rank);
    snprintf(name, sizeof(name), "%sallocated", whose);
    int status = add_value(memory, side, configuration, name, (double)allocated);
    snprintf(name, sizeof(name), "%sreserved", whose);
    if (!status && reserved != allocated)
        status = add_value(memory, side, configuration, name, (double)reserved);
    return status;
}

static int add_trace(struct nvt_compared_memory *memory, size_t side,
                     const struct nvt_input_trace *from)
{
    struct nvt_levels levels = {0};
    char *configuration = nvt_compared_configuration(from);
    int status = configuration ? nvt_levels_make(&levels, from->trace) : -1;
    for (uint32_t i = 0; i < levels.count && !status; i++)
        status = add_series(memory, side, configuration, from, &levels.series[i]);
    nvt_levels_free(&levels);
    free(configuration);
    return status;
}

int nvt_compared_memory_add(struct nvt_compared_memory *memory, size_t side,
                            const struct nvt_input *input, struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < input->run_count && !status; i++)
        for (size_t k = 0; k < input->runs[i]->count && !status; k++)
            if (!input->runs[i]->is_of_traces || nvt_input_has_trace(input, input->runs[i], k))
                status = add_record(memory, side, &input->runs[i]->records[k]);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (nvt_input_is_own(&input->traces[i]))
            status = add_trace(memory, side, &input->traces[i]);
    return status ? nvt_fail(err, "out of memory") : 0;
}

/* Append the values of an item to another's. 0 or -1. */
static int append_values(const struct nvt_peaks *from, struct nvt_peaks *to)
{
    for (size_t side = 0; side < NVT_SIDES; side++)
        for (size_t i = 0; i < from->sides[side].count; i++)
            if (append_value(to, side, from->sides[side].values[i]))
                return -1;
    return 0;
}

int nvt_compared_memory_join(struct nvt_compared_memory *memory)
{
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; i < memory->count; i++) {
        struct nvt_peaks item = memory->items[i];
        size_t same = 0;
        while (same < kept && (strcmp(memory->items[same].name, item.name) != 0 ||
                               strcmp(memory->items[same].configuration, item.configuration) != 0))
            same++;
        if (same == kept) {
            memory->items[kept++] = item;
            continue;
        }
        if (append_values(&item, &memory->items[same]))
            status = -1;
        free_peaks(&item);
    }
    memory->count = kept;
    return status;
}

/* --- comparing --- */

enum verdict { SAME, LESS, MORE, UNKNOWN };

/* A side's medians against those of side A; `ratio` is infinite where A has 0. Both have some. */
struct change {
    double a, b, ratio;
    enum verdict verdict;
    int is_above; /* every value above all of A's, by whatever little */
};

static struct change change_of(const struct nvt_peaks *peaks, size_t side, double tolerance)
{
    struct change change = {0};
    const size_t sides[2] = {0, side};
    double least[2], most[2], median[2];
    for (int i = 0; i < 2; i++) {
        double *values = peaks->sides[sides[i]].values;
        size_t n = peaks->sides[sides[i]].count;
        nvt_sample_sort(values, n);
        least[i] = values[0];
        most[i] = values[n - 1];
        median[i] = (values[(n - 1) / 2] + values[n / 2]) / 2;
    }
    change.a = median[0];
    change.b = median[1];
    change.ratio = median[0] == median[1] ? 1 : median[0] > 0 ? median[1] / median[0] : INFINITY;
    change.is_above = most[0] < least[1];
    change.verdict = fabs(change.ratio - 1) <= tolerance ? SAME
                     : most[0] < least[1]                ? MORE
                     : most[1] < least[0]                ? LESS
                                                         : UNKNOWN;
    return change;
}

static const struct nvt_column columns[] = {{"configuration", NVT_NAMES},
                                            {"memory", NVT_NAMES},
                                            {"side", NVT_NAMES},
                                            {"n A", NVT_COUNTS},
                                            {"n", NVT_COUNTS},
                                            {"peak A", NVT_MIB},
                                            {"peak", NVT_MIB},
                                            {"change", NVT_MIB},
                                            {"change", NVT_REALS("%", 2)},
                                            {"verdict", NVT_VERDICTS}};

static void put_row(struct nvt_table *table, const struct nvt_peaks *peaks, size_t side,
                    const struct change *change)
{
    static const char *const verdicts[] = {
        [SAME] = "same", [LESS] = "less", [MORE] = "more", [UNKNOWN] = "cannot tell"};
    const double mib = 1048576;
    const char name[] = {(char)('A' + side), 0};
    nvt_table_put(table, nvt_text_if_any(peaks->configuration), peaks->name, name,
                  peaks->sides[0].count, peaks->sides[side].count, change->a / mib, change->b / mib,
                  (change->b - change->a) / mib, 100 * (change->ratio - 1),
                  verdicts[change->verdict]);
}

int nvt_compared_memory_table(const struct nvt_compared_memory *memory, size_t sides,
                              double tolerance, double fraction, struct nvt_table **table,
                              size_t *same, size_t *above, struct nvt_error *err)
{
    *same = *above = 0;
    *table = nvt_table_new("compare_memory", "Peak memory that differs from side A, medians",
                           columns, NVT_COUNT_OF(columns));
    if (!*table)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < memory->count; i++)
        for (size_t side = 1; side < sides; side++) {
            const struct nvt_peaks *peaks = &memory->items[i];
            if (!peaks->sides[0].count || !peaks->sides[side].count)
                continue;
            struct change change = change_of(peaks, side, tolerance);
            *same += change.verdict == SAME;
            *above += change.is_above && change.ratio - 1 > fraction;
            if (change.verdict != SAME)
                put_row(*table, peaks, side, &change);
        }
    return 0;
}
