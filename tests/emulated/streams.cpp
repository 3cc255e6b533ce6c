/* Streams, events and graphs: what runs when, and what waits for what. */
#include "emulated.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/* A point in the order of a stream that others wait for. */
struct moment {
    bool passed = false;
};

struct operation {
    std::function<void()> work;
    std::shared_ptr<moment> waits; /* not before this, or NULL */
    std::shared_ptr<moment> marks; /* this has passed then, or NULL */
};

struct emulated_graph {
    std::vector<operation> nodes;
};

struct emulated_stream {
    int device;
    std::deque<operation> queue;
    std::unique_ptr<emulated_graph> capture; /* what it records, or NULL */
    bool invalid = false;                    /* the capture */
};

struct emulated_event {
    std::shared_ptr<moment> last;
};

struct allocation {
    size_t bytes;
    bool from_pool;
    bool given_back = false; /* by a call; the stream may not be there yet */
};

/* Memory that was given back and not trimmed, by its size. */
struct emulated_pool {
    std::multimap<size_t, char *> kept;
    size_t kept_bytes = 0;
};

namespace
{
std::recursive_mutex device_lock;
using guard = std::lock_guard<std::recursive_mutex>;
std::vector<std::unique_ptr<emulated_stream>> streams;
std::map<char *, allocation> allocations;
size_t allocated;
emulated_pool pool;
thread_local cudaError_t last_error;
thread_local int chosen_device;

size_t number(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 10) : otherwise;
}

int device_count()
{
    return static_cast<int>(number("EMULATED_DEVICES", 1));
}

/* --- running --- */

bool is_ready(const emulated_stream &stream)
{
    return !stream.queue.empty() &&
           (!stream.queue.front().waits || stream.queue.front().waits->passed);
}

void run(const operation &next)
{
    if (next.work)
        next.work();
    if (next.marks)
        next.marks->passed = true;
}

/* One operation of a random stream that can go on. */
void step()
{
    std::vector<emulated_stream *> ready;
    for (auto &stream : streams)
        if (is_ready(*stream))
            ready.push_back(stream.get());
    if (ready.empty())
        emulated_stop("streams wait for each other");
    emulated_stream *stream = ready[emulated_random(ready.size())];
    operation next = std::move(stream->queue.front());
    stream->queue.pop_front();
    run(next);
}

void drain(const emulated_stream &stream)
{
    while (!stream.queue.empty())
        step();
}

void drain_all()
{
    for (auto &stream : streams)
        drain(*stream);
}

/* Waiting is forbidden while this stream, or any, is recorded; it spoils the recording. */
bool spoils(const emulated_stream *only)
{
    bool found = false;
    for (auto &stream : streams)
        if (stream->capture && (!only || only == stream.get()))
            found = stream->invalid = true;
    return found;
}

bool is_foreign(cudaStream_t stream)
{
    return !stream || stream->device != chosen_device;
}

/* --- memory --- */

/* What lies beyond `bytes` of the device does not fit; what the pool keeps is in the way, too. */
bool has_room(size_t bytes)
{
    return allocated + pool.kept_bytes + bytes <= number("EMULATED_MEMORY", size_t(1) << 30);
}

constexpr size_t alignment = 512;

