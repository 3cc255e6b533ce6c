/*
 * How a cost grows with a number n, over runs of several values: by a line, cost = a + b·n, or a power,
 * cost = c·n^p, both by least squares, the power's over the logarithms. b and p with their 95 %
 * intervals (Student's t, as many degrees of freedom as points, less 2).
 *
 * Either may show that a cost grows. A line's lack of fit counts as noise, and over three values that
 * hides n² without any noise at all; so does a power's where a fixed cost is large.
 */
#ifndef NVT_GROWTH_H
#define NVT_GROWTH_H

#include <stddef.h>

/* A line or a power, as far as it describes the points. */
struct nvt_growth_law {
    double low, high;   /* b or p at 95 % */
    double first, last; /* the cost that it gives at the least n and at the largest */
    double off; /* the root mean square of its distance from the points, as a part of each */
    int rises;  /* low is above 0, and last exceeds first by a quarter at least */
};

enum nvt_growth_by { NVT_GROWTH_LINE, NVT_GROWTH_POWER };

struct nvt_growth {
    double least, most; /* n */
    size_t values;      /* that n has */
    double a, b;        /* the line */
    double c, p;        /* the power; NaN where a cost is not above 0 */
    struct nvt_growth_law line, power;
    enum nvt_growth_by by; /* what describes it: of those that rise the one that is off less */
    int is_described;      /* it is off by at most NVT_GROWTH_MOST_OFF */
    /* The chance that noise alone shows such a slope or exponent, or a larger one: twice (for there are two laws) the
     * smaller one of the tails of their t, once where there is the line only; 1 where nothing was fitted. */
    double chance;
};

/* Measurements of one law scatter by less, and n·log n is nearer to a power. */
#define NVT_GROWTH_MOST_OFF 0.2

/* Of `count` points, at least 3, with n > 0. With one value of n nothing rises, with two the line is
 * what describes it. */
struct nvt_growth nvt_growth_of(const double *n, const double *cost, size_t count);

/* The law that describes it; whether any rises is its `rises`. */
const struct nvt_growth_law *nvt_growth_law(const struct nvt_growth *growth);

/* Whether the exponent is worth its name: the power describes it, and p's interval leaves 1 out. */
int nvt_growth_has_exponent(const struct nvt_growth *growth);

/* The fixed cost of its line; what rounding leaves is none. */
double nvt_growth_fixed(const struct nvt_growth *growth);

/* The law that describes it, of a cost in ns: "12.3 µs + 456 ns·batch", or "4.56 ms·(batch/1024)^1.9", where the time is
 * that at the largest n. Returns `out`. */
#define NVT_GROWTH_TEXT 160
const char *nvt_growth_text(const struct nvt_growth *growth, const char *axis,
                            char out[NVT_GROWTH_TEXT]);

#endif
