/*
 * Programs on a device that does not exist: host threads that work, launch, copy, record and wait for events and for the device,
 * and streams that work them off. Given how long everything takes, it says when everything is; so it also
 * says what another duration would have changed, which no trace can.
 */
#ifndef NVT_TESTS_SIMULATED_PROGRAM_H
#define NVT_TESTS_SIMULATED_PROGRAM_H

#include "../analyze/model/trace.h"

enum step_kind {
    STEP_WORK,     /* the host works, in a range of its own */
    STEP_LAUNCH,   /* of a kernel */
    STEP_RECORD,   /* of an event */
    STEP_LET_WAIT, /* a stream for an event */
    STEP_WAIT_STREAM,
    STEP_WAIT_EVENT,
    STEP_WAIT_DEVICE,
    STEP_HAND_OVER, /* the other thread goes on, HANDOVER_NS later */
};

/* What the simulated machine needs, ns. */
#define LAUNCH_NS   3000  /* from the start of a launch to that of the kernel */
#define BEHIND_NS   800   /* between kernels of a stream */
#define EVENT_NS    1500  /* between kernels of two streams */
#define WAKE_NS     4000  /* from the end of a kernel to that of the call that waits */
#define WAIT_NS     2000  /* a wait that has nothing to wait for */
#define EVENT_CALL  900   /* a call that records an event, or makes a stream wait */
#define HANDOVER_NS 20000 /* between threads */

#define STEPS_MOST   400
#define STREAMS_MOST 4

struct step {
    enum step_kind kind;
    int stream, event;  /* event: the step that recorded it */
    int64_t ns, device; /* of the work, or of the call; of the kernel */
    /* When it was: */
    int thread;
    int64_t start, end;       /* on the host */
    int64_t op_start, op_end; /* on the device */
    int record_op;            /* the step whose kernel an event is behind, -1 */
};

struct simulated {
    struct step steps[STEPS_MOST];
    int count, streams;
    uint64_t random;
};

/* A number below `below`, from sim->random. */
uint32_t simulated_pick(struct simulated *sim, uint32_t below);

/* A program of so many steps at random, on so many streams; with `threads` 2, they hand over to each other. */
void simulated_make(struct simulated *sim, uint64_t seed, int count, int streams, int threads);

/* Run it: when everything is. Returns when the last thing ends. */
int64_t simulated_run(struct simulated *sim);

/* The trace of what was run. Events of streams that wait are told unless `without_events`. The caller owns it. */
struct nvt_trace *simulated_trace(const struct simulated *sim, int without_events);

#endif
