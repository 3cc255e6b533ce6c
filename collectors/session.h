/*
 * Recording: run a command with the collector in it, drain its rings, write its trace. Used by the
 * commands `record` and `run`, and by tests.
 */
#ifndef NVT_SESSION_H
#define NVT_SESSION_H

#include <limits.h>
#include <stdint.h>

#include "../lib/error.h"
#include "counter_wish.h"
#include "../lib/python_stacks.h"
#include "attend.h"
#include "metrics_wish.h"
#include "refusal.h"
#include "retain.h"
#include "ring.h"
#include "trigger.h"

struct nvt_record_result;

struct nvt_record_options {
    const char *output;  /* path of the trace */
    uint64_t trace;      /* enum nvt_trace_what bits */
    int on_full;         /* enum nvt_on_full */
    uint64_t ring_bytes; /* a thread; rounded to a power of two */
    const char *capture; /* record only while this range is open: RANGE, RANGE@DOMAIN, RANGE@*; or
                            between cudaProfilerStart and …Stop: cudaProfilerApi; or NULL */
    /* of is_dormant: which ranges are iterations, as of `capture`; or NULL */
    const char *iteration;
    int pytorch;      /* PyTorch has ranges of its modules, its backward passes and its steps */
    int wait_for_all; /* go on until the last descendant has ended, not only the command */
    int64_t os_threshold_ns;         /* shorter OS calls are left out */
    int64_t cpu_period_ns;           /* CPU time of a thread between two of its samples */
    struct nvt_metrics_wish metrics; /* of NVT_TRACE_METRICS */
    /* a range, which is captured: metrics are counted over it, in place of samples; or NULL */
    const char *counters_of;
    int has_counters; /* those that --trace counters=NAME,… names; else the usual ones */
    struct nvt_counter_wish counters;
    int level;     /* of zstd; 0 stores uncompressed */
    int overwrite; /* a trace that is there is written over; else it is kept under another name */
    /* Facts kept in the trace: name, value, name, value, NULL. May be NULL. */
    const char *const *facts;
    int has_witness; /* what its process group gets the command gets once: a process of its own sees to that (launch.h) */
    int ends_with_us; /* the command gets SIGTERM when the recorder is killed; else it goes on */
    struct nvt_retain_limits keep; /* the latest part of the trace alone */
    /* Called once, when the command has ended a second ago and others are waited for, with their names and numbers; may be NULL. */
    void (*waits)(const char *processes);
    int (*asked)(void); /* the signal that has asked our caller to end, 0: none; may be NULL */
    /* record from then on, for so long (0: to the end); the command's start is 0 */
    int64_t delay_ns, duration_ns;
    int is_dormant; /* nothing is recorded before somebody asks for it (live.h); no delay and no duration */
    /* of is_dormant: the share of time that recording may cost, which says when to record (budget.h); 0: any */
    double budget;
    struct nvt_trigger_wish trigger; /* when dumps are made (trigger.h) */
    struct nvt_attend_wish attend;   /* how it is asked from elsewhere (attend.h) */
    int kill; /* the signal that the command gets at the end of duration_ns, 0: none */
    /* Called when that end has come and the trace is written, where the command goes on, with its result so far; may be NULL. */
    void (*over)(const struct nvt_record_result *result, void *context);
    void *context; /* of `over` */
};

/* NVTX alone, 1 MiB a ring, waiting when full, all descendants, calls from 1 us on, 200 samples a second, level 1. */
#define NVT_RECORD_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .trace = NVT_TRACE_NVTX, .on_full = NVT_ON_FULL_WAIT, .ring_bytes = 1u << 20,              \
        .wait_for_all = 1, .os_threshold_ns = 1000, .cpu_period_ns = 5000000, .level = 1           \
    }

#define NVT_BUDGET_TEXT 400

