/*
 * A long-running program that defines all at its beginning: standing MILLISECONDS [fork|exec]. With fork a child does the same at the
 * half of the time, with exec the process calls exec then. Ranges "tick" of a domain, with a registered name and a named category,
 * within "run", which is open from the beginning to the end.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void tick_until(nvtxDomainHandle_t domain, nvtxStringHandle_t name, int64_t end)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .category = 3,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    attributes.message.registered = name;
    while (now_ms() < end) {
        nvtxDomainRangePushEx(domain, &attributes);
        const nvtxRangeId_t request = nvtxRangeStartA("request");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        nvtxDomainRangePop(domain);
        nvtxRangePushA("between");
        nvtxRangePop();
        nvtxRangeEnd(request);
    }
}

int main(int argc, char **argv)
{
    const int64_t ms = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, begin = now_ms();
    const char *how = argc > 2 ? argv[2] : "";
    nvtxDomainHandle_t domain = nvtxDomainCreateA("standing");
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "tick");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the named thread");
    nvtxDomainNameCategoryA(domain, 3, "network");
    nvtxRangePushA("run");
    tick_until(domain, name, begin + (*how ? ms / 2 : ms));
    if (!strcmp(how, "exec")) {
        char rest[32];
        snprintf(rest, sizeof(rest), "%lld", (long long)(ms / 2));
        execl(argv[0], argv[0], rest, (char *)NULL);
        return 1;
    }
    const pid_t child = !strcmp(how, "fork") ? fork() : 0;
    tick_until(domain, name, begin + ms);
    if (child)
        waitpid(child, NULL, 0);
    if (*how && !child)
        _exit(0);
    nvtxRangePop();
    return 0;
}
