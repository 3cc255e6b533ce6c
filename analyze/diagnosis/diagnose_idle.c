/* Devices that are idle for most of their time: how much of it the findings explain, and what the host did in the longest
 * gap. And what is not known of gaps, as devices are shared. */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/text.h"
#include "../../lib/kernel_names.h"
#include "diagnosed.h"
#include "hip_words.h"
#include "running.h"
#include "../device/gaps.h"
#include "../device/shared.h"
#include "../model/recorded_parts.h"

/* From where on a device is idle for most of its time, findings explain too little of that, and of how many traces it is told. */
#define LEAST_SHARE   0.5
#define MOST_EXPLAINS 0.5
#define MOST_LINES    3
/* Of the idle time, from where on what findings leave out is the answer: the first half of the iterations. */
#define EARLY_SHARE 0.7

static void add_gap(void *context, const struct nvt_gap *whole)
{
    struct nvt_idle *idle = context;
    struct nvt_gap gap = *whole;
    gap.start = gap.start > idle->from ? gap.start : idle->from;
    gap.end = gap.end < idle->to ? gap.end : idle->to;
    if (gap.end <= gap.start)
        return;
    idle->ns = nvt_clock_sum(idle->ns, gap.end - gap.start);
    if (gap.start < idle->steady)
        idle->early_ns = nvt_clock_sum(
            idle->early_ns, (gap.end < idle->steady ? gap.end : idle->steady) - gap.start);
    if (gap.end - gap.start > idle->longest.end - idle->longest.start)
        idle->longest = gap;
}

/* 0, or -1 when out of memory. */
static int begin(struct nvt_idle *idle, const struct nvt_trace *trace)
{
    uint32_t count = 0, *iterations = nvt_iterations(trace, &count);
    if (!iterations)
        return -1;
    idle->what = count ? "first to last iteration" : "first to last device operation";
    if (count) {
        idle->from = trace->ranges.start[iterations[0]]; /* they come by their starts */
        for (uint32_t i = 0; i < count; i++)
            idle->to = !i || trace->ranges.end[iterations[i]] > idle->to
                           ? trace->ranges.end[iterations[i]]
                           : idle->to;
        int64_t to;
        idle->steady = idle->from;
        idle->iterations = count;
        idle->early =
            count - nvt_steady_iterations(trace, NVT_NONE, iterations, count, &idle->steady, &to);
    } else {
        idle->from = trace->ops.start[0];
        for (uint32_t op = 0; op < trace->ops.count; op++)
            idle->to = !op || trace->ops.end[op] > idle->to ? trace->ops.end[op] : idle->to;
        idle->steady = idle->from;
    }
    free(iterations);
    return 0;
}

/* --- what the host did ----------------------------------------------------------------------------- */

static int64_t common(const struct nvt_gap *gap, int64_t start, int64_t end)
{
    start = start > gap->start ? start : gap->start;
    end = end < gap->end ? end : gap->end;
    return end > start ? end - start : 0;
}

/* Whether so much of a gap is half of it. */
static int is_half(const struct nvt_gap *gap, int64_t ns)
{
    return ns >= gap->end - gap->start - ns;
}

/* The shortest range of the launching thread that half of a gap lies in, NVT_NONE: there is none. */
static uint32_t range_of(const struct nvt_trace *trace, const struct nvt_gap *gap)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t best = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count && ranges->start[i] < gap->end; i++)
        if (ranges->thread[i] == gap->thread &&
            is_half(gap, common(gap, ranges->start[i], ranges->end[i])) &&
            (best == NVT_NONE ||
             ranges->end[i] - ranges->start[i] <= ranges->end[best] - ranges->start[best]))
            best = i;
    return best;
}

/* The row of a table, sorted by start, that half of a gap lies in on its launching thread, NVT_NONE: there is none. */
static uint32_t row_of(const struct nvt_gap *gap, uint32_t count, const int64_t *start,
                       const int64_t *end, const uint32_t *thread)
{
    for (uint32_t i = 0; i < count && start[i] < gap->end; i++)
        if (thread[i] == gap->thread && is_half(gap, common(gap, start[i], end[i])))
            return i;
    return NVT_NONE;
}

