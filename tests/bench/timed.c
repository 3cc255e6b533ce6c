/*
 * timed COMMAND [ARGUMENTS]: run it with its output thrown away, and print wall seconds, processor
 * seconds and the most memory it had, in bytes. Exit status 1 when the command failed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    if (argc < 2)
        return 2;
    int64_t start = nvt_monotonic_ns();
    pid_t child = fork();
    if (!child) {
        int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 2;
    printf("%.4f %.4f %ld\n", (double)(nvt_monotonic_ns() - start) / 1e9,
           seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss * 1024);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
