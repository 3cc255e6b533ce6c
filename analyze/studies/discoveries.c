#include "discoveries.h"

#include "../../lib/sample.h"

size_t nvt_discoveries(double *p, size_t count, double alpha)
{
    size_t found = 0;
    nvt_sample_sort(p, count);
    for (size_t k = 1; k <= count; k++)
        if (p[k - 1] <= alpha * (double)k / (double)count)
            found = k;
    return found;
}