/* " while the launching thread was in cudaMalloc in range setup", or why that is not known. */
static void tell_host(const struct nvt_trace *trace, const struct nvt_gap *gap, char *out,
                      size_t size)
{
    if (gap->thread >= trace->threads.count) {
        snprintf(out, size, " while what the CPU did is unknown: the next launch was not recorded");
        return;
    }
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_os_calls *calls = &trace->os_calls;
    const uint32_t range = range_of(trace, gap);
    const uint32_t call = row_of(gap, apis->count, apis->start, apis->end, apis->thread);
    const uint32_t os = call == NVT_NONE
                            ? row_of(gap, calls->count, calls->start, calls->end, calls->thread)
                            : NVT_NONE;
    size_t used = (size_t)snprintf(out, size, " while the launching thread was ");
    if (call != NVT_NONE)
        used += (size_t)snprintf(out + used, size - used, "in %.60s",
                                 nvt_name(trace, apis->name[call]));
    else if (os != NVT_NONE)
        used += (size_t)snprintf(out + used, size - used, "in %.40s()",
                                 nvt_name(trace, calls->name[os]));
    else
        used += (size_t)snprintf(out + used, size - used, "running non-%s code",
                                 nvt_is_of_hip(trace) ? "HIP" : "CUDA");
    if (range != NVT_NONE)
        snprintf(out + used, size - used, " in range %.80s",
                 nvt_name(trace, trace->ranges.name[range]));
}

/* What samples say of the launching thread in a gap, as the end of a sentence. 0, or -1 when out of memory. */
static int tell_samples(const struct nvt_trace *trace, const struct nvt_gap *gap,
                        struct nvt_finding *out)
{
    struct nvt_running running = {0};
    int status = nvt_running_begin(&running, trace);
    if (!status && gap->thread < trace->threads.count) {
        nvt_running_add(&running, gap->thread, gap->start, gap->end);
        status = nvt_running_tell(&running, out);
    }
    nvt_running_free(&running);
    return status;
}

/* --- the line -------------------------------------------------------------------------------------- */

static const struct nvt_rule *rule_of(const struct nvt_finding *finding)
{
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    for (size_t i = 0; i < count; i++)
        if (rules[i]->cause == finding->cause)
            return rules[i];
    return NULL;
}

/* Idle time of a trace that its findings explain at most, ns: that of gaps, and all that rules about the host tell of. */
static double explained(const struct nvt_findings *findings, const struct nvt_trace *trace)
{
    double ns = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct nvt_rule *rule = rule_of(&findings->items[i]);
        if (rule && findings->items[i].traces && findings->items[i].trace == trace &&
            (rule->has_gaps || !(rule->needs & NVT_RULE_OPS)))
            ns += findings->items[i].total_ns;
    }
    return ns;
}

/* Names in it are strangers' and must not steer a terminal. 0, or -1 when out of memory. */
static int put_line(struct nvt_buffer *lines, const char *text)
{
    char bytes[NVT_UTF8_MAX];
    uint32_t character;
    while ((character = nvt_utf8_next(&text)))
        if (nvt_buffer_append(lines, bytes, nvt_utf8_put(nvt_char_visible(character), bytes)))
            return -1;
    return nvt_buffer_append(lines, "\n", 1);
}

/* Whether most of it lies where findings do not look. */
static int is_early(const struct nvt_idle *idle)
{
    return (double)idle->early_ns >= EARLY_SHARE * (double)idle->ns;
}

/* "findings explain at most 12 % of that". */
static void tell_how_much(const struct nvt_idle *idle, double steady_ns, double explained_ns,
                          char *out, size_t size)
{
    if (explained_ns > 0)
        snprintf(out, size, "findings explain at most %.0f %% of %s",
                 100 * explained_ns / steady_ns,
                 idle->early ? "that in the second half of them" : "that");
    else
        snprintf(out, size, "no finding explains it");
}

/* "Findings cover iterations 6 to 10 of 10. Over the whole loop (461 ms) the GPU is idle 92 % of the time, 87 % of that in …": 0, or -1 when out of memory. */
static int tell_early(const struct nvt_trace *trace, const struct nvt_idle *idle, double ns,
                      struct nvt_buffer *lines)
{
    const double span = nvt_recorded_ns(trace, idle->from, idle->to);
    char line[600];
    snprintf(
        line, sizeof(line),
        "Findings cover iterations %u to %u of %u. Over the whole loop (%s) the GPU is idle %.0f "
        "%% of the time, %.0f %% of that in the first %u (%.200s; nvtally stats -r warmup)",
        idle->early + 1, idle->iterations, idle->iterations, NVT_TIME(span), 100 * ns / span,
        100 * (double)idle->early_ns / (double)idle->ns, idle->early, trace->path);
    return put_line(lines, line);
}

