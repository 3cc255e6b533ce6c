/*
 * Phases of a training loop: the times of the ranges `forward`, `backward` and `optimizer`, by
 * configuration; and of whatever else lies directly within a range `iteration` or `loop` of the
 * domain `nvtally`, where both are of that domain. What the report `phases` prints.
 *
 * A phase counts when it lies, at any depth, within a range `iteration` (or as named_iterations.h says) of the same thread; in a
 * trace without any such range every phase counts. Phases within a range `warmup`, within a phase
 * of their own name, or without an end do not. A phase within a `loop`, whose payload is the number
 * of its calls, is known by their mean alone. The configuration is the name of the innermost
 * enclosing range of the domain `nvtally` that reads "<workload> key=value key=value …"; without
 * one it is that of the trace's record in its run directory, or else the name of the file.
 */
#ifndef NVT_PHASES_H
#define NVT_PHASES_H

#include "../../lib/sample.h"
#include "../input/input.h"
#include "../model/workload_ranges.h"

enum nvt_phase { NVT_FORWARD, NVT_BACKWARD, NVT_OPTIMIZER, NVT_PHASES_COUNT };

/* "forward", "backward", "optimizer". */
const char *nvt_phase_name(enum nvt_phase phase);

/* Work that ranges declared in their payloads, and the time of those that did. */
struct nvt_work {
    double amount; /* FLOPs or bytes */
    double ns;
};

struct nvt_phase_row {
    const char *workload;      /* NULL: unknown */
    const char *configuration; /* axes, or the name of a file */
    const char *phase;         /* NULL: of a run that was not ok, which has no times */
    const char *status;        /* NULL: ok; else its status and what it says of it */
    struct nvt_summary time;   /* ns; NaN what a record or a loop does not say */
    struct nvt_work flops, bytes;
    const char *source; /* "measured", "published": static text */
};

struct nvt_phases;

/*
 * Of every trace of the input, and of every record of its run directories that has no trace there
 * (or one without phases). Rows by configuration in the order in which they ran, the same
 * configuration of several traces together, and that of the records of several repetitions in a
 * directory, whose median is not known then. NULL with err filled when out of memory.
 */
struct nvt_phases *nvt_phases_of(const struct nvt_input *input, struct nvt_error *err);
void nvt_phases_free(struct nvt_phases *phases);

size_t nvt_phases_count(const struct nvt_phases *phases);
const struct nvt_phase_row *nvt_phases_row(const struct nvt_phases *phases, size_t index);

#endif
