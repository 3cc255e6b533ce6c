/*
 * Time. Events carry raw ticks of the cheapest clock that all processors agree on; the trace keeps
 * pairs (ticks, CLOCK_MONOTONIC) from which a reader converts ticks to nanoseconds.
 */
#ifndef NVT_CLOCK_H
#define NVT_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum nvt_clock {
    NVT_CLOCK_MONOTONIC = 0, /* ticks are nanoseconds of CLOCK_MONOTONIC */
    NVT_CLOCK_TSC = 1,       /* x86 time-stamp counter, constant rate, same on all processors */
    NVT_CLOCK_CNTVCT = 2,    /* Arm virtual counter */
};

/* One moment on three clocks. */
struct nvt_clock_sample {
    uint64_t ticks;
    int64_t monotonic_ns;
    int64_t realtime_ns;
};

/* The best clock of this machine: the TSC only where the processor calls it invariant and the
 * kernel has not given up on it. */
enum nvt_clock nvt_clock_best(void);

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline int64_t nvt_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Now, in ticks of that clock. */
static inline uint64_t nvt_ticks(enum nvt_clock clock)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock == NVT_CLOCK_TSC, 1))
        return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(clock == NVT_CLOCK_CNTVCT, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    (void)clock;
    return (uint64_t)nvt_monotonic_ns();
}

/* The same moment on all clocks, as closely as the best of several tries gets. */
struct nvt_clock_sample nvt_clock_now(enum nvt_clock clock);

/* A time cut to 62 bits. */
static inline int64_t nvt_clock_within(int64_t time)
{
    return time < INT64_MIN / 2 ? INT64_MIN / 2 : time > INT64_MAX / 2 ? INT64_MAX / 2 : time;
}

/* The sum of times: of a broken file it may come round, and means nothing. */
static inline int64_t nvt_clock_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* time − origin. Times of a broken file can be anything at all: the result is kept within 62 bits,
 * as are those of the functions below, so that the difference of two of them fits into 64. */
static inline int64_t nvt_clock_since(int64_t time, int64_t origin)
{
    int64_t difference;
    if (__builtin_sub_overflow(time, origin, &difference))
        return time < origin ? INT64_MIN / 2 : INT64_MAX / 2;
    return nvt_clock_within(difference);
}

/*
 * Nanoseconds of CLOCK_MONOTONIC at `ticks`, linear between the two samples around it and, outside
 * of them, along the line through the first and the last. With one sample or none, ticks are taken
 * for nanoseconds. Samples ascend strictly in both fields.
 */
int64_t nvt_clock_convert(const struct nvt_clock_sample *samples, size_t count, uint64_t ticks);

/* Between two samples, with the origin taken off; of nvt_clock_convert_near. Zero-initialise. */
struct nvt_clock_line {
    uint64_t from, size; /* ticks it is good for */
    int64_t base;
    double slope;
};

int64_t nvt_clock_convert_far(const struct nvt_clock_sample *samples, size_t count, int64_t origin,
                              struct nvt_clock_line *line, uint64_t ticks);

/* nvt_clock_convert minus `origin`, quick where the time is close to the one before. */
static inline int64_t nvt_clock_convert_near(const struct nvt_clock_sample *samples, size_t count,
                                             int64_t origin, struct nvt_clock_line *line,
                                             uint64_t ticks)
{
    if (ticks - line->from < line->size)
        return line->base + (int64_t)((double)(int64_t)(ticks - line->from) * line->slope + 0.5);
    return nvt_clock_convert_far(samples, count, origin, line, ticks);
}

/* Convert many ticks in place into times, minus `origin`; quick where neighbours are close in time. */
void nvt_clock_convert_all(const struct nvt_clock_sample *samples, size_t count, int64_t origin,
                           int64_t *times, size_t n);

#endif
