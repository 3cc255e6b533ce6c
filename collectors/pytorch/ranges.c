/*
 * NVTX for nvtally_pytorch.py: ranges of the domain "PyTorch", whose names are registered once. A
 * library of its own, as Python's standard library can call C and has no NVTX. It goes by the same
 * variables as any program that uses NVTX, so that other tools can take its ranges, too.
 */
#include <stdint.h>

#include <nvtx3/nvToolsExt.h>

#define NVT_EXPORT __attribute__((visibility("default")))

static nvtxDomainHandle_t domain;

/* Before the others; again in a process makes the same domain. Whether a tool listens. */
NVT_EXPORT int nvtally_pytorch_begin(void);
/* A name to push; owned by the tool, for as long as the process lives. */
NVT_EXPORT void *nvtally_pytorch_name(const char *text);
/* Begin a range on this thread; end the one that was begun last. */
NVT_EXPORT void nvtally_pytorch_push(void *name);
NVT_EXPORT void nvtally_pytorch_pop(void);
/* Begin a range that any thread may end, by what this returns. */
NVT_EXPORT uint64_t nvtally_pytorch_start(void *name);
NVT_EXPORT void nvtally_pytorch_end(uint64_t range);

int nvtally_pytorch_begin(void)
{
    domain = nvtxDomainCreateA("PyTorch");
    return domain != NULL;
}

void *nvtally_pytorch_name(const char *text)
{
    return nvtxDomainRegisterStringA(domain, text);
}

static nvtxEventAttributes_t event_of(void *name)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message = {.registered = name}};
}

void nvtally_pytorch_push(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainRangePushEx(domain, &event);
}

void nvtally_pytorch_pop(void)
{
    nvtxDomainRangePop(domain);
}

uint64_t nvtally_pytorch_start(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    return nvtxDomainRangeStartEx(domain, &event);
}

void nvtally_pytorch_end(uint64_t range)
{
    nvtxDomainRangeEnd(domain, range);
}
