/*
 * Options of `nsys profile`, as they stand in many a script: what `record` takes them for, or where what they ask for is found.
 */
#ifndef NVT_NSYS_OPTIONS_H
#define NVT_NSYS_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "../lib/error.h"

enum nvt_nsys_otherwise {
    NVT_NSYS_REFUSED, /* with any other value it would do something else than is asked for */
    NVT_NSYS_NOTED    /* it is not done, which takes nothing from what is */
};

struct nvt_nsys_option {
    const char *name;
    char letter; /* 0: none */
    /* values that ask for what is done anyway, with commas between; "*": all do */
    const char *without;
    const char *with; /* those for which `levels` are recorded, too; NULL: none */
    uint64_t levels;
    enum nvt_nsys_otherwise otherwise;
    const char *place; /* what to do for any other value, a sentence without its dot */
};

/* All of them, and how many. Those that mean the same here, such as --output, are options of `record` itself. */
const struct nvt_nsys_option *nvt_nsys_options(size_t *count);

/* An option with its value. Adds levels, and to the text `note` (as long as fits `size`) what is not done. 0, or -1 with err. */
int nvt_nsys_take(const struct nvt_nsys_option *option, const char *value, uint64_t *levels,
                  char *note, size_t size, struct nvt_error *err);

#endif
