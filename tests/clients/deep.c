/*
 * Push/pop ranges within each other, that many, then closed again: deep LEVELS.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long levels = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    for (long i = 0; i < levels; i++)
        nvtxRangePushA("deep");
    for (long i = 0; i < levels; i++)
        nvtxRangePop();
    return 0;
}
