#include "roofline_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

void nvt_roofline_free(struct nvt_roofline *roofline)
{
    nvt_strings_free(roofline->strings);
    free(roofline->points);
    free(roofline->peaks);
    *roofline = (struct nvt_roofline){0};
}

/* --- the roof --------------------------------------------------------------------------------- */

static double at_peak(double amount, double peak)
{
    return !(amount > 0) ? 0 : peak > 0 ? amount / peak * 1e9 : NAN;
}

/* Times at the two roofs, ns. */
static void roofs_of(const struct nvt_roofline *roofline, const struct nvt_roof_point *point,
                     double *compute, double *memory)
{
    *compute = *memory = NAN;
    if (point->peaks == SIZE_MAX)
        return;
    const struct nvt_peaks *peaks = &roofline->peaks[point->peaks];
    *compute = at_peak(point->flops, point->roof < NVT_ROOFS ? peaks->flops[point->roof] : 0);
    *memory = at_peak(point->bytes, peaks->bytes);
}

/* A point's time at the roof, ns; NaN: a peak that it needs is not known. */
static double roof_ns(const struct nvt_roofline *roofline, const struct nvt_roof_point *point)
{
    double compute, memory;
    roofs_of(roofline, point, &compute, &memory);
    return isnan(compute) || isnan(memory) ? NAN : fmax(compute, memory);
}

double nvt_roof_flops(const struct nvt_roofline *roofline, const struct nvt_roof_point *point)
{
    return point->flops / roof_ns(roofline, point) * 1e9;
}

double nvt_roof_share(const struct nvt_roofline *roofline, const struct nvt_roof_point *point)
{
    return roof_ns(roofline, point) / point->ns;
}

double nvt_roof_gain(const struct nvt_roofline *roofline, const struct nvt_roof_point *point)
{
    const double gain = point->ns - roof_ns(roofline, point);
    return gain < 0 ? 0 : gain;
}

enum nvt_bound nvt_roof_bound(const struct nvt_roofline *roofline,
                              const struct nvt_roof_point *point)
{
    double compute, memory;
    roofs_of(roofline, point, &compute, &memory);
    if (isnan(compute) || isnan(memory))
        return NVT_BOUND_UNKNOWN;
    if (fmax(compute, memory) < NVT_ROOFLINE_NEAR * point->ns)
        return NVT_BOUND_NEITHER;
    return compute > memory ? NVT_BOUND_COMPUTE : NVT_BOUND_MEMORY;
}

/* --- what the machine reaches ----------------------------------------------------------------- */

int nvt_roofline_add_peaks(struct nvt_roofline *roofline, const struct nvt_peaks *peaks, size_t *at)
{
    for (*at = 0; *at < roofline->peaks_count; (*at)++)
        if (nvt_peaks_same(&roofline->peaks[*at], peaks))
            return 0;
    if (nvt_grow(&roofline->peaks, roofline->peaks_count, sizeof(*roofline->peaks)))
        return -1;
    roofline->peaks[roofline->peaks_count++] = *peaks;
    return 0;
}

int nvt_roofline_peaks_of_runs(struct nvt_roofline *roofline, const struct nvt_runs *runs,
                               size_t *at)
{
    struct nvt_peaks peaks;
    const char *backend = nvt_record_text(&runs->env, "backend");
    *at = SIZE_MAX;
    return nvt_peaks_stated(&runs->env, &peaks) ||
                   (backend && nvt_peaks_cached(nvt_record_text(&runs->env, "host"), backend,
                                                nvt_record_text(&runs->env, "device"), &peaks))
               ? nvt_roofline_add_peaks(roofline, &peaks, at)
               : 0;
}

/* --- points ----------------------------------------------------------------------------------- */

struct nvt_roof_point *nvt_roofline_point(struct nvt_roofline_work *work,
                                          const struct nvt_runs *runs,
                                          const struct nvt_roof_point *of, const char *suffix)
{
    struct nvt_roofline *roofline = work->roofline;
    char *key = NULL, *full = NULL;
    uint32_t configuration = NVT_NO_STRING, id = NVT_NO_STRING;
    if (asprintf(&full, "%s%s", of->configuration, suffix) < 0)
        full = NULL;
    if (full && asprintf(&key, "%p\n%s\n%s\n%s\n%d", (const void *)runs, full, of->phase, of->range,
                         (int)of->roof) < 0)
        key = NULL;
    if (key) {
        configuration = nvt_strings_add_text(roofline->strings, full);
        id = nvt_strings_add_text(roofline->strings, key);
    }
    free(key);
    free(full);
    if (id == NVT_NO_STRING || configuration == NVT_NO_STRING)
        return NULL;
    struct nvt_roof_point *point =
        nvt_map_item(&work->by_key, id, &roofline->points, &roofline->count, sizeof(*point));
    if (point && !point->configuration) {
        *point = *of;
        point->configuration = nvt_strings_get(roofline->strings, configuration, NULL);
    }
    return point;
}

void nvt_roofline_suffix(const struct nvt_roofline_work *work, const struct nvt_record *record,
                         char out[NVT_CONDITION_SIZE + 1])
{
    char text[NVT_CONDITION_SIZE];
    nvt_condition_text(record, work->conditions, text);
    snprintf(out, NVT_CONDITION_SIZE + 1, "%s%s", *text ? " " : "", text);
}

/* --- records ---------------------------------------------------------------------------------- */

