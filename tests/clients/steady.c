/*
 * A program that goes on until its standard input ends: a range "step" each 20 ms, with "load" and "compute" in it.
 */
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <unistd.h>

static void take(const char *name, useconds_t microseconds)
{
    nvtxRangePushA(name);
    usleep(microseconds);
    nvtxRangePop();
}

int main(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        nvtxRangePushA("step");
        take("load", 2000);
        take("compute", 5000);
        nvtxRangePop();
    } while (!poll(&in, 1, 13));
    return 0;
}
