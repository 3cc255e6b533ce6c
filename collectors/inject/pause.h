/*
 * How a thread of the program waits for the recorder.
 */
#ifndef NVT_INJECT_PAUSE_H
#define NVT_INJECT_PAUSE_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The processor's hint that this is a loop that waits. */
static inline void nvt_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spin, then yield, then sleep: raw system calls, as nanosleep() is a cancellation point. */
static inline void nvt_pause(unsigned round)
{
    if (round < 64) {
        nvt_relax();
    } else if (round < 128) {
        syscall(SYS_sched_yield);
    } else {
        struct timespec moment = {0, 50000};
        syscall(SYS_nanosleep, &moment, NULL);
    }
}

#endif
