/*
 * Ranges without a rest, or BURST pairs of them every PERIOD milliseconds: load SECONDS THREADS
 * [BURST PERIOD]. Prints the push/pop pairs that returned, the seconds they took, and the peak of the
 * process's resident memory in KiB.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST 64

static double seconds;
static int burst = 1000, period;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *produce(void *count)
{
    uint64_t pairs = 0;
    for (double end = now() + seconds; now() < end; pairs += (uint64_t)burst) {
        for (int i = 0; i < burst; i++) {
            nvtxRangePushA("load");
            nvtxRangePop();
        }
        struct timespec rest = {0, 1000000L * period};
        if (period)
            nanosleep(&rest, NULL);
    }
    *(uint64_t *)count = pairs;
    return NULL;
}

static long peak_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && kib < 0 && fgets(line, sizeof(line), file))
        sscanf(line, "VmHWM: %ld", &kib);
    if (file)
        fclose(file);
    return kib;
}

int main(int argc, char **argv)
{
    pthread_t ids[MOST];
    uint64_t counts[MOST] = {0}, pairs = 0;
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    seconds = argc > 1 ? atof(argv[1]) : 2;
    burst = argc > 4 ? atoi(argv[3]) : burst;
    period = argc > 4 ? atoi(argv[4]) : 0;
    if (burst < 1 || period < 0 || period > 999 || threads < 1 || threads > MOST || !(seconds > 0))
        return 1;
    double start = now();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, produce, &counts[i]))
            return 1;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        pairs += counts[i];
    }
    printf("%llu %.3f %ld\n", (unsigned long long)pairs, now() - start, peak_kib());
    return 0;
}
