/* Memory of the device, its pool, and what moves bytes. */
#include "emulated.h"

#include <map>
#include <sys/mman.h>
#include <unistd.h>

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
std::map<char *, allocation> allocations;
size_t allocated, pooled; /* in bytes; pooled: those of the pool, of these */
emulated_pool pool;

/* What lies beyond `bytes` of the device does not fit; what the pool keeps is in the way, too. */
bool has_room(size_t bytes)
{
    return allocated + pool.kept_bytes + bytes <=
           emulated_number("EMULATED_MEMORY", size_t(1) << 30);
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
        pooled += from_pool ? whole : 0;
    }
    return memory;
}

void let_go(char *memory)
{
    auto found = allocations.find(memory);
    size_t bytes = found->second.bytes;
    allocated -= bytes;
    if (found->second.from_pool) {
        pooled -= bytes;
        mprotect(memory - offset(bytes), pages(bytes), PROT_NONE);
        pool.kept.emplace(bytes, memory);
        pool.kept_bytes += bytes;
    } else {
        unmap(memory, bytes);
    }
    allocations.erase(found);
}
} // namespace

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

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int)
{
    ENTER();
    *out = &pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
    ENTER();
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t bytes)
{
    ENTER();
    emulated_guard held(emulated_lock);
    while (pool.kept_bytes > bytes) {
        auto first = pool.kept.begin();
        pool.kept_bytes -= first->first;
        unmap(first->second, first->first);
        pool.kept.erase(first);
    }
    return cudaSuccess;
}

/* Of memory that is still in the books. */
static void tell_memory(const emulated_call &call, bool taken, char *memory, cudaStream_t stream)
{
    const allocation &one = allocations[memory];
    stand_in_memory what = {};
    what.taken = taken;
    what.pooled = one.from_pool;
    what.address = reinterpret_cast<uintptr_t>(memory);
    what.bytes = one.bytes;
    what.pool_used = pooled - (taken || !one.from_pool ? 0 : one.bytes);
    what.pool_bytes = pooled + pool.kept_bytes;
    what.stream = stream;
    what.device = static_cast<uint32_t>(emulated_device);
    what.correlation = call.correlation;
    emulated_tell(what);
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (emulated_spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    char *taken = keep(bytes, false);
    if (!taken)
        return emulated_error(cudaErrorMemoryAllocation);
    memset(taken, 0xff, rounded(bytes));
    *memory = taken;
    tell_memory(call, true, taken, nullptr);
    return cudaSuccess;
}

/* Waits for the device, as CUDA's does. */
cudaError_t cudaFree(void *memory)
{
    ENTER();
    if (!memory)
        return cudaSuccess;
    emulated_guard held(emulated_lock);
    if (emulated_spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    emulated_drain_all();
    auto found = allocations.find(static_cast<char *>(memory));
    if (found == allocations.end() || found->second.given_back)
        return emulated_error(cudaErrorInvalidValue);
    tell_memory(call, false, found->first, nullptr);
    let_go(found->first);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (emulated_is_foreign(stream))
        return emulated_error(cudaErrorInvalidResourceHandle);
    if (emulated_spoils(stream))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    char *taken = keep(bytes, true);
    if (!taken) {
        /* What the stream has given back before is there in its order. */
        emulated_drain(stream);
        taken = keep(bytes, true);
    }
    if (!taken)
        return emulated_error(cudaErrorMemoryAllocation);
    *memory = taken;
    size_t whole = allocations[taken].bytes;
    tell_memory(call, true, taken, stream);
    if (emulated_ignores("work"))
        return cudaSuccess;
    return emulated_enqueue(stream, {}, [taken, whole] { memset(taken, 0xff, whole); });
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    char *begin = static_cast<char *>(memory);
    auto found = allocations.find(begin);
    if (found == allocations.end() || found->second.given_back || !found->second.from_pool)
        return emulated_error(cudaErrorInvalidValue);
    if (emulated_spoils(stream))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    found->second.given_back = true;
    tell_memory(call, false, begin, stream);
    if (emulated_ignores("frees")) {
        let_go(begin);
        return cudaSuccess;
    }
    return emulated_enqueue(stream, {}, [begin] { let_go(begin); });
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    emulated_check_range("cudaMemsetAsync", memory, bytes);
    stand_in_operation what = emulated_operation(STAND_IN_SET, call);
    what.bytes = bytes;
    return emulated_enqueue(stream, what, [memory, value, bytes] { memset(memory, value, bytes); });
}

/* To the host with the call still under way is where a missing wait shows. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    emulated_check_range("cudaMemcpyAsync", kind == cudaMemcpyHostToDevice ? to : from, bytes);
    stand_in_operation what = emulated_operation(STAND_IN_COPY, call);
    what.bytes = bytes;
    what.to_host = kind == cudaMemcpyDeviceToHost;
    if (emulated_ignores("work") && what.to_host)
        memset(to, 0, bytes);
    return emulated_enqueue(stream, what, [to, from, bytes] { memcpy(to, from, bytes); });
}
