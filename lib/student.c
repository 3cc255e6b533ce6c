#include "student.h"

#include <math.h>

#define STEPS_MOST   500
#define DEGREES_MOST 1e5 /* from there on the fraction is slow, and t is the normal distribution */

static double away_from_zero(double value)
{
    return fabs(value) < 1e-300 ? 1e-300 : value;
}

/* The continued fraction of I_x(a, b), for x below (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < STEPS_MOST; m++) {
        const double terms[] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double last = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 / away_from_zero(1 + terms[i] * d);
            c = away_from_zero(1 + terms[i] / c);
            last = c * d;
            value *= last;
        }
        if (fabs(last - 1) < 1e-14)
            break;
    }
    return value;
}

double nvt_student_tail(double t, double degrees)
{
    if (isinf(t))
        return 0;
    degrees = fmin(degrees, DEGREES_MOST);
    const double a = degrees / 2, b = 0.5, squared = t * t;
    const double x = degrees / (degrees + squared), rest = squared / (degrees + squared);
    if (rest <= 0)
        return 1;
    const double scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    return x < (a + 1) / (a + b + 2) ? scale * fraction(a, b, x) / a
                                     : 1 - scale * fraction(b, a, rest) / b;
}

double nvt_student_at(double tail, double degrees)
{
    double low = 0, high = 1;
    while (nvt_student_tail(high, degrees) > tail && high < 1e150)
        high *= 2;
    for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (nvt_student_tail(middle, degrees) > tail)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
