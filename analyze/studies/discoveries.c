#include "discoveries.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t nvt_discoveries(double *p, size_t count, double alpha)
{
    size_t found = 0;
    qsort(p, count, sizeof(*p), ascending);
    for (size_t k = 1; k <= count; k++)
        if (p[k - 1] <= alpha * (double)k / (double)count)
            found = k;
    return found;
}
