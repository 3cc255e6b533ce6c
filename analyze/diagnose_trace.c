/* Rules that look at one trace at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sample.h"
#include "diagnose.h"
#include "map.h"
#include "project.h"

/* Leading iterations that are looked at, and how many must follow. */
#define MOST_WARMUP 8
#define LEAST_REST  8

static double median_from(const struct nvt_trace *trace, const uint32_t *rows, uint32_t from,
                          uint32_t count)
{
    double *values = malloc((count - from) * sizeof(*values)), median = 0;
    struct nvt_summary summary;
    if (!values)
        return -1;
    for (uint32_t i = from; i < count; i++)
        values[i - from] =
            (double)(trace->ranges.end[rows[i]] - trace->ranges.start[rows[i]]);
    nvt_sample_summary(values, count - from, &summary);
    median = summary.median;
    free(values);
    return median;
}

static int look_at_warmup(const struct nvt_input_trace *from, struct nvt_findings *findings,
                          struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    uint32_t count, slow = 0;
    uint32_t *rows = nvt_iterations(trace, &count);
    int status = rows ? 0 : nvt_fail(err, "out of memory");
    if (!status && count >= MOST_WARMUP + LEAST_REST) {
        double usual = median_from(trace, rows, MOST_WARMUP, count), excess = 0;
        while (usual > 0 && slow < MOST_WARMUP &&
               (double)(trace->ranges.end[rows[slow]] - trace->ranges.start[rows[slow]]) > 1.5 * usual) {
            excess += (double)(trace->ranges.end[rows[slow]] - trace->ranges.start[rows[slow]]) - usual;
            slow++;
        }
        /* A finding where the mean over all iterations is off by a twentieth and more. */
        if (slow && excess > 0.05 * usual * count) {
            struct nvt_finding finding = {.cause = "warm-up inside", .cost_ns = excess / count,
                                          .confidence = 80};
            nvt_case_name(from, finding.where, sizeof(finding.where));
            snprintf(finding.what, sizeof(finding.what),
                     "the first %u of %u iterations are part of the measurement and slower", slow,
                     count);
            snprintf(finding.evidence, sizeof(finding.evidence),
                     "the first took %lld ns, the median from the ninth on %.0f ns; the mean is %.0f ns "
                     "too high; they start at %lld ns",
                     (long long)(trace->ranges.end[rows[0]] - trace->ranges.start[rows[0]]), usual,
                     excess / count, (long long)trace->ranges.start[rows[0]]);
            snprintf(finding.remedy, sizeof(finding.remedy), "leave out the first %u: --warmup %u",
                     slow, slow);
            status = nvt_findings_add(findings, &finding, err);
        }
    }
    free(rows);
    return status;
}

int nvt_diagnose_warmup(const struct nvt_case *facts, struct nvt_findings *findings,
                        struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < facts->input->trace_count && !status; i++)
        status = look_at_warmup(&facts->input->traces[i], findings, err);
    return status;
}

/* --- calls -------------------------------------------------------------------------------------------- */

struct call {
    uint32_t name;
    uint64_t count;
    int64_t ns;
    int64_t examples[3];
};

/* What a kind of call means when there are many of it. */
static const struct call_rule {
    const char *part; /* of the call's name */
    const char *cause, *what, *remedy;
    double per_iteration; /* from so many on */
    double share;         /* of the time looked at, from so much on */
} call_rules[] = {
    {"Synchronize", "sync-bound", "waits for the device again and again",
     "keep the decision on the device, or wait once at the end", 4, 0.1},
    {"Malloc", "allocation in the loop", "allocates device memory again and again",
     "allocate before the loop, or use a pool (cudaMallocAsync, a caching allocator)", 1, 0.05},
    {"Free", "allocation in the loop", "frees device memory again and again",
     "free behind the loop, or use a pool", 1, 0.05},
    {"LaunchKernel", "launch-bound", "launches so much that the launches take the time",
     "fuse kernels, batch them, or capture them into a CUDA graph", 50, 0.4},
};

static int add_up(const struct nvt_trace *trace, struct call **calls, size_t *count)
{
    struct nvt_map known = {0};
    *calls = NULL;
    *count = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++) {
        uint32_t *at = nvt_map_at(&known, trace->apis.name[i]);
        if (at && *at == NVT_MAP_NONE) {
            struct call *grown = realloc(*calls, (*count + 1) * sizeof(*grown));
            if (grown) {
                *calls = grown;
                grown[*count] = (struct call){.name = trace->apis.name[i]};
                *at = (uint32_t)(*count)++;
            }
        }
        if (!at || *at == NVT_MAP_NONE) {
            nvt_map_free(&known);
            return -1;
        }
        struct call *call = &(*calls)[*at];
        if (call->count < 3)
            call->examples[call->count] = trace->apis.start[i];
        call->count++;
        call->ns += trace->apis.end[i] - trace->apis.start[i];
    }
    nvt_map_free(&known);
    return 0;
}

