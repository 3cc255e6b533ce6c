#include "growth.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/sample.h"
#include "../../lib/student.h"
#include "../../lib/quantity_text.h"

#define LEAST_RISE 0.25

/* y = a + b·x; half: of b's interval at 95 %; chance: of b, or more, where there is no slope. */
struct fit {
    double a, b, half, chance;
};

/* Of n and the cost, or of their logarithms. */
static struct fit fit_line(const double *n, const double *cost, size_t count, int is_log)
{
    double k = (double)count, x = 0, y = 0, xx = 0, xy = 0, rest = 0;
    struct fit fit;
    for (size_t i = 0; i < count; i++) {
        x += (is_log ? log(n[i]) : n[i]) / k;
        y += (is_log ? log(cost[i]) : cost[i]) / k;
    }
    for (size_t i = 0; i < count; i++) {
        double dx = (is_log ? log(n[i]) : n[i]) - x;
        xx += dx * dx;
        xy += dx * ((is_log ? log(cost[i]) : cost[i]) - y);
    }
    fit.b = xy / xx;
    fit.a = y - fit.b * x;
    for (size_t i = 0; i < count; i++) {
        double at = fit.a + fit.b * (is_log ? log(n[i]) : n[i]);
        double residue = (is_log ? log(cost[i]) : cost[i]) - at;
        rest += residue * residue;
    }
    const double error = sqrt(rest / (k - 2) / xx);
    fit.half = nvt_student_t95(count - 2) * error;
    fit.chance = error > 0 ? nvt_student_tail(fit.b / error, k - 2) / 2 : 0;
    if (!(fit.b > 0))
        fit.chance = 1 - fit.chance;
    return fit;
}

static double value_of(const struct fit *fit, double n, int is_log)
{
    return is_log ? exp(fit->a + fit->b * log(n)) : fit->a + fit->b * n;
}

static struct nvt_growth_law judge(const struct fit *fit, const struct nvt_growth *growth,
                                   const double *n, const double *cost, size_t count, int is_log)
{
    struct nvt_growth_law law = {.low = fit->b - fit->half,
                                 .high = fit->b + fit->half,
                                 .first = value_of(fit, growth->least, is_log),
                                 .last = value_of(fit, growth->most, is_log)};
    for (size_t i = 0; i < count; i++) {
        double off = value_of(fit, n[i], is_log) / cost[i] - 1;
        law.off += off * off / (double)count;
    }
    law.off = sqrt(law.off);
    law.rises = law.low > 0 && law.last - law.first > LEAST_RISE * law.first;
    return law;
}

static size_t count_values(const double *n, size_t count)
{
    size_t values = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        while (n[before] != n[i])
            before++;
        values += before == i;
    }
    return values;
}

struct nvt_growth nvt_growth_of(const double *n, const double *cost, size_t count)
{
    struct nvt_growth growth = {
        .least = INFINITY, .most = -INFINITY, .c = NAN, .p = NAN, .chance = 1};
    int is_positive = 1;
    for (size_t i = 0; i < count; i++) {
        growth.least = fmin(growth.least, n[i]);
        growth.most = fmax(growth.most, n[i]);
        is_positive &= cost[i] > 0;
    }
    growth.values = count_values(n, count);
    if (growth.values < 2 || count < 3)
        return growth;
    struct fit line = fit_line(n, cost, count, 0);
    growth.a = line.a;
    growth.b = line.b;
    growth.line = judge(&line, &growth, n, cost, count, 0);
    growth.chance = line.chance;
    if (is_positive && growth.values > 2) {
        struct fit power = fit_line(n, cost, count, 1);
        growth.c = exp(power.a);
        growth.p = power.b;
        growth.power = judge(&power, &growth, n, cost, count, 1);
        growth.chance = fmin(2 * fmin(line.chance, power.chance), 1);
    }
    if (growth.power.rises && (!growth.line.rises || growth.power.off < growth.line.off))
        growth.by = NVT_GROWTH_POWER;
    growth.is_described = nvt_growth_law(&growth)->off <= NVT_GROWTH_MOST_OFF;
    return growth;
}

const struct nvt_growth_law *nvt_growth_law(const struct nvt_growth *growth)
{
    return growth->by == NVT_GROWTH_POWER ? &growth->power : &growth->line;
}

int nvt_growth_has_exponent(const struct nvt_growth *growth)
{
    return growth->by == NVT_GROWTH_POWER && growth->power.rises && growth->is_described &&
           (growth->power.low > 1 || growth->power.high < 1);
}

double nvt_growth_fixed(const struct nvt_growth *growth)
{
    return fabs(growth->a) < 1e-9 * fabs(nvt_growth_law(growth)->last) ? 0 : growth->a;
}

const char *nvt_growth_text(const struct nvt_growth *growth, const char *axis,
                            char out[NVT_GROWTH_TEXT])
{
    char line[NVT_LINE_MAX];
    char exponent[32];
    snprintf(exponent, sizeof(exponent), "^%.3g", growth->p);
    if (growth->by == NVT_GROWTH_POWER)
        snprintf(out, NVT_GROWTH_TEXT, "%s·(%.60s/%g)%s", NVT_TIME(growth->power.last), axis,
                 growth->most, strcmp(exponent, "^1") ? exponent : "");
    else
        snprintf(out, NVT_GROWTH_TEXT, "%s",
                 nvt_line_text(nvt_growth_fixed(growth), growth->b, axis, line));
    return out;
}
