/*
 * The roofline: what phases, and ranges that declare their work (declared.h), achieve, compared with what the machine
 * reaches (peaks.h) at their arithmetic intensity.
 *
 * S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
 * Communications of the ACM 52(4), 2009, p. 65-76: attainable FLOP/s = min(peak FLOP/s, peak bytes/s * FLOPs / bytes).
 * Work of F FLOPs and B bytes thus takes at least max(F / peak FLOP/s, B / peak bytes/s), its time at the roof, and its
 * share of the roof is that over its time. Work without FLOPs has a time at the roof as well.
 *
 * Theirs is the traffic between caches and memory, as it was measured. Here bytes are what the program has declared, for
 * workloads the least that must be moved (docs/workloads.md). So a share may be above 1: no error, but faster than a copy of
 * memory. What stays in a cache moves less through the memory. A copy counts two bytes where most processors move three, as
 * they read what they are about to write; who writes what it has read (Adam's step) is spared that. What moves more than
 * declared looks slower.
 *
 * Time is from the first to the last device operation of a range (project.h) where it has any, else the range's own. In
 * a run on a device whose operations were not recorded, only phases count, which wait for the device.
 */
#ifndef NVT_ROOFLINE_H
#define NVT_ROOFLINE_H

#include "../input/input.h"
#include "declared.h"
#include "measured_work.h"

/* Below this share of the roof nothing of the machine bounds it: latency, launches, or the host. A choice, as there is no
 * sharp border: products that fill a machine reach more than 40 % of it, those that do not less than 25 %. */
#define NVT_ROOFLINE_NEAR 0.3

enum nvt_bound { NVT_BOUND_UNKNOWN, NVT_BOUND_COMPUTE, NVT_BOUND_MEMORY, NVT_BOUND_NEITHER };

/* All of one range, or phase, of a configuration. Texts belong to the roofline. */
struct nvt_roof_point {
    /* "linear size=64 batch=1", of a range around it or of a record; or the file's name */
    const char *configuration;
    const char *phase;                /* that it is, or lies in (phases.h); "": in none */
    const char *range;                /* its name, "": it is the phase */
    size_t peaks;                     /* of the roofline, SIZE_MAX: not known */
    enum nvt_roof roof;               /* what it multiplies (nvt_declared_roof) */
    double count;                     /* how often, calls of loops one by one */
    double ns, flops, bytes;          /* of all of them; ns > 0 */
    struct nvt_measured_sum measured; /* what was counted and sampled of this work */
    int on_device;                    /* whose clock the time is of */
};

struct nvt_roofline {
    struct nvt_strings *strings;
    /* by what would be gained at the roof, the most first, then by time */
    struct nvt_roof_point *points;
    uint32_t count;
    struct nvt_peaks *peaks; /* each once */
    size_t peaks_count;
    size_t ranges;  /* of traces, that points are of */
    size_t without; /* that were left out, as nothing waits for the device in them */
};

/*
 * Of every trace of the input, and of every record of its run directories of whose trace nothing is known. Zero-initialise;
 * release with nvt_roofline_free, also after a failure. Warm-ups and ranges without an end do not count. 0, or -1 with err
 * (out of memory).
 */
int nvt_roofline_make(struct nvt_roofline *roofline, const struct nvt_input *input,
                      struct nvt_error *err);
void nvt_roofline_free(struct nvt_roofline *roofline);

/* The roof at its intensity, FLOP/s: 0 of work without FLOPs, NaN: a peak that it needs is not known. */
double nvt_roof_flops(const struct nvt_roofline *roofline, const struct nvt_roof_point *point);

/* A point's share of the roof, NaN: a peak that it needs is not known; what would be gained, ns of all of them, 0 at or above
 * the roof. */
double nvt_roof_share(const struct nvt_roofline *roofline, const struct nvt_roof_point *point);
double nvt_roof_gain(const struct nvt_roofline *roofline, const struct nvt_roof_point *point);

/* What bounds it: the roof that it is near to, if it is to any. */
enum nvt_bound nvt_roof_bound(const struct nvt_roofline *roofline,
                              const struct nvt_roof_point *point);

#endif
