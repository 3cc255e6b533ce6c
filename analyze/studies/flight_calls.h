/*
 * Where the ranks of a job are in the collectives and messages of their groups, by the dumps that PyTorch's flight recorder wrote of
 * them: which of them is stuck, and who has not reached it.
 *
 * A group is known by its name, its description and its members; where the dumps do not list these, they are the ranks that called
 * something of it. Its collectives have numbers that are the same on all ranks. The first one that some rank has called and none
 * has seen end is the stuck one; ranks whose last call in the group has a lower number have not reached it. What a dump has
 * lost, its buffer being a ring, does not matter: it keeps the last calls.
 *
 * A message is stuck if one end has called it, and has not seen its end; its other end has come to it if it has called any message
 * in the other direction that has no end, as numbers of messages differ between ranks.
 *
 * A dump of a job that runs on looks the same, with some rank a little behind the others. Only what had waited for
 * NVT_FLIGHT_WAIT_NS when its dump was written, or had timed out, is stuck. The last change of the file stands for when it was
 * written: it is no earlier. A copy that does not keep it looks later than it is: where that is long behind the time-out of the
 * call, which did not come up, whether it is stuck is unknown.
 */
#ifndef NVT_FLIGHT_CALLS_H
#define NVT_FLIGHT_CALLS_H

#include "../input/input.h"

#define NVT_FLIGHT_WAIT_NS INT64_C(5000000000)
/* So long behind a time-out, at most, a dump is written. */
#define NVT_FLIGHT_LATE_NS INT64_C(3600000000000)

/* What a rank called: a range of its trace, NVT_NONE none. */
struct nvt_flight_rank {
    const struct nvt_input_trace *from;
    uint32_t number; /* of the job */
    uint32_t last;   /* the last collective or message that it called, in any group */
};

enum nvt_flight_kind {
    NVT_FLIGHT_MISSING,   /* ranks have not reached it */
    NVT_FLIGHT_NO_DUMP,   /* all have that there are dumps of; of others there are none */
    NVT_FLIGHT_DIFFERENT, /* ranks called different ones */
    NVT_FLIGHT_UNSTARTED, /* all have called it, and not all devices have begun it */
    NVT_FLIGHT_ALL_IN     /* all have called it, and it does not end */
};

/* A rank that has called what is stuck, and the range. */
struct nvt_flight_call {
    uint32_t rank, range; /* row of ranks */
};

struct nvt_flight_stuck {
    enum nvt_flight_kind kind;
    int is_message;
    int is_assumed; /* which ranks the group has was not recorded: those that called something of it, at least */
    const char *group, *purpose;
    uint32_t size; /* of the group, or 2 */
    uint64_t sequence;
    int64_t since; /* ns since 1970: the first call of it */
    /* ns: how long a rank had waited when its file was last changed; -1: that is not known, or not needed */
    int64_t waited;
    int is_unsure;   /* the files are too late to say so */
    int64_t blocked; /* ns: as long as that, or the time-out that expired; 0: it is not known */
    struct nvt_flight_call *calls; /* owned, in the order of ranks */
    uint32_t call_count;
    /* owned: rows of ranks that have not reached it; where some of them wait in nothing else, these */
    uint32_t *missing;
    uint32_t missing_count;
    uint32_t held_count; /* others that have not reached it, as they wait in another one */
    uint32_t *absent;    /* owned: numbers of ranks without a dump */
    uint32_t absent_count;
    /* DIFFERENT: the call that is not like the first one; UNSTARTED: one that has not begun */
    uint32_t differs;
    /* the stuck one, and 1, that is why: those that have not reached it wait in it, or it misses the same ranks
     * for longer; 0: none is */
    uint32_t explained;
};

/* Zero-initialise; release with nvt_flight_free. */
struct nvt_flight_job {
    struct nvt_flight_rank *ranks;
    uint32_t rank_count;
    struct nvt_flight_stuck *items; /* in the order in which they were called */
    uint32_t count;
    struct nvt_strings *texts;
};

/* The dumps of run `run` (numbers[i], nvt_input_run_numbers) that know their ranks. 0, or -1 when out of memory. */
int nvt_flight_job_make(struct nvt_flight_job *job, const struct nvt_input *input,
                        const size_t *numbers, size_t run);
void nvt_flight_free(struct nvt_flight_job *job);

#endif
