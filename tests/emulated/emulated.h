/* What the parts of the stand-in for CUDA share. */
#ifndef EMULATED_H
#define EMULATED_H

#include "../cupti/stand_in.h"
#include "cuda_runtime.h"

#include <mutex>

/* Run every thread of every block to its end. The device's lock is held. */
void emulated_run_blocks(int64_t blocks, unsigned threads, const std::function<void()> &thread);

/* A number below `bound`, from EMULATED_SEED. The device's lock is held. */
uint64_t emulated_random(uint64_t bound);

/* Whether EMULATED_IGNORE names it. */
bool emulated_ignores(const char *what);

/* A number of the environment. */
size_t emulated_number(const char *name, size_t otherwise);

/* Everything below and all calls of the runtime hold this. */
extern std::recursive_mutex emulated_lock;
using emulated_guard = std::lock_guard<std::recursive_mutex>;

/* The device that this thread has chosen, whether the stream is of another one, and whose it is. */
extern thread_local int emulated_device;
bool emulated_is_foreign(cudaStream_t stream);
int emulated_device_of(cudaStream_t stream);

constexpr int emulated_devices_most = 16;
int emulated_device_count();

/* From now on a device runs: what it has no access to cannot be touched. Access: by cudaDeviceEnablePeerAccess. */
void emulated_let_run(int device);
bool emulated_has_access(int device, int to);

/* Run what streams hold, in any order that is allowed, until this one, or each of a device, is empty. */
void emulated_drain(cudaStream_t stream);
void emulated_drain_device(int device);

/* Whether this stream, or any (NULL), is being recorded, where waiting is forbidden: that spoils it. */
bool emulated_spoils(cudaStream_t only);

/* What the stand-in for NCCL is lent; see tests/nccl/stand_in.h. */
void emulated_on_stream(void *stream, int (*is_ready)(void *), void (*work)(void *),
                        void *argument);
void emulated_run_streams();

/* A broken rule: a line on stderr, and the program ends. */
[[noreturn]] void emulated_stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether EMULATED_FAIL has it fail this time, and whether EMULATED_FULL has, for want of memory. */
bool emulated_fails(const char *call);
bool emulated_lacks(const char *call);

/* Whether EMULATED_LOSE named a kernel that has been launched: from then on nothing but a new process is of help. */
bool emulated_is_lost();
void emulated_lose(const char *kernel);

/* Keep and return this thread's last error. */
cudaError_t emulated_error(cudaError_t status);

/*
 * A call of the runtime, from its beginning to the end of the block that this stands in, for who listens (the
 * stand-in for CUPTI, where the collector has it loaded).
 */
struct emulated_call {
    const char *name;
    uint64_t start = 0;
    uint32_t correlation = 0;
    explicit emulated_call(const char *name);
    ~emulated_call();
    emulated_call(const emulated_call &) = delete;
    emulated_call &operator=(const emulated_call &) = delete;
};

/* The time, what a stream ran, memory, a wait, for who listens. */
uint64_t emulated_now();
void emulated_tell(const stand_in_operation &operation);
void emulated_tell(const stand_in_memory &memory);
void emulated_tell_wait(const emulated_call &call, cudaStream_t stream);
void emulated_tell_event(const emulated_call &call, cudaStream_t stream, uint32_t event);
void emulated_tell_let_wait(const emulated_call &call, cudaStream_t stream, uint32_t event);

/* The driver comes up, which loads tools: once, before anything else. */
void emulated_start_driver();

/* What a call gives to a stream; of a kernel with a name and its size. */
stand_in_operation emulated_operation(stand_in_kind kind, const emulated_call &by);
stand_in_operation emulated_kernel(const emulated_call &by, const char *name, int64_t blocks,
                                   unsigned threads);

/* A call begins: those who listen hear of it, and it fails if it was told to. */
#define ENTER()                                                                                    \
    emulated_call call(__func__);                                                                  \
    if (emulated_is_lost() || emulated_fails(__func__))                                            \
        return emulated_error(cudaErrorUnknown);                                                   \
    if (emulated_lacks(__func__))                                                                  \
    return emulated_error(cudaErrorMemoryAllocation)

/* Behind all that the stream was given before, or into the graph that it is recorded to. `what` says what
 * it is; times, stream and numbers are filled in. */
cudaError_t emulated_enqueue(cudaStream_t stream, stand_in_operation what,
                             std::function<void()> work);

/* The end of a range of memory must lie in the allocation in which it begins, which is that device's. */
void emulated_check_range(const char *call, const void *memory, size_t bytes, int device);

#endif
