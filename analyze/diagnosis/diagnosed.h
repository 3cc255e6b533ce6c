/*
 * What diagnose keeps of a trace whose events are gone, so that of many files a few are in memory at a time: what the rules found
 * that look at single traces, and what the lines around findings say of it. Rules that compare ranks have their digests
 * (studies/rank_digest.h).
 *
 * A trace stays whole if something else asks for its events: MPI and OS calls, a command that was killed, a dump of a flight
 * recorder, names that make it a row of a sweep, ranks that communicate by copies alone. If any does, all have to.
 */
#ifndef NVT_DIAGNOSED_H
#define NVT_DIAGNOSED_H

#include "diagnose.h"
#include "../../lib/kernel_names.h"
#include "../device/gaps.h"

/* A device that is idle for most of its time: what a line says of it. */
struct nvt_idle {
    int64_t from, to; /* what is looked at: the iterations, or without any the devices' time */
    const char *what; /* that is */
    /* how many, and of them those before the steady part, which findings leave out */
    uint32_t iterations, early;
    int64_t steady;       /* where that begins; without iterations, `from` */
    int64_t ns, early_ns; /* of all gaps of all devices, and before the steady part */
    struct nvt_gap longest;
    uint32_t devices;
    int is_idle; /* for half of the time; only then the following is known: */
    char host[256], device[96], before[NVT_TELLING_NAME_MAX], samples[512];
};

struct nvt_diagnosed {
    struct nvt_findings findings; /* those of each rule behind those of the one before, */
    size_t *ends;                 /* up to there */
    unsigned has;                 /* enum nvt_rule_needs: what was recorded */
    int has_machine;              /* counters of the machine */
    struct nvt_idle idle;
};

/* With these traces are read: struct nvt_input.digester. */
extern const struct nvt_input_digester nvt_diagnosis_digester;

/* The digester of traces that keep their events as well. */
extern const struct nvt_input_digester nvt_diagnosed_whole;

/* Whether what an input keeps of its traces is enough; else they have to be read again, without a digester. 1, 0, or -1 with err. */
int nvt_diagnosed_is_enough(const struct nvt_input *input, struct nvt_error *err);

/* Of traces whose events are kept: forget what was found where it is not enough, so that it is looked for again. 0, or -1 with err. */
int nvt_diagnosed_settle(struct nvt_input *input, struct nvt_error *err);

/* What is kept of a trace as bytes for another process (image.h), and back: 0 or -1. */
void nvt_diagnosed_put(const struct nvt_input_trace *item, struct nvt_buffer *out);
int nvt_diagnosed_take(struct nvt_input_trace *item, struct nvt_cursor *in);

/* --- of diagnose_rules.c, diagnose_idle.c and diagnose_missing.c --- */

/* What all rules that look at single traces find in one that is the only one of its input. 0, or -1 with err. */
int nvt_diagnosed_look(struct nvt_diagnosed *diagnosed, const struct nvt_input *input,
                       struct nvt_error *err);

/* Of a trace with operations. 0, or -1 with err. */
int nvt_idle_find(struct nvt_idle *idle, const struct nvt_trace *trace,
                  const struct nvt_input *input, struct nvt_error *err);

/* What a trace has, of enum nvt_rule_needs. 0, or -1 when out of memory. */
int nvt_diagnosed_has(const struct nvt_trace *trace, unsigned *has);

/* Whether counters of the machine were sampled. */
int nvt_has_machine(const struct nvt_trace *trace);

#endif
