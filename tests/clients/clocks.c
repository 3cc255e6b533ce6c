/*
 * Ranges beside a clock: clocks N MS. N ranges "moment", MS ms apart; for each a line with
 * CLOCK_MONOTONIC in ns just before it began and just after. tests/test_faults_clock.c compares
 * them with the trace's.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 10;
    long ms = argc > 2 ? atol(argv[2]) : 10;
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nvtxMarkA("first"); /* the thread gets its buffer here and not within a moment */
    for (int i = 0; i < count; i++) {
        long long before = now_ns();
        nvtxRangePushA("moment");
        long long after = now_ns();
        nvtxRangePop();
        printf("%lld %lld\n", before, after);
        nanosleep(&pause, NULL);
    }
    return 0;
}
