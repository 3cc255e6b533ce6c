/*
 * A loop of iterations that keeps memory: resident KIND ITERATIONS KIB. Of each iteration's KiB it keeps all (leak), those of the
 * first half of the iterations (cache), or all until it frees them at each tenth iteration (garbage). An iteration takes 50 ms.
 * 64 MiB of a file that nobody else has are mapped throughout.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES (64u << 20)
#define MOST       4096

static char *kept[MOST];
static int count;

static void keep(size_t bytes)
{
    kept[count] = malloc(bytes);
    if (!kept[count])
        exit(99);
    memset(kept[count++], 1, bytes);
}

static void map_file(void)
{
    FILE *file = tmpfile();
    if (!file || ftruncate(fileno(file), FILE_BYTES))
        exit(99);
    char *mapped = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (mapped == MAP_FAILED)
        exit(99);
    memset(mapped, 1, FILE_BYTES);
    /* cppcheck-suppress resourceLeak ; open and mapped until the end */
    /* cppcheck-suppress memleak */
}

int main(int argc, char **argv)
{
    const char kind = argc > 1 ? argv[1][0] : 'l';
    const int iterations = argc > 2 ? atoi(argv[2]) : 100;
    const size_t bytes = (argc > 3 ? (size_t)atol(argv[3]) : 256) << 10;
    map_file();
    for (int i = 0; i < iterations && i < MOST; i++) {
        nvtxRangePushA("iteration");
        if (kind != 'c' || i < iterations / 2)
            keep(bytes);
        while (kind == 'g' && i % 10 == 9 && count)
            free(kept[--count]);
        nanosleep(&(struct timespec){0, 50000000}, NULL);
        nvtxRangePop();
    }
    return 0;
}
