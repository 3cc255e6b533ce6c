/*
 * The recorder's side of a session: the private folder, its control page, and the rings in it. Shared
 * by `record`, which watches a command, and by libnvtally, which watches its own process.
 */
#ifndef NVT_RECORDER_H
#define NVT_RECORDER_H

#include "../lib/clock.h"
#include "drain.h"
#include "refusal.h"
#include "session.h"

#define NVT_RECORDER_BUSY_FILL 0.2 /* a ring so full is drained again at once */

/* Start from NVT_RECORDER_INIT with `clock` and `output` set; release with nvt_recorder_tear_down. */
struct nvt_recorder {
    char folder[256];
    struct nvt_control *control;
    int refusals; /* socket of those who could not join; or -1 */
    int lock;     /* descriptor of the control page, with the lock that says that we live; or -1 */
    enum nvt_clock clock;
    int watch; /* inotify, -1 when there is none: the folder is then read every time */
    struct nvt_output *output;
    struct nvt_drain **drains;
    size_t count;
    struct nvt_owners owners; /* of the rings */
    int folder_read;          /* since the watch was: it may be about known rings */
    int waiting;      /* rings that are there and not ready, or there was no memory for them */
    int unread_cause; /* errno of the last of those; 0: not ready, or no memory */
    struct nvt_drain_totals totals;
    int64_t next_flush, next_clock;
    int64_t last_look; /* at the rings; CLOCK_MONOTONIC, as the two before */
    int cuts;          /* the output is being cut: there is more to do soon */
    int is_urgent;     /* so there is elsewhere */
    int rests;         /* nothing is recorded (--dormant): the housekeeping may take its time */
    int64_t wake_at;   /* no sleep lasts longer, CLOCK_MONOTONIC; 0: there is no such moment */
    uint64_t was_cut;  /* how often it was */
    int is_removed;    /* somebody has removed the folder, or the page in it */
};
#define NVT_RECORDER_INIT                                                                          \
    {                                                                                              \
        .lock = -1, .watch = -1, .refusals = -1                                                    \
    }

/* The first of those who could not join, and how many there were: as many as the system keeps. */
int nvt_recorder_refusals(const struct nvt_recorder *recorder, struct nvt_refusal *first);

/*
 * Make the folder, where those of dead recorders go first; the control page in it, the watch over
 * it, the beginning of the trace's time axis. The folder is in $NVTALLY_TMPDIR, /dev/shm, $TMPDIR or
 * /tmp, the first of them that is set and has room; with the first one nothing else may be wrong.
 * The first two and the last: 0, or -1 with err.
 */
int nvt_recorder_folder(struct nvt_recorder *recorder, struct nvt_error *err);
int nvt_recorder_control(struct nvt_recorder *recorder, const struct nvt_record_options *options,
                         struct nvt_error *err);
void nvt_recorder_watch(struct nvt_recorder *recorder);
int nvt_recorder_axis(struct nvt_recorder *recorder, struct nvt_error *err);

/* Adopt rings: all that are there; new ones, when the folder has changed since the last look. */
void nvt_recorder_adopt(struct nvt_recorder *recorder);
void nvt_recorder_look(struct nvt_recorder *recorder);

/* Rings in the folder that are ready, or cannot be opened, and were not adopted (unread_cause). */
int nvt_recorder_missing(const struct nvt_recorder *recorder);

/* One round over all rings. Returns how full the fullest was; *taken gets the slots drained. */
double nvt_recorder_drain(struct nvt_recorder *recorder, uint64_t *taken);

/* Forget rings whose thread or process has ended, or all. */
void nvt_recorder_close_ended(struct nvt_recorder *recorder, int all);

/* Now and then: write what was taken, close what has ended, note the time. */
void nvt_recorder_housekeeping(struct nvt_recorder *recorder);

/* What threads are in at this moment, for a trace that ends here while the program goes on: OS calls that have lasted for a second get
 * a row, and each process a chunk LOOK. While nothing is recorded, nothing. */
void nvt_recorder_note_waits(struct nvt_recorder *recorder);

/*
 * Sleep after a look that found the fullest ring filled to `fullest` (0 … 1): for as long as, at the
 * rate since the look before, that ring takes to fill by NVT_RECORDER_BUSY_FILL, and no longer than until
 * the next housekeeping; not at all when it is that full now. nvt_control_wake ends it. The signal mask
 * is `hearing` meanwhile, unless that is NULL.
 */
void nvt_recorder_sleep(struct nvt_recorder *recorder, double fullest, const sigset_t *hearing);

/* Remove the folder with all it holds; what is mapped stays usable. */
void nvt_recorder_remove(struct nvt_recorder *recorder);

/* Unmap, remove the folder with all it holds, free. The output is the caller's. */
void nvt_recorder_tear_down(struct nvt_recorder *recorder);

#endif
