/*
 * N push/pop pairs on T threads: pairs THREADS PAIRS [dynamic|literal] [COUNTERS]. In COUNTERS, a file
 * mapped shared, each thread counts (one 64-byte line a thread) the pairs that have returned.
 */
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct line {
    _Alignas(64) _Atomic uint64_t returned;
};

static struct line *lines;
static uint64_t pairs;
static int dynamic;

static void *work(void *argument)
{
    struct line *line = argument;
    char names[16][32];
    for (int i = 0; i < 16; i++)
        snprintf(names[i], sizeof(names[i]), "request %d", i);
    for (uint64_t i = 0; i < pairs; i++) {
        nvtxRangePushA(dynamic ? names[i % 16] : "work");
        nvtxRangePop();
        atomic_store_explicit(&line->returned, i + 1, memory_order_relaxed);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[256];
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    dynamic = argc > 3 && !strcmp(argv[3], "dynamic");
    int file = argc > 4 ? open(argv[4], O_RDWR | O_CREAT, 0600) : -1;
    size_t size = sizeof(struct line) * 256;
    if (count < 1 || count > 256 || (file >= 0 && ftruncate(file, (off_t)size)))
        return 1;
    lines = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &lines[i]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
