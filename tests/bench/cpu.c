/*
 * Work of a fixed size, 30 functions deep: ms that it takes. cpu [MILLIONS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/clock.h"

static volatile double sink;

__attribute__((noinline)) static double work(long count)
{
    double sum = 1;
    for (long i = 1; i <= count; i++)
        sum += 1 / (sum + (double)i);
    return sum;
}

__attribute__((noinline)) static double deeper(int depth, long count)
{
    double sum = depth ? deeper(depth - 1, count) : work(count);
    return sum + 1; /* no jump: the function stays on the stack */
}

int main(int argc, char **argv)
{
    long count = (argc > 1 ? atol(argv[1]) : 200) * 1000;
    int64_t begin = nvt_monotonic_ns();
    for (int i = 0; i < 1000; i++)
        sink = deeper(28, count);
    printf("%.3f\n", (double)(nvt_monotonic_ns() - begin) / 1e6);
    return 0;
}
