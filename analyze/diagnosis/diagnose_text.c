/* What findings have in common as text: lines, moments, titles. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

int64_t nvt_finding_moment(const struct nvt_finding *finding, uint32_t i)
{
    return finding->moments[i] - (finding->trace ? finding->trace->first_ns : 0);
}

void nvt_finding_moments(const struct nvt_finding *finding, char *out, size_t size)
{
    const char *path = finding->trace ? finding->trace->path : finding->where;
    char moment[NVT_TIME_MAX];
    size_t used = 0;
    *out = 0;
    for (uint32_t i = 0; i < finding->moment_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 nvt_moment_text(nvt_finding_moment(finding, i), moment));
    if (used && used < size && strcmp(path, finding->where) != 0)
        snprintf(out + used, size - used, " of %s", path);
}

void nvt_finding_cost(const struct nvt_finding *finding, char *out, size_t size)
{
    *out = 0;
    if (finding->cost_ns > 0)
        snprintf(out, size, "%s", NVT_TIME(finding->cost_ns));
    else if (finding->cost_bytes > 0)
        snprintf(out, size, finding->cost_bytes < 999.5 * 1048576 ? "%.3g MiB" : "%.0f MiB",
                 finding->cost_bytes / 1048576);
}

void nvt_finding_title(const struct nvt_finding *finding, char *out, size_t size)
{
    char cost[NVT_TIME_MAX], in[64] = "";
    const char *most = "";
    nvt_finding_cost(finding, cost, sizeof(cost));
    if (finding->traces > 1) {
        snprintf(in, sizeof(in), " in %zu of %zu traces", finding->traces, finding->of);
        most = *cost ? "up to " : "";
    }
    if (finding->sweeps) {
        snprintf(in, sizeof(in), " in %zu sweeps", finding->sweeps);
        most = *cost ? "up to " : "";
    }
    snprintf(out, size, "%s%s: %s (%s%s%s%s%s%s)", finding->cause, in, finding->what, most, cost,
             *cost ? " " : "", *cost ? finding->per : "", *cost ? "; " : "",
             nvt_confidence_name(finding->confidence));
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
