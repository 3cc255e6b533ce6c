/* What findings have in common as text: times in fitting units, lines, moments, titles. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

const char *nvt_time_text(double ns, char out[NVT_TIME_MAX])
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
    double size = fabs(ns);
    size_t unit = 0;
    /* 999.6 us would be written as 1000 us. */
    while (unit + 1 < sizeof(units) / sizeof(units[0]) && size >= 999.5 * units[unit].ns)
        unit++;
    double value = size / units[unit].ns;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    if (!unit && value == floor(value))
        decimals = 0;
    if (value > 0 && value < 0.095)
        snprintf(out, NVT_TIME_MAX, "%s%.2g %s", ns < 0 ? "-" : "", value, units[unit].name);
    else
        snprintf(out, NVT_TIME_MAX, "%s%.*f %s", ns < 0 ? "-" : "", decimals, value,
                 units[unit].name);
    return out;
}

const char *nvt_count_text(double count, char out[NVT_TIME_MAX])
{
    snprintf(out, NVT_TIME_MAX, count < 9999.5 ? "%.4g" : "%.0f", count);
    return out;
}

const char *nvt_bytes_text(double bytes, char out[NVT_TIME_MAX])
{
    const char *units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; unit < 4 && bytes >= 999.5; unit++)
        bytes /= 1000;
    snprintf(out, NVT_TIME_MAX, "%.3g %s", bytes, units[unit]);
    return out;
}

const char *nvt_file_text(const char *path, size_t most, char out[NVT_FILE_TEXT_MAX])
{
    static const char cut[] = "…";
    size_t length = strlen(path), mark = sizeof(cut) - 1;
    most = most < NVT_FILE_TEXT_MAX - 1 ? most : NVT_FILE_TEXT_MAX - 1;
    *out = 0;
    if (length <= most || most < mark) {
        snprintf(out, NVT_FILE_TEXT_MAX, "%s", length <= most ? path : "");
        return out;
    }
    const char *at = path + length - (most - mark), *folder = strchr(at, '/');
    at = folder && folder[1] ? folder : at;
    while (((unsigned char)*at & 0xC0) == 0x80) /* not within a character */
        at++;
    snprintf(out, NVT_FILE_TEXT_MAX, "%s%s", cut, at);
    return out;
}

const char *nvt_line_text(double a, double b, const char *axis, char out[NVT_LINE_MAX])
{
    if (a < 0 && b >= 0)
        snprintf(out, NVT_LINE_MAX, "%s·%.60s - %s", NVT_TIME(b), axis, NVT_TIME(-a));
    else
        snprintf(out, NVT_LINE_MAX, "%s %c %s·%.60s", NVT_TIME(a), b < 0 ? '-' : '+',
                 NVT_TIME(fabs(b)), axis);
    return out;
}

const char *nvt_moment_text(int64_t ns, char out[NVT_TIME_MAX])
{
    if (!ns)
        snprintf(out, NVT_TIME_MAX, "0 s");
    else if (ns < 1000000)
        snprintf(out, NVT_TIME_MAX, "%.3f µs", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(out, NVT_TIME_MAX, "%.3f ms", (double)ns / 1e6);
    else
        snprintf(out, NVT_TIME_MAX, "%.6f s", (double)ns / 1e9);
    return out;
}

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
