/*
 * What calls of the operating system's libraries take, ns: a mutex that is free (lock and unlock), a read of one byte, which
 * takes less than what is recorded, and one of 512 KiB, which takes more. osrt [CALLS]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../lib/clock.h"

static char bytes[512 << 10];

static double locks(int count)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int64_t begin = nvt_monotonic_ns();
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return (double)(nvt_monotonic_ns() - begin) / count;
}

static double reads(int descriptor, size_t size, int count)
{
    int64_t begin = nvt_monotonic_ns();
    for (int i = 0; i < count; i++)
        if (read(descriptor, bytes, size) != (ssize_t)size)
            exit(1);
    return (double)(nvt_monotonic_ns() - begin) / count;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 300000;
    int descriptor = open("/dev/zero", O_RDONLY);
    if (descriptor < 0 || count < 100)
        return 1;
    reads(descriptor, sizeof(bytes), 10);
    double lock = locks(count * 10), one = reads(descriptor, 1, count);
    printf("%.2f %.1f %.1f\n", lock, one, reads(descriptor, sizeof(bytes), count / 30));
    return 0;
}
