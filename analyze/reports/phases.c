/* phases: the time of forward, backward, optimizer and the like by configuration (analyze/studies/phases.h). */
#include "../studies/phases.h"
#include "../input/peaks.h"
#include "../published/switchback.h"
#include "../published/transformer.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What this phase of the workload multiplies, as the run's rows say it: "fp16", "int8"; NULL where none does. */
static const char *precision_of(const struct nvt_runs *runs, const struct nvt_phase_row *phase)
{
    char key[128];
    snprintf(key, sizeof(key), "precision_%s", phase->phase ? phase->phase : "");
    for (size_t i = 0; i < runs->count && phase->workload; i++)
        if (nvt_record_is_of(&runs->records[i], phase->workload))
            return nvt_record_text(&runs->records[i], key);
    return NULL;
}

/* What the machine reached, as `nvtally run --peak` or, before, `nvtally info --peak` measured it. Several directories may be
 * of several machines: theirs must be of one measurement. A trace that was given by itself may be of any. 0: not known. */
static int find_peaks(const struct nvt_input *input, struct nvt_peaks *peaks)
{
    struct nvt_peaks other;
    if (!input->run_count || !nvt_peaks_stated(&input->runs[0]->env, peaks))
        return 0;
    for (size_t i = 1; i < input->run_count; i++)
        if (!*peaks->date || !nvt_peaks_stated(&input->runs[i]->env, &other) ||
            !nvt_peaks_same(peaks, &other))
            return 0;
    return 1;
}

static int is_all_of_runs(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (!input->traces[i].runs)
            return 0;
    return 1;
}

/* Of the precision that the phase's rows state, or of the configuration's: FLOP/s of a product, 0 where that is not known. */
static double product_peak(const struct nvt_input *input, const struct nvt_phase_row *phase,
                           const struct nvt_peaks *peaks)
{
    static const char key[] = "precision=";
    const char *named = strstr(phase->configuration, key), *own = NULL;
    for (size_t i = 0; i < input->run_count && !own; i++)
        own = precision_of(input->runs[i], phase);
    enum nvt_roof roof = nvt_roof_named(own ? own : named ? named + sizeof(key) - 1 : "fp32");
    if (roof == NVT_ROOFS && !own)
        roof = NVT_ROOF_FP32;
    return roof < NVT_ROOFS ? peaks->flops[roof] : 0;
}

/* A second, in units of `unit`. */
static double rate_of(const struct nvt_work *work, double unit)
{
    return work->ns > 0 && work->amount > 0 ? work->amount / (work->ns / 1e9) / unit : NAN;
}

/* `peaks`: NULL where they are not known. */
static void put_phases_row(struct nvt_table *table, const struct nvt_input *input,
                           const struct nvt_phase_row *phase, const struct nvt_peaks *peaks)
{
    const double product = peaks ? product_peak(input, phase, peaks) : 0;
    const double copy = peaks ? peaks->bytes : 0;
    nvt_table_put(table, phase->workload, phase->configuration, phase->phase,
                  NVT_IF(phase->time.n, phase->time.n), phase->time.mean, phase->time.std,
                  phase->time.min, phase->time.median, phase->time.max,
                  rate_of(&phase->flops, 1e12), nvt_percent(rate_of(&phase->flops, 1), product),
                  rate_of(&phase->bytes, 1e9), nvt_percent(rate_of(&phase->bytes, 1), copy),
                  phase->status ? phase->status : "ok", phase->source);
}

static int put_phases(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    struct nvt_phases *phases = nvt_phases_of(input, making->err);
    if (!phases)
        return -1;
    struct nvt_peaks peaks;
    const size_t count = nvt_phases_count(phases);
    const int is_known = find_peaks(input, &peaks);
    const int fits = is_known && is_all_of_runs(input);
    for (size_t i = 0; i < count; i++)
        put_phases_row(table, input, nvt_phases_row(phases, i), fits ? &peaks : NULL);
    if (count && is_known && *peaks.date)
        nvt_note(input, "note: shares are of what 'nvtally info --peak' measured %s", peaks.date);
    nvt_phases_free(phases);
    return 0;
}

static int has_any(const struct nvt_input *input, const char *workload)
{
    size_t i = 0;
    return nvt_input_record_of(input, workload, &i) != NULL;
}

/* The layout of the workload that was run; switchback has a report of its own beside others. */
static int published_phases(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    if (has_any(input, "switchback") && !has_any(input, "transformer"))
        return nvt_published_switchback(input, out, err);
    if (nvt_published_transformer(input, out, err))
        return -1;
    /* The write-up has sums behind its tables. */
    if (!has_any(input, "accumulate"))
        return 0;
    putc('\n', out);
    return nvt_published_accumulate(input, out, err);
}

const struct nvt_report nvt_report_phases = {
    .name = "phases",
    .about = "time of forward, backward, optimizer and other phases by configuration",
    .needs = NVT_TAKES_COMPENSATED,
    .columns = {{"workload", NVT_NAMES},
                {"configuration", NVT_NAMES},
                {"phase", NVT_NAMES},
                {"n", NVT_COUNTS},
                {"mean", NVT_NS_AVERAGE},
                {"std", NVT_NS_AVERAGE},
                {"min", NVT_SPARE_REALS("ns", 0)},
                {"median", NVT_SPARE_NS_AVERAGE},
                {"max", NVT_SPARE_REALS("ns", 0)},
                {"TFLOP/s", NVT_REALS("", 6)},
                {"of the peak", NVT_PERCENT},
                {"GB/s", NVT_REALS("", 3)},
                {"of a copy", NVT_PERCENT},
                {"status", NVT_NAMES},
                {"source", NVT_NAMES}},
    .title = "Phases by configuration",
    .nothing = "no range forward, backward or optimizer was found, or none within an iteration",
    .of_input = put_phases,
    .published = published_phases,
};