static int tell_call(const struct nvt_input_trace *from, const struct call *call,
                     const struct call_rule *rule, double units, double span,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = {.cause = rule->cause, .confidence = 75};
    const char *name = nvt_name(from->trace, call->name);
    finding.cost_ns = (double)call->ns / units;
    nvt_case_name(from, finding.where, sizeof(finding.where));
    snprintf(finding.what, sizeof(finding.what), "%.100s %s", name, rule->what);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%llu calls, %.1f an iteration, %.0f ns each, %.0f %% of the time looked at; for example at "
             "%lld, %lld, %lld ns",
             (unsigned long long)call->count, (double)call->count / units,
             (double)call->ns / (double)call->count, 100 * (double)call->ns / span,
             (long long)call->examples[0], (long long)call->examples[1],
             (long long)call->examples[2]);
    snprintf(finding.remedy, sizeof(finding.remedy), "%s", rule->remedy);
    return nvt_findings_add(findings, &finding, err);
}

static int look_at_calls(const struct nvt_input_trace *from, struct nvt_findings *findings,
                         struct nvt_error *err)
{
    struct call *calls;
    size_t count;
    uint32_t iterations;
    uint32_t *rows = nvt_iterations(from->trace, &iterations);
    double units = iterations ? iterations : 1;
    double span = (double)(from->trace->last_ns - from->trace->first_ns);
    int status = rows && !add_up(from->trace, &calls, &count) ? 0 : nvt_fail(err, "out of memory");
    if (!rows || status) {
        free(rows);
        return -1;
    }
    for (size_t i = 0; i < count && !status; i++)
        for (size_t r = 0; r < sizeof(call_rules) / sizeof(call_rules[0]) && !status; r++) {
            const struct call_rule *rule = &call_rules[r];
            if (strstr(nvt_name(from->trace, calls[i].name), rule->part) &&
                (double)calls[i].count > rule->per_iteration * units &&
                (double)calls[i].ns > rule->share * span)
                status = tell_call(from, &calls[i], rule, units, span, findings, err);
        }
    free(calls);
    free(rows);
    return status;
}

int nvt_diagnose_calls(const struct nvt_case *facts, struct nvt_findings *findings,
                       struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < facts->input->trace_count && !status; i++)
        if (facts->input->traces[i].trace->apis.count)
            status = look_at_calls(&facts->input->traces[i], findings, err);
    return status;
}

/* --- ranges that end too early -------------------------------------------------------------------------- */

struct early {
    uint64_t count, all;
    int64_t ns;
    uint32_t example;
};

static int look_at_ranges(const struct nvt_input_trace *from, struct nvt_findings *findings,
                          struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    struct nvt_projected *projected = nvt_project_ranges(trace, 0, err);
    struct early *names = projected ? calloc(nvt_strings_count(trace->strings), sizeof(*names)) : NULL;
    int status = names ? 0 : -1;
    for (uint32_t i = 0; i < trace->ranges.count && names; i++) {
        struct early *early = &names[trace->ranges.name[i]];
        if (!projected[i].ops || (trace->ranges.flags[i] & NVT_RANGE_UNCLOSED))
            continue;
        int64_t after = projected[i].end - trace->ranges.end[i];
        early->all++;
        if (after * 10 <= trace->ranges.end[i] - trace->ranges.start[i])
            continue;
        early->example = early->count ? early->example : i;
        early->count++;
        early->ns += after;
    }
    for (uint32_t id = 0; names && id < nvt_strings_count(trace->strings) && !status; id++) {
        const struct early *early = &names[id];
        if (early->all < 3 || early->count * 2 < early->all)
            continue;
        struct nvt_finding finding = {.cause = "un-synchronised timing", .confidence = 90};
        finding.cost_ns = (double)early->ns / (double)early->count;
        nvt_case_name(from, finding.where, sizeof(finding.where));
        snprintf(finding.what, sizeof(finding.what),
                 "range %.100s ends before the device work that it launched", nvt_name(trace, id));
        snprintf(finding.evidence, sizeof(finding.evidence),
                 "%llu of %llu times, by %.0f ns on average: its time is that of the launches; for example "
                 "it ends at %lld ns, its last operation at %lld ns",
                 (unsigned long long)early->count, (unsigned long long)early->all, finding.cost_ns,
                 (long long)trace->ranges.end[early->example],
                 (long long)projected[early->example].end);
        snprintf(finding.remedy, sizeof(finding.remedy),
                 "synchronise before the range ends, or read nvtx_gpu_proj_sum");
        status = nvt_findings_add(findings, &finding, err);
    }
    if (projected && !names)
        nvt_fail(err, "out of memory");
    free(names);
    free(projected);
    return status;
}

int nvt_diagnose_timing(const struct nvt_case *facts, struct nvt_findings *findings,
                        struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < facts->input->trace_count && !status; i++)
        if (facts->input->traces[i].trace->ops.count)
            status = look_at_ranges(&facts->input->traces[i], findings, err);
    return status;
}
