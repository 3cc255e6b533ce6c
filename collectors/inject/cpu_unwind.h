/*
 * Who has called what was interrupted: one step along a stack at a time, by the tables for exceptions that programs and libraries
 * have (.eh_frame: LSB Core 5.0, 10.6; DWARF 5, 6.4).
 *
 * libgcc's unwinder is not for handlers: it follows a wrong return address to wherever that leads, and the tables are wrong within
 * libgcc itself where it lands in a handler of exceptions, and in much that is written in assembler. Here whatever is read of a
 * stack is asked for first. No lock, no memory; all of it may interrupt anything.
 */
#ifndef NVT_CPU_UNWIND_H
#define NVT_CPU_UNWIND_H

#include <stdint.h>

/* As DWARF numbers them, with the column of the return address; those that matter. */
#if defined(__x86_64__)
#define NVT_REGISTERS 17u
#else
#define NVT_REGISTERS 33u
#endif

struct nvt_unwind {
    uintptr_t ip;
    int is_exact; /* it is where the thread is, or was interrupted; else behind a call */
    uintptr_t registers[NVT_REGISTERS];
    /* of the frame that was left by the latest step: where its caller's stack ended at the call */
    uintptr_t cfa;
    /* that can be read, as far as is known; the last ones that were asked for */
    uintptr_t pages[4];
    uint32_t next_page;
};

/* What a signal has interrupted (a ucontext_t). */
void nvt_unwind_begin(struct nvt_unwind *unwind, const void *context);

/* To the caller. 0, or -1: that is unknown, or there is none. */
int nvt_unwind_step(struct nvt_unwind *unwind);

/* Have what was interrupted go on at its caller, as if its function had returned 0: behind a step. */
void nvt_unwind_return(const struct nvt_unwind *unwind, void *context);

#endif
