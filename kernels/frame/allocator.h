/*
 * The caching allocator, the same on both backends: blocks are taken from the backend in segments, split
 * and merged, kept when freed, and counted as PyTorch's allocator counts them.
 *
 *   allocated: bytes of blocks in use (each rounded up to 512; one that is not worth splitting counts whole)
 *   reserved:  bytes of segments held from the backend
 *
 * Requests up to 1 MiB share segments of 2 MiB; those below 10 MiB are cut from segments of 20 MiB;
 * larger ones get a segment of their own, rounded up to 2 MiB. Before it gives up, it hands all unused
 * segments back and tries again. (Sizes: PyTorch's CUDACachingAllocator, documented in "CUDA semantics".)
 *
 * An allocator belongs to one thread, and its blocks to one stream of the device: a block that was given
 * back is handed out again at once, behind what was launched before.
 */
#ifndef NVT_ALLOCATOR_H
#define NVT_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nvt_allocator;

struct nvt_memory_use {
    uint64_t allocated, reserved;           /* bytes now */
    uint64_t peak_allocated, peak_reserved; /* since the last nvt_allocator_reset_peak */
    uint64_t refused;                       /* bytes of the last request that could not be met */
};

/* An allocator that holds at most `limit` bytes of segments (0: as much as the backend has) of the calling thread's device.
 * NULL when out of host memory. */
struct nvt_allocator *nvt_allocator_new(uint64_t limit);

/* Give everything back, blocks in use included. NULL is allowed. */
void nvt_allocator_free(struct nvt_allocator *allocator);

/* Bytes of device memory, aligned to 512, or NULL when there are none left (use->refused says how many
 * were asked for). Giving back NULL, or what is no block in use, does nothing. */
void *nvt_allocator_take(struct nvt_allocator *allocator, size_t bytes);
void nvt_allocator_give(struct nvt_allocator *allocator, void *memory);

/* The peaks start again from what is in use now. Not while a scope is open. */
void nvt_allocator_reset_peak(struct nvt_allocator *allocator);
struct nvt_memory_use nvt_allocator_use(const struct nvt_allocator *allocator);

/*
 * The peaks of a stretch of the program, a range or a phase: from begin to end, starting with what is in
 * use at the beginning. Scopes nest; an inner peak is one of the outer scopes too. The caller owns the
 * struct; ending a scope ends those that were left open in it.
 */
struct nvt_memory_scope {
    uint64_t peak_allocated, peak_reserved; /* bytes, when it has ended */
    struct nvt_memory_scope *outer;
};
void nvt_allocator_scope_begin(struct nvt_allocator *allocator, struct nvt_memory_scope *scope);
void nvt_allocator_scope_end(struct nvt_allocator *allocator, struct nvt_memory_scope *scope);

#ifdef __cplusplus
}
#endif
#endif