struct nvt_record_result {
    int wait_status;       /* of the command, as waitpid gives it */
    int asked;             /* the last signal that asked us to end, 0: none came */
    int exec_error;        /* errno when the command could not be started, else 0 */
    int other_tool;        /* another tool was injected already and was left in place */
    int other_nccl_plugin; /* NCCL had another profiler plugin, which was left in place */
    int other_device_tool; /* another tool was injected into CUDA already and was left in place, when devices
                                      * were asked for */
    uint64_t events;         /* NVTX events in the file */
    uint64_t device_records; /* operations, API calls and other device records in the file */
    uint64_t os_calls;       /* OS calls in it */
    uint64_t cpu_samples;    /* CPU samples in it */
    /* CPU time that they stand for; that was used, as far as it was waited for, 0: not compared */
    int64_t sampled_ns, used_ns;
    struct nvt_python_stacks python; /* of these */
    int used_devices;                /* a process came up with CUDA */
    int captured;                    /* what options.capture names has begun, at least once */
    int is_early;                    /* the command ended before options.delay_ns was over */
    int is_unasked;                  /* of options.is_dormant: nobody asked for a recording */
    char budget[NVT_BUDGET_TEXT]; /* of options.budget: what came of it (nvt_budget_text); or "" */
    int is_over;                  /* options.duration_ns was over before the command ended */
    uint64_t dropped; /* events dropped at full rings, by request or as the recorder was silent */
    int too_deep; /* some of them as a thread's open ranges had filled its ring: a larger one helps */
    uint64_t nested;     /* events of signal handlers that interrupted an event */
    uint64_t homeless;   /* events of threads that could get no ring */
    int is_removed;      /* somebody has removed the session's folder meanwhile */
    int unread;          /* rings that the recorder could not read: what they hold is lost */
    int unread_cause;    /* errno of one of them */
    int uncounted;       /* errno of a process where the system refused CPU counts; 0: none */
    char unsampled[192]; /* why GPU metrics were not sampled, or not all; "": they were */
    /* bytes: a control group's limit that left no memory for more or larger rings; 0: none did */
    uint64_t scarce;
    /* bytes: the least limit of the control groups that we are in; UINT64_MAX: none */
    uint64_t limit;
    int refusals;               /* processes that asked for the session and could not join it */
    struct nvt_refusal refusal; /* the first of them */
    char folder[256];           /* that they did not find, or could not open */
    /* Processes that nothing can be recorded of (outsiders.h), as far as they were seen, or "": of another libc; where the collector
     * is not in their root folder; that began without our environment. */
    char foreigners[192], outsiders[192], unaware[192];
    char crowded[192];      /* with less than 16 MiB left of their address space, */
    uint64_t address_space; /* and what the first of them may have, bytes */
    uint32_t joined;        /* processes that loaded the collector and found the session */
    int memory_kills;       /* processes of such a group that were killed for memory meanwhile */
    uint64_t unwritten;     /* events drained that could not be written */
    uint64_t waited_ns;     /* time that producers waited for room, summed */
    /* CPU time of this process from the command's start to its end: what it may have taken from the command. Setting up
     * before and writing the rest behind are not in it. */
    int64_t recorder_ns;
    uint32_t processes, threads;
    uint64_t bytes;      /* of the file */
    char kept[PATH_MAX]; /* the new name of a trace that existed before; "" there was none */
    struct nvt_error write_error; /* the first failed write, message "" when none */
    /* why the file has what is older than options.keep; message "" when none */
    struct nvt_error cut_error;
};

/*
 * Run argv under the collector. The command has our standard streams and environment (plus the
 * injection's variables); signals that ask us to end or that a user sends are passed to it. Returns
 * 0 with *result when the command was run or could not be started (exec_error), -1 with err when
 * recording could not begin (output not writable, no room for the session).
 */
int nvt_record_run(const struct nvt_record_options *options, char *const argv[],
                   struct nvt_record_result *result, struct nvt_error *err);

#endif