size_t rounded(size_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Memory ends at a page that nobody may touch, and begins within another one. */
size_t pages(size_t whole)
{
    static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return (whole + page - 1) / page * page;
}

size_t offset(size_t whole)
{
    return pages(whole) - whole;
}

char *map(size_t whole)
{
    void *start = mmap(nullptr, pages(whole) + pages(1), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? nullptr : static_cast<char *>(start) + offset(whole);
}

void unmap(char *memory, size_t whole)
{
    munmap(memory - offset(whole), pages(whole) + pages(1));
}

char *keep(size_t bytes, bool from_pool)
{
    if (!bytes)
        emulated_stop("an allocation of no bytes");
    size_t whole = rounded(bytes);
    auto found = from_pool ? pool.kept.lower_bound(whole) : pool.kept.end();
    char *memory = nullptr;
    if (found != pool.kept.end() && found->first <= whole + whole / 4) {
        memory = found->second;
        whole = found->first;
        pool.kept_bytes -= whole;
        pool.kept.erase(found);
    } else if (has_room(whole)) {
        memory = map(whole);
    }
    if (memory) {
        mprotect(memory - offset(whole), pages(whole), PROT_READ | PROT_WRITE);
        allocations[memory] = {whole, from_pool};
        allocated += whole;
    }
    return memory;
}

void let_go(char *memory)
{
    auto found = allocations.find(memory);
    size_t bytes = found->second.bytes;
    allocated -= bytes;
    if (found->second.from_pool) {
        mprotect(memory - offset(bytes), pages(bytes), PROT_NONE);
        pool.kept.emplace(bytes, memory);
        pool.kept_bytes += bytes;
    } else {
        unmap(memory, bytes);
    }
    allocations.erase(found);
}
} // namespace

bool emulated_fails(const char *call)
{
    static std::atomic<size_t> calls;
    const char *which = getenv("EMULATED_FAIL");
    size_t length = strlen(call);
    if (!which || strncmp(which, call, length) != 0 || which[length] != ':')
        return false;
    return ++calls == strtoull(which + length + 1, nullptr, 10);
}

cudaError_t emulated_error(cudaError_t status)
{
    if (status != cudaSuccess)
        last_error = status;
    return status;
}

#define FAIL_IF_TOLD()                                                                             \
    if (emulated_fails(__func__))                                                                  \
    return emulated_error(cudaErrorUnknown)

void emulated_check_range(const char *call, const void *memory, size_t bytes)
{
    char *begin = static_cast<char *>(const_cast<void *>(memory));
    auto found = allocations.upper_bound(begin);
    if (found == allocations.begin())
        emulated_stop("%s: %p is no memory of the device", call, memory);
    --found;
    if (begin + bytes > found->first + found->second.bytes)
        emulated_stop("%s: %zu bytes at %p, beyond an allocation of %zu bytes at %p", call, bytes,
                      memory, found->second.bytes, static_cast<void *>(found->first));
}

static cudaError_t give(cudaStream_t stream, operation next)
{
    if (is_foreign(stream))
        return emulated_error(cudaErrorInvalidResourceHandle);
    if (stream->capture)
        stream->capture->nodes.push_back(std::move(next));
    else
        stream->queue.push_back(std::move(next));
    return cudaSuccess;
}

cudaError_t emulated_enqueue(cudaStream_t stream, std::function<void()> work)
{
    guard held(device_lock);
    return give(stream, {std::move(work), nullptr, nullptr});
}

void emulated_launch(int64_t blocks, unsigned threads, cudaStream_t stream,
                     std::function<void()> thread)
{
    if (emulated_fails("launch"))
        emulated_error(cudaErrorUnknown);
    else if (blocks < 1 || blocks > INT32_MAX || threads < 1 || threads > 1024)
        emulated_error(cudaErrorInvalidConfiguration);
    else
        emulated_enqueue(stream, [blocks, threads, thread = std::move(thread)] {
            emulated_run_blocks(blocks, threads, thread);
        });
}

/* --- errors, versions, devices --- */

cudaError_t cudaGetLastError(void)
{
    cudaError_t status = last_error;
    last_error = cudaSuccess;
    return status;
}

const char *cudaGetErrorString(cudaError_t status)
{
    static const char *const texts[] = {"no error",
                                        "invalid argument",
                                        "out of memory",
                                        "invalid configuration argument",
                                        "no CUDA-capable device is detected",
                                        "invalid device ordinal",
                                        "invalid resource handle",
                                        "operation not permitted when stream is capturing",
                                        "operation failed due to a previous error during capture",
                                        "the operation cannot be performed in the present state",
                                        "unknown error"};
    return texts[status];
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    FAIL_IF_TOLD();
    *count = device_count();
    return *count ? cudaSuccess : emulated_error(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    FAIL_IF_TOLD();
    if (device < 0 || device >= device_count())
        return emulated_error(cudaErrorInvalidDevice);
    chosen_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    FAIL_IF_TOLD();
    snprintf(properties->name, sizeof(properties->name),
             "emulated device %d: the processor, no GPU", device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = number("EMULATED_POOL", 1) != 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    drain_all();
    return cudaSuccess;
}

/* --- memory --- */

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int)
{
    FAIL_IF_TOLD();
    *out = &pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
    FAIL_IF_TOLD();
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t bytes)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    while (pool.kept_bytes > bytes) {
        auto first = pool.kept.begin();
        pool.kept_bytes -= first->first;
        unmap(first->second, first->first);
        pool.kept.erase(first);
    }
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    char *taken = keep(bytes, false);
    if (!taken)
        return emulated_error(cudaErrorMemoryAllocation);
    memset(taken, 0xff, rounded(bytes));
    *memory = taken;
    return cudaSuccess;
}

/* Waits for the device, as CUDA's does. */
cudaError_t cudaFree(void *memory)
{
    FAIL_IF_TOLD();
    if (!memory)
        return cudaSuccess;
    guard held(device_lock);
    if (spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    drain_all();
    auto found = allocations.find(static_cast<char *>(memory));
    if (found == allocations.end() || found->second.given_back)
        return emulated_error(cudaErrorInvalidValue);
    let_go(found->first);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (is_foreign(stream))
        return emulated_error(cudaErrorInvalidResourceHandle);
    if (spoils(stream))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    char *taken = keep(bytes, true);
    if (!taken) {
        /* What the stream has given back before is there in its order. */
        drain(*stream);
        taken = keep(bytes, true);
    }
    if (!taken)
        return emulated_error(cudaErrorMemoryAllocation);
    *memory = taken;
    size_t whole = allocations[taken].bytes;
    return emulated_enqueue(stream, [taken, whole] { memset(taken, 0xff, whole); });
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    char *begin = static_cast<char *>(memory);
    auto found = allocations.find(begin);
    if (found == allocations.end() || found->second.given_back || !found->second.from_pool)
        return emulated_error(cudaErrorInvalidValue);
    if (spoils(stream))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    found->second.given_back = true;
    if (emulated_ignores("frees")) {
        let_go(begin);
        return cudaSuccess;
    }
    return emulated_enqueue(stream, [begin] { let_go(begin); });
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    emulated_check_range("cudaMemsetAsync", memory, bytes);
    return emulated_enqueue(stream, [memory, value, bytes] { memset(memory, value, bytes); });
}

/* To the host with the call still under way is where a missing wait shows. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    emulated_check_range("cudaMemcpyAsync", kind == cudaMemcpyHostToDevice ? to : from, bytes);
    return emulated_enqueue(stream, [to, from, bytes] { memcpy(to, from, bytes); });
}

/* --- streams and events --- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    streams.push_back(std::make_unique<emulated_stream>());
    streams.back()->device = chosen_device;
    *stream = streams.back().get();
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (spoils(stream))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    drain(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (!event->last || emulated_ignores("waits"))
        return cudaSuccess;
    return give(stream, {nullptr, event->last, nullptr});
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    FAIL_IF_TOLD();
    *event = new emulated_event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    event->last = std::make_shared<moment>();
    return give(stream, {nullptr, nullptr, event->last});
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    FAIL_IF_TOLD();
    delete event;
    return cudaSuccess;
}

/* --- graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (stream->capture)
        return emulated_error(cudaErrorIllegalState);
    stream->capture = std::make_unique<emulated_graph>();
    stream->invalid = false;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    guard held(device_lock);
    *status = stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    FAIL_IF_TOLD();
    guard held(device_lock);
    if (!stream->capture)
        return emulated_error(cudaErrorIllegalState);
    *graph = stream->invalid ? nullptr : stream->capture.release();
    stream->capture.reset();
    return *graph ? cudaSuccess : emulated_error(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    FAIL_IF_TOLD();
    *executable = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    delete executable;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    FAIL_IF_TOLD();
    return emulated_enqueue(stream, [nodes = executable->nodes] {
        for (const operation &node : nodes)
            run(node);
    });
}
