/*
 * What has the recorder keep a copy of the trace (a dump, as of `nvtally ctl dump`) while it records: record --on SIGNAL, --on-slow,
 * --on-exit-status. The recorder gets the signal; the program takes no part. One dump is made at a time, by a thread that asks the
 * recorder as `ctl` does.
 */
#ifndef NVT_TRIGGER_H
#define NVT_TRIGGER_H

#include <stdint.h>

#include "../lib/error.h"

#define NVT_TRIGGER_SIGNALS 8

/* Of --on-slow: at most so many, and so long after one another. */
#define NVT_TRIGGER_SLOW_MOST 10
#define NVT_TRIGGER_SLOW_NS   INT64_C(10000000000)

struct nvt_trigger_wish {
    uint64_t signals;   /* bit N - 1: number N has a dump made */
    int on_exit_status; /* so has an end of the command with another status than 0 */
    char range[250];    /* --on-slow: each range of that name, RANGE or RANGE@DOMAIN; "": none */
    /* that takes, or goes on for, more than so much of the median of those before; or */
    uint32_t slow_percent;
    int64_t slow_ns; /* longer than this; the other is 0 */
    int64_t last_ns; /* a dump has what ended so long before; 0: all */
};

/* "SIGUSR2", "usr2", "12": one of those that people send to poke a program. */
int nvt_trigger_parse_signal(const char *text, struct nvt_trigger_wish *wish,
                             struct nvt_error *err);

/* "RANGE > 1.5 x median" (x, × or *), "RANGE > 200ms". 0, or -1 with err; and of that above. */
int nvt_trigger_parse_slow(const char *text, struct nvt_trigger_wish *wish, struct nvt_error *err);

/* What does not go together, or lacks something. --on-slow says what iterations are, too. 0, or -1 with err. */
struct nvt_record_options;
int nvt_trigger_check(struct nvt_record_options *options, struct nvt_error *err);

struct nvt_trigger;
struct nvt_control;

/*
 * From now on dumps are made. `clock_hz`: ticks a second. NULL where nothing was wished for, or there is no memory. After
 * nvt_launch_keep(wish->signals).
 */
struct nvt_trigger *nvt_trigger_begin(const struct nvt_trigger_wish *wish, const char *folder,
                                      struct nvt_control *control, uint64_t clock_hz);

/* See whether one is due, and say what became of the last. Whether one is being made: then requests are to be answered. */
int nvt_trigger_look(struct nvt_trigger *trigger);

/* The command has ended so, as waitpid gives it. Once. */
void nvt_trigger_exit(struct nvt_trigger *trigger, int wait_status);

/* None is being made any more. NULL is allowed everywhere. */
void nvt_trigger_end(struct nvt_trigger *trigger);

#endif
