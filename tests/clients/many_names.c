/*
 * usage: many_names COUNT: ranges of so many distinct names, first by their texts, then by registered ones. Prints the
 * processor time of each, in ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nvtx3/nvToolsExt.h>

static long long processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 1000;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("many");
    char name[40];
    const long long began = processor_ns();
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "text %d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    const long long middle = processor_ns();
    for (int i = 0; i < count; i++) {
        nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                            .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                            .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
        snprintf(name, sizeof(name), "registered %d", i);
        attributes.message.registered = nvtxDomainRegisterStringA(domain, name);
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
    }
    printf("%lld %lld\n", middle - began, processor_ns() - middle);
    return 0;
}
