/* What a tool hears of the stand-in: it is loaded as the driver loads it, and the stand-in for CUPTI is told. */
#include "../nccl/stand_in.h"
#include "emulated.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace
{
struct {
    stand_in_now_function now;
    stand_in_correlation_function correlation;
    stand_in_call_function call;
    stand_in_operation_function operation;
    stand_in_memory_function memory;
    stand_in_wait_function wait;
    stand_in_event_function event;
    stand_in_let_wait_function let_wait;
} listener;

template <typename F> void find(void *library, const char *name, F *function)
{
    *function = reinterpret_cast<F>(dlsym(library, name));
}

void load_tools()
{
    const char *tool = getenv("CUDA_INJECTION64_PATH"), *cupti = getenv("NVTALLY_CUPTI");
    void *library = tool ? dlopen(tool, RTLD_NOW) : nullptr;
    int (*initialize)(void) = nullptr;
    if (library)
        find(library, "InitializeInjection", &initialize);
    if (initialize)
        initialize();
    library = initialize && cupti ? dlopen(cupti, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (!library)
        return;
    find(library, "stand_in_now", &listener.now);
    find(library, "stand_in_correlation", &listener.correlation);
    find(library, "stand_in_operation", &listener.operation);
    find(library, "stand_in_memory", &listener.memory);
    find(library, "stand_in_wait", &listener.wait);
    find(library, "stand_in_event", &listener.event);
    find(library, "stand_in_let_wait", &listener.let_wait);
    find(library, "stand_in_call", &listener.call);
}

void lend_streams()
{
    const char *nccl = getenv("NVTALLY_NCCL");
    void *library = nccl ? dlopen(nccl, RTLD_NOW) : nullptr;
    nccl_use_streams_function use_streams = nullptr;
    if (library)
        find(library, "nccl_stand_in_use_streams", &use_streams);
    if (use_streams)
        use_streams(emulated_on_stream, emulated_run_streams);
}
} // namespace

void emulated_start_driver()
{
    static std::once_flag once;
    std::call_once(once, [] {
        load_tools();
        lend_streams();
    });
}

emulated_call::emulated_call(const char *function) : name(function)
{
    if (!listener.call)
        return;
    start = listener.now();
    correlation = listener.correlation();
}

emulated_call::~emulated_call()
{
    if (listener.call)
        listener.call(name, start, correlation);
}

stand_in_operation emulated_operation(stand_in_kind kind, const emulated_call &by)
{
    stand_in_operation operation = {};
    operation.kind = kind;
    operation.correlation = by.correlation;
    return operation;
}

stand_in_operation emulated_kernel(const emulated_call &by, const char *name, int64_t blocks,
                                   unsigned threads)
{
    stand_in_operation kernel = emulated_operation(STAND_IN_KERNEL, by);
    kernel.name = name;
    kernel.blocks = static_cast<uint32_t>(blocks);
    kernel.threads = threads;
    return kernel;
}

uint64_t emulated_now()
{
    return listener.now ? listener.now() : 0;
}

void emulated_tell(const stand_in_operation &operation)
{
    if (listener.operation)
        listener.operation(&operation);
}

void emulated_tell(const stand_in_memory &memory)
{
    if (listener.memory)
        listener.memory(&memory);
}

static uint32_t device_of(cudaStream_t stream)
{
    return static_cast<uint32_t>(emulated_device_of(stream));
}

void emulated_tell_wait(const emulated_call &call, cudaStream_t stream)
{
    if (listener.wait)
        listener.wait(device_of(stream), stream, call.start, call.correlation);
}

void emulated_tell_event(const emulated_call &call, cudaStream_t stream, uint32_t event)
{
    if (listener.event)
        listener.event(device_of(stream), stream, event, call.correlation);
}

void emulated_tell_let_wait(const emulated_call &call, cudaStream_t stream, uint32_t event)
{
    if (listener.let_wait)
        listener.let_wait(device_of(stream), stream, event, call.start, call.correlation);
}
