/*
 * A program of someone's own that is swept over a number: grow N [mine]. In twelve ranges "iteration" of the domain
 * nvtally, within one that names N there, a range "solve" of N² microseconds and N ranges "element" of one each, in
 * the domain nvtally too, or with "mine" in the default one.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static nvtxDomainHandle_t whose;

static void push(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = name};
    nvtxDomainRangePushEx(domain, &event);
}

static void take(const char *name, long microseconds)
{
    struct timespec now, end;
    push(whose, name);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 1000 * microseconds;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec < end.tv_nsec);
    nvtxDomainRangePop(whose);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    char name[64];
    nvtxDomainHandle_t ours = nvtxDomainCreateA("nvtally");
    if (n < 1 || n > 100)
        return 1;
    whose = argc > 2 && !strcmp(argv[2], "mine") ? NULL : ours;
    snprintf(name, sizeof(name), "grow n=%ld", n);
    push(ours, name);
    for (int i = 0; i < 12; i++) {
        push(ours, "iteration");
        take("solve", n * n);
        for (long k = 0; k < n; k++)
            take("element", 1);
        nvtxDomainRangePop(ours);
    }
    nvtxDomainRangePop(ours);
    return 0;
}
