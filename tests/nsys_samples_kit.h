/* Samples of what threads run, as nsys's SQLite exports have them. */
#ifndef NVT_TESTS_NSYS_SAMPLES_KIT_H
#define NVT_TESTS_NSYS_SAMPLES_KIT_H

#include <stdint.h>

#include "../analyze/readers/reader.h"
#include "nsys_kit.h"

#ifdef HAVE_SQLITE
/* The strings that the stacks are of, and the tables as nsys has them. */
#define SAMPLED_STRINGS                                                                            \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"               \
    "INSERT INTO StringIds VALUES (1, 'main'), (2, 'hot'), (3, 'cold'), (4, '/bin/prog'),"         \
    " (5, '[Broken backtraces]'), (6, '0x55bcadd541a4'), (7, 'libm.so'), (8, 'sin'),"              \
    " (9, '[Unknown]'), (10, ''), (11, 'do_syscall_64'), (12, '[kernel.kallsyms]'),"               \
    " (13, '[Max depth]');"
/* As nsys 2021.5 to 2023.4 have them. */
#define SAMPLES                                                                                    \
    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL,"      \
    " cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);"
#define CHAINS                                                                                     \
    "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL,"              \
    " module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER,"         \
    " specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER,"                             \
    " stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"
/* What says how much time a sample stands for. */
#define CAPTURE "CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
#define CLOCK                                                                                      \
    "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD', '2000000'),"      \
    " ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE', 'Software'),"                                     \
    " ('LINUX_PERF_OPTIONS:SAMPLES_PER_BACKTRACE', '4'),"                                          \
    " ('LINUX_PERF_OPTIONS:COLLECTION_MODE', 'ProcessTree');"
#define ONE_SAMPLE "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 0, 1, " T57 ", 1);"

/* The stack of a sample, outermost function first: "main hot(libm.so)"; module '/bin/prog' is left out. */
const char *nsys_stack_of(const struct nvt_trace *trace, uint32_t sample);

/* A sample has that stack and those flags. */
void nsys_expect_sample(const struct nvt_trace *trace, uint32_t sample, const char *stack,
                        int flags);

/* As nsys 2023.4 writes a program whose callers are looked for in every fourth sample. */
#define OF_2023                                                                                    \
    SAMPLED_STRINGS SAMPLES CHAINS CAPTURE CLOCK                                                   \
        "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 0, 1, " T57 ", 1), (2, 20, 1, 1, " T57        \
        ", 1), (3, 30, 1, 1, " T58 ", 1), (4, 40, NULL, NULL, " T57 ", 1), (5, 50, 0, 1, " T57     \
        ", 1);"                                                                                    \
        "INSERT INTO SAMPLING_CALLCHAINS VALUES"                                                   \
        " (1, 8, 7, NULL, NULL, NULL, NULL, 4711, 0, 0),"                                          \
        " (2, 8, 7, NULL, NULL, NULL, NULL, 4711, 0, 0),"                                          \
        " (2, 2, 4, NULL, NULL, NULL, NULL, 4712, 7, 1),"                                          \
        " (2, 1, 4, NULL, NULL, NULL, NULL, 4713, 7, 2),"                                          \
        " (2, 5, 5, NULL, NULL, NULL, NULL, 0, 0, 3),"                                             \
        " (3, 3, 4, NULL, NULL, NULL, NULL, 4714, 0, 0),"                                          \
        " (4, 6, 4, NULL, NULL, 1, NULL, 94268858646948, 7, 0),"                                   \
        " (4, 1, 4, NULL, NULL, NULL, NULL, 4713, 7, 1),"                                          \
        " (4, 5, 5, NULL, NULL, NULL, NULL, 0, 0, 2),"                                             \
        " (5, 3, 4, NULL, NULL, NULL, NULL, 4714, 7, 0),"                                          \
        " (5, 5, 5, NULL, NULL, NULL, NULL, 0, 0, 1);"

/* The five samples of OF_2023. */
void nsys_expect_2023(const struct nvt_trace *trace);
#endif

#endif
