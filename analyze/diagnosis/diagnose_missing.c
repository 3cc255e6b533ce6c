/* What was not recorded, how many rules were skipped for it, and what the others looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../device/gpu_metrics.h"
#include "../device/machine_load.h"
#include "../model/batches.h"
#include "../model/counters.h"
#include "diagnosed.h"
#include "rule_page.h"

/* In this order: a rule is counted for the first that it needs and that no trace has. */
static const struct {
    unsigned need;
    const char *level;                          /* of record --trace, or its other option */
    const char *what, *remedies[NVT_RECORDERS]; /* without: of the host, which share a line */
} records[] = {
    {NVT_RULE_OPS,
     "kernel",
     "device operations",
     {"nvtally record --trace kernel, on a machine with a GPU",
      "nsys profile --trace=cuda, on a machine with a GPU",
      "activities with ProfilerActivity.CUDA in torch.profiler, on a machine with a GPU"}},
    {NVT_RULE_CALLS,
     "api",
     "API calls",
     {"nvtally record --trace api", "nsys profile --trace=cuda",
      "activities with ProfilerActivity.CUDA in torch.profiler"}},
    {NVT_RULE_MEMORY,
     "memory",
     "memory events",
     {"nvtally record --trace memory", "nsys profile --cuda-memory-usage=true",
      "profile_memory=True in torch.profiler"}},
    {NVT_RULE_RANGES,
     "pytorch",
     "NVTX ranges",
     {"annotate the program with NVTX, or nvtally record --pytorch",
      "annotate the program with NVTX; nsys profile --trace=nvtx",
      "annotate the program with torch.profiler.record_function"}},
    {NVT_RULE_ITERATIONS,
     "pytorch",
     "iterations",
     {"a range 'iteration' around each, or --iteration NAME; for training, nvtally record "
      "--pytorch",
      "a range 'iteration' around each, PyTorch's ProfilerStep, or --iteration NAME",
      "a range 'iteration' around each, ProfilerStep (step() of torch.profiler), or --iteration "
      "NAME"}},
    {NVT_RULE_METRICS,
     "metrics",
     "GPU metrics",
     {"nvtally record --trace metrics", "nsys profile --gpu-metrics-devices=all",
      "nsys profile --gpu-metrics-devices=all"}},
    /* Of torch.profiler alone: elsewhere other rules look at the same, and nothing is missing. */
    {NVT_RULE_OPERATORS, "", "torch.profiler operators without a GPU", {"", "", ""}},
    {NVT_RULE_OS_CALLS, "osrt", "OS calls", {NULL}},
    {NVT_RULE_SAMPLES, "cpu", "CPU samples", {NULL}},
    {NVT_RULE_MACHINE, "machine", "machine samples", {NULL}},
    {NVT_RULE_PROCESS, "process", "process memory samples", {NULL}},
    {NVT_RULE_MPI, "mpi", "MPI or torch.distributed calls", {NULL}},
    {NVT_RULE_COUNTS, "counters", "CPU counters", {NULL}},
};

#define OF_DEVICE (NVT_RULE_OPS | NVT_RULE_CALLS | NVT_RULE_MEMORY)

#define RECORDS NVT_COUNT_OF(records)

/* The recorder of all traces; ours where several differ. */
static enum nvt_recorder recorder_of_all(const struct nvt_input *input)
{
    enum nvt_recorder first =
        input->trace_count ? input->traces[0].trace->recorder : NVT_BY_NVTALLY;
    for (size_t i = 1; i < input->trace_count; i++)
        if (input->traces[i].trace->recorder != first)
            return NVT_BY_NVTALLY;
    return first;
}

int nvt_diagnosed_has(const struct nvt_trace *trace, unsigned *has)
{
    uint32_t iterations = 0;
    uint32_t *rows = nvt_iterations(trace, &iterations);
    *has |=
        (trace->ops.count ? NVT_RULE_OPS : 0u) | (trace->apis.count ? NVT_RULE_CALLS : 0u) |
        (trace->memory.count ? NVT_RULE_MEMORY : 0u) |
        (trace->memory.count || nvt_counts_memory(trace) ? NVT_RULE_LEVELS : 0u) |
        (trace->ranges.count ? NVT_RULE_RANGES : 0u) | (iterations ? NVT_RULE_ITERATIONS : 0u) |
        (trace->os_calls.count ? NVT_RULE_OS_CALLS : 0u) |
        (trace->cpu_samples.count ? NVT_RULE_SAMPLES : 0u) |
        (nvt_machine_host_counter(trace, NVT_MACHINE_BUSY) != NVT_NONE ? NVT_RULE_MACHINE : 0u) |
        (nvt_processes_sampled(trace) ? NVT_RULE_PROCESS : 0u) |
        (trace->mpi_calls.count ? NVT_RULE_MPI : 0u) |
        (trace->range_counts.count ? NVT_RULE_COUNTS : 0u) |
        (nvt_has_gpu_metrics(trace) ? NVT_RULE_METRICS : 0u) |
        (nvt_has_pytorch_operators(trace) && !trace->ops.count && !trace->apis.count
             ? NVT_RULE_OPERATORS
             : 0u);
    free(rows);
    return rows ? 0 : -1;
}

