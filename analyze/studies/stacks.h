/*
 * Stacks: the time of a trace, or its memory, by what was open, names within names, as flame graphs and collapsed
 * stacks show it (Gregg, "The Flame Graph", Communications of the ACM 59(6), 2016).
 *
 * A stack is a path of names, from the outermost range down, summed over its instances, threads and
 * processes; names are without the numbers of each call and step (plain_names.h). Its own time, `self`,
 * is in no stack below it, so that the own times of all stacks add up to all time there is:
 *
 * NVT_STACKS_HOST: time within push/pop ranges, threads added up. Nesting is that of the thread, across domains
 * (nesting.h). Start/end ranges do not nest, and are left out. MPI calls and OS calls that a range encloses
 * (calls_by_range.h) stand below it; of calls within calls, the outermost.
 *
 * NVT_STACKS_DEVICE: time of kernels, copies and memsets, those at the same time each counted; kernels by nvt_telling_name. They
 * stand at the end of the path of the push/pop ranges that they belong to (project.h), else of the
 * start/end range opened last, else of NVT_STACKS_NOWHERE, which is left out where there are no
 * ranges at all, or of NVT_STACKS_UNKNOWN. With NVT_ACROSS_THREADS, a library's ranges of the launching thread stand below those
 * that the operation has from another thread: PyTorch's backward operators in the step.
 *
 * NVT_STACKS_MEMORY: bytes that were in use at the peak, by where they were allocated: outermost the memory of a device
 * as a process takes it, or the host's (levels.h), each at its own peak, below it the ranges as for operations, and the
 * functions of the program's stack where they were recorded (call_frames). Memory in use whose allocation was not
 * recorded, or that was allocated before the recording and has no known stack, is NVT_STACKS_BEFORE.
 *
 * NVT_STACKS_CPU: CPU time by what threads ran (hot_functions.h): the functions on the stack of each sample, below the
 * push/pop ranges that its thread was in, or NVT_STACKS_NOWHERE where there are others. Where a sample's function alone
 * is known it stands below NVT_STACKS_STACKLESS, unless that is so of all.
 */
#ifndef NVT_STACKS_H
#define NVT_STACKS_H

#include "../model/trace.h"

enum nvt_stacks_of { NVT_STACKS_HOST, NVT_STACKS_DEVICE, NVT_STACKS_MEMORY, NVT_STACKS_CPU };

enum nvt_stack_kind {
    NVT_STACK_RANGE,
    NVT_STACK_KERNEL,
    NVT_STACK_MEMORY,
    NVT_STACK_CALL,
    NVT_STACK_PYTHON, /* functions of samples */
    NVT_STACK_PROGRAM,
    NVT_STACK_LIBRARY,
    NVT_STACK_SYSTEM,
};

/* The frame around operations that were launched in no range, and the frame around those whose launch was not
 * recorded. */
#define NVT_STACKS_NOWHERE "[in no range]"
#define NVT_STACKS_UNKNOWN "[launch not recorded]"

/* What stands around memory taken in no range and with no stack, in a trace that has the stacks of others; and around samples
 * without callers. */
#define NVT_STACKS_STACKLESS "[stack not recorded]"

/* The frame of memory whose allocation was not recorded, and that of allocations without addresses, of which it is
 * unknown which were freed. */
#define NVT_STACKS_BEFORE   "[allocated before]"
#define NVT_STACKS_NAMELESS "[addresses not recorded]"

struct nvt_stack {
    uint32_t parent; /* a lower row, or NVT_NONE: it is an outermost one */
    uint32_t name;   /* nvt_stacks_name has the text */
    uint32_t depth;  /* 0: outermost */
    /* enum nvt_stack_kind; NVT_STACK_MEMORY: copies and memsets; NVT_STACK_CALL: of MPI, of the system */
    uint32_t kind;
    uint32_t op;           /* of kernels, copies and memsets the first of them, else NVT_NONE */
    uint64_t count;        /* of ranges, operations, allocations or samples of its own */
    int64_t self;          /* ns, bytes, or samples (counts_samples) */
    int64_t total;         /* including all stacks below */
    uint64_t inside_count; /* NVT_STACKS_INSIDE: what of both lies in typical iterations */
    int64_t inside;
    /* of a device's memory: the moment of its peak; else, and where it is not known, INT64_MIN */
    int64_t at;
};

struct nvt_stacks {
    struct nvt_stack *items;
    uint32_t count;
    uint32_t *order; /* rows: each before those below it, brothers by total, greatest first */
    int64_t total;   /* of all */
    int64_t inside;  /* of what lies in typical iterations, of which there are so many: */
    uint32_t iterations;
    /* bytes: NVT_STACKS_BEFORE and NVT_STACKS_NAMELESS of all devices; of samples, NVT_STACKS_STACKLESS */
    int64_t unseen;
    int has_nameless;
    int counts_samples; /* that do not say which time they stand for */
    int has_alike;      /* there are names with a '*' for numbers */
    struct nvt_strings *names;
};

/* How they are made; added to those of project.h, which say what ranges operations belong to. */
enum nvt_stacks_flags {
    /* Functions of Python's stack, not modules in it, are left out, unless the trace has no other ranges: a hundred of
     * them lie around each range. Their time is that of the range around them. */
    NVT_STACKS_NO_FUNCTIONS = 0x100,
    /* Ranges whose names differ in a number alone are one, "layer*.fc1", where that has four values or
     * more: what a hundred layers are made of is seen from all of them. */
    NVT_STACKS_ALIKE = 0x200,
    /* The host's memory is left out where there is a device's. */
    NVT_STACKS_NO_HOST_MEMORY = 0x400,
    /* So is what has no recorded allocation, or no recorded callers: struct nvt_stacks has its amount. */
    NVT_STACKS_NO_UNSEEN = 0x800,
    /* Of samples: functions of Python are one, whatever line runs, and those that say little are left out. Those that start programs and threads; those of the interpreter around
     * functions that it runs; and of libraries' that call each other, and spend all their time in that, all but the first
     * and the last. */
    NVT_STACKS_SHORT = 0x1000,
    /* With it: libraries' functions that call each other stay, all of them. Whether they spend time by themselves is chance, which
     * stacks that are compared must not depend on. */
    NVT_STACKS_ALL_LIBRARIES = 0x2000,
    /* Of time: find out what lies in typical iterations, which are those of each process but for the longest and the shortest
     * ones, as many as nvt_typical_cut says: their mean is what compare calls typical. A range lies in the iteration in which it begins
     * (nvt_iteration_at), an operation in that of its launch. */
    NVT_STACKS_INSIDE = 0x4000,
};

/*
 * Make the stacks of a finished trace, in time linear in its ranges, operations and allocations but for
 * nvt_project and an order of the stacks. Zero-initialise; release with nvt_stacks_free, also after a failure. 0, or -1 with
 * err filled (out of memory).
 */
int nvt_stacks_make(struct nvt_stacks *stacks, const struct nvt_trace *trace,
                    enum nvt_stacks_of what, unsigned flags, struct nvt_error *err);
void nvt_stacks_free(struct nvt_stacks *stacks);

/* Whether the functions that took memory were recorded. */
int nvt_stacks_has_callers(const struct nvt_trace *trace);

/* The name of a row, the last one of its path. Owned by the stacks. */
const char *nvt_stacks_name(const struct nvt_stacks *stacks, uint32_t row);

#endif
