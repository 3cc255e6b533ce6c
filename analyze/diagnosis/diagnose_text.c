/* What findings have in common as text: lines, moments, titles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/people.h"
#include "../../lib/shell.h"
#include "../../lib/text.h"
#include "diagnose.h"

#define MINOR_SHARE 0.01
/* Of the whole: what is more is no part of it. Costs are rounded sums. */
#define MOST_SHARE 1.005

int64_t nvt_finding_moment(const struct nvt_finding *finding, uint32_t i)
{
    return finding->moments[i] - (finding->trace ? nvt_trace_begin(finding->trace) : 0);
}

const char *nvt_finding_moment_text(const struct nvt_finding *finding, uint32_t i,
                                    char out[NVT_TIME_MAX])
{
    int64_t longest = 0;
    for (uint32_t k = 0; k < finding->moment_count; k++)
        longest =
            nvt_finding_moment(finding, k) > longest ? nvt_finding_moment(finding, k) : longest;
    return nvt_moment_text_of(nvt_finding_moment(finding, i), longest, out);
}

void nvt_finding_moments(const struct nvt_finding *finding, char *out, size_t size)
{
    const char *path = finding->trace ? finding->trace->path : finding->where;
    char moment[NVT_TIME_MAX];
    size_t used = 0;
    *out = 0;
    for (uint32_t i = 0; i < finding->moment_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 nvt_finding_moment_text(finding, i, moment));
    if (used && used < size && strcmp(path, finding->where) != 0)
        snprintf(out + used, size - used, " of %s", path);
}

double nvt_finding_share(const struct nvt_finding *finding)
{
    const int is_time = finding->cost_ns > 0;
    const double cost = is_time ? finding->cost_ns : finding->cost_bytes;
    const double whole = is_time ? finding->whole_ns : finding->whole_bytes;
    return cost > 0 && whole > 0 && cost <= MOST_SHARE * whole ? fmin(cost / whole, 1) : NAN;
}

int nvt_finding_is_minor(const struct nvt_finding *finding)
{
    return nvt_finding_share(finding) < MINOR_SHARE;
}

static void put_amount(const struct nvt_finding *finding, double ns, double bytes,
                       char out[NVT_TIME_MAX])
{
    if (finding->cost_ns > 0)
        nvt_time_text(ns, out);
    else
        nvt_binary_text(bytes, out);
}

void nvt_finding_cost(const struct nvt_finding *finding, char *out, size_t size)
{
    const double share = 100 * nvt_finding_share(finding);
    const char *most = finding->traces > 1 || finding->sweeps ? "up to " : "";
    const char *error = finding->rule ? finding->rule->error : NULL;
    char part[16] = "";
    char cost[NVT_TIME_MAX], whole[NVT_TIME_MAX];
    *out = 0;
    if (!(finding->cost_ns > 0) && !(finding->cost_bytes > 0))
        return;
    put_amount(finding, finding->cost_ns, finding->cost_bytes, cost);
    put_amount(finding, finding->whole_ns, finding->whole_bytes, whole);
    if (!isnan(share))
        snprintf(part, sizeof(part), share < 9.95 ? " (%.2g %%)" : " (%.0f %%)", share);
    snprintf(out, size, "%s%s%s%s %s%s%s%s", most, cost, *part ? " of " : "", *part ? whole : "",
             finding->per, part, error ? ", " : "", error ? error : "");
}

/* The cause, and how many have it. */
static void put_cause(const struct nvt_finding *finding, char *out, size_t size)
{
    if (finding->traces > 1)
        snprintf(out, size, "%s in %zu of %zu traces", finding->cause, finding->traces,
                 finding->of);
    else if (finding->sweeps)
        snprintf(out, size, "%s in %zu sweeps", finding->cause, finding->sweeps);
    else
        snprintf(out, size, "%s", finding->cause);
}

