#include "cpu_coverage.h"

#include <stdio.h>

#define LEAST_NS INT64_C(50000000)

int nvt_cpu_coverage_note(int64_t sampled_ns, int64_t used_ns, char *text, size_t size)
{
    const double used = (double)used_ns, sampled = (double)sampled_ns;
    if (used - sampled < (double)LEAST_NS || sampled >= 0.75 * used)
        return 0;
    snprintf(text, size,
             "%.2f s of %.2f s of CPU time are in no sample: processes and threads ended before "
             "their first one (some 5 ms), or cannot be sampled (nvtally-record(1), SAMPLES)",
             (used - sampled) / 1e9, used / 1e9);
    return 1;
}
