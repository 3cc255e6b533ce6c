/*
 * Ranges of a millisecond each, then an end:   client COUNT exit|_exit|SIGNAL
 * What is left of them says tests/nsys/check.
 */
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        nvtxRangePushA("step");
        usleep(1000);
        nvtxRangePop();
    }
    if (!strcmp(argv[2], "_exit"))
        _exit(0);
    if (strcmp(argv[2], "exit"))
        raise((int)strtol(argv[2], NULL, 10));
    return 0;
}
