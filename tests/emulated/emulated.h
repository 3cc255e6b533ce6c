/* What the parts of the stand-in for CUDA share. */
#ifndef EMULATED_H
#define EMULATED_H

#include "cuda_runtime.h"

/* Run every thread of every block to its end. The device's lock is held. */
void emulated_run_blocks(int64_t blocks, unsigned threads, const std::function<void()> &thread);

/* A number below `bound`, from EMULATED_SEED. The device's lock is held. */
uint64_t emulated_random(uint64_t bound);

/* Whether EMULATED_IGNORE names it. */
bool emulated_ignores(const char *what);

/* A broken rule: a line on stderr, and the program ends. */
[[noreturn]] void emulated_stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether EMULATED_FAIL has it fail this time. */
bool emulated_fails(const char *call);

/* Keep and return this thread's last error. */
cudaError_t emulated_error(cudaError_t status);

/* Behind all that the stream was given before, or into the graph that it is recorded to. */
cudaError_t emulated_enqueue(cudaStream_t stream, std::function<void()> work);

/* The end of a range of memory must lie in the allocation in which it begins. */
void emulated_check_range(const char *call, const void *memory, size_t bytes);

#endif
