/*
 * Functions of known names that burn CPU time, for programs that are sampled.
 */
#ifndef NVT_BURN_H
#define NVT_BURN_H

#include <stdint.h>
#include <time.h>

static int64_t processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static volatile uint64_t sink;

/* Most of the time goes to this function itself. */
__attribute__((noinline)) static void burn(int ms)
{
    int64_t end = processor_ms() + ms;
    while (processor_ms() < end)
        for (int i = 0; i < 20000; i++)
            sink += (uint64_t)i * 7919u;
}

/* A function that burns. It is no jump at its end, and unlike all others, or the compiler would make one of them. */
#define BURNS(name)                                                                                \
    __attribute__((noinline)) static void name(int ms)                                             \
    {                                                                                              \
        burn(ms);                                                                                  \
        __asm__ volatile("# " #name);                                                              \
    }

BURNS(heavy_work)
BURNS(light_work)
BURNS(child_work)
BURNS(work_before)
BURNS(work_after)
BURNS(work_of_a)
BURNS(work_of_b)
BURNS(work_of_main)
BURNS(deepest_work)
BURNS(small_work)
BURNS(short_work)

#endif
