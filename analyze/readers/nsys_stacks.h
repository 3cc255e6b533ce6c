/*
 * Stacks in nsys's exports: tables of call chains, a row a function on a stack, depth 0 the innermost one. All have the same columns.
 *
 *   SAMPLING_CALLCHAINS  of CPU samples (nsys profile --sample), by the sample's id
 *   CUDA_CALLCHAINS      of calls of CUDA (--cudabacktrace), by their callchainId
 *   OSRT_CALLCHAINS      of OS calls (--osrt-backtrace-threshold), by their callchainId
 *
 * What nsys 2023.4 writes, and what is made of it:
 *  - A call without a stack has the callchainId 0 or null. Several calls may have one stack.
 *  - Entries such as "[Broken backtraces]" (of a module of the same name) behind the last function that was found are no functions;
 *    specialEntry is not always set. Most stacks of samples end with one, whether anything is missing or not.
 *  - A function of no known name is "0x55bcadd541a4", unresolved, in the module that it lies in. It is kept unchanged, or
 *    without a module where that is "[Unknown]" (what an invalid frame pointer points at).
 *  - Of a call the innermost function is the one that was called: "usleep" in libc.so.6.
 * Rows come in the order of stack and depth, and are read in one pass; if they do not, they are sorted.
 */
#ifndef NVT_NSYS_STACKS_H
#define NVT_NSYS_STACKS_H

#include "nsys.h"

/* The stack of this id, in the table that is read next, is that of a row. 0, or -1 when out of memory. */
int nvt_nsys_stacks_want(struct nvt_nsys *reader, int64_t id, uint32_t row);

/*
 * Read a table of call chains, if any of it is wanted: frame[row] gets the row of call_frames, and 1, of the innermost
 * function of each row's stack, and flags[row] (where flags is not NULL) NVT_CPU_SAMPLE_NO_CALLERS if callers were not
 * recorded. Rows without a stack keep what they have. Nothing is wanted any more then. Takes as much time as the table
 * has rows, sorting it apart. 0, or -1 with err filled.
 */
int nvt_nsys_stacks_read(struct nvt_nsys *reader, const char *table, uint32_t *frame,
                         uint8_t *flags);

void nvt_nsys_stacks_free(struct nvt_nsys *reader);

#endif
