/*
 * Two functions of one loop, of which one has three times the work of the other, in ranges:   samples ROUNDS
 * A thread beside them does the same. tests/nsys/check looks for their shares.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>

#define STEPS 4000000

__attribute__((noinline)) static void one(void)
{
    for (volatile long i = 0; i < STEPS; i++)
        ;
}

__attribute__((noinline)) static void three(void)
{
    for (volatile long i = 0; i < 3L * STEPS; i++)
        ;
}

static void *work(void *rounds)
{
    for (long i = *(const long *)rounds; i > 0; i--) {
        nvtxRangePushA("round");
        one();
        nvtxRangePushA("three");
        three();
        nvtxRangePop();
        nvtxRangePop();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    long rounds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    if (pthread_create(&thread, NULL, work, &rounds))
        return 1;
    work(&rounds);
    return pthread_join(thread, NULL);
}
