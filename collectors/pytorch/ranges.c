/*
 * NVTX for nvtally_pytorch.py: ranges of the domain "PyTorch", whose names are registered once, and counters. A
 * library of its own, as Python's standard library can call C and has no NVTX. It goes by the same
 * variables as any program that uses NVTX, so that other tools can take its ranges, too.
 */
#include <stdint.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>

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
/* Two at once, as each call from Python takes time: pop, and push; pop, end a range, and start one. */
NVT_EXPORT void nvtally_pytorch_turn(void *name);
NVT_EXPORT uint64_t nvtally_pytorch_next(uint64_t range, void *name);
NVT_EXPORT void nvtally_pytorch_mark(void *name);
/* What a device's allocator says, bytes. The first call registers the counters; one thread at a time, as Python has it. */
NVT_EXPORT void nvtally_pytorch_memory(int64_t allocated, int64_t highest, int64_t reserved);

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

void nvtally_pytorch_turn(void *name)
{
    nvtally_pytorch_pop();
    nvtally_pytorch_push(name);
}

uint64_t nvtally_pytorch_next(uint64_t range, void *name)
{
    nvtally_pytorch_pop();
    nvtally_pytorch_end(range);
    return nvtally_pytorch_start(name);
}

void nvtally_pytorch_mark(void *name)
{
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainMarkEx(domain, &event);
}

static uint64_t counter(const char *name, const char *description)
{
    static const nvtxSemanticsCounter_t bytes = {
        .header = {.structSize = sizeof(bytes),
                   .semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1,
                   .version = NVTX_COUNTER_SEMANTIC_VERSION},
        .unit = "bytes",
        .unitScaleNumerator = 1,
        .unitScaleDenominator = 1};
    const nvtxCounterAttr_t attributes = {.structSize = sizeof(attributes),
                                          .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
                                          .name = name,
                                          .description = description,
                                          .semantics = &bytes.header};
    return nvtxCounterRegister(domain, &attributes);
}

void nvtally_pytorch_memory(int64_t allocated, int64_t highest, int64_t reserved)
{
    static uint64_t counters[3];
    if (!counters[0]) {
        counters[0] = counter("allocated", "allocated by PyTorch's allocator");
        counters[1] = counter("highest allocated", "peak of allocated since it was last reset");
        counters[2] = counter("reserved", "reserved by PyTorch's allocator");
    }
    nvtxCounterSampleInt64(domain, counters[0], allocated);
    nvtxCounterSampleInt64(domain, counters[1], highest);
    nvtxCounterSampleInt64(domain, counters[2], reserved);
}