/* A phase of a record that has no ranges. -1 when out of memory. */
static int add_phase(struct nvt_roofline_work *made, const struct nvt_runs *runs,
                     const struct nvt_record *record, const struct nvt_roof_point *of,
                     const char *suffix)
{
    char key[160];
    struct nvt_roof_point point = *of;
    const double iterations = nvt_record_number(record, "iterations");
    snprintf(key, sizeof(key), "%s_ns_mean", of->phase);
    const double mean = nvt_record_number(record, key);
    snprintf(key, sizeof(key), "flops_%s", of->phase);
    struct nvt_declared work = {nvt_record_number(record, key), NAN, NVT_ROOFS};
    snprintf(key, sizeof(key), "bytes_%s", of->phase);
    work.bytes = nvt_record_number(record, key);
    if (!(mean > 0) || !nvt_declared_is_work(&work))
        return 0;
    const uint32_t phase = nvt_strings_add_text(made->roofline->strings, of->phase);
    point.roof = nvt_declared_roof(&work, record, of->configuration, of->phase);
    point.phase = nvt_strings_get(made->roofline->strings, phase, NULL);
    struct nvt_roof_point *added =
        phase == NVT_NO_STRING ? NULL : nvt_roofline_point(made, runs, &point, suffix);
    if (!added)
        return -1;
    const double count = iterations >= 1 && iterations < 1e15 ? iterations : 1;
    added->count += count;
    added->ns += mean * count;
    added->flops += work.flops * count;
    added->bytes += work.bytes * count;
    return 0;
}

static int add_record(struct nvt_roofline_work *work, const struct nvt_runs *runs,
                      const struct nvt_record *record)
{
    const char *workload = nvt_record_text(record, "workload"),
               *status = nvt_record_text(record, "status");
    char suffix[NVT_CONDITION_SIZE + 1], *name = NULL, *axes = nvt_record_configuration(record);
    struct nvt_roof_point of = {.range = ""};
    int failed = nvt_roofline_peaks_of_runs(work->roofline, runs, &of.peaks);
    nvt_roofline_suffix(work, record, suffix);
    if (!axes || asprintf(&name, "%s%s%s", workload ? workload : "?", *axes ? " " : "", axes) < 0)
        name = NULL;
    of.configuration = name;
    failed |= !name;
    for (size_t i = 0; i < record->count && !failed && (!status || !strcmp(status, "ok")); i++)
        if (!strncmp(record->members[i].key, "flops_", 6)) {
            of.phase = record->members[i].key + 6;
            failed = add_phase(work, runs, record, &of, suffix);
        }
    free(axes);
    free(name);
    return failed ? -1 : 0;
}

/* The records of a directory, in whose order its traces lie in the input. Of several ranks the first one has the work and
 * the time of all. */
static int add_runs(struct nvt_roofline_work *work, const struct nvt_runs *runs,
                    struct nvt_error *err)
{
    const struct nvt_input *input = work->input;
    const struct nvt_input_trace *traces = input->traces;
    size_t cursor = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const size_t before = work->roofline->ranges;
        while (cursor < input->trace_count &&
               (traces[cursor].runs != runs || traces[cursor].record < i))
            cursor++;
        if (cursor < input->trace_count && traces[cursor].runs == runs &&
            traces[cursor].record == i && nvt_roofline_add_trace(work, &traces[cursor], err))
            return -1;
        /* A run's own clock was read with the collector's cost in it. */
        if (work->roofline->ranges == before && !input->compensate &&
            add_record(work, runs, &runs->records[i]))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

/* Whether a trace is of a further rank of the run before it. */
static int is_further(const struct nvt_input *input, size_t index)
{
    const struct nvt_input_trace *from = &input->traces[index];
    return from->runs && !from->is_by_name && index && from[-1].runs == from->runs &&
           from[-1].record == from->record;
}

/* --- together --------------------------------------------------------------------------------- */

/* What a sort compares by. */
struct gained {
    double gain;
    struct nvt_roof_point point;
};

static int by_gain(const void *left, const void *right)
{
    const struct gained *a = left, *b = right;
    if (isnan(a->gain) != isnan(b->gain))
        return isnan(a->gain) - isnan(b->gain);
    if (a->gain < b->gain || a->gain > b->gain)
        return a->gain < b->gain ? 1 : -1;
    if (a->point.ns < b->point.ns || a->point.ns > b->point.ns)
        return a->point.ns < b->point.ns ? 1 : -1;
    const int by_name = strcmp(a->point.configuration, b->point.configuration);
    return by_name ? by_name : strcmp(a->point.range, b->point.range);
}

static int sort(struct nvt_roofline *roofline)
{
    struct gained *gained = malloc((roofline->count + 1) * sizeof(*gained));
    if (!gained)
        return -1;
    for (size_t i = 0; i < roofline->count; i++)
        gained[i] =
            (struct gained){nvt_roof_gain(roofline, &roofline->points[i]), roofline->points[i]};
    qsort(gained, roofline->count, sizeof(*gained), by_gain);
    for (size_t i = 0; i < roofline->count; i++)
        roofline->points[i] = gained[i].point;
    free(gained);
    return 0;
}

int nvt_roofline_make(struct nvt_roofline *roofline, const struct nvt_input *input,
                      struct nvt_error *err)
{
    struct nvt_roofline_work work = {
        .roofline = roofline,
        .input = input,
        .conditions =
            nvt_conditions_of(input->runs, input->run_count, NVT_OF_COLLECT | NVT_OF_WARMUP),
    };
    roofline->strings = nvt_strings_new();
    int status = roofline->strings ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < input->run_count && !status; i++)
        if (!input->runs[i]->is_of_traces)
            status = add_runs(&work, input->runs[i], err);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (!nvt_roofline_has_directory(&input->traces[i]) && !is_further(input, i))
            status = nvt_roofline_add_trace(&work, &input->traces[i], err);
    nvt_map_free(&work.by_key);
    if (!status && sort(roofline))
        status = nvt_fail(err, "out of memory");
    return status;
}