static size_t first_missing(unsigned needs, unsigned has)
{
    /* Without a counter it is memory events that are missing. */
    if (needs & ~has & NVT_RULE_LEVELS)
        needs |= NVT_RULE_MEMORY;
    size_t i = 0;
    while (i < RECORDS && !(needs & ~has & records[i].need))
        i++;
    return i;
}

int nvt_diagnose_has(const struct nvt_input *input, unsigned *has, struct nvt_error *err)
{
    *has = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_diagnosed_has(input->traces[i].trace, has))
            return nvt_fail(err, "out of memory");
        else if (input->traces[i].diagnosed)
            *has |= input->traces[i].diagnosed->has;
    return 0;
}

const char *nvt_rule_lacks(const struct nvt_rule *rule, unsigned has)
{
    const size_t missing = first_missing(rule->needs, has);
    return missing == RECORDS ? NULL : records[missing].what;
}

/* How many rules were skipped for each of `records`, and behind them how many looked. 0, or -1 when out of memory. */
static int count_rules(const struct nvt_input *input, size_t skipped[RECORDS + 1], size_t *count,
                       unsigned *has)
{
    const struct nvt_rule *const *rules = nvt_rules(count);
    if (nvt_diagnose_has(input, has, NULL))
        return -1;
    for (size_t i = 0; i < *count; i++)
        skipped[first_missing(rules[i]->needs, *has)]++;
    return 0;
}

int nvt_diagnose_cover(const struct nvt_input *input, const struct nvt_findings *findings,
                       char *out, size_t size, struct nvt_error *err)
{
    uint32_t count = 0;
    size_t i = 0;
    *out = 0;
    while (i < findings->count &&
           (!findings->items[i].per || strcmp(findings->items[i].per, "per iteration") != 0))
        i++;
    if (i == findings->count || input->trace_count != 1)
        return 0;
    uint32_t *rows = nvt_iterations(input->traces[0].trace, &count);
    if (!rows)
        return nvt_fail(err, "out of memory");
    if (count)
        snprintf(out, size, "iterations %" PRIu32 " to %" PRIu32 " of %" PRIu32, count / 2 + 1,
                 count, count);
    free(rows);
    return 0;
}

int nvt_diagnose_put_cover(const struct nvt_input *input, const struct nvt_findings *findings,
                           struct nvt_buffer *lines, struct nvt_error *err)
{
    char cover[80];
    if (nvt_diagnose_cover(input, findings, cover, sizeof(cover), err))
        return -1;
    return *cover && nvt_buffer_printf(lines, "costs per iteration are of %s\n", cover)
               ? nvt_fail(err, "out of memory")
               : 0;
}

/* What rules look at in a trace. 0, or -1 when out of memory. */
static int put_part(const struct nvt_trace *trace, struct nvt_buffer *lines)
{
    uint32_t count = 0;
    uint32_t *rows = nvt_iterations(trace, &count);
    struct nvt_view view = {
        .trace = trace, .process = NVT_NONE, .iterations = rows, .iteration_count = count};
    int failed = !rows;
    if (!failed && count)
        failed = nvt_buffer_printf(lines, "iterations %" PRIu32 " to %" PRIu32 " of %" PRIu32,
                                   count / 2 + 1, count, count);
    if (!failed && !count && trace->is_part && trace->first_ns >= trace->last_ns) {
        failed = nvt_buffer_printf(lines, "nothing: nothing begins in the window");
    } else if (!failed && !count) {
        nvt_view_steady_part(&view);
        failed =
            nvt_buffer_printf(lines, "the second half of the trace, %s", NVT_TIME(view.span_ns));
    }
    free(rows);
    return failed ? -1 : 0;
}

int nvt_diagnose_looked(const struct nvt_input *input, struct nvt_buffer *lines,
                        struct nvt_error *err)
{
    size_t skipped[RECORDS + 1] = {0}, count;
    unsigned has;
    int failed = count_rules(input, skipped, &count, &has) ||
                 nvt_buffer_printf(lines, "%zu of %zu rules looked at ", skipped[RECORDS], count);
    if (!failed && input->trace_count == 1)
        failed = put_part(input->traces[0].trace, lines);
    else if (!failed)
        failed = nvt_buffer_printf(
            lines, "the second half of the iterations, or of the time, of %zu traces",
            input->trace_count);
    return failed || nvt_buffer_printf(lines, "\n") ? nvt_fail(err, "out of memory") : 0;
}

/* Whether what is missing can have been lost with the part of a trace that could not be read. */
static int has_truncated(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->is_truncated)
            return 1;
    return 0;
}

