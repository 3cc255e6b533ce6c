/*
 * Preloaded: clocks that go wrong, for this process and all that it starts. The machine's own are
 * left alone.
 *
 *   STEP_CLOCK_REAL=S,S,S…   the date is S seconds off; each tenth of a second the next S holds,
 * and the last one to the end STEP_CLOCK_DRIFT=P,P…    CLOCK_MONOTONIC runs P parts in a million
 * fast (so the time-stamp counter drifts against it); each second the next P holds, and the last
 * one to the end
 *
 * Both count from the moment that the first process was started, which STEP_CLOCK_START keeps.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MOST      16
#define SECOND_NS INT64_C(1000000000)

static int64_t start, offsets[MOST], drifts[MOST];
static int offset_count, drift_count;

/* The kernel's own answer. */
static int64_t true_ns(clockid_t clock)
{
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int read_list(const char *name, int64_t *out)
{
    int count = 0;
    const char *text = getenv(name);
    for (char *end; text && *text && count < MOST; text = *end ? end + 1 : end)
        out[count++] = strtoll(text, &end, 10);
    return count;
}

/* Before any constructor that asks for the time. */
__attribute__((constructor(101))) static void begin(void)
{
    char text[32];
    const char *given = getenv("STEP_CLOCK_START");
    start = given ? strtoll(given, NULL, 10) : true_ns(CLOCK_MONOTONIC);
    snprintf(text, sizeof(text), "%lld", (long long)start);
    setenv("STEP_CLOCK_START", text, 1);
    offset_count = read_list("STEP_CLOCK_REAL", offsets);
    drift_count = read_list("STEP_CLOCK_DRIFT", drifts);
}

static int64_t offset_now(void)
{
    int64_t step = (true_ns(CLOCK_MONOTONIC) - start) / (SECOND_NS / 10);
    if (!offset_count)
        return 0;
    return offsets[step < offset_count ? step : offset_count - 1] * SECOND_NS;
}

static int64_t drifted(int64_t now)
{
    int64_t gained = 0, from = start;
    for (int i = 0; i < drift_count && from < now; i++, from += SECOND_NS) {
        int64_t to = i == drift_count - 1 || now < from + SECOND_NS ? now : from + SECOND_NS;
        gained += (to - from) / 1000 * drifts[i] / 1000;
    }
    return now + gained;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int64_t now = true_ns(clock);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now += offset_now();
    else if (clock == CLOCK_MONOTONIC)
        now = drifted(now);
    int64_t seconds = now / SECOND_NS - (now % SECOND_NS < 0);
    out->tv_sec = seconds;
    out->tv_nsec = now - seconds * SECOND_NS;
    return 0;
}

int gettimeofday(struct timeval *out, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
