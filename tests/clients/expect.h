/*
 * What programs that are recorded check of their own calls: what is wrong is told, and they end with status 1.
 */
#ifndef NVT_EXPECT_H
#define NVT_EXPECT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, strerror(errno));          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#endif
