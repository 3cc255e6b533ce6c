/*
 * Options of a sweep that do not go together.
 */
#include <string.h>

#include "sweep.h"

/* Whether the levels are such as can be compared in the way that was asked for. */
static int check_interleave(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    if (sweep->interleave == NVT_INTERLEAVE_ITERATIONS && sweep->collect.count < 2)
        return nvt_fail(err, "--interleave iterations: needs several levels to take turns, such as "
                             "--collect off,nvtx");
    if (sweep->interleave != NVT_INTERLEAVE_WITHIN && sweep->interleave != NVT_INTERLEAVE_HALVES)
        return 0;
    const char *how = nvt_interleave_words[sweep->interleave];
    for (size_t i = 0; i < sweep->collect.count; i++) {
        if (sweep->collect.values[i] == NVT_COLLECT_OFF)
            return nvt_fail(
                err, "--interleave %s: each run is its own baseline: remove 'off' from --collect",
                how);
        if (sweep->collect.values[i] == NVT_COLLECT_NSYS &&
            sweep->interleave == NVT_INTERLEAVE_HALVES)
            return nvt_fail(err, "--interleave halves: not with --collect nsys, which records "
                                 "whole runs");
    }
    int timing = nvt_axes_find(sweep->axes, "timing");
    for (size_t i = 0; timing >= 0 && i < sweep->count; i++)
        if (!strcmp(sweep->axes->axes[timing].words[sweep->configurations[i].values[timing]],
                    "loop"))
            return nvt_fail(
                err, "--interleave %s: the calls of a loop are timed together: add --timing single",
                how);
    return 0;
}

/* A recorder records whole processes, and levels are compared from one start to the next. */
static int check_one_process(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    if (!sweep->one_process)
        return 0;
    if (sweep->collect.count != 1 || sweep->collect.values[0] != NVT_COLLECT_OFF)
        return nvt_fail(err,
                        "--one-process: needs --collect off, because collection is per process");
    if (sweep->ranks.size > 1 || sweep->launcher)
        return nvt_fail(err, "--one-process: not over several ranks");
    return 0;
}

static int check_resume(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    if (!sweep->resume)
        return 0;
    if (!sweep->directory)
        return nvt_fail(err, "--resume: needs -o DIR, which has the rows");
    if (sweep->interleave == NVT_INTERLEAVE_ITERATIONS)
        return nvt_fail(err,
                        "--resume: not with --interleave iterations, whose levels run together");
    if (sweep->ranks.size > 1)
        return nvt_fail(err, "--resume: not over several ranks, which run one configuration");
    return 0;
}

static int check_launcher(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    return sweep->launcher && sweep->interleave == NVT_INTERLEAVE_ITERATIONS
               ? nvt_fail(err, "--launcher: not with --interleave iterations, as ranks of several "
                               "runs cannot take turns")
               : 0;
}

/* Samples are kept in the traces. */
static int check_machine(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    for (size_t i = 0; i < sweep->collect.count; i++)
        if (sweep->collect.values[i] == NVT_COLLECT_NVTX ||
            sweep->collect.values[i] == NVT_COLLECT_KERNEL ||
            sweep->collect.values[i] == NVT_COLLECT_FULL)
            return 0;
    return sweep->machine ? nvt_fail(err, "--machine: needs a level of --collect that is recorded: "
                                          "nvtx, kernel or full")
                          : 0;
}

int nvt_sweep_check(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    return check_interleave(sweep, err) || check_one_process(sweep, err) ||
                   check_resume(sweep, err) || check_launcher(sweep, err) ||
                   check_machine(sweep, err)
               ? -1
               : 0;
}
