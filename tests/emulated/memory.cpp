/* Memory of the devices, their pools, and what moves bytes. */
#include "emulated.h"

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

struct allocation {
    size_t bytes;
    int device;
    bool from_pool;
    bool given_back = false; /* by a call; the stream may not be there yet */
    bool is_open = true;     /* to the device that runs */
};

/* Of a device. */
struct emulated_pool {
    std::multimap<size_t, char *> kept; /* given back and not trimmed, by its size */
    size_t kept_bytes = 0;
    size_t allocated = 0, pooled = 0; /* in bytes; pooled: those of the pool, of these */
    bool is_open_to[emulated_devices_most] = {};
};

namespace
{
std::map<char *, allocation> allocations;
emulated_pool pools[emulated_devices_most];
int running; /* the device that others' memory is closed to */

/* What lies beyond `bytes` of the device does not fit; what the pool keeps is in the way, too. */
bool has_room(const emulated_pool &pool, size_t bytes)
{
    return pool.allocated + pool.kept_bytes + bytes <=
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

void open(char *memory, size_t whole, bool is_open)
{
    mprotect(memory - offset(whole), pages(whole), is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* Whether the device that runs may touch it. */
bool is_reached(const allocation &one)
{
    return one.device == running || (one.from_pool ? pools[one.device].is_open_to[running]
                                                   : emulated_has_access(running, one.device));
}

std::vector<char *> opened; /* since another device ran; some may be gone */

void set_open(char *memory, allocation &one, bool is_open)
{
    if (is_open != one.is_open)
        open(memory, one.bytes, is_open);
    if (is_open && !one.is_open)
        opened.push_back(memory);
    one.is_open = is_open;
}

/* What is reached is opened when it is touched: a device has many allocations, and an operation touches few. */
void close_what_is_not_reached()
{
    std::vector<char *> before;
    before.swap(opened);
    for (char *memory : before) {
        auto found = allocations.find(memory);
        if (found == allocations.end() || !found->second.is_open)
            continue;
        if (is_reached(found->second))
            opened.push_back(memory);
        else
            set_open(memory, found->second, false);
    }
}

char *keep(size_t bytes, bool from_pool, int device)
{
    emulated_pool &pool = pools[device];
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
    } else if (has_room(pool, whole)) {
        memory = map(whole);
    }
    if (memory) {
        open(memory, whole, true);
        opened.push_back(memory);
        allocations[memory] = {whole, device, from_pool};
        pool.allocated += whole;
        pool.pooled += from_pool ? whole : 0;
    }
    return memory;
}

void let_go(char *memory)
{
    auto found = allocations.find(memory);
    size_t bytes = found->second.bytes;
    emulated_pool &pool = pools[found->second.device];
    pool.allocated -= bytes;
    if (found->second.from_pool) {
        pool.pooled -= bytes;
        open(memory, bytes, false);
        pool.kept.emplace(bytes, memory);
        pool.kept_bytes += bytes;
    } else {
        unmap(memory, bytes);
    }
    allocations.erase(found);
}

/* That in which a place lies or which ends before it; the end where there is none. */
std::map<char *, allocation>::iterator find(const void *place)
{
    auto found = allocations.upper_bound(static_cast<char *>(const_cast<void *>(place)));
    return found == allocations.begin() ? allocations.end() : --found;
}

struct sigaction fault_before;

/* The thread that runs, or those that help it, has touched what is closed. */
void on_fault(int, siginfo_t *info, void *)
{
    static std::atomic_flag busy = ATOMIC_FLAG_INIT;
    while (busy.test_and_set())
        ;
    const char *place = static_cast<const char *>(info->si_addr);
    auto found = find(place);
    if (found != allocations.end() && place < found->first + found->second.bytes &&
        is_reached(found->second))
        set_open(found->first, found->second, true);
    else
        sigaction(SIGSEGV, &fault_before, nullptr); /* and it is touched again */
    busy.clear();
}

void listen_to_faults()
{
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &fault_before);
}
} // namespace

void emulated_let_run(int device)
{
    if (device == running)
        return;
    static std::once_flag listens;
    std::call_once(listens, listen_to_faults);
    running = device;
    close_what_is_not_reached();
}

void emulated_check_range(const char *call, const void *memory, size_t bytes, int device)
{
    emulated_guard held(emulated_lock);
    const char *begin = static_cast<const char *>(memory);
    auto found = find(memory);
    if (found == allocations.end())
        emulated_stop("%s: %p is no memory of the device", call, memory);
    if (begin + bytes > found->first + found->second.bytes)
        emulated_stop("%s: %zu bytes at %p, beyond an allocation of %zu bytes at %p", call, bytes,
                      memory, found->second.bytes, static_cast<void *>(found->first));
    if (found->second.device != device)
        emulated_stop("%s: %zu bytes at %p are of device %d, not %d", call, bytes, memory,
                      found->second.device, device);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
    ENTER();
    *out = &pools[device];
    return cudaSuccess;
}

/* Of what is taken from it and what will be. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *to, size_t count)
{
    ENTER();
    emulated_guard held(emulated_lock);
    for (size_t i = 0; i < count; i++) {
        const int device = to[i].location.id;
        if (to[i].location.type != cudaMemLocationTypeDevice || device < 0 ||
            device >= emulated_device_count() || !emulated_number("EMULATED_PEERS", 1))
            return emulated_error(cudaErrorInvalidDevice);
        pool->is_open_to[device] = to[i].flags == cudaMemAccessFlagsProtReadWrite;
    }
    close_what_is_not_reached();
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
    ENTER();
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    ENTER();
    emulated_guard held(emulated_lock);
    while (pool->kept_bytes > bytes) {
        auto first = pool->kept.begin();
        pool->kept_bytes -= first->first;
        unmap(first->second, first->first);
        pool->kept.erase(first);
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
    const emulated_pool &pool = pools[one.device];
    what.pool_used = pool.pooled - (taken || !one.from_pool ? 0 : one.bytes);
    what.pool_bytes = pool.pooled + pool.kept_bytes;
    what.stream = stream;
    what.device = static_cast<uint32_t>(one.device);
    what.correlation = call.correlation;
    emulated_tell(what);
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (emulated_spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    char *taken = keep(bytes, false, emulated_device);
    if (!taken)
        return emulated_error(cudaErrorMemoryAllocation);
    memset(taken, 0xff, rounded(bytes));
    set_open(taken, allocations[taken], is_reached(allocations[taken]));
    *memory = taken;
    tell_memory(call, true, taken, nullptr);
    return cudaSuccess;
}

/* Waits for the memory's device, as CUDA's does. */
cudaError_t cudaFree(void *memory)
{
    ENTER();
    if (!memory)
        return cudaSuccess;
    emulated_guard held(emulated_lock);
    if (emulated_spoils(nullptr))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    auto found = allocations.find(static_cast<char *>(memory));
    if (found == allocations.end() || found->second.given_back)
        return emulated_error(cudaErrorInvalidValue);
    emulated_drain_device(found->second.device);
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
    char *taken = keep(bytes, true, emulated_device);
    if (!taken) {
        /* What the stream has given back before is there in its order. */
        emulated_drain(stream);
        taken = keep(bytes, true, emulated_device);
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
    if (found->second.device != emulated_device)
        emulated_stop("cudaFreeAsync: memory of device %d, while %d is the current one",
                      found->second.device, emulated_device);
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
    emulated_check_range("cudaMemsetAsync", memory, bytes, emulated_device_of(stream));
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
    emulated_check_range("cudaMemcpyAsync", kind == cudaMemcpyHostToDevice ? to : from, bytes,
                         emulated_device_of(stream));
    stand_in_operation what = emulated_operation(STAND_IN_COPY, call);
    what.bytes = bytes;
    what.to_host = kind == cudaMemcpyDeviceToHost;
    if (emulated_ignores("work") && what.to_host)
        memset(to, 0, bytes);
    return emulated_enqueue(stream, what, [to, from, bytes] { memcpy(to, from, bytes); });
}

/* Neither device needs to reach the other: then the driver takes the bytes by way of the host. */
static void copy_between(void *to, const void *from, size_t bytes)
{
    const std::map<char *, allocation>::iterator ends[] = {find(to), find(from)};
    static const bool is_staged = !emulated_ignores("staging");
    for (auto &end : ends)
        set_open(end->first, end->second, is_staged || is_reached(end->second));
    memcpy(to, from, bytes);
    for (auto &end : ends)
        set_open(end->first, end->second, is_reached(end->second));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    emulated_check_range("cudaMemcpyPeerAsync", to, bytes, to_device);
    emulated_check_range("cudaMemcpyPeerAsync", from, bytes, from_device);
    stand_in_operation what = emulated_operation(STAND_IN_PEER_COPY, call);
    what.bytes = bytes;
    what.from_device = static_cast<uint32_t>(from_device);
    what.to_device = static_cast<uint32_t>(to_device);
    return emulated_enqueue(stream, what, [to, from, bytes] { copy_between(to, from, bytes); });
}
