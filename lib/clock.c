#include "clock.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>
#endif

#if defined(__x86_64__)
/* CPUID 80000007h, EDX bit 8: the TSC runs at a constant rate in all power states. */
static int tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* The kernel watches the TSC and moves to another source when processors disagree. Read without a
 * stream: whether memory is short decides nothing. */
static int kernel_trusts_tsc(void)
{
    char name[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, name, sizeof(name) - 1);
    close(fd);
    name[length > 0 ? length : 0] = 0;
    return !strncmp(name, "tsc", 3) || !strncmp(name, "kvm-clock", 9) ||
           !strncmp(name, "hyperv_clocksource_tsc_page", 27);
}
#endif

enum nvt_clock nvt_clock_best(void)
{
#if defined(__x86_64__)
    return tsc_is_invariant() && kernel_trusts_tsc() ? NVT_CLOCK_TSC : NVT_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
    return NVT_CLOCK_CNTVCT;
#else
    return NVT_CLOCK_MONOTONIC;
#endif
}

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC: the one is read between two times of the other,
 * of the try where these lie closest, as nothing came in between there. */
static int64_t realtime_ahead_ns(void)
{
    int64_t ahead = 0, narrowest = INT64_MAX;
    for (int try = 0; try < 4; try++) {
        int64_t before = nvt_monotonic_ns();
        int64_t realtime = realtime_ns();
        int64_t between = nvt_monotonic_ns() - before;
        if (between < narrowest) {
            narrowest = between;
            ahead = realtime - before - between / 2;
        }
    }
    return ahead;
}

struct nvt_clock_sample nvt_clock_now(enum nvt_clock clock)
{
    struct nvt_clock_sample best = {0};
    uint64_t narrowest = UINT64_MAX;
    for (int try = 0; try < 8; try++) {
        uint64_t before = nvt_ticks(clock);
        int64_t monotonic = nvt_monotonic_ns();
        uint64_t after = nvt_ticks(clock);
        if (after - before < narrowest) {
            narrowest = after - before;
            best.ticks = before + (after - before) / 2;
            best.monotonic_ns = monotonic;
        }
    }
    if (clock == NVT_CLOCK_MONOTONIC)
        best.ticks = (uint64_t)best.monotonic_ns;
    best.realtime_ns = best.monotonic_ns + realtime_ahead_ns();
    return best;
}

/* A piece of the way from ticks to nanoseconds: a line through `anchor`, good for ticks in [from,
 * to). */
struct line {
    uint64_t from, to;
    const struct nvt_clock_sample *anchor;
    double slope;
};

static struct line line_between(const struct nvt_clock_sample *from,
                                const struct nvt_clock_sample *to,
                                const struct nvt_clock_sample *anchor)
{
    double slope = (double)(int64_t)((uint64_t)to->monotonic_ns - (uint64_t)from->monotonic_ns) /
                   (double)(to->ticks - from->ticks);
    return (struct line){from->ticks, to->ticks, anchor, slope};
}

static int64_t along(const struct line *line, uint64_t ticks)
{
    int64_t distance = (int64_t)(ticks - line->anchor->ticks);
    double ns = (double)distance * line->slope;
    int64_t time;
    if (!(ns > -4e18 && ns < 4e18) ||
        __builtin_add_overflow(line->anchor->monotonic_ns, (int64_t)(ns + (ns < 0 ? -0.5 : 0.5)),
                               &time))
        return ns > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
    return nvt_clock_within(time);
}

/* The line for a time, of two samples or more. */
static struct line line_at(const struct nvt_clock_sample *samples, size_t count, uint64_t ticks)
{
    const struct nvt_clock_sample *first = samples, *last = samples + count - 1;
    struct line line;
    if (ticks <= first->ticks || ticks >= last->ticks) {
        line = line_between(first, last, ticks <= first->ticks ? first : last);
        line.from = ticks <= first->ticks ? 0 : last->ticks;
        line.to = ticks <= first->ticks ? first->ticks : UINT64_MAX;
        return line;
    }
    size_t low = 0, high = count - 1;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (samples[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return line_between(samples + low, samples + high, samples + low);
}

int64_t nvt_clock_convert(const struct nvt_clock_sample *samples, size_t count, uint64_t ticks)
{
    if (count < 2)
        return nvt_clock_within((int64_t)ticks);
    struct line line = line_at(samples, count, ticks);
    return along(&line, ticks);
}

int64_t nvt_clock_convert_far(const struct nvt_clock_sample *samples, size_t count, int64_t origin,
                              struct nvt_clock_line *near, uint64_t ticks)
{
    if (count < 2)
        return nvt_clock_since((int64_t)ticks, origin);
    struct line line = line_at(samples, count, ticks);
    int64_t base = nvt_clock_since(line.anchor->monotonic_ns, origin);
    uint64_t size = line.to - line.from;
    near->size = 0;
    /* Only where nothing can overflow, which is so between all samples of a clock that ran. */
    if (line.from == line.anchor->ticks && size < UINT64_C(1) << 53 && base > -(INT64_C(1) << 60) &&
        base < INT64_C(1) << 60 && (double)size * line.slope < 1e18)
        *near = (struct nvt_clock_line){line.from, size, base, line.slope};
    return nvt_clock_since(along(&line, ticks), origin);
}

void nvt_clock_convert_all(const struct nvt_clock_sample *samples, size_t count, int64_t origin,
                           int64_t *times, size_t n)
{
    struct line line = {1, 0, NULL, 0};
    for (size_t i = 0; i < n; i++) {
        uint64_t ticks = (uint64_t)times[i];
        if (count < 2) {
            times[i] = nvt_clock_since(times[i], origin);
            continue;
        }
        if (ticks < line.from || ticks >= line.to)
            line = line_at(samples, count, ticks);
        times[i] = nvt_clock_since(along(&line, ticks), origin);
    }
}
