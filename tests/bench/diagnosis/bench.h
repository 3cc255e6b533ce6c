/*
 * The benchmark of diagnosis: traces with a known truth, and how often `diagnose` finds it.
 *
 * A case is a loop that is made up (made_trace.h) from a seed: a healthy body and one or two troubles. A trouble is work that
 * a program does badly, together with the same work done well. What it costs is not stated by anybody, it is the difference
 * between the two programs: the mean length of the iterations of the second half with the trouble, less that without it. So
 * no rule's own formula is the measure of its size.
 *
 * All times are ns on the axis of the trace.
 */
#ifndef NVT_BENCH_DIAGNOSIS_H
#define NVT_BENCH_DIAGNOSIS_H

#include <stdio.h>

#include "../../../analyze/diagnosis/diagnose.h"
#include "../../made_trace.h"

/* Numbers from a seed: splitmix64 (Steele, Lea, Flood 2014). */
struct bench_random {
    uint64_t state;
};

uint64_t bench_random(struct bench_random *random);
/* A number of [low, high], and one whose logarithm is even in that. */
int64_t bench_between(struct bench_random *random, int64_t low, int64_t high);
double bench_even(struct bench_random *random, double low, double high);
double bench_even_log(struct bench_random *random, double low, double high);

/* Words of the framework that a program is written in. */
struct bench_names {
    const char *iteration; /* with %d: its number */
    const char *kernels[6];
    const char *work; /* the range that a trouble lies in */
};

/* A program under way. */
struct bench_program {
    struct maker maker;
    struct bench_random random;
    const struct bench_names *names;
    int has_device;    /* it launches kernels; else it works on the host */
    int has_operators; /* PyTorch's profiler names what the host does */
    int kernels;       /* of the healthy body */
    int64_t kernel_ns, host_ns;
    int is_noisy; /* times vary by up to 15 % */
    int iteration, iterations;
    uint32_t rank;
    int is_peer; /* in this iteration another rank has the trouble */
    /* what troubles have added to all iterations; troubles that are sampled add it up */
    int64_t lost_ns;
    int64_t waiting; /* since when another thread waits for work, 0: it does not */
};

/* A time as this program has it, with its noise. */
int64_t bench_vary(struct bench_program *program, int64_t ns);

/*
 * Do in this iteration what takes about `ns` longer than it has to; with `is_well` the same work as it should be done.
 */
typedef void (*bench_put)(struct bench_program *program, int64_t ns, int is_well);

#define BENCH_CAUSES 4
#define BENCH_RANKS  8

struct bench_trouble {
    const char *name;                 /* the rule's cause, as a table names it */
    const char *causes[BENCH_CAUSES]; /* of findings that tell of it: any of them is right */
    const char *place; /* in one of the texts of a right finding; NULL: there is no place */
    /* causes that are true of it as well, but do not say why: right, and not enough */
    const char *consequences[BENCH_CAUSES];
    double least; /* share of the iteration from which on it is told */
    double most;  /* that it is asked to cost; 0: any */
    bench_put put;
    int has_device, has_operators; /* as of struct bench_program */
    int has_host_part;             /* it needs no device, and a loop with one may have it */
    int is_once;  /* it is about a whole run: not at its start or end only, nor every n-th time */
    int no_size;  /* what it costs is not time, or not told as such */
    int is_alone; /* no other trouble beside it */
    int is_of_ranks; /* one of eight ranks has it and the others wait; its place is the rank */
    /* behind the last iteration, or NULL */
    void (*end)(struct bench_program *program, int is_well);
};

/* Troubles by what they are about: a loop, ranks and threads that wait for each other, the machine and memory. */
struct bench_troubles {
    const struct bench_trouble *items;
    size_t count;
};

extern const struct bench_troubles bench_loop_troubles, bench_waiting_troubles,
    bench_machine_troubles, bench_operator_troubles;

/* Healthy programs: which, and causes that may be told of them all the same (no false findings). */
struct bench_healthy {
    const char *name;
    void (*make)(struct bench_program *program);
    const char *may_be_told[BENCH_CAUSES];
    int has_device, is_of_ranks;
};

extern const struct bench_healthy bench_healthy[];
extern const size_t bench_healthy_count;

/* Sweeps over a number, whose cost grows by a law, does not, or crosses that of another variant: found, and false, of `count` each. */
struct bench_sweep {
    const char *name, *cause;
    unsigned cases, found, right; /* right: the exponent, the crossing */
    int is_healthy;
};
size_t bench_sweeps(struct bench_random *random, unsigned count, int shows_misses,
                    struct bench_sweep **sweeps);

/* Whether a cause is one of these. */
int bench_tells_of(const char *cause, const char *const *causes);

/* Problems planted into recorded traces (recorded.c), each read in several forms. */
#define BENCH_FORMS 3
struct bench_recorded_form {
    unsigned cases, found, first, sizeable, sized;
    unsigned also; /* findings of neither the problem nor the trace itself */
};
struct bench_recorded {
    struct bench_recorded_form forms[BENCH_FORMS];
    const char *path; /* of the trace under way */
    int shows_misses;
};
void bench_plant(struct bench_recorded *score, struct bench_random *random,
                 const char *const *files, size_t file_count, unsigned cases);
const char *bench_form_name(size_t form);

/* An operator of PyTorch, on the host, from now on. */
void bench_operator(struct bench_program *program, const char *name, int64_t ns);
/* One iteration of the healthy body. */
void bench_body(struct bench_program *program);
/* Its range, from `start` until now. */
void bench_iteration(struct bench_program *program, int64_t start);

/* When the trouble is there. */
enum variant { EVERY, NEAR_THRESHOLD, LARGE, TWO, AT_START, AT_END, EVERY_NTH, ONE_RANK, VARIANTS };

extern const char *const bench_variant_names[VARIANTS];

#define MOST_TROUBLES 64
#define MOST_HEALTHY  32

/* All troubles, in the order of the table. */
extern struct bench_trouble bench_troubles[MOST_TROUBLES];
extern size_t bench_trouble_count;

struct score {
    unsigned cases, found, first, placeable, placed, sizeable, sized, silent_cases, silent;
};

struct confidence_score {
    unsigned told, right;
};

struct bench {
    struct bench_random random;
    int cases, shows_misses;
    struct score troubles[MOST_TROUBLES], variants[VARIANTS], all;
    struct confidence_score confidences[NVT_CONFIDENCES];
    unsigned healthy[MOST_HEALTHY], healthy_false[MOST_HEALTHY];
    struct bench_sweep *sweeps;
    size_t sweep_count;
    struct bench_recorded recorded, emulated; /* on an H100; on the emulated device */
    const char *folder;                       /* that cases are written to; NULL: they are not */
    FILE *list;                               /* of the cases there */
    unsigned written;
};

/* The tables. */
void bench_print(const struct bench *bench);

#endif
