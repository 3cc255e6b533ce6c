#include "cpu_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/cpu_coverage.h"

static void look_at(struct nvt_cpu_input *all, const struct nvt_cpu_samples *samples)
{
    all->samples += samples->count;
    for (uint32_t i = 0; i < samples->count; i++) {
        all->alone += (samples->flags[i] & NVT_CPU_SAMPLE_NO_CALLERS) != 0;
        all->python.samples[samples->flags[i] / NVT_CPU_SAMPLE_PYTHON % NVT_PYTHON_STATES]++;
        all->has_times &= samples->cpu_ns[i] > 0;
        all->weight = nvt_clock_sum(all->weight, samples->cpu_ns[i]);
    }
}

/* Of traces that are there as a whole. */
static void note_coverage(struct nvt_input *input, const struct nvt_trace *trace)
{
    char text[256];
    const char *used = nvt_trace_meta(trace, NVT_CPU_USED);
    const double seconds = used ? strtod(used, NULL) : 0;
    struct nvt_cpu_input all = {.has_times = 1};
    look_at(&all, &trace->cpu_samples);
    if (!trace->is_part && all.has_times && seconds > 0 && seconds < 1e9 &&
        nvt_cpu_coverage_note(all.weight, (int64_t)(seconds * 1e9), text, sizeof(text)))
        nvt_note(input, "note: %s", text);
}

struct nvt_cpu_input nvt_cpu_count(const struct nvt_input *input)
{
    struct nvt_cpu_input all = {.has_times = 1};
    for (size_t i = 0; i < input->trace_count; i++)
        look_at(&all, &input->traces[i].trace->cpu_samples);
    if (!all.has_times)
        all.weight = (int64_t)all.samples;
    return all;
}

struct nvt_cpu_input nvt_cpu_look(struct nvt_input *input, int totals)
{
    char python[1024];
    const struct nvt_cpu_input all = nvt_cpu_count(input);
    if (!all.samples)
        nvt_note(input, "note: no " NVT_CPU_SAMPLES " in the input");
    else if (all.samples < NVT_FEW_SAMPLES)
        nvt_note(input, "note: only %" PRIu64 " CPU sample%s: shares are rough estimates",
                 all.samples, all.samples == 1 ? "" : "s");
    if (!all.has_times)
        nvt_note(
            input,
            "note: the samples have no CPU time: each counts the same, and no times are shown");
    if (totals && all.alone)
        nvt_note(input, "note: %.0f %% of the samples have no callers: totals are lower bounds",
                 100 * (double)all.alone / (double)all.samples);
    if (nvt_python_note(&all.python, python, sizeof(python)))
        nvt_note(input, "note: %s", python);
    for (size_t i = 0; i < input->trace_count; i++)
        note_coverage(input, input->traces[i].trace);
    return all;
}

void nvt_cpu_title(struct nvt_table *table, const char *title, const struct nvt_cpu_input *all)
{
    char full[160];
    snprintf(full, sizeof(full), "%s (%" PRIu64 " sample%s)", title, all->samples,
             all->samples == 1 ? "" : "s");
    nvt_table_set_title(table, full);
}

int nvt_cpu_functions(struct nvt_sampled_functions *functions, const struct nvt_trace *trace,
                      enum nvt_sampled_functions_by by, const struct nvt_cpu_input *all,
                      struct nvt_error *err)
{
    if (nvt_sampled_functions_make(functions, trace, by, err))
        return -1;
    functions->has_times = all->has_times;
    return 0;
}

uint32_t *nvt_cpu_groups(struct nvt_groups *groups, const struct nvt_sampled_functions *functions)
{
    uint32_t *group = malloc(((size_t)functions->count + 1) * sizeof(*group));
    for (uint32_t i = 0; group && i < functions->count; i++) {
        const uint32_t key[] = {nvt_groups_text(groups, functions->items[i].name),
                                nvt_groups_text(groups, functions->items[i].module)};
        group[i] = nvt_groups_key(groups, key, 2);
        if (group[i] == NVT_NONE || nvt_groups_failed(groups)) {
            free(group);
            return NULL;
        }
    }
    return group;
}