/* "GPU idle 95 % of 6.4 s, first to last iteration; findings explain at most 5 % of that. Longest gap: …": 0, or -1 when out of memory. */
static int tell(const struct nvt_trace *trace, const struct nvt_idle *idle, double ns,
                const char *how_much, struct nvt_buffer *lines)
{
    const struct nvt_gap *gap = &idle->longest;
    const double span = nvt_recorded_ns(trace, idle->from, idle->to);
    char moment[NVT_TIME_MAX], line[1200];
    snprintf(line, sizeof(line),
             "GPU idle %.0f %% of %s, %s; %s. Longest gap: %s at %s on %s, after %.60s,%s%.300s "
             "(%.200s; nvtally stats -r gpu_idle)",
             100 * ns / span, NVT_TIME(span), idle->what, how_much,
             NVT_TIME((double)(gap->end - gap->start)),
             nvt_moment_text(gap->start - nvt_trace_begin(trace), moment), idle->device,
             idle->before, idle->host, idle->samples, trace->path);
    return put_line(lines, line);
}

/* Of all devices, in the mean. */
static double idle_ns(const struct nvt_idle *idle)
{
    return idle->devices ? (double)idle->ns / idle->devices : 0;
}

int nvt_idle_find(struct nvt_idle *idle, const struct nvt_trace *trace,
                  const struct nvt_input *input, struct nvt_error *err)
{
    const struct nvt_gap *gap = &idle->longest;
    struct nvt_finding samples = {.trace = trace};
    char label[NVT_TELLING_NAME_MAX];
    if (begin(idle, trace))
        return nvt_fail(err, "out of memory");
    if (nvt_gaps(trace, input, add_gap, idle, &idle->devices, err))
        return -1;
    idle->is_idle =
        idle->ns && !(idle_ns(idle) < LEAST_SHARE * nvt_recorded_ns(trace, idle->from, idle->to));
    if (!idle->is_idle || is_early(idle))
        return 0;
    tell_host(trace, gap, idle->host, sizeof(idle->host));
    if (tell_samples(trace, gap, &samples))
        return nvt_fail(err, "out of memory");
    snprintf(idle->samples, sizeof(idle->samples), "%s", samples.evidence);
    nvt_device_words(trace, gap->process, gap->device, idle->device, sizeof(idle->device));
    snprintf(idle->before, sizeof(idle->before), "%s",
             nvt_kernel_label(nvt_name(trace, trace->ops.name[gap->before]), label));
    return 0;
}

/* 0, 1: it is told of, or -1 with err. */
static int tell_idle(const struct nvt_trace *trace, const struct nvt_idle *idle,
                     const struct nvt_findings *findings, struct nvt_buffer *lines,
                     struct nvt_error *err)
{
    const double steady_ns =
        idle->devices ? (double)(idle->ns - idle->early_ns) / idle->devices : 0;
    const double explained_ns = explained(findings, trace);
    char how_much[128];
    if (!idle->is_idle || (!is_early(idle) && explained_ns >= MOST_EXPLAINS * steady_ns))
        return 0;
    tell_how_much(idle, steady_ns, explained_ns, how_much, sizeof(how_much));
    if (is_early(idle) ? tell_early(trace, idle, idle_ns(idle), lines)
                       : tell(trace, idle, idle_ns(idle), how_much, lines))
        return nvt_fail(err, "out of memory");
    return 1;
}

int nvt_diagnose_idle(const struct nvt_input *input, const struct nvt_findings *findings,
                      struct nvt_buffer *lines, struct nvt_error *err)
{
    int told = 0;
    for (size_t i = 0; i < input->trace_count && told < MOST_LINES; i++) {
        const struct nvt_input_trace *from = &input->traces[i];
        struct nvt_idle own = {0};
        if (from->trace->ops.count && nvt_idle_find(&own, from->trace, input, err))
            return -1;
        const int is_told = tell_idle(from->trace, from->diagnosed ? &from->diagnosed->idle : &own,
                                      findings, lines, err);
        if (is_told < 0)
            return -1;
        told += is_told;
    }
    return 0;
}

static int tells_of_gaps(const struct nvt_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nvt_rule *rule = rule_of(&findings->items[i]);
        if (rule && rule->has_gaps)
            return 1;
    }
    return 0;
}

int nvt_diagnose_shared(struct nvt_input *input, const struct nvt_findings *findings, int is_idle,
                        struct nvt_error *err)
{
    struct nvt_shared shared;
    const struct nvt_trace *const *pair = shared.certain;
    if (input->trace_count < 2 || (!is_idle && !tells_of_gaps(findings)))
        return 0;
    if (nvt_shared_find(&shared, input, err))
        return -1;
    if (pair[0] && shared.is_seen)
        nvt_note(input,
                 "note: %s and %s have work on the same device: it is idle only when neither of "
                 "them has",
                 pair[0]->path, pair[1]->path);
    else if (pair[0])
        nvt_shared_note(input, pair);
    pair = shared.possible;
    if (pair[0])
        nvt_note(input,
                 "note: %s and %s have work on devices with the same number, which may be the same "
                 "device: when it is idle in one, it may have work from the other",
                 pair[0]->path, pair[1]->path);
    return 0;
}
