#include "quantity_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "count_of.h"

const char *nvt_time_text(double ns, char out[NVT_TIME_MAX])
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
    double size = fabs(ns);
    size_t unit = 0;
    if (isnan(ns)) {
        snprintf(out, NVT_TIME_MAX, "unknown");
        return out;
    }
    /* 999.6 us would be written as 1000 us. */
    while (unit + 1 < NVT_COUNT_OF(units) && size >= 999.5 * units[unit].ns)
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
    snprintf(out, NVT_TIME_MAX, count >= 9999.5 ? "%.0f" : count < 1 ? "%.2g" : "%.4g", count);
    return out;
}

const char *nvt_counted_text(double count, const char *one, const char *many,
                             char out[NVT_COUNTED_MAX])
{
    const char *number = NVT_COUNT(count);
    snprintf(out, NVT_COUNTED_MAX, "%s %s", number, strcmp(number, "1") ? many : one);
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

const char *nvt_moment_text(int64_t ns, char out[NVT_TIME_MAX])
{
    return nvt_moment_text_of(ns, ns, out);
}

const char *nvt_moment_text_of(int64_t ns, int64_t longest, char out[NVT_TIME_MAX])
{
    if (!ns)
        snprintf(out, NVT_TIME_MAX, "0 s");
    else if (longest < 1000000)
        snprintf(out, NVT_TIME_MAX, "%.3f µs", (double)ns / 1e3);
    else if (longest < 1000000000)
        snprintf(out, NVT_TIME_MAX, "%.3f ms", (double)ns / 1e6);
    else
        snprintf(out, NVT_TIME_MAX, "%.6f s", (double)ns / 1e9);
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