void nvt_finding_title(const struct nvt_finding *finding, char *out, size_t size)
{
    char cost[NVT_COST_MAX], cause[NVT_COST_MAX];
    nvt_finding_cost(finding, cost, sizeof(cost));
    put_cause(finding, cause, sizeof(cause));
    snprintf(out, size, "%s%s%s", cause, *cost ? "   " : "", cost);
}

void nvt_finding_what(const struct nvt_finding *finding, char *out, size_t size)
{
    snprintf(out, size, "%s (%s)", finding->what, nvt_confidence_name(finding->confidence));
}

void nvt_finding_line(const struct nvt_finding *finding, size_t cause_width, size_t width,
                      char *out, size_t size)
{
    char cost[NVT_COST_MAX], cause[NVT_COST_MAX];
    nvt_finding_cost(finding, cost, sizeof(cost));
    put_cause(finding, cause, sizeof(cause));
    const int used =
        snprintf(out, size, "%-*s%s%s", (int)cause_width, cause, *cost ? "   " : "", cost);
    if (*finding->subject && used > 0 && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, "   %s", finding->subject);
    if (!width || nvt_text_width(out) <= width)
        return;
    char *end = out + (nvt_text_skip(out, width - 1) - out);
    while (end > out && end[-1] == ' ')
        end--;
    snprintf(end, size - (size_t)(end - out), "…");
}

void nvt_finding_where(const struct nvt_finding *finding, char *out, size_t size)
{
    if (finding->sweeps)
        snprintf(out, size, "%s and %zu more", finding->where, finding->sweeps - 1);
    else if (finding->traces <= 1)
        snprintf(out, size, "%s", finding->where);
    else if (!strcmp(finding->first, finding->where))
        snprintf(out, size, "%s (the first) and %zu more", finding->where, finding->traces - 1);
    else
        snprintf(out, size, "%s and %zu more, first in %s", finding->where, finding->traces - 1,
                 finding->first);
}

/* Parts of a trace that show a moment: what begins in an iteration before it, and in one behind it. */
#define LEAST_WINDOW_NS 1000000.0

/* "8822.548ms/8851.748ms" around the first moment, or plain ns on the trace's axis, which a window leaves as it was. */
static void put_window(const struct nvt_finding *finding, char *out, size_t size)
{
    const int is_iteration = !strcmp(finding->per, "per iteration") && finding->whole_ns > 0;
    const double half = fmax(is_iteration ? finding->whole_ns : finding->cost_ns, LEAST_WINDOW_NS);
    if (finding->trace->is_part) {
        snprintf(out, size, "%.0f/%.0f", fmax((double)finding->moments[0] - half, 0),
                 (double)finding->moments[0] + half);
        return;
    }
    const double moment = (double)nvt_finding_moment(finding, 0);
    snprintf(out, size, "%.3fms/%.3fms", fmax(moment - half, 0) / 1e6, (moment + half) / 1e6);
}

/* Files behind a command; one that begins with a '-' is no option. */
static int put_files(struct nvt_buffer *out, char *const *paths)
{
    int is_like_option = 0;
    for (size_t i = 0; paths[i]; i++)
        is_like_option |= paths[i][0] == '-';
    return (is_like_option && nvt_buffer_append(out, "-- ", 3)) || nvt_shell_join(out, paths);
}

int nvt_finding_command(const struct nvt_finding *finding, char *const *given,
                        struct nvt_buffer *out)
{
    const char *show = finding->rule ? finding->rule->show : NULL;
    const int is_of_trace = finding->traces && finding->trace;
    char window[96], *const trace[] = {is_of_trace ? strdup(finding->trace->path) : NULL, NULL};
    char *const *paths = is_of_trace ? trace : given;
    int failed = is_of_trace && !trace[0];
    if (!failed && paths && show)
        failed = nvt_buffer_printf(out, "nvtally %s ", show) || put_files(out, paths);
    else if (!failed && is_of_trace && finding->moment_count) {
        put_window(finding, window, sizeof(window));
        failed = nvt_buffer_printf(out, "nvtally plot --filter-time %s ", window) ||
                 put_files(out, trace);
    }
    free(trace[0]);
    return failed ? -1 : 0;
}