/* What to do about a kind of record that is missing; "" where the level that has it was on. */
static const char *remedy_of(const struct nvt_input *input, size_t record)
{
    const enum nvt_recorder recorder = recorder_of_all(input);
    /* Of a program that nobody knows ours can record the next run. */
    const char *remedy =
        records[record].remedies[recorder == NVT_BY_OTHERS ? NVT_BY_NVTALLY : recorder];
    if (has_truncated(input))
        return "";
    if (!nvt_was_recorded(input, records[record].level))
        return remedy;
    return records[record].need == NVT_RULE_RANGES ? "annotate the program with NVTX"
           : records[record].need == NVT_RULE_ITERATIONS
               ? "a range 'iteration' around each, or --iteration NAME"
               : "";
}

/* Of a program that did nothing on a device, although that was recorded, no other level would have more of one. */
static int put_no_device(size_t skipped[RECORDS + 1], size_t rules, struct nvt_buffer *lines)
{
    size_t count = 0;
    for (size_t i = 0; i < RECORDS; i++)
        if (records[i].need & OF_DEVICE) {
            count += skipped[i];
            skipped[i] = 0;
        }
    return nvt_buffer_printf(lines, "%zu of %zu rules skipped: no GPU work was recorded\n", count,
                             rules);
}

/* What of the input has none. */
static const char *place_of(const struct nvt_input *input)
{
    if (has_truncated(input))
        return "part that could be read";
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->is_part)
            return "window";
    return input->trace_count > 1 ? "traces" : "trace";
}

int nvt_diagnose_lack(const struct nvt_input *input, unsigned need, const char *what,
                      const char *level, struct nvt_buffer *text)
{
    size_t i = 0;
    const char *remedy = "";
    if (!input->trace_count)
        return nvt_buffer_printf(text, "no trace in the input: SELECT * FROM runs");
    while (need && i < RECORDS && records[i].need != need)
        i++;
    if (need && i < RECORDS) {
        what = records[i].what;
        level = records[i].remedies[0] ? NULL : records[i].level;
        remedy = records[i].remedies[0] ? remedy_of(input, i) : "";
    }
    /* There may be some outside of it. */
    if (nvt_input_has_part(input) || has_truncated(input)) {
        level = NULL;
        remedy = "";
    }
    return nvt_buffer_printf(text, "no %s in the %s%s%s%s%s", what, place_of(input),
                             level || *remedy ? " (" : "", level ? "nvtally record --trace " : "",
                             level ? level : remedy, level || *remedy ? ")" : "");
}

int nvt_rule_put_lack(const struct nvt_input *input, const struct nvt_rule *rule, unsigned has,
                      struct nvt_buffer *text)
{
    const size_t missing = first_missing(rule->needs, has);
    return missing == RECORDS ? 0
                              : nvt_diagnose_lack(input, records[missing].need, NULL, NULL, text);
}

/* What is recorded of the host, in one line, with the levels that were not on. 0, or -1 when out of memory. */
static int put_host(const struct nvt_input *input, const size_t skipped[RECORDS + 1], size_t rules,
                    struct nvt_buffer *lines)
{
    char what[160] = "", levels[64] = "";
    size_t rest = 0, left = 0;
    for (size_t i = 0; i < RECORDS; i++)
        rest += !records[i].remedies[0] && skipped[i];
    for (size_t i = 0; i < RECORDS; i++) {
        if (records[i].remedies[0] || !skipped[i])
            continue;
        left += skipped[i];
        rest--;
        snprintf(what + strlen(what), sizeof(what) - strlen(what), "%s%s",
                 !*what  ? ""
                 : !rest ? " or "
                         : ", ",
                 records[i].what);
        if (!has_truncated(input) && !nvt_was_recorded(input, records[i].level))
            snprintf(levels + strlen(levels), sizeof(levels) - strlen(levels), "%s%s",
                     *levels ? "," : "", records[i].level);
    }
    return !left ? 0
                 : nvt_buffer_printf(lines, "%zu of %zu rules skipped: no %s in the %s%s%s%s\n",
                                     left, rules, what, place_of(input),
                                     *levels ? " (nvtally record --trace " : "", levels,
                                     *levels ? ")" : "");
}

int nvt_diagnose_missing(const struct nvt_input *input, struct nvt_buffer *lines,
                         struct nvt_error *err)
{
    size_t skipped[RECORDS + 1] = {0}, count = 0;
    unsigned has = 0;
    int failed = input->trace_count && count_rules(input, skipped, &count, &has);
    if (!failed && nvt_was_recorded(input, "kernel") && !(has & OF_DEVICE))
        failed = put_no_device(skipped, count, lines);
    for (size_t i = 0; i < RECORDS && !failed; i++) {
        const char *remedy = records[i].remedies[0] ? remedy_of(input, i) : "";
        if (skipped[i] && records[i].remedies[0])
            failed = nvt_buffer_printf(lines, "%zu of %zu rules skipped: no %s in the %s%s%s%s\n",
                                       skipped[i], count, records[i].what, place_of(input),
                                       *remedy ? " (" : "", remedy, *remedy ? ")" : "");
    }
    failed = failed || put_host(input, skipped, count, lines);
    return failed ? nvt_fail(err, "out of memory") : 0;
}
