/*
 * The parts of a thread's sampler (cpu.h): a stack of its own, the frames that it finds, what the program and Python want to do
 * with the signal.
 *
 * The signal's handler continues on a stack of the collector's: of the program's, which may be a few KiB large, it
 * takes what the system puts there, and less than 1 KiB.
 */
#ifndef NVT_CPU_SAMPLER_H
#define NVT_CPU_SAMPLER_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu.h"
#include "thread.h"

/* Functions of a stack, from the innermost on; deeper ones are left out. */
#define NVT_CPU_FRAMES 192u
/* Bytes of Python's stack, from the innermost function on. */
#define NVT_CPU_TEXT 12288u
/* Parts of libraries that a thread has seen last. */
#define NVT_CPU_OBJECTS 64u
/* Of the stack; the handler was seen to use 7 KiB of it where it makes a ring, else 3. */
#define NVT_CPU_STACK 65536u
/* Below it, whatever the size of a page is. */
#define NVT_CPU_GUARD 65536u
/* A sample is not larger, with the name of a file that it may come with. */
#define NVT_CPU_SLOTS ((NVT_CPU_FRAMES * 8 + NVT_CPU_TEXT + 2048) / sizeof(struct nvt_slot))
/* Longer paths of libraries are no names. */
#define NVT_CPU_PATH 1024u

struct nvt_cpu_object {
    uintptr_t from, to, base;
    uint32_t file;
    uint32_t sample; /* when it was last seen to be still that */
};

/* What a thread needs to be sampled; its signal handler's alone. */
struct nvt_sampler {
    char guard[NVT_CPU_GUARD];
    char stack[NVT_CPU_STACK] __attribute__((aligned(64)));
    int timer; /* as the kernel numbers it */
    int has_timer;
    int process;          /* whose timer it is */
    int is_first;         /* no sample was taken yet */
    int64_t taken_over;   /* ns of other threads' time */
    int64_t told;         /* ns that signals have come for */
    uint64_t until_asked; /* ticks in calls, before its stack is taken behind one again */
    uint64_t call_end; /* its stack is wanted for the call that ended then (ticks); 0: it is not */
    uint32_t number;   /* of the sample */
    uint32_t python;   /* enum nvt_python_state */
    size_t text_size;
    uint32_t count;
    uint64_t frames[NVT_CPU_FRAMES];
    struct nvt_cpu_object objects[NVT_CPU_OBJECTS];
    char text[NVT_CPU_TEXT];
};

/* NULL when out of memory. */
struct nvt_sampler *nvt_sampler_new(void);
void nvt_sampler_free(struct nvt_sampler *sampler);

/* Call a function on the sampler's stack. */
void nvt_sampler_run(struct nvt_sampler *sampler, void (*function)(void *), void *argument);

/* Whether a place on a stack is on the sampler's. */
int nvt_sampler_holds(const struct nvt_sampler *sampler, uintptr_t place);

/* What is asked for once. */
void nvt_frames_prepare(void);
void nvt_actions_prepare(void);

/* Where a signal has interrupted the thread: the stack pointer, 0: unknown. */
uintptr_t nvt_frames_stack_pointer(const void *context);

/* Whether what has set `busy` to its stack pointer has been jumped out of: its function is none of those that call each
 * other here. 0 also where that is unknown. */
int nvt_frames_have_left(const void *context, uintptr_t busy);

/* The addresses in sampler->frames, the innermost first; at least one. On the sampler's stack or the handler's. */
void nvt_frames_find(struct nvt_sampler *sampler, const void *context);

/* The stack as frames of a record, whose files are defined in the thread's ring. */
void nvt_frames_name(struct nvt_sampler *sampler, struct nvt_thread *thread);

/* Python's stack as text, or why there is none (enum nvt_python_state). */
void nvt_python_find(struct nvt_sampler *sampler, siginfo_t *info, void *context);

/* The signal has come, and not from our timer: the program's handler gets it. */
void nvt_action_call(int signal, siginfo_t *info, void *context);

/* In a process that was forked. */
void nvt_actions_forked(void);

#endif
