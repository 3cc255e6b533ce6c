/*
 * Programs that are recorded with --trace cpu, and what is asked of their samples. A sample carries the CPU time that
 * it stands for, so that a busy machine changes nothing about shares.
 */
#ifndef NVT_TESTS_CPU_KIT_H
#define NVT_TESTS_CPU_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "pythons.h"
#include "read_kit.h"

/* A program, recorded with these levels and options (of which up to four count); its output is the caller's. */
struct cli_result cpu_run_with(const char *levels, const char *const options[4],
                               const char *const command[]);

/* A part of tests/clients/cpu_samples, recorded with these levels and an option, which may be NULL. */
struct cli_result cpu_run(const char *what, const char *levels, const char *option,
                          const char *value);

/* The trace of it; it found nothing wrong, nothing was lost, and it heard nothing of us. Where samples were lost at a full ring it is
 * run again, so many times in all. */
struct nvt_trace *cpu_record_in(int tries, const char *what, const char *levels, const char *option,
                                const char *value);

/* The trace of that, as cpu_record_in says. */
struct nvt_trace *cpu_record(const char *what, const char *levels, const char *option,
                             const char *value);

/* Compilers and versions of libc add something behind a name. */
int cpu_is_called(const struct nvt_trace *trace, uint32_t frame, const char *name);

/* Whether a sample's stack has a function of that name. */
int cpu_is_in(const struct nvt_trace *trace, uint32_t sample, const char *name);

/* Milliseconds of processor time in a function (NULL: anywhere), of threads of that name (NULL: any). */
int64_t cpu_time_in(const struct nvt_trace *trace, const char *function, const char *thread);

/* A machine that stands still for a while may count that as the time of who ran, and the system's clock does not tick then: what
 * is wrong about times is wrong in each of CLI_TRIES. */
extern char cpu_wrong[512];

/* What fails of times fails the try, not the test. */
#define CPU_EXPECT_TIMES(condition)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            snprintf(cpu_wrong, sizeof(cpu_wrong), "line %d: %s", __LINE__, #condition);           \
    } while (0)

/* Runs the test in *state until nothing is wrong, CLI_TRIES times at most. */
void cpu_tried(void **state);

/* Processor time is looked at when the system's clock ticks: some ticks are at stake at the ends, and what the collector takes. */
void cpu_expect_time(const struct nvt_trace *trace, const char *function, const char *thread,
                     int64_t ms);

/* A test that is tried so. */
#define CPU_TEST(name) cpu_test(#name, &(void (*)(void **)){name})
struct CMUnitTest cpu_test(const char *name, void (*const *test)(void **));

#endif
