/*
 * What was built in and what is found on this machine: the answer of `nvtally info`, and what a
 * command names when it lacks something.
 */
#ifndef NVT_PROBE_H
#define NVT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* One thing that may be there or not. Texts are one line each, without a newline. */
struct nvt_probe_item {
    const char *section; /* "built in", "libraries", "this machine", "CUDA", "programs"; static */
    const char *name;    /* static */
    bool present;
    char detail[384]; /* version, path, size …; absent: "", or why it is unknown */
    /* what it is for and how to get it; NULL for what cannot be installed; static */
    const char *remedy;
};

/* More items than nvt_probe ever fills. */
#define NVT_PROBE_MAX 48

/*
 * Fill items in the order of their sections and return how many. Looks at files, at PATH, and at
 * the CUDA driver where one is installed; starts no program and writes nothing. `has_workloads`: whether the program can run
 * workloads; without, what only they need is left out.
 */
size_t nvt_probe(struct nvt_probe_item items[NVT_PROBE_MAX], bool has_workloads);

#endif
